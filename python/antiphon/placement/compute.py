# SPDX-License-Identifier: Apache-2.0
"""From traffic and a machine to a placement, and to what it is expected to gain.

Some collectives send other messages where ranks are placed otherwise (algorithms that know nodes). So every
arrangement is judged by the traffic that it would have itself.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.placement.document import Placement
from antiphon.placement.machine import Machine, short
from antiphon.placement.stages import (
    MOST_CALLS,
    MOST_ORDERS,
    MOST_PREDICTIONS,
    MOST_RANKS,
    ROOTED,
    Stages,
    regular_orders,
)

if TYPE_CHECKING:
    from antiphon.traffic import Edges, Part, Traffic

#: A gain below that is within what the prediction may be wrong by.
WORTH_IT = 0.02
#: Predictions that differ by less say nothing.
NEAR = 0.03
#: So much better must the order of a placement's messages be predicted to give up a plain one that costs the same.
IN_ORDER = 0.1
#: A placement changes the traffic that it was made for; so many times it is made anew.
ROUNDS = 3

#: The traffic, decomposed for ranks on these nodes (None: as they were).
Decompose = Callable[[Sequence[int] | None], "Traffic"]


@dataclass(frozen=True)
class Wishes:
    """What the user asks for."""

    method: str = "antiphon"
    #: Processor time of methods that search; None: by the number of ranks.
    seconds: float | None = None
    pins: Sequence[tuple[int, str, int]] = ()
    oversubscribe: bool = False
    max_per_node: int = 0
    objective: str = "automatic"

    def budget_s(self, ranks: int) -> float:
        """For the method."""
        return self.seconds if self.seconds is not None else min(60.0, max(0.1, 2.5e-4 * ranks))


@dataclass(frozen=True)
class Row:
    """One kind of call, and what it costs in each arrangement; seconds."""

    name: str
    #: What the library was assumed to do; "": point-to-point.
    algorithm: str
    calls: int
    bytes: int
    #: Time that the calls took in the run, mean over ranks.
    measured_s: float
    costs: Mapping[str, float]


@dataclass(frozen=True)
class Arrangement:
    """Ranks somewhere, the traffic that they then have, and its cost."""

    slot_of_rank: Sequence[int] | None
    node_of_rank: Sequence[int]
    core_of_rank: Sequence[int]
    traffic: Traffic
    costs: Mapping[str, Any]


@dataclass
class Result:
    """A placement with its reasons."""

    placement: Placement
    #: "predicted_s" or "messages_s": which cost was minimised.
    measure: str
    #: All costs of "chosen", "block", "cyclic" and, where it is known, "current".
    costs: Mapping[str, Mapping[str, Any]]
    rows: Sequence[Row]
    notes: list[str] = field(default_factory=list)

    def total(self, which: str) -> float | None:
        """What was minimised, of one arrangement."""
        return float(self.costs[which][self.measure]) if which in self.costs else None

    def gain(self, over: str) -> float | None:
        """How many times less the placement costs than that arrangement."""
        before, after = self.total(over), self.total("chosen")
        if before is None or after is None:
            return None
        return before / after if after > 0 else 1.0

    @property
    def reference(self) -> str:
        """What the user has, or would have without a placement."""
        return "current" if "current" in self.costs else "block"

    @property
    def worth_it(self) -> bool:
        """Whether the run should become faster."""
        return (self.gain(self.reference) or 1.0) > 1 + WORTH_IT

    @property
    def plain(self) -> str | None:
        """ "block" or "cyclic", where that is as good, and needs no file."""
        return next((name for name in ("block", "cyclic") if (self.gain(name) or 9.0) <= 1 + WORTH_IT / 2), None)


class Scorer:
    """Asks the core about one machine."""

    def __init__(self, machine: Machine, wishes: Wishes, ranks: int, folder: Path) -> None:
        self.common = _constraints(machine, wishes, ranks)
        self.wishes = wishes
        self.measure = "predicted_s"
        self._stages = Stages(machine.profile, machine.profile_nodes) if machine.profile else None
        self._file = folder / "traffic"
        self._ranks = ranks

    def arrange(self, method: str, edges: Edges, traffic: Traffic) -> Arrangement:
        """Has ranks placed for `edges`; its costs are those of this traffic."""
        write_traffic(self._file, edges, self._ranks)
        fields = {"traffic_file": str(self._file), **self.common}
        try:
            found = core.query("map", method=method, seconds=self.wishes.budget_s(self._ranks), **fields)
        except core.CoreError as error:
            message, _, hint = error.message.partition("; hint: ")
            raise AntiphonError(message, hint=hint or None) from None
        self.measure = "predicted_s" if found["objective"] == "time" else "messages_s"
        where = (found["slot_of_rank"], found["node_of_rank"], found["core_of_rank"])
        return self._judged(Arrangement(*where, traffic, found["costs"]["chosen"]))

    def costs(self, edges: Edges, arrangement: Arrangement) -> Mapping[str, Any]:
        """What those messages cost there."""
        write_traffic(self._file, edges, self._ranks)
        if arrangement.slot_of_rank is not None:
            where = {"slot_of_rank": list(arrangement.slot_of_rank)}
        else:
            where = {"node_of_rank": list(arrangement.node_of_rank)}
        answer = core.query("score_mapping", traffic_file=str(self._file), links=False, **where, **self.common)
        return dict(answer["costs"])

    def cost(self, arrangement: Arrangement) -> float:
        """The one number that is to be small."""
        return float(arrangement.costs[self.measure])

    def with_traffic(self, arrangement: Arrangement, traffic: Traffic) -> Arrangement:
        """The same places, with the traffic that ranks there have."""
        place = (arrangement.slot_of_rank, arrangement.node_of_rank, arrangement.core_of_rank)
        return self._judged(Arrangement(*place, traffic, self.costs(traffic.total()[0], arrangement)))

    def _judged(self, arrangement: Arrangement) -> Arrangement:
        """With what the model of schedules says, where there is one."""
        if self._stages is None:
            return arrangement
        alone = [(part, self._stages.seconds(part, arrangement.node_of_rank)) for part in arrangement.traffic.parts]
        rest = _listed([part for part, seconds in alone if seconds is None])
        seconds = sum(s for _, s in alone if s is not None)
        seconds += float(self.costs(rest, arrangement)["predicted_s"]) if len(rest) else 0.0
        return replace(arrangement, costs={**arrangement.costs, "stages_s": seconds})

    def choose(self, plain: Sequence[Arrangement], others: Sequence[Arrangement]) -> Arrangement:
        """The one that costs least; of those that cost nearly the same, that whose messages come in the better order,
        or a plain one if that is about as good."""
        every = [*plain, *others]
        cheapest = min(every, key=self.cost)
        if self._stages is None:
            return cheapest
        near = [one for one in every if self.cost(one) <= self.cost(cheapest) * (1 + NEAR)]

        def stages(one: Arrangement) -> float:
            return float(one.costs["stages_s"])

        best = min(near, key=stages)
        return next((one for one in near if one in plain and stages(one) <= stages(best) * (1 + IN_ORDER)), best)

    def regular(self, bases: Sequence[Arrangement], decompose: Decompose) -> list[Arrangement]:
        """Ranks in regular orders on the places of these."""
        traffic = bases[0].traffic
        if self.wishes.pins or traffic.ranks > MOST_RANKS:
            return []
        rooted = [part for part in traffic.parts if part.name in ROOTED and self._stages]
        predictions = max(1, sum(min(len(part.made), MOST_CALLS) for part in rooted))
        most = int(min(MOST_ORDERS, MOST_PREDICTIONS * min(1.0, (64 / traffic.ranks) ** 2) / predictions) / len(bases))
        found = []
        for base in bases:
            by_node = sorted(range(traffic.ranks), key=lambda r: (base.node_of_rank[r], base.core_of_rank[r]))
            for order in regular_orders(traffic.ranks, most):
                place = dict(zip(order, by_node, strict=True))
                columns = [[column[place[r]] for r in range(traffic.ranks)]
                           for column in (base.slot_of_rank or [], base.node_of_rank, base.core_of_rank)]  # fmt: skip
                found.append(self.with_traffic(Arrangement(*columns, traffic, {}), decompose(columns[1])))
        return found


def _listed(parts: Sequence[Part]) -> Edges:
    """All messages of parts, those of large groups left out."""
    from antiphon.traffic import Edges

    groups = [g.edges() for p in parts for g in p.uniform if g.pairs() <= 1 << 22]
    return Edges.merge([p.edges for p in parts] + groups)


def compute(decompose: Decompose, machine: Machine, wishes: Wishes) -> Result:
    """The best placement that the method finds, never worse than block and cyclic."""
    recorded = decompose(None)
    edges, groups = recorded.total()
    if not len(edges) and not groups:
        raise AntiphonError("no rank sends anything to another: every placement is as good",
                            hint="was the program recorded with more than one rank?")  # fmt: skip
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="antiphon-map-") as folder:
        scorer = Scorer(machine, wishes, recorded.ranks, Path(folder))
        found: dict[str, Arrangement] = {}
        for name in ("block", "cyclic"):
            made = scorer.arrange(name, edges, recorded)
            found[name] = scorer.with_traffic(made, decompose(made.node_of_rank))
        current = _current(recorded, machine, scorer, notes)
        if current is not None:
            found["current"] = current
        chosen = _search(decompose, scorer, recorded, found)
        if wishes.method == "antiphon":
            # Pins hold in all of them but the current one.
            plain = [found["block"], found["cyclic"]]
            alike = sorted(plain[0].node_of_rank) == sorted(plain[1].node_of_rank)
            chosen = scorer.choose(plain, [chosen, *scorer.regular(plain[:1] if alike else plain, decompose)])
        found["chosen"] = chosen
        rows = _rows(found, scorer)
    if groups:
        notes.append(
            f"{len(groups)} exchanges among all ranks of large groups were left out: placement hardly matters to them"
        )
    costs = {name: dict(one.costs) for name, one in found.items()}
    about = _about(recorded, machine, wishes, scorer.measure, costs)
    placement = Placement(machine.nodes, chosen.node_of_rank, chosen.core_of_rank, about)
    return Result(placement, scorer.measure, costs, rows, notes)


def _search(decompose: Decompose, scorer: Scorer, recorded: Traffic, known: Mapping[str, Arrangement]) -> Arrangement:
    """Places ranks, sees what traffic they then have, and places them again for that, while it becomes better."""
    traffic = min(known.values(), key=scorer.cost).traffic
    best: Arrangement | None = None
    for _ in range(ROUNDS):
        edges = traffic.total()[0]
        made = scorer.arrange(scorer.wishes.method, edges, traffic)
        after = decompose(made.node_of_rank)
        if same_edges(after.total()[0], edges):
            return made if best is None or scorer.cost(made) <= scorer.cost(best) else best
        made = scorer.with_traffic(made, after)
        if best is not None and scorer.cost(made) >= scorer.cost(best):
            return best
        best, traffic = made, after
    assert best is not None
    return best


def same_edges(one: Edges, other: Edges) -> bool:
    """The same messages."""
    import numpy as np

    if one is other:
        return True
    return len(one) == len(other) and all(np.array_equal(getattr(one, c), getattr(other, c)) for c in one.columns())


def _constraints(machine: Machine, wishes: Wishes, ranks: int) -> dict[str, Any]:
    places = sum(min(n.slots, wishes.max_per_node or n.slots) for n in machine.nodes)
    per_core = 1
    if ranks > places:
        per_core = -(-ranks // max(1, places))
        if not wishes.oversubscribe:
            raise AntiphonError(
                f"{ranks} ranks do not fit: {machine.name} has {len(machine.nodes)} nodes with {places} places",
                hint=f"--cores-per-node or --hostfile say how many there really are; --oversubscribe puts {per_core} "
                "ranks on a core",
            )
    names = [node.name for node in machine.nodes]
    pins = []
    for rank, node, at_core in wishes.pins:
        known = machine.index().get(short(node))
        if known is None:
            hint = f"nodes: {names[0]} to {names[-1]}"
            raise AntiphonError(f"--pin {rank}:{node}: {machine.name} has no such node", hint=hint)
        pins.append({"rank": rank, "node": known, "core": at_core})
    return {
        "machine": machine.document,
        "ranks_per_core": per_core,
        "max_ranks_per_node": wishes.max_per_node,
        "objective": wishes.objective,
        "pins": pins,
    }


def _current(traffic: Traffic, machine: Machine, scorer: Scorer, notes: list[str]) -> Arrangement | None:
    """Where the run had its ranks, as this machine numbers nodes."""
    hosts, nodes = traffic.header.get("hosts") or [], traffic.header.get("nodes") or []
    if len(nodes) != traffic.ranks:
        notes.append("the trace does not say where its ranks were")
        return None
    index = machine.index()
    names = [short(str(hosts[node])) if 0 <= node < len(hosts) else "" for node in nodes]
    if not all(name in index for name in names):
        notes.append(
            "the run was on nodes that the machine does not know: there is nothing to compare with but block and cyclic"
        )
        return None
    places = [index[name] for name in names]
    bare = Arrangement(None, places, [], traffic, {})
    try:
        return scorer.with_traffic(bare, traffic)
    except core.CoreError as error:
        notes.append(f"where the ranks were does not fit this machine: {error.message}")
        return None


def _rows(found: Mapping[str, Arrangement], scorer: Scorer) -> list[Row]:
    """Each kind of call by itself, the most expensive first."""
    by_kind: dict[tuple[str, str], dict[str, list[Part]]] = {}
    for name, arrangement in found.items():
        for part in arrangement.traffic.parts:
            by_kind.setdefault((part.name, part.algorithm), {}).setdefault(name, []).append(part)
    rows = []
    for (call, algorithm), arranged in by_kind.items():
        costs = dict.fromkeys(found, 0.0)
        for name, parts in arranged.items():
            costs[name] = float(scorer.costs(_listed(parts), found[name])[scorer.measure])
        parts = arranged.get("chosen") or next(iter(arranged.values()))
        calls, seconds = sum(p.calls for p in parts), sum(p.seconds for p in parts)
        rows.append(Row(call, algorithm, calls, sum(p.total_bytes() for p in parts), seconds, costs))
    return sorted(rows, key=lambda row: -max(row.costs.values()))


def _about(
    traffic: Traffic, machine: Machine, wishes: Wishes, measure: str, costs: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "machine": machine.name,
        "program": traffic.header.get("program", ""),
        "library": traffic.header.get("library", ""),
        "run_s": traffic.header.get("run_s"),
        "method": wishes.method,
        "measure": measure,
        "predicted": costs,
        "pins": [list(pin) for pin in wishes.pins],
    }


def write_traffic(path: Path, edges: Edges, ranks: int) -> None:
    """The core's file of traffic (docs/reference/mapping-files.md)."""
    import numpy as np

    first = np.zeros(ranks + 1, "<i8")
    first[1:] = np.cumsum(np.bincount(edges.source, minlength=ranks))
    with path.open("wb") as file:
        file.write(b"APTRAFF1" + struct.pack("<qq", ranks, len(edges)))
        for column, kind in ((first, "<i8"), (edges.messages, "<f8"), (edges.bytes, "<f8"), (edges.target, "<i4")):
            file.write(np.ascontiguousarray(column, dtype=kind).tobytes())
