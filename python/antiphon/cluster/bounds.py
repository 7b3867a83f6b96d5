# SPDX-License-Identifier: Apache-2.0
"""What no algorithm can beat on a cluster: the least time of its links, of its hosts and of its connections.

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

from dataclasses import dataclass

from antiphon.cluster.profile import connection_bytes_per_s
from antiphon.cluster.spec import ClusterSpec
from antiphon.model import limits


@dataclass(frozen=True)
class Bound:
    """The least time, and what it is the time of: "wire", "uplink", "host" or "connections"."""

    seconds: float
    binds: str


def bound_of(
    collective: str, message_bytes: int, spec: ClusterSpec, ranks: int, variant: str = "typical"
) -> Bound | None:
    """Returns the greatest of the least times; None where no byte has to cross a link."""
    per_node = min(spec.ranks_per_node, ranks)
    network = _network(spec, ranks, per_node)
    loads = list(limits.loads_of(collective, message_bytes, network))
    crossing = loads[0].bytes
    if not crossing:
        return None
    host = spec.hosts.host(variant)
    cores = min(per_node, spec.cores_per_node or per_node)
    work_bytes = host_bytes(collective, message_bytes, ranks, per_node)
    connections = per_node * (ranks - per_node)
    found = [Bound(crossing / spec.port_bytes_per_s, "wire")]
    found += [Bound(8 * load.bytes / load.bits_per_s, "uplink") for load in loads[1:]]
    found.append(Bound(work_bytes / (host.core_mb_per_s * 1e6 * cores), "host"))
    if host.connection_mb_per_s:
        rate = connection_bytes_per_s(spec, host) * connections
        found.append(Bound(crossing / rate, "connections"))
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


def _network(spec: ClusterSpec, ranks: int, per_node: int) -> limits.Network:
    """Returns the network with one uplink of each kind: that of the root's side, and that of the last nodes."""
    nodes = -(-ranks // per_node)
    kept: dict[tuple[int, int, bool], limits.UplinkLimit] = {}
    for switch, below in zip(spec.switches, spec.nodes_below(), strict=True):
        inside = [node for node in below if node < nodes]
        if switch.parent >= 0 and 0 < len(inside) < nodes:
            rate = switch.uplink_bits_per_s * limits.PAYLOAD_SHARE
            kept.setdefault(
                (len(inside), switch.uplink_bits_per_s, 0 in inside), limits.UplinkLimit(frozenset(inside), rate)
            )
    return limits.Network([rank // per_node for rank in range(ranks)], spec.port_bytes_per_s * 8, tuple(kept.values()))
