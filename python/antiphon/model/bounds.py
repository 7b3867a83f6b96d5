# SPDX-License-Identifier: Apache-2.0
"""What no algorithm can beat: the least time of a collective's links, of its hosts and of their connections.

Links: as antiphon.model.limits. Hosts: a byte that goes from node to node is work for a core on either side, so the
average node's cores must move so many bytes, both directions together, however they are sent (m, P, N nodes, a of the
ranks on a node, b = P − a):

  barrier                       0
  bcast, reduce, scan, exscan   2 m (N − 1) / N
  allreduce                     4 m (N − 1) / N
  scatter(v), gather(v)         m b, by the root's node
  allgather(v), reduce_scatter  2 m b
  alltoall(v)                   2 m a b

Connections: between the ranks of a node and all others there are a × b, each with its own rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.model import limits


@dataclass(frozen=True)
class Bound:
    """The least time, and what it is the time of: "wire", "uplink", "host" or "connections"."""

    seconds: float
    binds: str


@dataclass(frozen=True)
class HostLimits:
    """What hosts allow besides their links, in bytes per second; 0: as much as the links."""

    #: One rank's core, both directions together.
    rank_bytes_per_s: float = 0.0
    #: One connection, one way.
    connection_bytes_per_s: float = 0.0
    #: The cores of a node; 0: one for each rank.
    cores_per_node: int = 0


def bound_of(
    collective: str, message_bytes: int, network: limits.Network, hosts: HostLimits, root: int = 0
) -> Bound | None:
    """Returns the greatest of the least times; None where no byte has to cross a link."""
    loads = list(limits.loads_of(collective, message_bytes, network, root))
    crossing = limits.node_bytes(collective, message_bytes, network.node_of_rank, root)
    if not crossing:
        return None
    ranks = len(network.node_of_rank)
    per_node = max(Counter(network.node_of_rank).values())
    cores = min(per_node, hosts.cores_per_node or per_node)
    found = [Bound(8 * loads[0].bytes / loads[0].bits_per_s, "wire")]
    found += [Bound(8 * load.bytes / load.bits_per_s, "uplink") for load in loads[1:]]
    if hosts.rank_bytes_per_s:
        work_bytes = host_bytes(collective, message_bytes, ranks, per_node)
        found.append(Bound(work_bytes / (hosts.rank_bytes_per_s * cores), "host"))
    if hosts.connection_bytes_per_s:
        connections = per_node * (ranks - per_node)
        found.append(Bound(crossing / (hosts.connection_bytes_per_s * connections), "connections"))
    return max(found, key=lambda bound: bound.seconds)


def host_bytes(collective: str, message_bytes: int, ranks: int, per_node: int) -> float:
    """Returns what the average node's cores must move, or the root's; see the table above."""
    nodes = -(-ranks // per_node)
    outside = ranks - per_node
    if collective == "barrier":
        return 0
    if collective in ("bcast", "reduce", "scan", "exscan"):
        return 2 * message_bytes * (nodes - 1) / nodes
    if collective == "allreduce":
        return 4 * message_bytes * (nodes - 1) / nodes
    if collective in ("scatter", "scatterv", "gather", "gatherv"):
        return message_bytes * outside
    if collective in ("alltoall", "alltoallv"):
        return 2 * message_bytes * per_node * outside
    return 2 * message_bytes * outside


def of_profile(document: Mapping[str, Any], ranks: int, ranks_per_node: int) -> tuple[limits.Network, HostLimits]:
    """Returns links and hosts of a measured machine with so many consecutive ranks on each node."""
    links = [entry for entry in document["link_classes"] if entry["scope"] in ("switch", "uplink")]
    rates = [
        entry[name]
        for entry in links[:1]
        for name in ("connection_bytes_per_s", "connection_way_bytes_per_s")
        if entry.get(name)
    ]
    processors = document.get("processors", {})
    own_cores = processors.get("nodes_sharing", 1) == 1
    # The ranks that were measured may have been bound to few of a node's cores.
    cores = max(processors.get("cores_per_node", 0), processors.get("physical_cores", 0))
    hosts = HostLimits(
        processors.get("rank_bytes_per_s", 0.0),
        min(rates, default=0.0),
        cores if own_cores else 0,
    )
    return network_of(document, [rank // ranks_per_node for rank in range(ranks)]), hosts


def network_of(document: Mapping[str, Any], node_of_rank: Sequence[int]) -> limits.Network:
    """Returns the links of a measured machine with ranks on its first nodes."""
    nodes = max(node_of_rank) + 1
    ports = [e["port_bytes_per_s"] for e in document["topology"]["nodes"] for _ in range(e.get("count", 1))]
    used = [8 * ports[node % len(ports)] for node in range(nodes)]
    uplinks = tuple(_uplinks(document["topology"], nodes))
    return limits.Network(node_of_rank, min(used), uplinks, bits_per_s_of_nodes=used)


def _uplinks(topology: Mapping[str, Any], nodes: int) -> Iterator[limits.UplinkLimit]:
    """Yields the link above each switch that has only some of the first `nodes` nodes below it."""
    placed = [entry["switch"] for entry in topology["nodes"] for _ in range(entry.get("count", 1))]
    inside: dict[str, set[int]] = {switch["name"]: set() for switch in topology["switches"]}
    for node in range(nodes):
        inside[placed[node % len(placed)]].add(node)
    for switch in reversed(topology["switches"]):  # a parent comes before its children
        if "parent" not in switch:
            continue
        below = inside[switch["name"]]
        inside[switch["parent"]] |= below
        if 0 < len(below) < nodes:
            yield limits.UplinkLimit(frozenset(below), 8 * switch["uplink_bytes_per_s"])
