# SPDX-License-Identifier: Apache-2.0
"""Decisions from the model alone: nothing is measured but the profile that it reads.

The library's own collective takes part as the schedule that the decomposition tables say it runs. What was measured
stays: decisions of a tuning or of runs, and the built-in rules' choices, which only a clearly faster one replaces.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon import core, model
from antiphon.core import CoreError
from antiphon.errors import AntiphonError
from antiphon.profile import store
from antiphon.traffic import libraries
from antiphon.tune import decide, document, grid
from antiphon.tune.contenders import TunedMachine
from antiphon.tune.grid import Point
from antiphon.tune.known import NOTHING, Decision, Knowledge

#: Antiphon must be predicted faster by this factor, than the library and than a built-in rule's choice: nine of ten
#: predictions err by less.
GAIN = 1.2
#: Choices within this factor of the best count as equal.
EQUAL = 1.05

MODE = "model"
#: Why the model does not decide, besides the sources of what is known.
BUILT_IN = "built-in"


@dataclass(frozen=True)
class Subject:
    """The machine and the library that decisions are made for."""

    machine: model.ModelledMachine
    #: "openmpi" or "mpich": the rules are for this library.
    family: str
    library: libraries.Library
    link_bits_per_s: int = 0

    def tuned(self) -> TunedMachine:
        """As rules look at it."""
        nodes = -(-self.machine.ranks // self.machine.ranks_per_node)
        return TunedMachine(nodes, self.machine.ranks_per_node, self.link_bits_per_s, self.family)


@dataclass(frozen=True)
class Decided:
    """What is decided at one point: the model's seconds of the library (None: not known) and of the best choices, and
    what it may not replace."""

    point: Point
    library_s: float | None
    own: Mapping[str, float]
    #: Says what the model could not evaluate, and why.
    complaints: Sequence[str] = ()
    #: A decision that rests on measurements.
    known: Decision | None = None
    #: What the built-in rules use.
    usual: str = decide.LIBRARY
    #: Choices that were measured to be slower than what is used without the model.
    slower: frozenset[str] = frozenset()

    def modelled(self) -> list[str]:
        """What the model alone would use: the choices as good as the best, or the library."""
        best_s = min(self.own.values(), default=float("inf"))
        gains = self.library_s is not None and best_s * GAIN <= self.library_s
        good = sorted((c for c, s in self.own.items() if s <= best_s * EQUAL), key=lambda c: self.own[c])
        return good if gains else [decide.LIBRARY]

    def decision(self) -> tuple[list[str], str]:
        """What is used, equals behind the first; and whose decision is kept: "" if it is the model's."""
        if self.known is not None:
            return [self.known.use], self.known.source
        usual_s = self.own.get(self.usual)
        good = [
            choice
            for choice in self.modelled()
            if choice not in (decide.LIBRARY, *self.slower) and (usual_s is None or self.own[choice] * GAIN <= usual_s)
        ]
        return (good, "") if good else ([self.usual], BUILT_IN)

    def verdict(self) -> decide.Verdict:
        """In the form of a measured one."""
        faster = {c: {MODE: self.library_s / s} for c, s in self.own.items() if self.library_s and s > 0}
        good, kept = self.decision()
        # Where nothing is replaced, there is no rule: neighbours whose decision is kept share one gap.
        return decide.Verdict(
            self.point.collective, self.point.bytes, self.point.ranks, [decide.KEPT] if kept else good, faster
        )

    def row(self) -> dict[str, Any]:
        """For tables and JSON."""
        good, kept = self.decision()
        point = {"collective": self.point.collective, "ranks": self.point.ranks, "bytes": self.point.bytes}
        times = {"library_s": self.library_s, "best_s": min(self.own.values(), default=None)}
        return point | times | {"used": good[0], "kept": kept or None, "modelled": self.modelled()[0]}


def subject(profile: Mapping[str, Any], ranks: int | None, mpi: str | None) -> Subject:
    """The machine that a profile describes, with all of its ranks and its library unless others are asked for."""
    about = profile["machine"]
    per_node = int(about.get("ranks_per_node") or 1)
    ranks = ranks or int(about.get("nodes") or 0) * per_node
    if ranks < 2:
        raise AntiphonError("the profile does not say how many nodes there are", hint="give the number of ranks, -n")
    measured = about.get("mpi", {})
    its = store.FAMILIES.get(measured.get("name"), measured.get("name"))
    name = mpi or its
    if not name:
        raise AntiphonError(
            "the profile does not say whose MPI it was measured with", hint="give --mpi openmpi or mpich"
        )
    if not libraries.is_known(name):
        what = f"--mpi {name}" if mpi else f"the profile was measured with {name}"
        raise AntiphonError(f"{what}: there is no table of its algorithms, which the model would cost",
                            hint=f"give openmpi, mpich, or one of {', '.join(libraries.keys())}")  # fmt: skip
    library = libraries.for_library(f"{name} {measured.get('version', '')}" if name == its else name)
    machine = model.ModelledMachine(ranks, min(per_node, ranks), document.model_text(profile))
    rate = int(core.query("profile", text=machine.profile)["link_bits_per_s"])
    return Subject(machine, library.about["family"], library, rate)


