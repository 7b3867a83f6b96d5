# SPDX-License-Identifier: Apache-2.0
"""Measures what short calls cost a program when the preload object is there: launches with it and without it, by turns.

A launch has its own memory layout, connections and places on cores, so two launches of the same program differ by more
than the object costs. Only many launches by turns can tell."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.bench import stats
from antiphon.bench.testbed import Testbed, failure, json_lines, program
from antiphon.mpi import Mpi

#: Below this number of pairs an interval says nothing.
LEAST_PAIRS = 6
#: Half the width of a ratio's interval with which it is known well enough.
KNOWN = 0.01
#: What a launch may take beside the time that it measures.
LIMIT_S = 300.0


@dataclass
class Row:
    """One call in all launches: seconds of a call, the median of each launch."""

    call: str
    bytes: int
    without_s: list[float] = field(default_factory=list)
    with_s: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """Returns the time with the object over that without it, for each pair of launches that followed one
        another."""
        return [present / absent for present, absent in zip(self.with_s, self.without_s, strict=False)]

    @property
    def ratio(self) -> stats.Summary:
        return stats.summarize(self.ratios)

    @property
    def is_known(self) -> bool:
        return len(self.ratios) >= LEAST_PAIRS and self.ratio.spread <= KNOWN


@dataclass
class PresenceResults:
    """The rows of one MPI library."""

    mpi: str
    ranks: int = 0
    launches: int = 0
    by_call: dict[tuple[str, int], Row] = field(default_factory=dict)

    @property
    def rows(self) -> Sequence[Row]:
        return list(self.by_call.values())

    @property
    def is_known(self) -> bool:
        """Returns whether further launches would tell little."""
        return bool(self.by_call) and all(row.is_known for row in self.rows)

    def document(self) -> list[dict[str, Any]]:
        """Returns the rows as --json prints them."""
        return [
            {
                "mpi": self.mpi, "ranks": self.ranks, "call": row.call, "bytes": row.bytes,
                "without_s": stats.summarize(row.without_s).median, "with_s": stats.summarize(row.with_s).median,
                "ratio": row.ratio.median, "ci_low": row.ratio.ci_low, "ci_high": row.ratio.ci_high,
                "samples": {"without_s": row.without_s, "with_s": row.with_s},
            }
            for row in self.rows
            if row.ratios
        ]  # fmt: skip


def turns() -> Iterator[bool]:
    """Whether each launch has the object: without, with, with, without, …, so that a drift cancels out."""
    return itertools.cycle((False, True, True, False))


def measure(
    testbed: Testbed,
    mpi: Mpi,
    n: int,
    pairs: int,
    launch_s: float,
    on_launch: Callable[[int], None],
    taken: list[PresenceResults] | None = None,
) -> PresenceResults:
    """Launches until every ratio is known, at most `pairs` launches of each kind. `launch_s` is the time that one
    measures; `on_launch` hears how many are done; `taken` gets the results before there are any."""
    results = PresenceResults(mpi.label)
    if taken is not None:
        taken.append(results)
    for preload in itertools.islice(turns(), 2 * pairs):
        for (call, size), median_s in _launch(testbed, mpi, n, preload, launch_s, results).items():
            row = results.by_call.setdefault((call, size), Row(call, size))
            (row.with_s if preload else row.without_s).append(median_s)
        results.launches += 1
        on_launch(results.launches)
        if results.launches % 2 == 0 and results.is_known:
            break
    return results


def _launch(
    testbed: Testbed, mpi: Mpi, n: int, preload: bool, launch_s: float, results: PresenceResults
) -> dict[tuple[str, int], float]:
    medians: dict[tuple[str, int], float] = {}

    def take(event: dict[str, Any]) -> None:
        results.ranks = event["ranks"]
        medians[event["call"], event["bytes"]] = stats.summarize(event["samples"]).median

    argv = [str(program("presence", mpi.abi)), f"{launch_s:g}"]
    ended = testbed.run(mpi, n, argv, preload=preload, env={}, on_line=json_lines(take),
                        timeout_s=LIMIT_S + 2 * launch_s)  # fmt: skip
    if ended.exit_code != 0 or not medians:
        raise failure("the benchmark", ended)
    return medians
