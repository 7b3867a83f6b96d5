# SPDX-License-Identifier: Apache-2.0
"""What measurements say of a point before it is tuned: the profile's decisions, and what runs on these nodes have
learned. Nothing that was only predicted is here.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon import core
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.profile import store
from antiphon.tune import decide
from antiphon.tune.contenders import TunedMachine
from antiphon.tune.grid import UNSIZED, Point

#: Where a decision is from.
MEASURED, LEARNED = "measured", "learned"
#: Slower than another by more than this is slower.
SLOWER = 1 / decide.LEAST

Rule = Mapping[str, Any]


@dataclass(frozen=True)
class Decision:
    """A decision about a point that rests on measurements."""

    #: "library" or a choice in its full form.
    use: str
    #: MEASURED or LEARNED.
    source: str
    why: str


@dataclass(frozen=True)
class Knowledge:
    """Rules that rest on measurements, in the order in which a run asks them."""

    rules: Sequence[tuple[str, Rule]] = ()
    #: Rules that runs learned since the profile was written.
    fresh: Sequence[Rule] = ()
    #: The files with what runs have learned.
    files: Sequence[Path] = ()
    #: The profile's `measurements.tune`, unless the network was probed since.
    evidence: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    def at(self, point: Point, machine: TunedMachine) -> list[Decision]:
        """All decisions about a point; the first is what a run would follow."""
        own = [(source, rule) for source, rule in self.rules if rule.get("collective") == point.collective]
        found = [_decision(source, rule, point, machine) for source, rule in own]
        return list({d.use: d for d in reversed([d for d in found if d])}.values())[::-1]

    @staticmethod
    def says(rule: Rule, point: Point, machine: TunedMachine) -> bool:
        """Whether a rule is about a point."""
        return rule.get("collective") == point.collective and _decision("", rule, point, machine) is not None

    def learned(self) -> list[Rule]:
        """Rules that runs have learned, newest first."""
        return [rule for source, rule in self.rules if source == LEARNED]

    def medians(self, point: Point, machine: TunedMachine) -> dict[str, dict[str, float]]:
        """Seconds that were measured at a point, by choice and mode."""
        found: dict[str, dict[str, float]] = {}
        for cell in self.cells(machine):
            if point_of(cell) == point:
                name = "library" if cell["contender"] == "library" else cell["chosen"]
                found.setdefault(name, {})[cell["mode"]] = cell["median_s"]
        return found

    def cells(self, machine: TunedMachine) -> list[Mapping[str, Any]]:
        """What earlier tunings measured for a library and placement."""
        wanted = (machine.mpi, machine.ranks_per_node, machine.blocked)
        same = [e for e in self.evidence if (e.get("mpi"), e.get("ranks_per_node"), e.get("blocked", True)) == wanted]
        return [cell for tuned in same for cell in tuned.get("cells", [])]

    def is_slower(self, one: str, other: str, point: Point, machine: TunedMachine) -> bool:
        """Whether one choice was measured to be slower than another in some mode."""
        medians = self.medians(point, machine)
        a, b = medians.get(one, {}), medians.get(other, {})
        return any(a[mode] > SLOWER * b[mode] for mode in a if mode in b)

    def points(self, collectives: Iterable[str], counts: Sequence[int], sizes: Sequence[int]) -> list[Point]:
        """Where runs have learned something and no size of a tuning is: these must be measured too."""
        found = []
        for rule in self.learned():
            low, high = (rule.get("bytes") or [None, None])[:2]
            ranks = rule.get("ranks", [0, 0])[0]
            if low is None or rule["collective"] in UNSIZED or rule["collective"] not in collectives:
                continue
            if ranks in counts and low > 0 and not any(low <= size <= (high or size) for size in sizes):
                found.append(Point(rule["collective"], low, ranks))
        return list(dict.fromkeys(found))


NOTHING = Knowledge()


def of(
    profile: Mapping[str, Any],
    path: Path | None,
    library: tuple[str, str],
    folders: Sequence[Path | None] = (),
    nodes: Sequence[str] = (),
) -> Knowledge:
    """What is known of the machine of a profile, with this family and version of MPI library; `path` is its file.
    `nodes` are their names where the profile does not say them."""
    written_s = path.stat().st_mtime if path is not None and path.exists() else 0.0
    own = [(MEASURED, rule) for rule in profile.get("decisions", {}).get("rules", []) if not is_modelled(rule)]
    newer: list[Rule] = []
    older: list[Rule] = []
    files = _files(store.nodes_of(profile) or nodes, library, folders)
    for file in files:
        (newer if file.stat().st_mtime > written_s else older).extend(_rules_of(file))
    known = [*((LEARNED, rule) for rule in newer), *own, *((LEARNED, rule) for rule in older)]
    tuned = [
        e
        for e in profile.get("measurements", {}).get("tune", [])
        if e.get("purpose") == "decisions" and e.get("created", "") >= profile.get("created", "")
    ]
    return Knowledge(known, newer, files, tuned)


def point_of(cell: Mapping[str, Any]) -> Point:
    """The point of a measured cell."""
    return Point(cell["collective"], cell["bytes"], cell["ranks"])


def is_modelled(rule: Rule) -> bool:
    """Whether a rule rests on a model only."""
    return str(rule.get("why", "")).startswith(decide.BY_THE_MODEL)


def _files(nodes: Sequence[str], library: tuple[str, str], folders: Sequence[Path | None]) -> list[Path]:
    """The files of learned rules for these nodes, newest first."""
    if not nodes or not folders:
        return []
    key = store.key(nodes, library)
    files = [file for entry in store.entries(folders) if entry.name == key for file in entry.learned]
    return sorted(files, key=lambda file: -file.stat().st_mtime)


def _rules_of(file: Path) -> list[Rule]:
    """A file that cannot be read is passed over, as a run does; `antiphon doctor` shows it."""
    try:
        found = core.query("read_learned", text=file.read_text(encoding="utf-8"))
    except (OSError, ValueError, AntiphonError):
        return []
    return list((found.get("decisions") or {}).get("rules", []))


def _decision(source: str, rule: Rule, point: Point, machine: TunedMachine) -> Decision | None:
    answer = _answer(json.dumps(rule), machine.question(point))
    return None if answer is None else Decision(answer, source, str(rule.get("why", "")))


@functools.lru_cache(maxsize=65536)
def _answer(rule: str, question: core.Question) -> str | None:
    """What a single rule says; None where it does not match."""
    nothing = {"collective": "*", "use": "library", "why": "no rule"}
    decisions = {"version": 1, "rules": [parse_json(rule), nothing]}
    answer = core.choose(question, json.dumps({"decisions": decisions}))
    return None if answer.reason == "no rule" else answer.choice
