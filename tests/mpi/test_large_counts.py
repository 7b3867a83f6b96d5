# SPDX-License-Identifier: Apache-2.0
"""Checks calls with large counts under a library that has only small ones, as all had before MPI 4."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi, discover

Run = Callable[..., Any]
IN_PYTHON = """
import array
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
mine, theirs = (array.array("i", [value] * (2 * ranks)) for value in (rank, -1))
comm.Allreduce(mine, theirs)
right = list(theirs) == [ranks * (ranks - 1) // 2] * (2 * ranks)
blocks = ([2] * ranks, [2 * (ranks - 1 - r) for r in range(ranks)])
comm.Alltoallv([mine, *blocks, MPI.INT], [theirs, *blocks, MPI.INT])
right &= list(theirs) == [ranks - 1 - i // 2 for i in range(2 * ranks)]
comm.Sendrecv(mine, (rank + 1) % ranks, recvbuf=theirs, source=(rank - 1) % ranks)
right &= list(theirs) == [(rank - 1) % ranks] * (2 * ranks)
comm.Gatherv(mine[:2], [theirs, *blocks, MPI.INT] if rank == 1 else None, root=1)
right &= rank != 1 or list(theirs) == [ranks - 1 - i // 2 for i in range(2 * ranks)]
if comm.allreduce(right, op=MPI.LAND) and rank == 0: print("verified")
"""


@pytest.fixture(scope="module")
def mpich() -> Mpi:
    """Returns PyPI's MPICH."""
    found = next((m for m in discover() if m.abi == "mpich" and m.soname == "libmpi.so.12"), None)
    return found or pytest.skip("there is no MPICH of PyPI")


@pytest.fixture(scope="module")
def older(mpich: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of MPICH in which no name ends with _c, so that nobody finds calls with large counts."""
    copy = tmp_path_factory.mktemp("older") / mpich.libmpi.name
    data, count = re.subn(rb"(?<=\0)(P?MPIX?_\w+_)c(?=\0)", rb"\1x", mpich.libmpi.read_bytes())
    assert count > 150
    copy.write_bytes(data)
    # What it needs is found beside it.
    (copy.parent / "mpich").symlink_to(mpich.libmpi.parent / "mpich")
    return copy


@pytest.mark.parametrize(
    ("force", "refusals"), [("*:on", ["refusals"]), ("*:library", ["refusals", "collectives"])], ids=["on", "library"]
)
def test_each_call(mpich: Mpi, older: Path, force: str, refusals: list[str], verified: Run) -> None:
    """GIVEN a library without large counts THEN each call brings the same as with small ones, and what is too large
    for these is an error of the communicator."""
    # Memory that was freed is not what it was: the library may not look at copies of arrays that are gone.
    rubbish = {"MALLOC_PERTURB_": "165"}
    result = verified(mpich, 4, "large_counts.c", *refusals, behind=[older], ANTIPHON_FORCE=force, **rubbish)
    assert (result.used("alltoallv").keys() == {"library"}) == (force == "*:library")


def test_ranks_without_neighbours(mpich: Mpi, older: Path, check: Run) -> None:
    """GIVEN a library without large counts, and graphs in which some ranks have no neighbour THEN results are right."""
    check(mpich, 5, "--quick", "neighbours", behind=[older], ANTIPHON_FORCE="*:library")


@pytest.mark.parametrize("force", ["*:on", "*:library"])
def test_python(mpich: Mpi, older: Path, force: str, run_ranks: Run) -> None:
    """GIVEN a library without large counts THEN mpi4py, which looks for them, runs with Antiphon."""
    pytest.importorskip("mpi4py")
    command = [sys.executable, "-c", IN_PYTHON]
    result = run_ranks(mpich, 3, command, behind=[older], ANTIPHON_FORCE=force)
    assert (result.returncode, result.text.split()) == (0, ["verified"]), result.text