def points(
    collectives: Iterable[str],
    machine: model.ModelledMachine,
    sizes: Sequence[int] = grid.SIZES,
    between: Sequence[int] = grid.BETWEEN,
    parts: bool = True,
) -> list[Point]:
    """The points of a tuning, without collectives whose sizes ranks cannot know: the model cannot predict those."""
    node_of_rank = [rank // machine.ranks_per_node for rank in range(machine.ranks)]
    sized = [name for name in collectives if name not in grid.UNSIZED]
    return list(grid.make(sized, None, node_of_rank, float("inf"), sizes, between, parts).points)


def decide_all(
    wanted: Sequence[Point],
    subject: Subject,
    on_point: Callable[[int, int], None] = lambda _done, _total: None,
    known: Knowledge = NOTHING,
) -> list[Decided]:
    """The answer at every point."""
    answers = []
    for number, point in enumerate(wanted):
        on_point(number, len(wanted))
        answers.append(decide_one(point, subject, known))
    return answers


def decide_one(point: Point, subject: Subject, known: Knowledge = NOTHING) -> Decided:
    """Every algorithm with the parameters that the model finds best, and the library's, as a benchmark times them."""
    machine = model.ModelledMachine(
        point.ranks, min(subject.machine.ranks_per_node, point.ranks), subject.machine.profile
    )
    tuned = subject.tuned()
    usual = core.choose(tuned.question(point)).choice
    before = known.at(point, tuned)[:1]
    found = model.predict(point.collective, [point.bytes], machine)
    choices = dict.fromkeys([p.choice for p in found.sizes[point.bytes]])
    if usual != decide.LIBRARY:
        choices[usual] = None
    timed = _timed(point, machine, subject, list(choices))
    own = _seconds(timed, point)
    return Decided(
        point,
        _library_s(point, machine, subject),
        own,
        [*found.complaints(), *timed.complaints()],
        before[0] if before else None,
        usual,
        frozenset(c for c in own if any(known.is_slower(c, than, point, tuned) for than in (usual, decide.LIBRARY))),
    )


def _timed(point: Point, machine: model.ModelledMachine, subject: Subject, choices: Sequence[str]) -> model.Sweep:
    barrier = libraries.barrier(subject.library.key, point.ranks, machine.ranks_per_node)
    return model.predict(point.collective, [point.bytes], machine, choices=choices, barrier=barrier)


def _seconds(timed: model.Sweep, point: Point) -> dict[str, float]:
    return {p.choice: p.seconds for p in timed.sizes[point.bytes]}


def _library_s(point: Point, machine: model.ModelledMachine, subject: Subject) -> float | None:
    element = model.element_bytes(point.collective, point.bytes)
    try:
        chosen = subject.library.choose(
            libraries.CollectiveCall(point.collective, point.ranks, point.bytes, 0, element)
        )
        if not chosen.schedule:
            return None
        timed = _seconds(_timed(point, machine, subject, [chosen.schedule]), point)
    except (AntiphonError, CoreError):
        return None
    return next(iter(timed.values()), None)


@dataclass(frozen=True)
class ModelledRules:
    """What is decided for one library."""

    subject: Subject
    decided: Sequence[Decided]

    @functools.cached_property
    def rules(self) -> list[dict[str, Any]]:
        return rules(self.decided, self.subject)

    @property
    def complaints(self) -> list[str]:
        """Says what the model could not evaluate, each once."""
        return list(dict.fromkeys(f"{d.point.collective}: {line}" for d in self.decided for line in d.complaints))

    def kept(self) -> int:
        """How many cells keep what was measured, against the model."""
        return sum(
            row["kept"] is not None and row["used"] != row["modelled"] for row in (d.row() for d in self.decided)
        )

    def to_json(self) -> dict[str, Any]:
        rows = [d.row() for d in self.decided]
        return {
            "library": self.subject.library.name,
            "rules": self.rules,
            "predicted": rows,
            "left_out": self.complaints,
        }


def rules(decided: Sequence[Decided], subject: Subject) -> list[dict[str, Any]]:
    """Rules as tuning writes them, whose reasons say that a model decided; none where another decision is kept."""
    verdicts = [d.verdict() for d in decided if d.own]
    return decide.rules(verdicts, subject.family, subject.machine.ranks_per_node, basis=decide.BY_THE_MODEL)
