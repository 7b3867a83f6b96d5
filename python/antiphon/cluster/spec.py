# SPDX-License-Identifier: Apache-2.0
"""Describes a cluster: nodes, the tree of switches, links, hosts. It holds data only."""

from __future__ import annotations

import dataclasses
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.cluster.hosts import HostRange
from antiphon.errors import AntiphonError
from antiphon.model import switches
from antiphon.model.limits import PAYLOAD_SHARE
from antiphon.units import format_rate, format_size

MAX_NODES = 65536
MAX_RANKS = 131072


@dataclass(frozen=True)
class Switch:
    """A switch, the one above it, and the nodes that are plugged into it. A parent comes before its children."""

    name: str
    #: The index of the switch above; -1: the top.
    parent: int = -1
    nodes: int = 0
    uplink_bits_per_s: int = 0
    uplink_buffer_bytes: int = 0


@dataclass(frozen=True)
class ClusterSpec:
    """A cluster as its file describes it."""

    name: str
    switches: tuple[Switch, ...]
    rate_bits_per_s: int
    port_buffer_bytes: int
    hosts: HostRange
    description: str = ""
    ranks_per_node: int = 1
    #: 0: at least one for each rank.
    cores_per_node: int = 0
    #: What passes a shaped link at once after a pause.
    burst_bytes: int = 0

    def __post_init__(self) -> None:
        _check_nodes(self.nodes)
        if not 1 <= self.ranks <= MAX_RANKS or self.ranks_per_node < 1:
            raise AntiphonError(f"a cluster has 1 to {MAX_RANKS} ranks, not {self.ranks}")

    @property
    def nodes(self) -> int:
        return sum(switch.nodes for switch in self.switches)

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node

    @property
    def port_bytes_per_s(self) -> float:
        """The payload of a node's link, each direction."""
        return self.rate_bits_per_s / 8 * PAYLOAD_SHARE

    def depth(self, index: int) -> int:
        """Returns how many switches are above this one."""
        parent = self.switches[index].parent
        return 0 if parent < 0 else 1 + self.depth(parent)

    def nodes_below(self) -> list[list[int]]:
        """Returns the nodes below each switch; nodes are numbered in the order of the switches."""
        first = 0
        below: list[list[int]] = []
        for switch in self.switches:
            below.append(list(range(first, first + switch.nodes)))
            first += switch.nodes
        for index in range(len(self.switches) - 1, 0, -1):
            below[self.switches[index].parent] += below[index]
        return below

    def levels(self) -> int:
        """Returns the number of switches that a message to the farthest node passes on its way up."""
        return 1 + max(self.depth(index) for index, switch in enumerate(self.switches) if switch.nodes)

    def switch_sizes(self, ranks: int) -> tuple[int, ...]:
        """Returns how many ranks each switch has, with consecutive ranks on each node; nothing with one switch."""
        behind = ((str(index), switch.nodes) for index, switch in enumerate(self.switches))
        return switches.of_nodes(behind, ranks, min(self.ranks_per_node, ranks))

    def with_ranks(self, ranks: int | None, ranks_per_node: int | None) -> ClusterSpec:
        """Returns a copy with other ranks on each node; `ranks` is checked, and stays the caller's."""
        spec = self if ranks_per_node is None else dataclasses.replace(self, ranks_per_node=ranks_per_node)
        if ranks is not None and not 1 <= ranks <= spec.ranks:
            raise AntiphonError(
                f"{ranks} ranks do not fit on {self.name}: {spec.nodes} nodes with {spec.ranks_per_node} ranks each",
                hint="name another cluster, or more --ranks-per-node",
            )
        return spec

    def thinned(self, nodes: int) -> ClusterSpec:
        """Returns a cluster of the same shape with so many of its nodes, at even distances, and as much of the links
        between switches as is theirs.
        """
        switch_of = [index for index, switch in enumerate(self.switches) for _ in range(switch.nodes)]
        kept = Counter(switch_of[i * self.nodes // nodes] for i in range(nodes))
        before, after = [len(below) for below in self.nodes_below()], [0] * len(self.switches)
        for index in range(len(self.switches) - 1, -1, -1):
            after[index] += kept[index]
            if self.switches[index].parent >= 0:
                after[self.switches[index].parent] += after[index]
        left = [index for index in range(len(self.switches)) if after[index]]
        place = {index: number for number, index in enumerate(left)} | {-1: -1}
        switches = []
        for index in left:
            switch = self.switches[index]
            rate = round(switch.uplink_bits_per_s * after[index] / before[index])
            parent = place[switch.parent]
            switches.append(dataclasses.replace(switch, parent=parent, nodes=kept[index], uplink_bits_per_s=rate))
        return dataclasses.replace(self, switches=tuple(switches))

    def summary(self) -> str:
        """Returns one line for people."""
        switches = "1 switch" if len(self.switches) == 1 else f"{len(self.switches)} switches in {self.levels()} levels"
        return (
            f"{self.nodes} nodes × {self.ranks_per_node} ranks, {switches}, {format_rate(self.rate_bits_per_s)}, "
            f"port buffer {format_size(self.port_buffer_bytes)}, hosts {self.hosts.name} ({self.hosts.basis})"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "nodes": self.nodes,
            "ranks_per_node": self.ranks_per_node,
            "ranks": self.ranks,
            "rate_bits_per_s": self.rate_bits_per_s,
            "port_buffer_bytes": self.port_buffer_bytes,
            "cores_per_node": self.cores_per_node,
            "levels": self.levels(),
            "switches": [dataclasses.asdict(switch) for switch in self.switches],
            "hosts": self.hosts.to_json(),
        }


def _check_nodes(nodes: int) -> None:
    if not 1 <= nodes <= MAX_NODES:
        raise AntiphonError(f"a cluster has 1 to {MAX_NODES} nodes, not {nodes}")


@dataclass(frozen=True)
class Level:
    """A level of a regular tree: the nodes below each of its switches, and how much less its uplink carries."""

    nodes: int
    oversubscription: float = 1.0


def regular_tree(nodes: int, levels: Sequence[Level], rate_bits_per_s: int, buffer_bytes: int) -> tuple[Switch, ...]:
    """Returns the switches of a tree whose levels are given from the nodes up, below one switch at the top."""
    _check_nodes(nodes)
    if not levels:
        return (Switch("top", nodes=nodes),)
    for below, above in zip(
        [1, *(level.nodes for level in levels)], [*(level.nodes for level in levels), nodes], strict=True
    ):
        if below < 1 or above <= below or above % below:
            raise AntiphonError(
                f"levels of {', '.join(str(level.nodes) for level in levels)} nodes do not make a tree of {nodes}",
                hint="each level has a multiple of the nodes of the one below, and the last fewer than all",
            )
    switches = [Switch("top")]
    parents = {0: 0}
    for depth, level in enumerate(reversed(levels)):
        rate = round(level.nodes * rate_bits_per_s / level.oversubscription)
        held = level.nodes if depth == len(levels) - 1 else 0
        names = {}
        for number in range(nodes // level.nodes):
            above = 0 if depth == 0 else number * level.nodes // levels[len(levels) - depth].nodes
            names[number] = len(switches)
            switches.append(
                Switch(f"{string.ascii_lowercase[depth]}{number}", parents[above], held, rate, buffer_bytes)
            )
        parents = names
    return tuple(switches)


def joined(counts: Mapping[str, int], uplinks: Sequence[tuple[str, str, int, int]], where: str) -> tuple[Switch, ...]:
    """Returns switches that links (between, and, bits per second, buffer) join, the first one at the top."""
    names = list(counts)
    switches = [Switch(names[0], nodes=counts[names[0]])]
    place = {names[0]: 0}
    left = list(uplinks)
    while left:
        link = next((one for one in left if (one[0] in place) != (one[1] in place)), None)
        if link is None:
            raise AntiphonError(
                f"{where}: its uplinks make no tree, or name a switch there is not",
                hint=f"switches: {', '.join(names)}",
            )
        left.remove(link)
        above, below = (link[0], link[1]) if link[0] in place else (link[1], link[0])
        if below not in counts:
            raise AntiphonError(
                f"{where}: an uplink names a switch {below!r} there is not", hint=f"switches: {', '.join(names)}"
            )
        place[below] = len(switches)
        switches.append(Switch(below, place[above], counts[below], link[2], link[3]))
    if len(switches) < len(names):
        raise AntiphonError(f"{where}: its switches are not all joined by uplinks", hint="add an [[uplink]] table")
    return tuple(switches)
