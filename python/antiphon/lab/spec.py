# SPDX-License-Identifier: Apache-2.0
"""Describes a lab: nodes, switches, links. It holds data only; nothing here touches the system."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.model.limits import PAYLOAD_SHARE
from antiphon.units import format_rate, format_size, format_time_ns, parse_rate, parse_size, parse_time_ns

MAX_NODES = 200  # This is limited by the addresses of one /24 and by what one machine can reasonably carry.
MAX_RANKS_PER_NODE = 256
MAX_LATENCY_NS = 1_000_000_000
MAX_CONNECTION_BITS_PER_S = 16_000_000_000  # The kernel's rate of a socket has 32 bits, of bytes.
# Single frames at higher rates take more than two cores, with 8 nodes already.
_MOST_FRAMES_BITS_PER_S = 150_000_000
_FAST_BITS_PER_S = 500_000_000
LOSS_PROTOCOLS = ("tcp", "udp", "both")


@dataclass(frozen=True)
class Switch:
    """A switch (a Linux bridge) and the number of nodes plugged into it."""

    name: str
    nodes: int


@dataclass(frozen=True)
class Uplink:
    """A link between two switches, with its own rate and output buffers."""

    between: tuple[str, str]
    rate_bits_per_s: int
    buffer_bytes: int
    #: What it takes a packet to get across, beside the link's rate.
    latency_ns: int = 0


@dataclass(frozen=True)
class Loss:
    """Random loss of packets as they arrive at nodes."""

    percent: float
    protocol: str = "both"
    nodes: tuple[int, ...] = ()  # numbers from 1; empty: all nodes


@dataclass(frozen=True)
class Traffic:
    """A stream of another job from one node to another, numbered from 1."""

    source: int
    target: int
    bits_per_s: int = 0  # 0: as much as there is


@dataclass(frozen=True)
class LinkDefaults:
    """The defaults that follow from a link's rate."""

    port_buffer_bytes: int
    node_buffer_bytes: int
    burst_bytes: int
    offloads: bool


def link_defaults(rate_bits_per_s: int) -> LinkDefaults:
    """Returns defaults: up to 150 Mb/s packets are real frames; above, one machine needs segmentation offload.

    A node's own queue then holds what Linux's usual one does (fq_codel, 32 MiB): long packets of many connections fill
    a shorter one, and a host does not lose its own packets.
    """
    if rate_bits_per_s <= _MOST_FRAMES_BITS_PER_S:
        return LinkDefaults(128 * 1024, 2 * 1024 * 1024, 8 * 1024, False)
    if rate_bits_per_s < _FAST_BITS_PER_S:
        return LinkDefaults(128 * 1024, 32 * 1024 * 1024, 8 * 1024, True)
    return LinkDefaults(512 * 1024, 32 * 1024 * 1024, 64 * 1024, True)


