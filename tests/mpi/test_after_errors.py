# SPDX-License-Identifier: Apache-2.0
"""What follows an error of a program's counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.mpi import Mpi

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("call", "force", "nodes"), [("gather", "gather:flat", "a,a,b"), ("alltoallv", "alltoallv:credit", "a,b,c")]
)
def test_what_is_under_way_keeps_its_memory(wheel: Mpi, call: str, force: str, nodes: str, verified: Run) -> None:
    """GIVEN a call that fails while a message of it is under way THEN that and the next call do not mix."""
    verified(wheel, 3, "after_error.c", call, ANTIPHON_FORCE=force, ANTIPHON_NODES=nodes, limit_s=40)


def test_pieces_that_never_come(wheel: Mpi, verified: Run) -> None:
    """GIVEN a root that sends fewer pieces than are expected THEN nobody waits for them, and the next call is right."""
    verified(wheel, 3, "short_pieces.c", ANTIPHON_FORCE="scatterv:flat", ANTIPHON_NODES="a,b,c", limit_s=40)
