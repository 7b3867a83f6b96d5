# SPDX-License-Identifier: Apache-2.0
"""Proves on a machine that collectives give what MPI demands under Antiphon, and measures what they gain there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.bench import collectives, stats
from antiphon.bench.collectives import CollectiveBenchmark, CollectiveMeasurement, CollectiveResults
from antiphon.bench.tables import speed_up
from antiphon.bench.testbed import Testbed, json_lines, program
from antiphon.mpi import Mpi

#: The checking program knows the contents of the buffers of so many ranks.
MOST_CHECKED_RANKS = 64
#: What the checking program checks, in its order.
CHECKS = ("barrier", "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall",
          "alltoallv", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan", "alltoallw",
          "neighbours", "bottom", "wildcards")  # fmt: skip
MEASURED = ("alltoall", "allgather", "bcast", "allreduce")
SIZES = (1 << 10, 64 << 10)
#: A call may seem so much slower by chance.
NOT_SLOWER = 0.95
CHECK_TIMEOUT_S = 300


@dataclass
class Checked:
    """What the comparison of contents found."""

    ranks: int
    nodes: int
    passed: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    #: The first failures, as the program describes them.
    lines: list[str] = field(default_factory=list)
    #: Why the program did not come to its end.
    ended: str = ""

    @property
    def same(self) -> bool:
        """Returns whether everything was checked and nothing differed."""
        return not self.ended and not any(self.failed.values()) and len(self.passed) == len(CHECKS)

    def to_json(self) -> dict[str, Any]:
        return {
            "ranks": self.ranks, "nodes": self.nodes, "same": self.same, "comparisons": sum(self.passed.values()),
            "differences": sum(self.failed.values()), "checks": self.passed, "differing": {
                what: count for what, count in self.failed.items() if count
            }, "lines": self.lines, "ended": self.ended or None,
        }  # fmt: skip


def check(testbed: Testbed, mpi: Mpi, ranks: int, on_check: Callable[[str], None], *, plain: bool = False) -> Checked:
    """Compares every buffer of many calls with what MPI demands: under Antiphon wherever it has an algorithm, or
    (`plain`) of the library alone.
    """
    if ranks > MOST_CHECKED_RANKS:
        testbed, ranks = testbed.thinned(ranks, MOST_CHECKED_RANKS)
    found = Checked(ranks, testbed.nodes_for(ranks))

    def take(event: Mapping[str, Any]) -> None:
        if event.get("event") == "checked":
            found.passed[event["what"]], found.failed[event["what"]] = event["passed"], event["failed"]
            on_check(event["what"])

    events = json_lines(take)

    def take_line(line: str) -> None:
        if line.startswith("FAILED"):
            found.lines.append(line.removeprefix("FAILED").strip())
        events(line)

    argv = [str(program("check", mpi.abi)), "--quick", "--events", *CHECKS]
    env = {} if plain else {"ANTIPHON_FORCE": "*:on", "ANTIPHON_ADAPT": "off"}
    ended = testbed.run(
        mpi, found.ranks, argv, preload=not plain, env=env, on_line=take_line, timeout_s=CHECK_TIMEOUT_S
    )
    if ended.timed_out:
        found.ended = f"took longer than {CHECK_TIMEOUT_S} s"
    elif ended.exit_code != 0 and not any(found.failed.values()):
        last = (ended.stderr.strip().splitlines() or [""])[-1]
        found.ended = f"ended with exit code {ended.exit_code}" + (f": {last}" if last else "")
    return found


@dataclass(frozen=True)
class Gain:
    """How much faster Antiphon's own choice was, over all measured calls."""

    results: CollectiveResults

    def ratios(self) -> dict[tuple[str, int], float]:
        """Returns the speed-up of each collective and size."""
        cells: dict[tuple[str, int], list[CollectiveMeasurement]] = {}
        for m in self.results.measurements:
            cells.setdefault((m.collective, m.bytes), []).append(m)
        found = {key: speed_up(m, cell) for key, cell in cells.items() for m in cell if m.contender == "antiphon"}
        return {key: ratio for key, ratio in found.items() if ratio is not None}

    def used(self) -> dict[tuple[str, int], str]:
        """Returns what did the calls."""
        return {(m.collective, m.bytes): m.chosen for m in self.results.measurements if m.contender == "antiphon"}

    @property
    def mean(self) -> float | None:
        ratios = list(self.ratios().values())
        return stats.geometric_mean(ratios) if ratios else None

    @property
    def accelerated(self) -> int:
        """Returns how many of the measured kinds of calls Antiphon did itself."""
        return sum(choice != "library" for choice in self.used().values())

    def slower(self) -> dict[tuple[str, int], float]:
        """Returns the calls that Antiphon did and that took longer than the library's."""
        used = self.used()
        return {key: r for key, r in self.ratios().items() if r < NOT_SLOWER and used[key] != "library"}

    def to_json(self) -> dict[str, Any]:
        used = self.used()
        rows = [
            {"collective": name, "bytes": size, "speed_up": ratio, "used": used[name, size]}
            for (name, size), ratio in self.ratios().items()
        ]
        wrong = [" ".join(map(str, entry)) for entry in self.results.wrong]
        return {"speed_up": self.mean, "accelerated": self.accelerated, "of": len(used), "calls": rows, "wrong": wrong}


def gain(
    testbed: Testbed, mpi: Mpi, ranks: int, budget_s: float, on_event: Callable[[Mapping[str, Any]], None]
) -> Gain:
    """Measures usual calls, the library's and Antiphon's by turns; their results are checked too."""
    cells = len(MEASURED) * len(SIZES)
    benchmark = CollectiveBenchmark(
        MEASURED, SIZES, ["sync"], ["*:library", "*:auto"], max(0.5, budget_s / cells), nonblocking=False
    )
    return Gain(collectives.run(testbed, mpi, ranks, benchmark, on_event))


class Clock:
    """What is left of a budget of seconds."""

    def __init__(self, budget_s: float) -> None:
        self._until = time.monotonic() + budget_s

    def left_s(self) -> float:
        return max(0.0, self._until - time.monotonic())
