# SPDX-License-Identifier: Apache-2.0
"""What no algorithm can beat: the bytes that a collective must move over the busiest link, and the time they need.

A link cuts the ranks into those behind it (`inside`) and all others. Both directions carry data at the same time, so
the fuller one counts. Blocks of m bytes; P ranks, a of them inside and b = P − a outside:

  collective                    bytes over the cut, in the fuller direction
  barrier                       0
  bcast, reduce, scan, exscan   m
  scatter(v), gather(v)         m × the ranks on the side that the root is not on
  allgather(v)                  m × max(a, b): everybody's block goes in once, however many want it
  alltoall(v)                   m × a × b
  allreduce                     m; over the links of N nodes 2 m (N − 1) / N: that much the average node must send
  reduce_scatter(_block)        m × max(a, b): sums for the other side's blocks, already added up on this side

m is the whole message for bcast, reduce, allreduce, scan and exscan, and one rank's block for the others. For the
vector collectives, equal blocks of m. With one rank per node and one switch that is, for alltoall, (P − 1) m per link.

That is the limit of calls without end. A link may let a burst pass at once after a pause, in emulated and cloud
networks most of all, so single calls can take less: no less than the time of the bytes beyond the burst (`least_of`).
Headers count; the hosts' own work does not, since it only makes calls slower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from antiphon.output import tables

#: A full Ethernet frame counts 1514 bytes on a link (and in the lab's token buckets) and carries 1448 bytes for TCP:
#: its headers take 66 (Ethernet 14, IP 20, TCP 20 and 12 for timestamps).
PAYLOAD_SHARE = 1448 / 1514
#: Marks a time below its limit.
BELOW = "°"


@dataclass(frozen=True)
class UplinkLimit:
    """A link between switches: the nodes on one side of it, and its payload rate."""

    nodes: frozenset[int]
    bits_per_s: float
    burst_bytes: float = 0.0


@dataclass(frozen=True)
class Network:
    """Where ranks are, and how fast the links are. Rates count payload, and so do the bursts that pass at once after a
    pause.
    """

    node_of_rank: Sequence[int]
    node_bits_per_s: float
    uplinks: Sequence[UplinkLimit] = field(default=())
    burst_bytes: float = 0.0
    #: The rate of each node's link, where they differ.
    bits_per_s_of_nodes: Sequence[float] = field(default=())

    @classmethod
    def blocks(cls, ranks: int, ranks_per_node: int, node_bits_per_s: float) -> Network:
        """One switch; ranks 0…ppn−1 on the first node, and so on."""
        return cls([rank // ranks_per_node for rank in range(ranks)], node_bits_per_s)

    @property
    def nodes(self) -> int:
        return len(set(self.node_of_rank))

    def bits_per_s(self, node: int) -> float:
        return self.bits_per_s_of_nodes[node] if self.bits_per_s_of_nodes else self.node_bits_per_s


@dataclass(frozen=True)
class Cut:
    """How a link divides the ranks."""

    inside: int
    outside: int
    root_inside: bool


def bytes_over_cut(collective: str, message_bytes: int, cut: Cut) -> float:
    """Bytes that must cross in the fuller direction; see the table above."""
    if cut.inside == 0 or cut.outside == 0 or collective == "barrier":
        return 0
    if collective in ("bcast", "reduce", "allreduce", "scan", "exscan"):
        return message_bytes
    if collective in ("scatter", "scatterv", "gather", "gatherv"):
        return message_bytes * (cut.outside if cut.root_inside else cut.inside)
    if collective in ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block"):
        return message_bytes * max(cut.inside, cut.outside)
    if collective in ("alltoall", "alltoallv"):
        return message_bytes * cut.inside * cut.outside
    raise ValueError(f"no limit is known for {collective!r}")


def node_bytes(collective: str, message_bytes: int, node_of_rank: Sequence[int], root: int = 0) -> float:
    """Bytes over the busiest of the nodes' own links."""
    return _busiest_node(collective, message_bytes, Network(node_of_rank, 1.0), root).bytes


@dataclass(frozen=True)
class Load:
    """The bytes that a call moves over one link, and the link."""

    bytes: float
    bits_per_s: float
    burst_bytes: float


def limit_of(loads: Iterable[Load]) -> float | None:
    """The least time of a call among many that the links allow; None where no byte has to cross one."""
    return max((8 * load.bytes / load.bits_per_s for load in loads), default=0) or None


def least_of(loads: Iterable[Load], calls: int = 1) -> float:
    """The least time of each of so many calls in a row on links that have rested: that of what is beyond the burst."""
    return max([0.0, *(8 * (load.bytes - load.burst_bytes / calls) / load.bits_per_s for load in loads)])


def limit_s(collective: str, message_bytes: int, network: Network, root: int = 0) -> float | None:
    """`limit_of` a collective."""
    return limit_of(loads_of(collective, message_bytes, network, root))


def ratio_text(seconds: float | None, limit: float | None) -> str:
    """Formats a time as a multiple of its limit, with a mark where it is below: `BELOW_NOTE` gives the reason."""
    if seconds is None or not limit:
        return "–"
    return tables.ratio_text(seconds / limit) + (BELOW if seconds < limit else "")


def below_note(rows: Iterable[tuple[float | None, float | None]], burst_bytes: float = 0.0) -> str | None:
    """Returns the reason for times below their limits, if among (time, limit) there are any."""
    if not any(seconds and limit and seconds < limit for seconds, limit in rows):
        return None
    burst = f" ({tables.bytes_text(round(burst_bytes))} here)" if burst_bytes else ""
    return (
        f"{BELOW} below the limit, which is that of calls without end: a link that has rested lets a burst{burst} pass "
        "at once"
    )


def loads_of(collective: str, message_bytes: int, network: Network, root: int = 0) -> Iterator[Load]:
    """The loads of the busiest node's link and of each link between switches."""
    yield _busiest_node(collective, message_bytes, network, root)
    for uplink in network.uplinks:
        cut = _cut(network.node_of_rank, uplink.nodes, root)
        yield Load(bytes_over_cut(collective, message_bytes, cut), uplink.bits_per_s, uplink.burst_bytes)


def _busiest_node(collective: str, message_bytes: int, network: Network, root: int) -> Load:
    """The load of the node's link that needs the longest; of an allreduce, also that of the average node's."""
    ranks, loads = len(network.node_of_rank), []
    inside_of = Counter(network.node_of_rank)
    for node, inside in inside_of.items():
        cut = Cut(inside, ranks - inside, network.node_of_rank[root] == node)
        crossing = bytes_over_cut(collective, message_bytes, cut)
        loads.append(Load(crossing, network.bits_per_s(node), network.burst_bytes))
    if collective == "allreduce" and (nodes := len(inside_of)) > 1:
        mean = sum(load.bits_per_s for load in loads) / nodes
        loads.append(Load(2 * message_bytes * (nodes - 1) / nodes, mean, network.burst_bytes))
    return max(loads, key=lambda load: load.bytes / load.bits_per_s)


def _cut(node_of_rank: Sequence[int], nodes: frozenset[int], root: int) -> Cut:
    inside = sum(node in nodes for node in node_of_rank)
    return Cut(inside, len(node_of_rank) - inside, node_of_rank[root] in nodes)
