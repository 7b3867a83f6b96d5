# SPDX-License-Identifier: Apache-2.0
"""The cost of arrangements of ranks: the sum of their messages, the order of the messages, and losses."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.mapping.machine import Machine
from antiphon.mapping.stages import (
    MOST_CALLS,
    MOST_ORDERS,
    MOST_PREDICTIONS,
    MOST_RANKS,
    ROOTED,
    Late,
    Stages,
    regular_orders,
)
from antiphon.mapping.timeouts import Timeouts
from antiphon.mpi.hosts import short

if TYPE_CHECKING:
    from antiphon.traffic import Edges, Part, Traffic

#: Predictions that differ by less say nothing: more where messages are short, whose time is more that of processors
#: than of wires (how far off they are, by size: docs/measurements/model/by-size.md).
NEAR = 0.03
NEAR_WHEN_SHORT = 0.1
SHORT_BYTES = 1024
#: A placement replaces a plain one of equal cost only if its messages' order is predicted better by this share.
IN_ORDER = 0.1
#: Bursts that fill this share of a port may already lose some packets.
RISKY = 0.5
#: How many arrangements that may be better than the plain ones are tried for timeouts.
MOST_TRIED = 16

#: The traffic, decomposed for ranks on these nodes (None: as they were).
Decompose = Callable[[Sequence[int] | None], "Traffic"]


@dataclass(frozen=True)
class Wishes:
    """The wishes of the user."""

    method: str = "antiphon"
    #: Processor time of methods that search; None: by the number of ranks.
    seconds: float | None = None
    pins: Sequence[tuple[int, str, int]] = ()
    oversubscribe: bool = False
    max_per_node: int = 0
    objective: str = "automatic"

    def budget_s(self, ranks: int) -> float:
        """The options in the form that the method reads."""
        return self.seconds if self.seconds is not None else min(60.0, max(0.1, 2.5e-4 * ranks))


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Ranks somewhere, the traffic that they then have, and its cost; only itself is equal to it."""

    slot_of_rank: Sequence[int] | None
    node_of_rank: Sequence[int]
    core_of_rank: Sequence[int]
    traffic: Traffic
    costs: Mapping[str, Any]


