# SPDX-License-Identifier: Apache-2.0
"""From traffic and a machine to a placement, and to what it is expected to gain."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.placement.document import Placement
from antiphon.placement.machine import Machine, short

if TYPE_CHECKING:
    from antiphon.traffic import Edges, Traffic

#: A gain below that is within what the prediction may be wrong by.
WORTH_IT = 0.02


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


@dataclass
class Result:
    """A placement with its reasons."""

    placement: Placement
    #: "predicted_s" or "messages_s": which cost was minimised.
    measure: str
    #: All costs of "chosen", "block", "cyclic" and, where it is known, "current".
    costs: Mapping[str, Mapping[str, Any]]
    rows: Sequence[Row]
    seconds: float
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


def compute(traffic: Traffic, machine: Machine, wishes: Wishes) -> Result:
    """The best placement that the method finds."""
    edges, groups = traffic.total()
    if not len(edges) and not groups:
        raise AntiphonError("no rank sends anything to another: every placement is as good",
                            hint="was the program recorded with more than one rank?")  # fmt: skip
    common = _constraints(traffic, machine, wishes)
    seconds = wishes.seconds if wishes.seconds is not None else min(60.0, max(0.1, 2.5e-4 * traffic.ranks))
    with tempfile.TemporaryDirectory(prefix="antiphon-map-") as folder:
        file = Path(folder) / "traffic"
        write_traffic(file, edges, traffic.ranks)
        found = _map(common | {"traffic_file": str(file)}, wishes, seconds)
        slots = {"chosen": found["slot_of_rank"]}
        for name in ("block", "cyclic"):
            slots[name] = core.query("map", traffic_file=str(file), method=name, **common)["slot_of_rank"]
        notes: list[str] = []
        costs = {name: found["costs"][name] for name in ("chosen", "block", "cyclic")}
        current = _current(traffic, machine, notes)
        if current is not None:
            try:
                answer = core.query(
                    "score_mapping", traffic_file=str(file), node_of_rank=current, links=False, **common
                )
                costs["current"] = answer["costs"]
            except core.CoreError as error:
                notes.append(f"where the ranks were does not fit this machine: {error.message}")
                current = None
        rows = list(_rows(traffic, common, slots, current, _measure(found), Path(folder)))
    if groups:
        notes.append(
            f"{len(groups)} exchanges among all ranks of large groups were left out: no placement changes their sum"
        )
    about = _about(traffic, machine, wishes, found, costs)
    placement = Placement(machine.nodes, found["node_of_rank"], found["core_of_rank"], about)
    return Result(placement, _measure(found), costs, rows, float(found["seconds"]), notes)


def _measure(found: Mapping[str, Any]) -> str:
    return "predicted_s" if found["objective"] == "time" else "messages_s"


def _constraints(traffic: Traffic, machine: Machine, wishes: Wishes) -> dict[str, Any]:
    places = sum(min(n.slots, wishes.max_per_node or n.slots) for n in machine.nodes)
    per_core = 1
    if traffic.ranks > places:
        per_core = -(-traffic.ranks // max(1, machine.places))
        if not wishes.oversubscribe:
            raise AntiphonError(
                f"{traffic.ranks} ranks do not fit: {machine.name} has {len(machine.nodes)} nodes with {places} places",
                hint=f"--cores-per-node or --hostfile say how many there really are; --oversubscribe puts {per_core} "
                "ranks on a core",
            )
    names = [node.name for node in machine.nodes]
    pins = []
    for rank, node, at_core in wishes.pins:
        known = machine.index().get(short(node))
        if known is None:
            raise AntiphonError(
                f"--pin {rank}:{node}: {machine.name} has no such node", hint=f"nodes: {names[0]} to {names[-1]}"
            )
        pins.append({"rank": rank, "node": known, "core": at_core})
    return {
        "machine": machine.document,
        "ranks_per_core": per_core,
        "max_ranks_per_node": wishes.max_per_node,
        "objective": wishes.objective,
        "pins": pins,
    }


def _map(fields: dict[str, Any], wishes: Wishes, seconds: float) -> dict[str, Any]:
    try:
        return core.query("map", method=wishes.method, seconds=seconds, **fields)
    except core.CoreError as error:
        message, _, hint = error.message.partition("; hint: ")
        raise AntiphonError(message, hint=hint or None) from None


def _current(traffic: Traffic, machine: Machine, notes: list[str]) -> list[int] | None:
    """Where the run had its ranks, as this machine numbers nodes."""
    hosts, nodes = traffic.header.get("hosts") or [], traffic.header.get("nodes") or []
    if len(nodes) != traffic.ranks:
        notes.append("the trace does not say where its ranks were")
        return None
    index = machine.index()
    used = sorted(set(nodes))
    names = {node: short(str(hosts[node])) for node in used if isinstance(node, int) and 0 <= node < len(hosts)}
    if len(names) == len(used) and all(name in index for name in names.values()):
        return [index[names[node]] for node in nodes]
    if len(used) == 1 and len(machine.nodes) > 1:
        notes.append(
            "the run was on a single node that the machine does not know: there is no current placement to compare with"
        )
    else:
        notes.append(
            "the run was on nodes that the machine does not know: there is no current placement to compare with"
        )
    return None


def _rows(
    traffic: Traffic,
    common: Mapping[str, Any],
    slots: Mapping[str, Sequence[int]],
    current: Sequence[int] | None,
    measure: str,
    folder: Path,
) -> list[Row]:
    """Each kind of call by itself, the most expensive first."""
    from antiphon.traffic import Edges

    gathered: dict[tuple[str, str], list[Any]] = {}
    for part in traffic.parts:
        gathered.setdefault((part.name, part.algorithm), []).append(part)
    rows = []
    for number, ((name, algorithm), parts) in enumerate(gathered.items()):
        edges = Edges.merge(
            [p.edges for p in parts] + [g.edges() for p in parts for g in p.uniform if g.pairs() <= 1 << 22]
        )
        file = folder / f"part-{number}"
        write_traffic(file, edges, traffic.ranks)
        arrangements: dict[str, dict[str, Any]] = {key: {"slot_of_rank": list(value)} for key, value in slots.items()}
        if current is not None:
            arrangements["current"] = {"node_of_rank": list(current)}
        costs = {
            key: float(
                core.query("score_mapping", traffic_file=str(file), links=False, **common, **where)["costs"][measure]
            )
            for key, where in arrangements.items()
        }
        file.unlink()
        calls, seconds = sum(p.calls for p in parts), sum(p.seconds for p in parts)
        rows.append(Row(name, algorithm, calls, sum(p.total_bytes() for p in parts), seconds, costs))
    return sorted(rows, key=lambda row: -row.costs["block"])


def _about(
    traffic: Traffic, machine: Machine, wishes: Wishes, found: Mapping[str, Any], costs: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "machine": machine.name,
        "program": traffic.header.get("program", ""),
        "library": traffic.header.get("library", ""),
        "run_s": traffic.header.get("run_s"),
        "method": wishes.method,
        "objective": found["objective"],
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
