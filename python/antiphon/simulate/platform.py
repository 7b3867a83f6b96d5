# SPDX-License-Identifier: Apache-2.0
"""Describes a cluster to SimGrid: hosts, switches as routers, links, and what MPI costs.

What SimGrid can say of a host: a link that all its messages share, both directions together, for its cores; a rate that
no single message exceeds, for a connection; and cores for copies and reductions.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.cluster.profile import connection_bytes_per_s
from antiphon.cluster.spec import ClusterSpec
from antiphon.model.limits import PAYLOAD_SHARE

#: The hosts' speed: work is given in nanoseconds.
SPEED = "1Gf"


def xml_of(spec: ClusterSpec, ranks_per_node: int) -> str:
    """Returns the platform file."""
    cores = min(ranks_per_node, spec.cores_per_node or ranks_per_node)
    lines = [
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        '  <zone id="cluster" routing="Dijkstra">',
        *(f'    <host id="{host_name(node)}" speed="{SPEED}" core="{cores}"/>' for node in range(spec.nodes)),
        *(f'    <router id="{_switch(index)}"/>' for index in range(len(spec.switches))),
        *_links(spec, cores),
        *_routes(spec),
        "  </zone>",
        "</platform>",
    ]
    return "\n".join(lines) + "\n"


def host_name(node: int) -> str:
    return f"node{node}"


def settings_of(spec: ClusterSpec) -> dict[str, str]:
    """Returns SimGrid's settings: no factors of another cluster, and no costs of calls, which the traces have.

    A long message is announced and answered first: it takes three latencies. No send ends before its message has
    arrived: SimGrid shares a link among all that are under way, so all pieces of a message would arrive at its end.
    """
    host = spec.hosts.host()
    eager = spec.hosts.eager_bytes
    return {
        "smpi/simulate-computation": "no",
        "smpi/os": "0:0:0",
        "smpi/ois": "0:0:0",
        "smpi/or": "0:0:0",
        "smpi/async-small-thresh": "0",
        "smpi/send-is-detached-thresh": "0",
        "smpi/bw-factor": "0:1",
        "smpi/lat-factor": f"0:1;{eager + 1}:3",
        "network/crosstraffic": "no",
        "network/loopback-bw": f"{host.memory_mb_per_s * 1e6:.10g}",
        "network/loopback-lat": f"{host.memory_us * 1e-6:g}",
    }


def _switch(index: int) -> str:
    return f"switch{index}"


def _links(spec: ClusterSpec, cores: int) -> Iterator[str]:
    host = spec.hosts.host()
    half_s = host.latency_us * 0.5e-6
    yield _link("connection", connection_bytes_per_s(spec, host), 0, "FATPIPE")
    for node in range(spec.nodes):
        yield _link(f"port{node}", spec.port_bytes_per_s, half_s, "SPLITDUPLEX")
        yield _link(f"cores{node}", host.core_mb_per_s * 1e6 * cores, 0, "SHARED")
    for index, switch in enumerate(spec.switches):
        if switch.parent >= 0:
            rate = switch.uplink_bits_per_s / 8 * PAYLOAD_SHARE
            yield _link(f"uplink{index}", rate, host.switch_us * 1e-6, "SPLITDUPLEX")


def _link(name: str, bytes_per_s: float, latency_s: float, sharing: str) -> str:
    return (
        f'    <link id="{name}" bandwidth="{bytes_per_s:.10g}Bps" latency="{latency_s:g}s" sharing_policy="{sharing}"/>'
    )


def _routes(spec: ClusterSpec) -> Iterator[str]:
    node = 0
    for index, switch in enumerate(spec.switches):
        for _ in range(switch.nodes):
            around = ('<link_ctn id="connection"/>', f'<link_ctn id="cores{node}"/>')
            yield from _both_ways(host_name(node), _switch(index), f"port{node}", around)
            node += 1
        if switch.parent >= 0:
            yield from _both_ways(_switch(index), _switch(switch.parent), f"uplink{index}", ())


def _both_ways(low: str, high: str, link: str, around: tuple[str, ...]) -> Iterator[str]:
    extra = "".join(around)
    for source, target, direction in ((low, high, "UP"), (high, low, "DOWN")):
        yield (
            f'    <route src="{source}" dst="{target}" symmetrical="NO">{extra}'
            f'<link_ctn id="{link}" direction="{direction}"/></route>'
        )
