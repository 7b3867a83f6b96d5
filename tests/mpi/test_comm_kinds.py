# SPDX-License-Identifier: Apache-2.0
"""Communicators of other kinds: with threads as ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.mpi import Mpi

Run = Callable[..., Any]


@pytest.mark.parametrize("compress", ["off", "force"])
def test_threads_as_ranks(wheel: Mpi, compress: str, verified: Run) -> None:
    """GIVEN a communicator whose ranks are threads THEN its calls are the library's."""
    if wheel.abi != "mpich":
        pytest.skip(f"{wheel.label} has none")
    verified(wheel, 2, "threads_as_ranks.c", ANTIPHON_COMPRESS=compress, ANTIPHON_FORCE="*:on", limit_s=60)
