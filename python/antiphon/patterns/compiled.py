# SPDX-License-Identifier: Apache-2.0
"""Patterns in phases: what the core's schedulers make of a pattern, and what a plan file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from antiphon import core
from antiphon.patterns import Pattern


class MessagePart(NamedTuple):
    """A message, or a part of one that was split."""

    source: int
    target: int
    offset_bytes: int
    bytes: int


class TimedPart(NamedTuple):
    """The estimated interval in which a part is under way."""

    source: int
    target: int
    offset_bytes: int
    bytes: int
    phase: int
    begin_s: float
    end_s: float


class Phase(NamedTuple):
    """Parts that go at the same time; `together` marks small parts that are not synchronised."""

    parts: Sequence[MessagePart]
    together: bool

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    @property
    def longest_bytes(self) -> int:
        return max((part.bytes for part in self.parts), default=0)

    @property
    def senders(self) -> int:
        return len({part.source for part in self.parts})


class Bound(NamedTuple):
    """The least time that any schedule needs."""

    node_bytes: int
    uplink_bytes: int
    seconds: float


@dataclass(frozen=True)
class Compiled:
    """A pattern's schedule."""

    size: int
    scheduler: str
    phases: Sequence[Phase]
    synchronisation: str
    cut: tuple[int, int]
    #: The estimate for the chosen synchronisation, and the estimate for each.
    expected_s: float
    seconds: Mapping[str, float]
    calls: int = 0
    #: How long the scheduler took; None where it was not timed.
    build_s: float | None = None
    time_line: Sequence[TimedPart] = ()

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Compiled:
        phases = [
            Phase([MessagePart(*p) for p in phase["parts"]], phase.get("together", False)) for phase in answer["phases"]
        ]
        return cls(
            answer["size"], answer["scheduler"], phases, answer["synchronisation"], tuple(answer["cut"]),
            answer["expected_ns"] / 1e9, answer["seconds"], answer["calls"],
            answer["build_ns"] / 1e9 if "build_ns" in answer else None,
            [TimedPart(*t) for t in answer.get("time_line", ())],
        )  # fmt: skip

    @property
    def messages(self) -> int:
        return len({(part.source, part.target) for phase in self.phases for part in phase.parts})

    @property
    def bytes(self) -> int:
        return sum(phase.bytes for phase in self.phases)


@dataclass(frozen=True)
class Scheduled:
    """All schedulers' answers for a pattern, the best first."""

    bound: Bound
    #: Messages shorter than this need no phase.
    small_bytes: int
    candidates: Sequence[Compiled]


def schedulers() -> dict[str, str]:
    """Returns names and summaries."""
    return {s["name"]: s["summary"] for s in core.query("schedulers")["schedulers"]}


def schedule(pattern: Pattern, fabric: Mapping[str, Any], *, build_times: bool = False) -> Scheduled:
    """Asks every scheduler that is worth asking."""
    answer = core.query("schedule_pattern", pattern=pattern.value(), fabric=dict(fabric), build_times=build_times)
    candidates = [Compiled.read(c) for c in answer["candidates"]]
    return Scheduled(Bound(**answer["bound"]), answer["small_bytes"], candidates)


def describe_plan(text: str, fabric: Mapping[str, Any]) -> list[tuple[Compiled, Bound]]:
    """Reads a plan file's text; a CoreError says why it is not valid."""
    answer = core.query("describe_plan", plan=text, fabric=dict(fabric))
    return [(Compiled.read(p), Bound(**p["bound"])) for p in answer["patterns"]]


def calls_of(text: str) -> list[dict[str, Any]]:
    """Returns the schedules of all ranks for each pattern of a plan file, as docs/reference/plan-format.md has them."""
    return [p["call"] for p in core.query("describe_plan", plan=text, time_line=False, schedules=True)["patterns"]]


def compile_plan(patterns: Sequence[tuple[Pattern, int]], fabric: Mapping[str, Any]) -> str:
    """Returns the text of a plan file for patterns and how often each was seen."""
    values = [{"pattern": pattern.value(), "calls": calls} for pattern, calls in patterns]
    return str(core.query("compile_patterns", patterns=values, fabric=dict(fabric))["plan"])
