# SPDX-License-Identifier: Apache-2.0
"""Ends runs whose ranks have all come to MPI_Finalize and do not leave it: a stand-in's MPI_Finalize sleeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

PROGRAMS = Path(__file__).resolve().parent / "programs"
TOO_LONG = "MPI_Finalize has not returned for 1 s"


#: The stand-in ends a rank with code 7, and Hydra may kill the other one (9) before that has come so far itself.
@pytest.mark.parametrize(("limit_s", "codes"), [("1", {124}), ("0", {7, 9})])
def test_a_run_that_does_not_leave_finalize_is_ended(
    wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., object], limit_s: str, codes: set[int]
) -> None:
    """GIVEN a limit THEN the run ends in time, with the message and all output; GIVEN none THEN it is left alone."""
    library = compiled(wheel, [PROGRAMS / "finalize_sleeps.c"], "-shared", "-fPIC")
    program = compiled(wheel, [PROGRAMS / "finalize.c"], "-Wl,--no-as-needed", str(library))
    ended = limit_s != "0"
    takes = "100" if ended else "2"
    result = run_ranks(wheel, 2, [program], ANTIPHON_FINALIZE_SECONDS=limit_s, FINALIZE_TAKES=takes)
    assert result.returncode in codes, result.text
    assert (TOO_LONG in result.text) == ended, result.text
    if ended:
        assert result.text.count(" is done") == 2  # of both ranks, whose lines Hydra may mix


def test_time_in_which_a_rank_is_stopped_does_not_count(
    native: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., object]
) -> None:
    """GIVEN ranks that are stopped in MPI_Finalize for longer than the limit, and end soon afterwards THEN none is
    ended by the watch.
    """
    library = compiled(native, [PROGRAMS / "finalize_sleeps.c"], "-shared", "-fPIC")
    program = compiled(native, [PROGRAMS / "finalize.c"], "-Wl,--no-as-needed", str(library))
    variables = {"ANTIPHON_FINALIZE_SECONDS": "2", "FINALIZE_TAKES": "1", "FINALIZE_STOPS": "1"}
    result = run_ranks(native, 2, [program], **variables)
    assert result.returncode in {7, 9}, result.text
    assert "MPI_Finalize has not returned" not in result.text


def test_what_a_program_does_in_finalize_has_time(
    wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., object]
) -> None:
    """GIVEN work that the program does in MPI_Finalize, as HDF5 does, THEN that takes as long as it takes."""
    program = compiled(wheel, [PROGRAMS / "finalize.c"])
    result = run_ranks(wheel, 2, [program, "works"], ANTIPHON_FINALIZE_SECONDS="1")
    assert result.returncode == 0, result.text
    assert result.text.count(" has worked") == 2 and TOO_LONG not in result.text, result.text


def test_a_program_may_go_on_after_finalize_has_failed(
    wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., object]
) -> None:
    """GIVEN an MPI_Finalize that returns with an error THEN what the program does afterwards takes its time."""
    library = compiled(wheel, [PROGRAMS / "finalize_fails.c"], "-shared", "-fPIC")
    program = compiled(wheel, [PROGRAMS / "finalize.c"], "-Wl,--no-as-needed", str(library))
    result = run_ranks(wheel, 2, [program], ANTIPHON_FINALIZE_SECONDS="1")
    assert result.returncode == 0, result.text
    assert result.text.count(" is done") == 2 and TOO_LONG not in result.text, result.text


def test_ranks_in_finalize_leave_their_cores_to_one_that_works(
    native: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any]
) -> None:
    """GIVEN a rank that works for 2 s more THEN another one in MPI_Finalize takes little processor time for waiting."""
    result = run_ranks(native, 2, [compiled(native, [PROGRAMS / "idle_in_finalize.c"])])
    assert result.returncode == 0, result.text
    assert int(result.pairs("waited_ms")["waited_ms"]) < 500, result.text


def test_ranks_wait_for_processes_that_they_have_spawned(native: Mpi, verified: Callable[..., Any]) -> None:
    """GIVEN ranks in MPI_Finalize that are connected to one that works THEN the run ends when that has ended."""
    verified(native, 2, "connected.c", limit_s=40, ANTIPHON_FINALIZE_SECONDS="1")


@pytest.mark.parametrize("threads", [(), ("threads",)], ids=["single", "threads"])
def test_what_attributes_of_the_process_do_goes_on(
    wheel: Mpi, threads: tuple[str, ...], verified: Callable[..., Any]
) -> None:
    """GIVEN calls that delete functions of MPI_COMM_SELF make in MPI_Finalize THEN they are done as before it."""
    variables = {"ANTIPHON_FORCE": "*:on", "ANTIPHON_COMPRESS": "force", "ANTIPHON_NODES": "a,b,c"}
    result = verified(wheel, 3, "at_finalize.c", *threads, limit_s=40, **variables)
    assert result.used("bcast").keys() != {"library"}
