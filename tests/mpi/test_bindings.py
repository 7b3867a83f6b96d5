# SPDX-License-Identifier: Apache-2.0
"""Checks that every way in which a program can call MPI is seen, and seen once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = HERE / "programs"

Compile = Callable[..., Path]
Run = Callable[..., Any]


def number_of_calls(result: Any, collective: str) -> int:
    """Returns how often rank 0's program called a collective, as the preload object saw it."""
    return sum(row["calls"] for row in result.calls(collective))


@pytest.mark.parametrize("binding", ["mpif", "mpi", "f08"])
def test_fortran_examples(mpi: Mpi, binding: str, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a Fortran binding THEN the example's results are right and its calls are counted once."""
    folder = ROOT / "examples" / "fortran"
    program = compiled(mpi, [folder / f"collectives_{binding}.f90"], f"-I{folder}")
    result = run_ranks(mpi, 3, [program], ANTIPHON_FORCE="*:on")
    assert result.returncode == 0, result.text
    source = (folder / "body.inc").read_text() + (folder / "end.inc").read_text()
    for collective in ("barrier", "allreduce"):
        assert number_of_calls(result, collective) == source.count(f"call MPI_{collective.capitalize()}("), (
            result.summary
        )


def test_fortran_entry_points(mpi: Mpi, verified: Run) -> None:
    """GIVEN mpi_f08 THEN procedures without buffers, sentinels, optional arguments and info keys reach Antiphon."""
    result = verified(mpi, 2, "entries_f08.f90", ANTIPHON_FORCE="*:on")
    assert number_of_calls(result, "barrier") == 2
    assert number_of_calls(result, "bcast") == 1
    assert result.used("allreduce").get("library") == 1, "antiphon_enable was to switch off the first of two"
    assert number_of_calls(result, "allreduce") == 2


@pytest.mark.parametrize("binding", ["MPIF_H", "USE_MPI", "USE_MPI_F08"])
def test_fortran_nonblocking(mpi: Mpi, binding: str, verified: Run) -> None:
    """GIVEN nonblocking collectives, which Antiphon only takes note of, THEN their results are right."""
    options = [f"-D{binding}", "-fallow-argument-mismatch"]
    verified(mpi, 3, "nonblocking.F90", options=options, ANTIPHON_FORCE="*:on")


@pytest.mark.parametrize("binding", ["MPIF_H", "USE_MPI", "USE_MPI_F08"])
def test_fortran_exchanges(mpi: Mpi, binding: str, verified: Run) -> None:
    """GIVEN arrays of datatypes and neighbours THEN data is right, and calls are seen."""
    # MPICH 4.0's own mpi_f08 takes every topology for a distributed graph in neighbor_alltoallw.
    fails = mpi.family == "mpich" and mpi.version.startswith("4.0") and binding == "USE_MPI_F08"
    options = [f"-D{binding}", "-fallow-argument-mismatch", *(["-DNO_ALLTOALLW_OF_GRIDS"] if fails else [])]
    result = verified(mpi, 3, "exchanges.F90", options=options, ANTIPHON_FORCE="*:on")
    assert result.used("alltoallw") == {"credit": 2}
    for kind in ("alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"):
        assert number_of_calls(result, f"neighbor_{kind}") == (0 if fails and kind == "alltoallw" else 1)


def test_fortran_persistent(mpi: Mpi, verified: Run) -> None:
    """GIVEN persistent collectives THEN they run."""
    if mpi.family == "openmpi" and mpi.version.startswith("4."):
        pytest.skip("Open MPI has persistent collectives from 5.0 on")
    options = ["-DMPIF_H", "-DPERSISTENT", "-fallow-argument-mismatch"]
    verified(mpi, 3, "exchanges.F90", options=options, ANTIPHON_FORCE="*:on")


def test_fortran_large_counts(mpi: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN counts of MPI_COUNT_KIND THEN MPI_Bcast_c is seen."""
    if mpi.family == "openmpi":
        pytest.skip("Open MPI has no large counts before 6.0")
    program = compiled(mpi, [PROGRAMS / "large_f08.f90"])
    result = run_ranks(mpi, 2, [program], ANTIPHON_FORCE="*:on")
    assert result.returncode == 0, result.text
    assert number_of_calls(result, "bcast") == 1


def test_privately_loaded_library(mpi: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a program that opens MPI late and with RTLD_LOCAL THEN calls are seen, and reach MPI."""
    # The program itself must not load MPI: its wrapper links MPI only if something needs it.
    program = compiled(mpi, [PROGRAMS / "private.c"], "-Wl,--as-needed", "-ldl")
    extension = compiled(mpi, [PROGRAMS / "extension.c"], "-shared", "-fPIC")
    result = run_ranks(mpi, 2, [program, extension], ANTIPHON_FORCE="*:on")
    assert result.returncode == 0, result.text
    assert number_of_calls(result, "allreduce") == 1
    assert number_of_calls(result, "bcast") == 1


@pytest.mark.parametrize(
    ("options", "binding"),
    [(("-fPIE", "-pie"), {"LD_BIND_NOW": "1"}), (("-fno-pie", "-no-pie", "-std=c89", "-Wno-long-long"), {})],
    ids=["pie-bound-at-start", "no-pie-c89"],
)
def test_c_api(mpi: Mpi, options: tuple[str, ...], binding: dict[str, str], compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a program that uses antiphon.h THEN it steers Antiphon when that is there, and runs without.

    With LD_BIND_NOW it starts because all functions that the object wants exist in this library.
    """
    program = compiled(mpi, [PROGRAMS / "api.c"], f"-I{ROOT / 'include'}", *options)
    plain = run_ranks(mpi, 2, [program], preload=False)
    assert plain.lines("version") == ["version 0"], plain.text
    assert plain.lines("chain") == ["chain: 1, 1 -"]
    result = run_ranks(mpi, 2, [program], ANTIPHON_FORCE="*:on", **binding)
    assert result.returncode == 0, result.text
    assert result.lines("version") == ["version 100"], result.text
    assert result.lines("chain")[0].startswith("chain: 0, 0 chain")
    assert result.lines("off") == ["off: 0, 0 library"]
    assert result.lines("wrong")[0].startswith("wrong: 2, 0 library")
    # Only some collectives have such an algorithm.
    assert result.lines("elsewhere")[0].startswith("elsewhere: 2, 0 library")
