# SPDX-License-Identifier: Apache-2.0
"""Checks that Antiphon and tools of MPI's profiling interface share a program, in either order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi
from antiphon.mpi.launch import preload_object

PROGRAMS = Path(__file__).resolve().parent / "programs"
RANKS = 3
ALLOCATOR = sorted(Path("/usr/lib").glob("*/libjemalloc.so.2"))[:1]

Compile = Callable[..., Path]
Run = Callable[..., Any]


def tool_of(mpi: Mpi, compiled: Compile, *options: str) -> Path:
    """Returns the stand-in tool as an object to preload."""
    return compiled(mpi, [PROGRAMS / "tool.c"], "-shared", "-fPIC", "-O2", *options)


def seen(result: Any) -> int:
    """Returns how many calls of all ranks the tool saw."""
    found = re.findall(r"the tool saw (\d+) calls", result.text)
    assert result.returncode == 0 and "all is right" in result.text and len(found) == 1, result.text
    return int(found[0])


def check_antiphon(result: Any) -> None:
    """Checks that Antiphon did each of the program's calls, and counted it once."""
    assert sum(row["calls"] for row in result.calls("allreduce")) == 3, result.summary
    assert sum(row["calls"] for row in result.calls("bcast")) == 1, result.summary
    assert "library" not in result.used("allreduce"), result.summary
    assert sum(row["messages"] for row in result.summary["compression"]) == 2, result.summary


WITH = {"ANTIPHON_FORCE": "*:on", "ANTIPHON_COMPRESS": "force"}


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_a_tool_before_and_behind(mpi: Mpi, language: str, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a tool WHEN it is preloaded before or behind Antiphon THEN both see every call, and messages are framed."""
    program = compiled(mpi, [PROGRAMS / ("tooled.F90" if language == "fortran" else "tooled.c")])
    tool = tool_of(mpi, compiled, *(["-DFORTRAN"] if language == "fortran" else []))
    alone = seen(run_ranks(mpi, RANKS, [program], preload=False, before=[tool]))
    assert alone > 0
    for order in ({"before": [tool]}, {"behind": [tool]}):
        result = run_ranks(mpi, RANKS, [program], **order, **WITH)
        assert seen(result) == alone
        assert not result.lines("antiphon: "), result.text
        check_antiphon(result)


def test_a_tool_inside_the_program(wheel: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a tool that is linked into the program THEN Antiphon works below it."""
    program = compiled(wheel, [PROGRAMS / "tooled.c", PROGRAMS / "tool.c"])
    result = run_ranks(wheel, RANKS, [program], **WITH)
    assert seen(result) == RANKS * 3 + 4
    check_antiphon(result)


def test_a_tool_that_finds_the_library_by_itself(wheel: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN such a tool THEN before Antiphon it sees every call, and behind it what Antiphon leaves to the library."""
    program = compiled(wheel, [PROGRAMS / "tooled.c"])
    tool = tool_of(wheel, compiled, "-DBY_NAME")
    before = run_ranks(wheel, RANKS, [program], before=[tool], **WITH)
    assert seen(before) == RANKS * 3 + 4
    check_antiphon(before)
    behind = run_ranks(wheel, RANKS, [program], behind=[tool], ANTIPHON_FORCE="*:on;allreduce:library")
    assert seen(behind) == RANKS * 3 + 4
    behind = run_ranks(wheel, RANKS, [program], behind=[tool], **WITH)
    assert seen(behind) == 0
    assert f"{tool} sees only the calls that Antiphon leaves" in behind.text
    check_antiphon(behind)


@pytest.mark.skipif(not ALLOCATOR, reason="no libjemalloc.so.2")
def test_a_preloaded_allocator(wheel: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN jemalloc before or behind Antiphon THEN Antiphon does the calls, and all memory is jemalloc's."""
    program = compiled(wheel, [PROGRAMS / "tooled.c", PROGRAMS / "tool.c"])
    for order in ({"before": ALLOCATOR}, {"behind": ALLOCATOR}):
        result = run_ranks(wheel, RANKS, [program], **order, **WITH, MALLOC_CONF="stats_print:true")
        assert seen(result) == RANKS * 3 + 4
        assert result.text.count("Begin jemalloc statistics") >= RANKS, result.text
        check_antiphon(result)


def test_a_tool_on_one_rank_alone(wheel: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a tool that only one rank has, linked to PMPI or not, THEN all ranks still do the same."""
    program = compiled(wheel, [PROGRAMS / "tooled.c"])
    wrapper = PROGRAMS / "preload_on_first.sh"
    for options, order in (([], "before"), (["-DBY_NAME"], "behind")):
        tool = tool_of(wheel, compiled, "-DALONE", *options)
        result = run_ranks(wheel, RANKS, ["sh", wrapper, order, tool, program], **WITH)
        assert result.returncode == 0 and "all is right" in result.text, result.text
        check_antiphon(result)


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_eztrace(mpi: Mpi, language: str, compiled: Compile, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN EZTrace, which looks for the next MPI_X behind itself, THEN it traces, and Antiphon works below it."""
    tools = list(Path("/usr/lib").glob(f"*/libeztrace-{mpi.abi}.so"))
    if mpi.prefix != Path("/usr") or not tools:
        pytest.skip("needs eztrace, for the libraries of the same distribution")
    program = compiled(mpi, [PROGRAMS / ("tooled.F90" if language == "fortran" else "tooled.c")])
    result = run_ranks(mpi, RANKS, [program], before=tools, EZTRACE_TRACE=mpi.abi, **WITH)
    assert result.returncode == 0 and "all is right" in result.text, result.text
    assert list(tmp_path.glob("*_trace/*.otf2")), result.text
    # EZTrace has collectives of its own.
    assert result.used("allreduce") == {"recursive_doubling": 3}, result.summary


def test_a_run_that_is_not_seen_says_so(wheel: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a program that calls the library past Antiphon THEN the summary that was asked for is a line about that."""
    program = compiled(wheel, [PROGRAMS / "past.c"], "-ldl")
    result = run_ranks(wheel, 2, [program], ANTIPHON_SUMMARY="1")
    assert result.returncode == 0 and result.text.count("none of its calls came to libantiphon") == 1, result.text
    result = run_ranks(wheel, 2, [program, "seen"], ANTIPHON_SUMMARY="1")
    assert result.returncode == 0 and result.text.count("no collective call was seen") == 1, result.text


@pytest.mark.parametrize("setting", ["ANTIPHON_SUMMARY=1", "ANTIPHON_METRICS=run.prom", "ANTIPHON_TRACE=run.trace"])
def test_processes_without_mpi(wheel: Mpi, setting: str, tmp_path: Path) -> None:
    """GIVEN the object in a whole session's LD_PRELOAD THEN programs without MPI run as ever, and nothing is said."""
    name, _, value = setting.partition("=")
    settings = {**os.environ, "LD_PRELOAD": str(preload_object(wheel.abi)), name: value}
    for words in (["ls", "/"], ["sh", "-c", "(true); ls / | cat"], [sys.executable, "-c", "pass"]):
        result = subprocess.run(
            words, env=settings, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert (result.returncode, result.stderr) == (0, ""), words
    assert list(tmp_path.iterdir()) == []
