# SPDX-License-Identifier: Apache-2.0
"""Lets ways take turns on real MPI libraries: the better one wins on all ranks, and results stay what they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

PROGRAMS = Path(__file__).resolve().parent / "programs"
#: Calls are timed.
pytestmark = pytest.mark.measures

RANKS, LATE_US = 3, 300
CHAIN = "chain:segment_bytes=8192,window=8,granted=0"
#: With it, an operation of the program is called for every 64 bytes.
TINY = "ring:segment_bytes=64,window=8"
RING = "ring:segment_bytes=8192,window=8"


@pytest.fixture
def turns(native: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any], tmp_path: Path) -> Any:
    """Runs calls of these kinds (for bcast, the first choice is the library's, which is slow); ranks come late."""
    program = compiled(native, [PROGRAMS / "turns.c"])
    slow = compiled(native, [PROGRAMS / "slow.c"], "-shared", "-fPIC", "-ldl")

    def run(kinds: str, calls: int, allreduce: str = RING, slow_us: str = "1000", **variables: str) -> Any:
        uses = [("bcast", "library"), ("bcast", CHAIN), ("allreduce", allreduce)]
        rules = [{"collective": collective, "bytes": [1024, None], "use": use} for collective, use in uses]
        profile = tmp_path / "profile.json"
        profile.write_text(json.dumps({"decisions": {"version": 1, "rules": rules}}))
        variables |= {
            "ANTIPHON_NODES": "a*2,b",
            "ANTIPHON_LINK_BITS_PER_S": "10000000",
            "ANTIPHON_PROFILE": str(profile),
            "SLOW": slow_us,
        }
        result = run_ranks(native, RANKS, [program, calls, LATE_US, kinds], behind=[slow], **variables)
        assert result.returncode == 0, result.text
        assert "0 wrong" in result.text.splitlines(), result.text
        return result

    return run


def tried(result: Any, collective: str) -> list[dict[str, Any]]:
    """Returns what the summary says was tried of a collective."""
    return [row for row in result.summary["tried"] if row["collective"] == collective]


def test_the_better_way_wins(turns: Any) -> None:
    """GIVEN rules that choose badly WHEN calls come often THEN the run moves to the better way, whichever that is, all
    ranks alike. A floating-point reduction keeps its order, in all calls and in all runs.
    """
    # Communicators, one after the other, none of which has enough calls to find out alone.
    to_own = turns("ccccccwf", 90, slow_us="15000")
    assert CHAIN in {row["in_use"] for row in tried(to_own, "bcast")}
    assert {row["least_bytes"] for row in tried(to_own, "allreduce")} <= {16384}  # of the whole numbers
    assert [r["algorithm"] for r in to_own.calls("allreduce") if r["most_bytes"] == 32768] == [RING]

    to_library = turns("p", 500, TINY, ANTIPHON_ADAPT="run,reductions")
    (row,) = tried(to_library, "allreduce")
    assert (row["in_use"], row["tried"], row["calls"]) == ("library", TINY, 500)
    reasons = [r["reason"] for r in to_library.calls("allreduce") if r["algorithm"] == "library"]
    assert reasons.count('measured in this run: see "tried"') == 1

    off = turns("bf", 115, ANTIPHON_ADAPT="off")
    assert not off.summary["tried"]
    assert list(off.used("bcast")) == ["library"]
    assert off.lines("bits") == to_own.lines("bits")


def test_calls_that_are_not_looked_at_are_counted(turns: Any) -> None:
    """GIVEN no report, and ranks that remember different calls THEN the run still moves from the library to the better
    way, all ranks alike.
    """
    result = turns("ssss", 120, slow_us="15000", ANTIPHON_SUMMARY="", ANTIPHON_VERBOSE="2")
    assert any(f"now {CHAIN}" in line for line in result.lines("antiphon: bcast of 16384")), result.text


def test_what_is_left_of_nonblocking_calls_decides(turns: Any) -> None:
    """GIVEN nonblocking calls whose start takes long by the rules' way WHEN there are blocking ones on the communicator
    THEN ranks agree there, and the run moves to the better way for nonblocking calls.
    """
    result = turns("i", 600, slow_us="12000")
    (row,) = tried(result, "ibcast")
    assert (row["in_use"], row["tried"], row["calls"]) == (CHAIN, "library", 600), row


def test_what_was_asked_for_is_not_tried(native: Mpi, turns: Any) -> None:
    """GIVEN a forced choice, or an operation of the program THEN nothing else is tried, however bad the choice is."""
    if native.family != "mpich":
        pytest.skip("no library has a say in this: one is enough")
    forced = turns("bp", 115, TINY, ANTIPHON_FORCE="bcast:chain:segment_bytes=1k")
    assert not forced.summary["tried"]
    assert list(forced.used("bcast")) == ["chain"]
