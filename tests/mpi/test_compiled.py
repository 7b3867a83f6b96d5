# SPDX-License-Identifier: Apache-2.0
"""Checks compiled communication on real MPI libraries: levels 1 to 3, persistent collectives, plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

HERE = Path(__file__).resolve().parent
PATTERNS = HERE / "programs" / "patterns.c"
COMPILED = HERE / "programs" / "compiled.c"
INCLUDE = f"-I{HERE.parents[1] / 'include'}"

Run = Callable[..., Any]


def program(mpi: Mpi, compiled: Run) -> Path:
    """Compiles the program with the MPI-4 calls where the library has them."""
    major = int(mpi.version.split(".")[0])
    has_init = major >= (5 if mpi.family == "openmpi" else 4)
    return compiled(mpi, [COMPILED], INCLUDE, "-ldl", *(["-DHAVE_INIT"] if has_init else []))


@pytest.mark.parametrize("part", ["levels", "persistent", "exchanges", "kinds"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_wheels(wheel: Mpi, n: int, part: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN each part of the interface THEN data is right, whatever else the program waits for meanwhile."""
    if wheel.abi == "mpiabi" and n != 2:
        pytest.skip("the same library as mpich")
    result = run_ranks(wheel, n, [program(wheel, compiled), part], ANTIPHON_FORCE="*:on")
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split(), result.text


@pytest.mark.parametrize("compress", ["on", "force"])
@pytest.mark.parametrize("part", ["levels", "persistent", "exchanges", "kinds"])
def test_encoded(native: Mpi, part: str, compress: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN slow links and compression THEN persistent operations carry frames, and data is right."""
    nodes = {"ANTIPHON_NODES": "a,b,c,d", "ANTIPHON_LINK_BITS_PER_S": "100000000", "ANTIPHON_FORCE": "*:on"}
    result = run_ranks(native, 4, [program(native, compiled), part], ANTIPHON_COMPRESS=compress, **nodes)
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split(), result.text
    coded = [row for row in result.summary["compression"] if row["class"] == "collectives"]
    assert part not in ("persistent", "kinds") or coded[0]["messages"] > 0


@pytest.mark.parametrize("part", ["levels", "persistent", "exchanges"])
def test_system_libraries(mpi: Mpi, part: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN a library, also one without persistent collectives THEN the C API brings them."""
    if part != "levels" and (mpi.family, mpi.version[:4]) == ("mpich", "4.0."):
        pytest.skip("its own persistent collectives fail this test, too (MPI_Startall: already active)")
    result = run_ranks(mpi, 3, [program(mpi, compiled), part])
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split(), result.text


def plan_of(size: int, sizes: Callable[[int, int], int]) -> dict[str, Any]:
    """Returns a plan for one pattern, in rotated phases."""
    phases = []
    for step in range(1, size):
        parts = [[r, (r + step) % size, 0, sizes(r, (r + step) % size)] for r in range(size)]
        phases.append({"parts": [part for part in parts if part[3] > 0]})
    pattern = {"collective": "alltoallv", "synchronisation": "tokens", "cut": [8192, 2], "size": size}
    phases = [phase for phase in phases if phase["parts"]]
    return {"version": 1, "patterns": [{**pattern, "scheduler": "by hand", "phases": phases}]}


@pytest.mark.parametrize(("n", "form"), [(2, []), (3, []), (3, ["nonblocking"])])
def test_plan(wheel: Mpi, n: int, form: list[str], compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a plan that some calls fit and some do not THEN all data is right, and it is counted."""
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(plan_of(n, lambda _, __: 20000)))
    if form and wheel.abi == "mpiabi":
        pytest.skip("no nonblocking call is a schedule there")
    result = run_ranks(wheel, n, [compiled(wheel, [PATTERNS]), 4, *form], ANTIPHON_PLAN=str(plan))
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    # Kind 1 of patterns.c is the plan's: 4 calls in its turn, one of Alltoallw, 3 in the mixed part. No other kind is.
    counted = result.summary["plan"]
    assert (counted["matched_calls"], counted["other_calls"]) == (8 * n, (9 * 4 + 9 + 27 - 8) * n)


def test_plan_on_some_ranks(native: Mpi, compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN calls with the plan's counts on some ranks and not on others THEN no rank waits for ever."""
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(plan_of(5, lambda _, __: 16384)))
    result = run_ranks(native, 5, [compiled(native, [PATTERNS]), 4], ANTIPHON_PLAN=str(plan))
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    assert result.summary["plan"]["matched_calls"] > 0
    assert result.summary["plan"]["matched_calls"] % 5 != 0


@pytest.mark.parametrize("text", ["{}", "[", '{"version": 1, "patterns": [{"size": -1}]}'])
def test_broken_plan(native: Mpi, text: str, compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a plan that cannot be read THEN it is said, and every call is the library's."""
    plan = tmp_path / "plan.json"
    plan.write_text(text)
    result = run_ranks(native, 2, [compiled(native, [PATTERNS]), 1], ANTIPHON_PLAN=str(plan))
    assert result.returncode == 0, result.text
    assert "the plan cannot be used" in result.text
