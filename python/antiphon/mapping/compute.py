# SPDX-License-Identifier: Apache-2.0
"""From traffic and a machine to a placement, and to what it is expected to gain.

Some collectives send other messages where ranks are placed otherwise (algorithms that know nodes). So every
arrangement is judged by the traffic that it would have itself.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.mapping.hosts import located
from antiphon.mapping.machine import Machine
from antiphon.mapping.scoring import Arrangement, Decompose, Scorer, Wishes, listed
from antiphon.placement.document import Node, Placement

if TYPE_CHECKING:
    from antiphon.traffic import Edges, Part, Traffic

#: A smaller gain is within the error of the prediction.
WORTH_IT = 0.02
#: The most times that a placement is made again: each placement changes the traffic that it was made for.
ROUNDS = 3
NOTHING_SENT = (
    "was the program recorded with more than one rank? One-sided and partitioned messages, as by MPI_Put and "
    "MPI_Psend_init, are not recorded"
)


@dataclass(frozen=True)
class CallCosts:
    """One kind of call, and what it costs in each arrangement; seconds."""

    name: str
    #: What the library was assumed to do; "": point-to-point.
    algorithm: str
    calls: int
    bytes: int
    #: Time that the calls took in the run, mean over ranks.
    measured_s: float
    costs: Mapping[str, float]


@dataclass
class Result:
    """A placement with its reasons."""

    placement: Placement
    #: "predicted_s" or "messages_s": which cost was minimised.
    measure: str
    #: All costs of "chosen", "block", "cyclic" and, where it is known, "current".
    costs: Mapping[str, Mapping[str, Any]]
    rows: Sequence[CallCosts]
    notes: list[str] = field(default_factory=list)
    #: Whether something was asked for that launchers' own orders do not know, as pins.
    special: bool = False

    def total(self, which: str) -> float | None:
        """The minimised cost of one arrangement."""
        return float(self.costs[which][self.measure]) if which in self.costs else None

    def gain(self, over: str) -> float | None:
        """The cost of that arrangement over the cost of the placement."""
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
        if self.special:
            return None
        return next((name for name in ("block", "cyclic") if (self.gain(name) or 9.0) <= 1 + WORTH_IT / 2), None)


def compute(decompose: Decompose, machine: Machine, wishes: Wishes) -> Result:
    """The best placement that the method finds, never worse than block and cyclic."""
    recorded = decompose(None)
    edges, groups = recorded.total()
    if not len(edges) and not groups:
        raise AntiphonError("no rank sends anything to another: every placement is as good", hint=NOTHING_SENT)
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
        found = {name: scorer.with_timeouts(one) for name, one in found.items()}
        if wishes.method == "antiphon":
            # Pins hold in all of them but the current one.
            plain = [found["block"], found["cyclic"]]
            alike = sorted(plain[0].node_of_rank) == sorted(plain[1].node_of_rank)
            chosen = scorer.choose(plain, [chosen, *scorer.regular(plain[:1] if alike else plain, decompose)])
        else:
            chosen = scorer.with_timeouts(chosen)
        found["chosen"] = chosen
        rows = _rows(found, scorer)
    if groups:
        notes.append(
            f"{len(groups)} exchanges among all ranks of large groups were left out: placement hardly matters to them"
        )
    costs = {name: dict(one.costs) for name, one in found.items()}
    about = _about(recorded, machine, wishes, scorer.measure, costs)
    placement = Placement(
        _with_room(machine.nodes, chosen.node_of_rank), chosen.node_of_rank, chosen.core_of_rank, about
    )
    return Result(placement, scorer.measure, costs, rows, notes)


def _with_room(nodes: Sequence[Node], node_of_rank: Sequence[int]) -> list[Node]:
    """The nodes with a slot for each of their ranks, also where ranks share cores."""
    ranks = Counter(node_of_rank)
    return [replace(node, slots=max(node.slots, ranks[i])) for i, node in enumerate(nodes)]


def _search(decompose: Decompose, scorer: Scorer, recorded: Traffic, known: Mapping[str, Arrangement]) -> Arrangement:
    """Places ranks, derives the traffic that they then have, and places them again while that is better."""
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
    """Whether both have the same messages."""
    import numpy as np

    if one is other:
        return True
    return len(one) == len(other) and all(np.array_equal(getattr(one, c), getattr(other, c)) for c in one.columns())


def _current(traffic: Traffic, machine: Machine, scorer: Scorer, notes: list[str]) -> Arrangement | None:
    """Where the run had its ranks, as this machine numbers nodes."""
    hosts, nodes = traffic.header.get("hosts") or [], traffic.header.get("nodes") or []
    if len(nodes) != traffic.ranks or min(nodes) < 0:
        notes.append("the trace does not say where its ranks were")
        return None
    numbers, unknown = located(hosts, max(nodes, default=-1) + 1, [node.name for node in machine.nodes])
    if unknown:
        notes.append(
            "the run was on nodes that the machine does not know: there is nothing to compare with but block and cyclic"
        )
        return None
    bare = Arrangement(None, [numbers[node] for node in nodes], [], traffic, {})
    try:
        return scorer.with_traffic(bare, traffic)
    except core.CoreError as error:
        notes.append(f"where the ranks were does not fit this machine: {error.message}")
        return None


def _rows(found: Mapping[str, Arrangement], scorer: Scorer) -> list[CallCosts]:
    """Each kind of call by itself, the most expensive first."""
    by_kind: dict[tuple[str, str], dict[str, list[Part]]] = {}
    for name, arrangement in found.items():
        for part in arrangement.traffic.parts:
            by_kind.setdefault((part.name, part.algorithm), {}).setdefault(name, []).append(part)
    rows = []
    for (call, algorithm), arranged in by_kind.items():
        costs = dict.fromkeys(found, 0.0)
        for name, parts in arranged.items():
            costs[name] = float(scorer.costs(listed(parts), found[name])[scorer.measure])
            costs[name] += scorer.timeouts_s(parts, found[name])
        parts = arranged.get("chosen") or next(iter(arranged.values()))
        calls, seconds = sum(p.calls for p in parts), sum(p.seconds for p in parts)
        rows.append(CallCosts(call, algorithm, calls, sum(p.total_bytes() for p in parts), seconds, costs))
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
