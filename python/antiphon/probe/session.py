# SPDX-License-Identifier: Apache-2.0
"""Runs the measuring program as often as needed and keeps its events."""

from __future__ import annotations

import itertools
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.bench.testbed import Testbed, failure, json_lines, program
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.mpi import Mpi

Event = dict[str, Any]
Pair = tuple[int, int]


@dataclass
class Session:
    """One machine being measured under one MPI library; every event of the program is kept, with its samples."""

    testbed: Testbed
    mpi: Mpi
    ranks: int
    budget_s: float
    #: Gets every event as it comes.
    on_event: Callable[[Event], None] = lambda event: None
    #: The events of each launch.
    launches: list[list[Event]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    @property
    def transport(self) -> str:
        """The transport of messages, by name."""
        return self.testbed.transport(self.mpi)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    def has_label(self, *_labels: str) -> bool:
        """Whether experiments with these labels can be run: always."""
        return True

    def run(self, tasks: Sequence[str]) -> list[Event]:
        """Starts the program once and returns its events in order; if it fails, none of them is used."""
        got: list[Event] = []

        def take(event: Event) -> None:
            got.append(event)
            self.on_event(event)

        argv = [str(program("probe", self.mpi.abi)), *(word for text in tasks for word in ("--do", text))]
        limit_s = 120 + 4 * self.budget_s
        ended = self.testbed.run(
            self.mpi, self.ranks, argv, preload=False, env={}, on_line=json_lines(take), timeout_s=limit_s
        )
        if ended.exit_code != 0:
            raise failure("the probe", ended)
        finished = sum(event["event"] == "done" for event in got)
        if finished < len(tasks):
            raise AntiphonError(
                f"the probe ended after {finished} of {len(tasks)} experiments, without saying why",
                hint="a rank may have died: look at the nodes' logs",
                exit_code=EXIT_FAILURE,
            )
        self.launches.append(got)
        return got


@dataclass
class RecordedSession:
    """A recorded session: the same launches, without measuring again."""

    recorded: Sequence[list[Event]]
    ranks: int
    budget_s: float
    elapsed_s: float = 0.0
    launches: list[list[Event]] = field(default_factory=list)

    @property
    def events(self) -> list[Event]:
        """The events of all launches."""
        return list(itertools.chain.from_iterable(self.launches))

    def has_label(self, *labels: str) -> bool:
        """Whether the recorded launch that comes next has events of these labels."""
        later = self.recorded[len(self.launches) :]
        return bool(later) and set(labels) <= {event.get("label") for event in later[0]}

    def run(self, tasks: Sequence[str]) -> list[Event]:
        """The events of the recorded launch that comes next; the tasks are not looked at."""
        self.launches.append(self.recorded[len(self.launches)])
        return self.launches[-1]


def of_kind(events: Sequence[Event], kind: str, label: str | None = None) -> list[Event]:
    """The events of one kind, and of one label if one is given."""
    return [event for event in events if event["event"] == kind and (label is None or event.get("label") == label)]


def pair_samples(events: Sequence[Event], label: str) -> dict[Pair, list[float]]:
    """All samples of a label by pair (a < b)."""
    samples: dict[Pair, list[float]] = defaultdict(list)
    for event in of_kind(events, "pairs", label):
        for a, b, values in event["pairs"]:
            samples[min(a, b), max(a, b)] += values
    return dict(samples)


def directed_medians(events: Sequence[Event], label: str) -> dict[Pair, float]:
    """Median rates of streams by (sender, receiver): of each row the even places are there, the odd ones back."""
    samples: dict[Pair, list[float]] = defaultdict(list)
    for event in of_kind(events, "pairs", label):
        for a, b, values in event["pairs"]:
            samples[a, b] += values[0::2]
            samples[b, a] += values[1::2]
    return {pair: statistics.median(values) for pair, values in samples.items() if values}