@dataclass(frozen=True)
class ClusterSpec:
    """An emulated cluster. Node n (from 1) has host name `node%02d` and address 10.77.0.n."""

    name: str
    switches: tuple[Switch, ...]
    rate_bits_per_s: int
    port_buffer_bytes: int
    node_buffer_bytes: int
    burst_bytes: int
    offloads: bool
    description: str = ""
    uplinks: tuple[Uplink, ...] = ()
    ranks_per_node: int = 1
    loss: Loss | None = None
    #: The ranks are not told the links' rate, as on a cluster whose system does not know it.
    hide_rate: bool = False
    #: What each TCP connection carries one way; 0: as much as the links.
    connection_bits_per_s: int = 0
    #: What it takes a packet to get from a node to its switch or back, beside the link's rate.
    latency_ns: int = 0
    #: What all ports of a switch hold together; 0: each port has a buffer of its own.
    shared_buffer_bytes: int = 0
    #: A packet that finds so much in a port's buffer is marked (ECN); 0: none is.
    ecn_bytes: int = 0
    traffic: tuple[Traffic, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    @property
    def nodes(self) -> int:
        return sum(switch.nodes for switch in self.switches)

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node

    @property
    def limit_bits_per_s(self) -> int:
        """Returns the payload that TCP can carry over one node's link."""
        return int(self.rate_bits_per_s * PAYLOAD_SHARE)

    @property
    def smallest_buffer_bytes(self) -> int:
        """Returns the shortest queue that a packet may meet."""
        ports = [self.port_buffer_bytes, *(uplink.buffer_bytes for uplink in self.uplinks)]
        if self.shared_buffer_bytes:
            most_ports = max(self.ports_of(switch) for switch in self.switches)
            ports = [self.shared_buffer_bytes // (most_ports + 1)]  # what each may hold where all are full
        return min(self.node_buffer_bytes, *ports)

    def ports_of(self, switch: Switch) -> int:
        return switch.nodes + sum(switch.name in uplink.between for uplink in self.uplinks)

    def node_name(self, number: int) -> str:
        return f"node{number:02d}"

    def node_names(self) -> list[str]:
        return [self.node_name(number) for number in range(1, self.nodes + 1)]

    def switch_of(self, number: int) -> int:
        """Returns the index of the switch that node `number` (from 1) is plugged into."""
        for index, switch in enumerate(self.switches):
            if number <= switch.nodes:
                return index
            number -= switch.nodes
        raise IndexError(number)

    def to_dict(self) -> dict[str, Any]:
        """Returns the same keys and spellings as a cluster file."""
        document: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "rate": format_rate(self.rate_bits_per_s),
            "port_buffer": format_size(self.port_buffer_bytes),
            "node_buffer": format_size(self.node_buffer_bytes),
            "burst": format_size(self.burst_bytes),
            "offloads": self.offloads,
            "ranks_per_node": self.ranks_per_node,
            "switch": [{"name": s.name, "nodes": s.nodes} for s in self.switches],
            "uplink": [_uplink_to_dict(uplink) for uplink in self.uplinks],
        }
        if self.hide_rate:
            document["hide_rate"] = True
        texts: tuple[tuple[str, Callable[[int], str], int], ...] = (
            ("connection_rate", format_rate, self.connection_bits_per_s),
            ("latency", format_time_ns, self.latency_ns),
            ("shared_buffer", format_size, self.shared_buffer_bytes),
            ("ecn", format_size, self.ecn_bytes),
        )
        document |= {field: text(value) for field, text, value in texts if value}
        if self.traffic:
            document["traffic"] = [
                {"from": one.source, "to": one.target}
                | ({"rate": format_rate(one.bits_per_s)} if one.bits_per_s else {})
                for one in self.traffic
            ]
        if self.loss:
            document["loss"] = {
                "percent": self.loss.percent,
                "protocol": self.loss.protocol,
                "nodes": list(self.loss.nodes),
            }
        return document

    def summary(self) -> str:
        """Returns one line for people."""
        switches = "1 switch" if len(self.switches) == 1 else f"{len(self.switches)} switches"
        ranks = "" if self.ranks_per_node == 1 else f" × {self.ranks_per_node} ranks"
        loss = f", {self.loss.percent:g}% loss" if self.loss else ""
        loss += f", {len(self.traffic)} streams of another job" if self.traffic else ""
        hidden = " (hidden)" if self.hide_rate else ""
        buffers = f"port buffer {format_size(self.port_buffer_bytes)}"
        if self.shared_buffer_bytes:
            buffers = f"{format_size(self.shared_buffer_bytes)} buffer for all ports of a switch"
        buffers += f", marks from {format_size(self.ecn_bytes)}" if self.ecn_bytes else ""
        latencies = [self.latency_ns, *(uplink.latency_ns for uplink in self.uplinks)]
        buffers += f", {format_time_ns(max(latencies))} latency" if any(latencies) else ""
        paced = f", {format_rate(self.connection_bits_per_s)} a connection" if self.connection_bits_per_s else ""
        return (
            f"{self.nodes} nodes{ranks}, {switches}, {format_rate(self.rate_bits_per_s)}{hidden}{paced}, "
            f"{buffers}{loss}"
        )

    def with_options(
        self,
        *,
        nodes: int | None = None,
        switches: list[int] | None = None,
        rate: str | None = None,
        port_buffer: str | None = None,
        burst: str | None = None,
        offloads: bool | None = None,
        uplink_rate: str | None = None,
        uplink_buffer: str | None = None,
        ranks_per_node: int | None = None,
        loss: Loss | None = None,
        hide_rate: bool | None = None,
        connection_rate: str | None = None,
        latency: str | None = None,
        uplink_latency: str | None = None,
        shared_buffer: str | None = None,
        ecn: str | None = None,
    ) -> ClusterSpec:
        """Returns a copy with options applied. A new rate brings its own defaults for buffer, burst and offloads."""
        change: dict[str, Any] = {}
        if rate is not None:
            change["rate_bits_per_s"] = _option("--link-rate", parse_rate, rate)
            change.update(dataclasses.asdict(link_defaults(change["rate_bits_per_s"])))
        texts: tuple[tuple[str, str, Callable[[str], int], str | None], ...] = (
            ("port_buffer_bytes", "--buffer", parse_size, port_buffer),
            ("burst_bytes", "--burst", parse_size, burst),
            ("connection_bits_per_s", "--connection-rate", parse_rate, connection_rate),
            ("latency_ns", "--latency", parse_time_ns, latency),
            ("shared_buffer_bytes", "--shared-buffer", parse_size, shared_buffer),
            ("ecn_bytes", "--ecn", parse_size, ecn),
        )
        change |= {field: _option(option, parse, text) for field, option, parse, text in texts if text is not None}
        given = {"offloads": offloads, "ranks_per_node": ranks_per_node, "loss": loss, "hide_rate": hide_rate}
        change |= {field: value for field, value in given.items() if value is not None}
        spec = dataclasses.replace(self, **_topology_options(self, nodes, switches), **change)
        return _with_uplink_options(spec, rate is not None, uplink_rate, uplink_buffer, uplink_latency)


def _uplink_to_dict(uplink: Uplink) -> dict[str, Any]:
    document = {
        "between": list(uplink.between),
        "rate": format_rate(uplink.rate_bits_per_s),
        "buffer": format_size(uplink.buffer_bytes),
    }
    return document | ({"latency": format_time_ns(uplink.latency_ns)} if uplink.latency_ns else {})


def _option(option: str, parse: Callable[[str], int], text: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise AntiphonError(f"{option}: {error}") from None


def chain(counts: list[int], rate_bits_per_s: int, buffer_bytes: int) -> tuple[tuple[Switch, ...], tuple[Uplink, ...]]:
    """Returns switches a, b, c… in a row, each joined to the next by an uplink."""
    switches = tuple(Switch(chr(ord("a") + i) if i < 26 else f"s{i}", count) for i, count in enumerate(counts))
    uplinks = tuple(
        Uplink((left.name, right.name), rate_bits_per_s, buffer_bytes)
        for left, right in zip(switches[:-1], switches[1:], strict=True)
    )
    return switches, uplinks


def _topology_options(spec: ClusterSpec, nodes: int | None, switches: list[int] | None) -> dict[str, Any]:
    if switches is not None:
        if nodes is not None and nodes != sum(switches):
            raise AntiphonError(
                f"--nodes {nodes} contradicts --switches, which has {sum(switches)} nodes", hint="give one of them"
            )
        made, uplinks = chain(switches, spec.rate_bits_per_s, spec.port_buffer_bytes)
        return {"switches": made, "uplinks": uplinks}
    if nodes is None:
        return {}
    if len(spec.switches) > 1:
        raise AntiphonError(
            f"--nodes is ambiguous: cluster {spec.name!r} has {len(spec.switches)} switches",
            hint="say how many nodes each switch has, for example --switches 8,8",
        )
    return {"switches": (Switch(spec.switches[0].name, nodes),)}


def _with_uplink_options(
    spec: ClusterSpec, new_rate: bool, rate: str | None, buffer: str | None, latency: str | None
) -> ClusterSpec:
    if not spec.uplinks:
        if rate is not None or buffer is not None or latency is not None:
            raise AntiphonError(
                f"--uplink-rate, --uplink-buffer and --uplink-latency need several switches; "
                f"cluster {spec.name!r} has one",
                hint="for example --switches 8,8 --uplink-rate 100mbit",
            )
        return spec
    bits = _option("--uplink-rate", parse_rate, rate) if rate else (spec.rate_bits_per_s if new_rate else None)
    size = _option("--uplink-buffer", parse_size, buffer) if buffer else (spec.port_buffer_bytes if new_rate else None)
    time_ns = _option("--uplink-latency", parse_time_ns, latency) if latency else None
    uplinks = tuple(
        Uplink(u.between, bits or u.rate_bits_per_s, size or u.buffer_bytes, time_ns or u.latency_ns)
        for u in spec.uplinks
    )
    return dataclasses.replace(spec, uplinks=uplinks)


def _check(spec: ClusterSpec) -> None:
    if not spec.switches:
        raise AntiphonError(f"cluster {spec.name!r} has no switch")
    for switch in spec.switches:
        if switch.nodes < 0:
            raise AntiphonError(f"cluster {spec.name!r}: switch {switch.name!r} has {switch.nodes} nodes")
        if not re.fullmatch(r"[a-z][a-z0-9]{0,7}", switch.name):
            raise AntiphonError(
                f"cluster {spec.name!r}: switch name {switch.name!r} is not usable",
                hint="use a lower-case letter, then up to 7 letters or digits",
            )
    if spec.connection_bits_per_s > MAX_CONNECTION_BITS_PER_S:
        raise AntiphonError(f"{format_rate(spec.connection_bits_per_s)} a connection: at most 16gbit is possible")
    if spec.nodes < 1:
        raise AntiphonError(f"cluster {spec.name!r} has no nodes", hint="give at least 1 node")
    if spec.nodes > MAX_NODES:
        raise AntiphonError(f"too many nodes: {spec.nodes}", hint=f"a lab has at most {MAX_NODES} nodes")
    if not 1 <= spec.ranks_per_node <= MAX_RANKS_PER_NODE:
        raise AntiphonError(f"ranks per node must be 1 to {MAX_RANKS_PER_NODE}, not {spec.ranks_per_node}")
    if min(spec.burst_bytes, spec.smallest_buffer_bytes) < 1600:
        raise AntiphonError("burst and each buffer must hold at least one frame", hint="give at least 2kb")
    if max([spec.latency_ns, *(uplink.latency_ns for uplink in spec.uplinks)]) > MAX_LATENCY_NS:
        raise AntiphonError(f"a latency of more than {format_time_ns(MAX_LATENCY_NS)} is not possible")
    most_bytes = spec.shared_buffer_bytes // 2 or spec.port_buffer_bytes
    if spec.ecn_bytes >= most_bytes:
        raise AntiphonError(
            f"marks from {format_size(spec.ecn_bytes)} on, but a port holds at most {format_size(most_bytes)}",
            hint="give a smaller size with ecn (or --ecn)",
        )
    _check_tree(spec)
    _check_loss(spec)
    for one in spec.traffic:
        outside = [number for number in (one.source, one.target) if not 1 <= number <= spec.nodes]
        if outside:
            raise AntiphonError(f"traffic of node {outside[0]}, but the cluster has nodes 1 to {spec.nodes}")
        if one.source == one.target:
            raise AntiphonError(f"traffic from node {one.source} to itself")


def _check_tree(spec: ClusterSpec) -> None:
    names = [switch.name for switch in spec.switches]
    if len(set(names)) != len(names):
        raise AntiphonError(f"cluster {spec.name!r}: two switches have the same name")
    group = {name: name for name in names}
    for uplink in spec.uplinks:
        left, right = uplink.between
        if left not in group or right not in group:
            raise AntiphonError(
                f"cluster {spec.name!r}: uplink between {left!r} and {right!r} names a switch there is not",
                hint=f"switches: {', '.join(names)}",
            )
        if group[left] == group[right]:
            raise AntiphonError(
                f"cluster {spec.name!r}: uplink between {left!r} and {right!r} closes a loop",
                hint="join the switches as a tree; the lab's switches do not run a spanning tree protocol",
            )
        merged, kept = group[right], group[left]
        group = {name: kept if root == merged else root for name, root in group.items()}
    if len(set(group.values())) > 1:
        raise AntiphonError(
            f"cluster {spec.name!r}: its switches are not all joined by uplinks", hint="add an [[uplink]] table"
        )


def _check_loss(spec: ClusterSpec) -> None:
    if spec.loss is None:
        return
    if not 0 <= spec.loss.percent <= 100:
        raise AntiphonError(f"loss of {spec.loss.percent:g} percent is not possible", hint="give 0 to 100")
    if spec.loss.protocol not in LOSS_PROTOCOLS:
        raise AntiphonError(
            f"loss of protocol {spec.loss.protocol!r} is unknown", hint=f"one of {', '.join(LOSS_PROTOCOLS)}"
        )
    outside = [number for number in spec.loss.nodes if not 1 <= number <= spec.nodes]
    if outside:
        raise AntiphonError(f"loss on node {outside[0]}, but the cluster has nodes 1 to {spec.nodes}")
