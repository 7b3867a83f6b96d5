# SPDX-License-Identifier: Apache-2.0
"""Communicators of other kinds: with promises about their messages, and with threads as ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.mpi import Mpi

Run = Callable[..., Any]


@pytest.mark.parametrize("key", ["exact_length", "allow_overtaking", "no_any_tag"])
def test_promises_about_messages(wheel: Mpi, key: str, verified: Run) -> None:
    """GIVEN a communicator of which the program promises what a frame would break THEN nothing is framed on it.

    Open MPI 5 leaves a promise about lengths aside, and does not tell of it.
    """
    plain = key == "allow_overtaking" or (key == "exact_length" and wheel.family == "mpich")
    result = verified(wheel, 2, "promises.c", f"mpi_assert_{key}", ANTIPHON_COMPRESS="force", limit_s=40)
    rows = {row["communicator"]: row for row in result.summary["compression"] if row["class"] != "collectives"}
    assert rows["free"]["encoded"] > 0, rows
    assert (rows["promised"]["encoded"] == 0) == plain, rows
    assert (rows["later"]["encoded"] == rows["later"]["messages"]) == (not plain), rows


@pytest.mark.parametrize("compress", ["off", "force"])
def test_threads_as_ranks(wheel: Mpi, compress: str, verified: Run) -> None:
    """GIVEN a communicator whose ranks are threads THEN its calls are the library's."""
    if wheel.abi != "mpich":
        pytest.skip(f"{wheel.label} has none")
    verified(wheel, 2, "threads_as_ranks.c", ANTIPHON_COMPRESS=compress, ANTIPHON_FORCE="*:on", limit_s=60)
