# SPDX-License-Identifier: Apache-2.0
"""Checks frames of late senders, within callbacks, and at the end of requests and communicators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.mpi import Mpi

Run = Callable[..., Any]

#: With these, a long message arrives only while its sender is inside MPI.
BY_COPY = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", "MPIR_CVAR_CH4_CMA_ENABLE": "0"}


def test_nothing_waits_for_a_late_sender(wheel: Mpi, verified: Run) -> None:
    """GIVEN a frame whose sender computes THEN probes answer and receives begin at once, also short persistent ones."""
    verified(wheel, 2, "late.c", ANTIPHON_COMPRESS="force", limit_s=60, **BY_COPY)


@pytest.mark.parametrize("threads", [[], ["threads"]])
def test_callbacks_communicate(mpi: Mpi, threads: list[str], verified: Run) -> None:
    """GIVEN callbacks of a program that receive messages within a call of MPI THEN they get what was sent."""
    if threads and mpi.family == "mpich":
        pytest.skip("MPICH holds a lock of its own while it runs a callback in a process with threads")
    result = verified(mpi, 2, "callbacks.c", *threads, ANTIPHON_COMPRESS="force", ANTIPHON_FORCE="*:on", limit_s=60)
    assert sum(row["encoded"] for row in result.summary["compression"]) > 0, result.summary


def test_requests_that_the_program_frees(native: Mpi, verified: Run) -> None:
    """GIVEN sends that are freed at once, and collectives THEN their frames do not stay."""
    verified(native, 2, "ended.c", "requests", ANTIPHON_COMPRESS="force")


def test_communicators_of_many_names(native: Mpi, verified: Run) -> None:
    """GIVEN communicators that each have a name THEN the sums of all but the first of them are one."""
    result = verified(native, 2, "ended.c", "names", ANTIPHON_COMPRESS="force")
    names = {row["communicator"] for row in result.summary["compression"]}
    assert "(others)" in names
    assert len(names) < 300


def test_a_communicator_that_lasts_to_the_end(mpi: Mpi, verified: Run) -> None:
    """GIVEN a freed communicator that the library keeps for a buffered message until its end THEN MPI ends well."""
    verified(mpi, 3, "ended.c", "buffer", ANTIPHON_COMPRESS="force")
