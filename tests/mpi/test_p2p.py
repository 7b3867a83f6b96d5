# SPDX-License-Identifier: Apache-2.0
"""Point-to-point calls keep their meaning, whatever binding makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

PROGRAMS = Path(__file__).resolve().parent / "programs"

Compile = Callable[..., Path]
Run = Callable[..., Any]


@pytest.mark.parametrize("binding", ["MPIF_H", "USE_MPI", "USE_MPI_F08"])
def test_fortran(mpi: Mpi, binding: str, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a Fortran binding THEN data, statuses, flags, indices and handles are what the library alone gives."""
    program = compiled(mpi, [PROGRAMS / "p2p.F90"], f"-D{binding}", "-fallow-argument-mismatch")
    # MPICH 4.0's own mpi_f08 counts the indices of waitany and waitsome from 0; the wrappers count from 1, as the standard says.
    library_fails = mpi.family == "mpich" and mpi.version.startswith("4.0") and binding == "USE_MPI_F08"
    for preload in (True,) if library_fails else (False, True):
        result = run_ranks(mpi, 2, [program], preload=preload)
        assert result.returncode == 0, result.text
        assert result.text.split() == ["verified"], result.text
