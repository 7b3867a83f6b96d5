# SPDX-License-Identifier: Apache-2.0
"""Compiled communication on real MPI libraries: levels 1 to 3, persistent collectives, plans."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

HERE = Path(__file__).resolve().parent
COMPILED = HERE / "programs" / "compiled.c"
INCLUDE = f"-I{HERE.parents[1] / 'include'}"

Run = Callable[..., Any]


def program(mpi: Mpi, compiled: Run) -> Path:
    """Compiled with the MPI-4 calls where the library has them."""
    major = int(mpi.version.split(".")[0])
    has_init = major >= (5 if mpi.family == "openmpi" else 4)
    return compiled(mpi, [COMPILED], INCLUDE, "-ldl", *(["-DHAVE_INIT"] if has_init else []))


@pytest.mark.parametrize("part", ["levels", "persistent", "kinds"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_wheels(wheel: Mpi, n: int, part: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN each part of the interface THEN data is right, whatever else the program waits for meanwhile."""
    if wheel.abi == "mpiabi" and n != 2:
        pytest.skip("the same library as mpich")
    result = run_ranks(wheel, n, [program(wheel, compiled), part], ANTIPHON_FORCE="*:on")
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split(), result.text


@pytest.mark.parametrize("part", ["levels", "persistent"])
def test_system_libraries(mpi: Mpi, part: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN a library, also one without persistent collectives THEN the C API brings them."""
    result = run_ranks(mpi, 3, [program(mpi, compiled), part])
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split(), result.text


def test_without_antiphon(wheel: Mpi, compiled: Run, run_ranks: Run) -> None:
    """GIVEN no preload object THEN the library's persistent collectives pass the same test."""
    result = run_ranks(wheel, 3, [program(wheel, compiled), "kinds"], preload=False)
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split(), result.text
