# SPDX-License-Identifier: Apache-2.0
"""The results of the benchmark programs, whether they measure collectives or patterns of messages."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from antiphon.bench import stats
from antiphon.bench.testbed import Testbed, failure, json_lines
from antiphon.errors import AntiphonError
from antiphon.model import limits
from antiphon.mpi import Mpi

#: Calls follow one another after a barrier, back to back, or a few after a pause.
MODES = ("sync", "throughput", "burst")
#: Between the start and the wait of a nonblocking call, ranks compute: without MPI, or with regular tests.
COMPUTING_MODES = ("overlap", "tested")
#: What antiphon_chosen says of a choice whose group could not be opened (mpi/entry/intercept.cpp).
WITHOUT_MULTICAST = " without multicast: "


def modes_of(text: str, known: Sequence[str] = MODES) -> list[str]:
    """Returns the modes that --modes lists."""
    modes = text.split(",")
    unknown = [mode for mode in modes if mode not in known]
    if unknown:
        raise AntiphonError(f"--modes: no mode named {unknown[0]!r}", hint=f"there are {', '.join(known)}")
    return modes


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One contender's samples in one mode; a subclass says what was measured."""

    mode: str
    contender: str
    #: The algorithm that really ran, at last: it differs from the contender where Antiphon chose, or where an algorithm
    #: gives up.
    chosen: str
    calls_per_sample: int
    samples: Sequence[float]
    #: How long ranks computed between the start and the wait.
    computation_s: float = 0.0
    #: The algorithm that ran at first, where that was another one.
    chosen_first: str = ""

    @property
    def used(self) -> str:
        """Returns what ran, for people."""
        return f"{self.chosen_first}, later {self.chosen}" if self.chosen_first else self.chosen

    @property
    def summary(self) -> stats.Summary:
        return stats.summarize(self.samples)


M = TypeVar("M", bound=Measurement)


@dataclass(kw_only=True)
class Results(abc.ABC, Generic[M]):
    """Everything that one run of a benchmark program reported."""

    mpi: str
    transport: str
    node_of_rank: Sequence[int] = ()
    measurements: list[M] = field(default_factory=list)
    #: The fields of an event that say what it is about: the collective and size, or the pattern.
    SUBJECT: ClassVar[Sequence[str]]
    #: Contenders that could not take part or gave a wrong result: the subject, the contender and the reason.
    skipped: list[tuple[Any, ...]] = field(default_factory=list)
    wrong: list[tuple[Any, ...]] = field(default_factory=list)
    #: The program said that nothing is left to measure: an exit code of 1 alone may be a crash.
    at_end: bool = False
    network: limits.Network | None = None

    @property
    def ranks(self) -> int:
        return len(self.node_of_rank)

    @property
    def nodes(self) -> int:
        return len(set(self.node_of_rank))

    def take(self, event: Mapping[str, Any]) -> None:
        """Adds one line of the program's output."""
        kind = event["event"]
        if kind == "start":
            self.node_of_rank = event["node_of_rank"]
        elif kind == "result":
            self.measurements.append(self.measurement({key: value for key, value in event.items() if key != "event"}))
        elif kind == "end":
            self.at_end = True
        elif kind in ("skipped", "wrong"):
            reported = tuple(event[name] for name in (*self.SUBJECT, "contender", "why"))
            (self.skipped if kind == "skipped" else self.wrong).append(reported)

    @staticmethod
    @abc.abstractmethod
    def measurement(fields: Mapping[str, Any]) -> M:
        """Makes the measurement with these fields."""

    @abc.abstractmethod
    def subject_fields(self, measurement: M) -> dict[str, Any]:
        """Returns what was measured and on how many ranks, as --json prints it."""

    @abc.abstractmethod
    def loads(self, measurement: M, network: limits.Network) -> Iterable[limits.Load]:
        """Returns the bytes that must cross each link."""

    def limit_s(self, measurement: M) -> float | None:
        """Returns the least time that the links allow in the long run, or None where it is not known."""
        return None if self.network is None else limits.limit_of(self.loads(measurement, self.network))

    def least_s(self, measurement: M) -> float | None:
        """Returns the least time with the links' bursts, or None where it is not known."""
        if self.network is None:
            return None
        return limits.least_of(self.loads(measurement, self.network), measurement.calls_per_sample)

    def below_limit(self) -> str | None:
        """Returns the reason for medians below their limits, if there are any."""
        rows = ((m.summary.median, self.limit_s(m)) for m in self.measurements)
        return limits.below_note(rows, self.network.burst_bytes if self.network else 0.0)

    def rows(self) -> list[dict[str, Any]]:
        """Returns the results as --json prints them."""
        return [self._row(measurement) for measurement in self.measurements]

    def reported(self, entries: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
        """Returns entries of `skipped` or `wrong` as --json prints them."""
        names = ("mpi", *self.SUBJECT, "contender", "why")
        return [dict(zip(names, (self.mpi, *entry), strict=True)) for entry in entries]

    def _row(self, m: M) -> dict[str, Any]:
        s = m.summary
        return self.subject_fields(m) | {
            "nodes": self.nodes, "mpi": self.mpi, "transport": self.transport, "mode": m.mode, "contender": m.contender,
            "chosen": m.chosen, "chosen_first": m.chosen_first or None,
            "median_s": s.median, "ci_low_s": s.ci_low, "ci_high_s": s.ci_high,
            "calls_per_sample": m.calls_per_sample, "samples": list(m.samples), "limit_s": self.limit_s(m),
            "least_s": self.least_s(m),
        }  # fmt: skip


def json_document(several: Iterable[Results[Any]]) -> dict[str, list[dict[str, Any]]]:
    """Returns the results of several libraries as --json prints them."""
    found: dict[str, list[dict[str, Any]]] = {"results": [], "wrong": [], "skipped": []}
    for results in several:
        found["results"] += results.rows()
        found["wrong"] += results.reported(results.wrong)
        found["skipped"] += results.reported(results.skipped)
    return found


def measure(
    testbed: Testbed,
    mpi: Mpi,
    n: int | None,
    argv: Sequence[str],
    results: Results[M],
    on_event: Callable[[Mapping[str, Any]], None],
    *,
    preload: bool,
    timeout_s: float,
) -> None:
    """Runs a benchmark program and fills `results`; `on_event` gets every line of the program as it comes."""

    def take(event: Mapping[str, Any]) -> None:
        results.take(event)
        on_event(event)

    # Blocks that are made up, and alike in each call, would compress better than a program's. The library's contender
    # is the library with its own defaults.
    env = {"ANTIPHON_COMPRESS": "off", "ANTIPHON_LIBRARY_PARAMETERS": "off"}
    env = {name: word for name, word in env.items() if name not in os.environ}
    try:
        ended = testbed.run(mpi, n, argv, preload=preload, env=env, on_line=json_lines(take), timeout_s=timeout_s)
    finally:
        if results.node_of_rank:
            results.network = testbed.network(results.node_of_rank)
    only_wrong = ended.exit_code == 1 and results.wrong and results.at_end
    if ended.timed_out or (ended.exit_code != 0 and not only_wrong):
        raise failure("the benchmark", ended)
