# SPDX-License-Identifier: Apache-2.0
"""The model's choices in runs on real MPI libraries: all ranks make the same, and results stay right."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

PROGRAMS = Path(__file__).resolve().parent / "programs"
RANKS = 6
#: Three nodes of two ranks on a slow link, where the table leaves 16 KiB to the library.
NODES = {"ANTIPHON_NODES": "a*2,b*2,c*2", "ANTIPHON_LINK_BITS_PER_S": "100000000", "ANTIPHON_ADAPT": "off"}


@pytest.fixture
def program(native: Mpi, compiled: Callable[..., Path]) -> Path:
    """Compiles calls of several kinds, whose results are checked."""
    return compiled(native, [PROGRAMS / "turns.c"])


def count(result: Any, collective: str = "allreduce", *, by_library: bool) -> int:
    """Returns how many calls, but that of the program's own check, the library did, or Antiphon."""
    rows = [row for row in result.calls(collective) if row["most_bytes"] > 64]
    return sum(row["calls"] for row in rows if (row["algorithm"] == "library") == by_library)


def test_the_model_corrects_the_table(native: Mpi, program: Path, run_ranks: Callable[..., Any]) -> None:
    """GIVEN a machine that the table was not made on WHEN calls are long, or come often THEN the model's choice is
    used on all ranks; a floating-point reduction keeps its order from the first call on.
    """
    argv = [program, 30, 0, "wfb"]
    chosen = run_ranks(native, RANKS, argv, **NODES, ANTIPHON_VERBOSE="2")
    assert chosen.returncode == 0, chosen.text
    assert "0 wrong" in chosen.text.splitlines(), chosen.text
    assert " (the model: " in chosen.text
    assert count(chosen, by_library=True) == 0

    by_table = run_ranks(native, RANKS, argv, **NODES, ANTIPHON_MODEL="off", ANTIPHON_VERBOSE="2")
    assert " (the model: " not in by_table.text
    assert count(by_table, by_library=True) == 30


def test_nonblocking_calls_ask_the_model(native: Mpi, program: Path, run_ranks: Callable[..., Any]) -> None:
    """GIVEN nonblocking calls, in which no rank can tell the others, and no others WHEN they have taken long THEN each
    rank asks the model, and all come to the same choice.
    """
    result = run_ranks(native, RANKS, [program, 60, 0, "n"], **NODES, ANTIPHON_VERBOSE="2")
    assert result.returncode == 0 and "0 wrong" in result.text.splitlines(), result.text
    assert " (the model: " in result.text
    assert 1 < count(result, "iallreduce", by_library=True) < 59
    assert count(result, "iallreduce", by_library=False) > 1


def test_nonblocking_calls_use_what_the_first_rank_tells(
    native: Mpi, program: Path, run_ranks: Callable[..., Any]
) -> None:
    """GIVEN nonblocking calls WHEN a blocking one follows THEN later calls use what the model then told the first."""
    result = run_ranks(native, RANKS, [program, 5, 0, "nwn"], **NODES)
    assert result.returncode == 0 and "0 wrong" in result.text.splitlines(), result.text
    assert count(result, "iallreduce", by_library=True) == 5
    assert count(result, "iallreduce", by_library=False) == 5


def test_short_calls_are_asked_about_when_they_come_often(
    native: Mpi, program: Path, run_ranks: Callable[..., Any]
) -> None:
    """GIVEN a link that takes a call in less than a millisecond WHEN the call has come often THEN the model's choice is
    used, and not before.
    """
    fast = {**NODES, "ANTIPHON_LINK_BITS_PER_S": "1000000000"}
    result = run_ranks(native, RANKS, [program, 30, 0, "w"], **fast)
    assert result.returncode == 0, result.text
    assert count(result, by_library=True) == 16
    assert count(result, by_library=False) == 14


def test_ranks_may_write_numbers_differently(native: Mpi, verified: Callable[..., Any], tmp_path: Path) -> None:
    """GIVEN a decimal comma on the rank that asks the model THEN all ranks read its answer, and none waits for ever."""
    made = tmp_path / "de_DE.UTF-8"
    if (
        shutil.which("localedef") is None
        or subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", made], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("this system cannot make a locale (Debian: package locales)")
    verified(native, RANKS, "decimal_comma.c", limit_s=40, LOCPATH=str(tmp_path), **NODES)