class Scorer:
    """Asks the core about one machine."""

    def __init__(self, machine: Machine, wishes: Wishes, ranks: int, folder: Path) -> None:
        self.common = _constraints(machine, wishes, ranks)
        self.wishes = wishes
        self.measure = "predicted_s"
        profile = (machine.profile, machine.profile_nodes)
        self._stages = Stages(*profile) if machine.profile else None
        self._late = Late(*profile) if machine.profile else None
        self._timeouts = Timeouts(*profile) if machine.profile else None
        self._risk = Timeouts(*profile, RISKY) if machine.profile else None
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
        """The number that is minimised."""
        return float(arrangement.costs[self.measure])

    def with_traffic(self, arrangement: Arrangement, traffic: Traffic) -> Arrangement:
        """The same places, with the traffic that ranks there have."""
        place = (arrangement.slot_of_rank, arrangement.node_of_rank, arrangement.core_of_rank)
        return self._judged(Arrangement(*place, traffic, self.costs(traffic.total()[0], arrangement)))

    def _judged(self, arrangement: Arrangement) -> Arrangement:
        """The arrangement with the cost that the model of schedules predicts, where there is a model."""
        if self._stages is None:
            return arrangement
        return replace(arrangement, costs={**arrangement.costs, "stages_s": self._by(self._stages, arrangement)})

    def _by(self, model: Stages, arrangement: Arrangement) -> float:
        """The model's time for the parts that it knows; the others count by the sum of their messages."""
        alone = [(part, model.seconds(part, arrangement.node_of_rank)) for part in arrangement.traffic.parts]
        rest = listed([part for part, seconds in alone if seconds is None])
        seconds = sum(s for _, s in alone if s is not None)
        return seconds + (float(self.costs(rest, arrangement)["predicted_s"]) if len(rest) else 0.0)

    def risk(self, arrangement: Arrangement) -> float:
        """How long its calls would wait if ports held less."""
        parts = arrangement.traffic.parts
        return sum(self._risk.seconds(part, arrangement.node_of_rank) for part in parts) if self._risk else 0.0

    def timeouts_s(self, parts: Sequence[Part], arrangement: Arrangement) -> float:
        """How long these calls are expected to wait for what links between switches lose."""
        if self._timeouts is None or self.measure != "predicted_s":
            return 0.0
        return sum(self._timeouts.seconds(part, arrangement.node_of_rank) for part in parts)

    def with_timeouts(self, arrangement: Arrangement) -> Arrangement:
        """The arrangement with the expected time of timeouts added to its cost."""
        late = self.timeouts_s(arrangement.traffic.parts, arrangement)
        more = {"timeouts_s": late, self.measure: self.cost(arrangement) + late}
        return replace(arrangement, costs={**arrangement.costs, **more})

    def choose(self, plain: Sequence[Arrangement], others: Sequence[Arrangement]) -> Arrangement:
        """The one that costs least, timeouts included (plain ones have them already). Of those that cost nearly the
        same a plain one: of two, that which is better in the mean of ranks that come at once and of ranks that do not.
        Another one only if its messages come in a much better order, whether ranks come at once or not. None that
        comes nearer than these to losing something: what a burst needs is known less well than what messages cost.
        """
        every, calm, near_by = list(plain), min(map(self.risk, plain)), _near(plain[0].traffic)
        for one in sorted(others, key=self.cost)[:MOST_TRIED]:
            if self.cost(one) > (1 + near_by) * min(map(self.cost, every)):
                break
            if self.risk(one) <= calm:
                every.append(self.with_timeouts(one))
        cheapest = min(every, key=self.cost)
        if self._stages is None or self._late is None:
            return cheapest
        near = [one for one in every if self.cost(one) <= self.cost(cheapest) * (1 + near_by)]

        def stages(one: Arrangement) -> float:
            return float(one.costs["stages_s"])

        best = min(near, key=stages)
        alike = [one for one in near if one in plain]
        if not alike or [best] == alike:
            return best
        most = stages(best) * (1 + IN_ORDER)
        if len(alike) == 1 and stages(alike[0]) <= most:
            return alike[0]
        late = {one: self._by(self._late, one) for one in {*alike, best}}
        # Ranks of programs come neither at once nor as after a barrier.
        both = {one: stages(one) + late[one] for one in alike}
        least = min(both.values()) * (1 + 1e-6)  # sums in another order are alike
        first = next(one for one in alike if both[one] <= least)
        return best if stages(first) > most and late[first] > late[best] * (1 + IN_ORDER) else first

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
                slots, nodes, cores = (
                    [column[place[r]] for r in range(traffic.ranks)]
                    for column in (base.slot_of_rank or [], base.node_of_rank, base.core_of_rank)
                )
                found.append(self.with_traffic(Arrangement(slots, nodes, cores, traffic, {}), decompose(nodes)))
        return found


def _near(traffic: Traffic) -> float:
    edges = traffic.total()[0]
    return NEAR if edges.total_bytes() >= SHORT_BYTES * edges.total_messages() else NEAR_WHEN_SHORT


def listed(parts: Sequence[Part]) -> Edges:
    """All messages of parts, those of large groups left out."""
    from antiphon.traffic import Edges

    groups = [g.edges() for p in parts for g in p.uniform if g.pairs() <= 1 << 22]
    return Edges.merge([p.edges for p in parts] + groups)


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


def write_traffic(path: Path, edges: Edges, ranks: int) -> None:
    """The core's file of traffic (docs/reference/mapping-files.md)."""
    import numpy as np

    first = np.zeros(ranks + 1, "<i8")
    first[1:] = np.cumsum(np.bincount(edges.source, minlength=ranks))
    with path.open("wb") as file:
        file.write(b"APTRAFF1" + struct.pack("<qq", ranks, len(edges)))
        for column, kind in ((first, "<i8"), (edges.messages, "<f8"), (edges.bytes, "<f8"), (edges.target, "<i4")):
            file.write(np.ascontiguousarray(column, dtype=kind).tobytes())
