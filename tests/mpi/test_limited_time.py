# SPDX-License-Identifier: Apache-2.0
"""Checks that ranks sleep while they wait where a control group limits their processor time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from control_group import joining
from test_nonblocking import has_hook

from antiphon.mpi import Mpi

PROGRAM = Path(__file__).resolve().parent / "programs" / "late_sender.c"
CORES = 0.3
#: Ranks that look for messages all the time need this in two seconds.
USED_UP_S = 2 * CORES
TWO_NODES = {"ANTIPHON_NODES": "a,b", "ANTIPHON_LINK_BITS_PER_S": "100000000"}


@pytest.fixture
def group(limited_group: Callable[[float], Path]) -> Path:
    """Returns a control group that may use a part of a core."""
    return limited_group(CORES)


@pytest.mark.parametrize("form", ["recv", "allreduce"])
def test_a_rank_that_waits_sleeps(
    wheel: Mpi, form: str, group: Path, compiled: Callable[..., Path], run_ranks: Callable[..., Any]
) -> None:
    """GIVEN a rank whose group was stopped WHEN it waits, in the library or in a schedule THEN it needs little time."""
    if form == "recv" and not has_hook(wheel):
        pytest.skip("the library calls nobody while it waits")
    argv = joining(group, [str(compiled(wheel, [PROGRAM])), form])
    result = run_ranks(wheel, 2, argv, ANTIPHON_FORCE="allreduce:reduce_bcast", **TWO_NODES)
    assert result.returncode == 0, result.text
    assert result.fact("processor time")["value"].startswith("0.3 cores"), result.summary
    assert float(result.pairs("waited ")["waited"]) < USED_UP_S / 2, result.text


def test_the_user_may_switch_it_off(
    wheel: Mpi, group: Path, compiled: Callable[..., Path], run_ranks: Callable[..., Any]
) -> None:
    """GIVEN the user's variable THEN ranks look for messages until their time is used up, as the library does."""
    argv = joining(group, [str(compiled(wheel, [PROGRAM])), "recv"])
    result = run_ranks(wheel, 2, argv, ANTIPHON_LIBRARY_PARAMETERS="off", **TWO_NODES)
    assert result.fact("processor time")["source"] == "ANTIPHON_LIBRARY_PARAMETERS"
    assert float(result.pairs("waited ")["waited"]) > USED_UP_S / 2, result.text
