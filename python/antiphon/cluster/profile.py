# SPDX-License-Identifier: Apache-2.0
"""Writes a cluster as the profile that a probe would have to find there (docs/reference/profile.md)."""

from __future__ import annotations

import json
from typing import Any

from antiphon.cluster.hosts import Host
from antiphon.cluster.spec import ClusterSpec
from antiphon.model.limits import PAYLOAD_SHARE

#: Sizes of the curves' points.
_SIZES = (0, *(1 << shift for shift in range(9, 27)))
#: What the kernel waits for an acknowledgement at least.
_TIMEOUT_S = 0.2
#: How long a waiting rank that polls and yields holds a core that ranks share.
_TURN_S = 5e-6
#: Messages within a node up to this size are copied twice.
_MEMORY_EAGER_BYTES = 4096
#: Of a schedule's messages within a node, from this size on receivers copy from their senders' memory.
_FETCHED_FROM_BYTES = 16 << 10


def text_of(spec: ClusterSpec, variant: str = "typical") -> str:
    """Returns the profile of the cluster with fast, typical or slow hosts."""
    return json.dumps(document(spec, variant))


def document(spec: ClusterSpec, variant: str = "typical") -> dict[str, Any]:
    """Returns the same as a document."""
    host = spec.hosts.host(variant)
    return {
        "format": "antiphon-profile",
        "version": 1,
        "machine": {"name": spec.name, "nodes": spec.nodes, "ranks_per_node": spec.ranks_per_node},
        "link_classes": [_memory(host), *_links(spec, host)],
        "topology": _topology(spec),
        "contention": {
            "credit_bytes": credit_bytes(spec, host),
            "port_buffer_bytes": spec.port_buffer_bytes,
            "retransmission_timeout_s": _TIMEOUT_S,
        },
        "processors": {"cores_per_node": spec.cores_per_node, "turn_s": _TURN_S},
    }


def connection_bytes_per_s(spec: ClusterSpec, host: Host) -> float:
    """Returns what one connection carries in one direction alone."""
    own = host.connection_mb_per_s * 1e6
    return min(own, spec.port_bytes_per_s) if own else spec.port_bytes_per_s


def credit_bytes(spec: ClusterSpec, host: Host) -> int:
    """Returns what may be under way to one node: what the path holds, and half of a port's buffer."""
    return int(spec.port_bytes_per_s * 2 * host.latency_us * 1e-6) + spec.port_buffer_bytes // 2


def _memory(host: Host) -> dict[str, Any]:
    half_s = host.memory_us * 0.5e-6
    per_byte_s = 1 / (host.memory_mb_per_s * 1e6)
    return {
        "name": "node",
        "scope": "node",
        "latency_s": host.memory_us * 1e-6,
        "os_s": _line(half_s, per_byte_s / 2, _MEMORY_EAGER_BYTES),
        "or_s": _line(half_s, per_byte_s / 2, _MEMORY_EAGER_BYTES),
        "g_s": _line(half_s, per_byte_s, 1 << 20),
        "eager_bytes": _MEMORY_EAGER_BYTES,
        "shared_memory": {
            "latency_s": host.memory_us * 1e-6,
            "g_s": _line(half_s, per_byte_s, 1 << 20),
            "fetched_from_bytes": _FETCHED_FROM_BYTES,
        },
    }


def _links(spec: ClusterSpec, host: Host) -> list[dict[str, Any]]:
    further = spec.levels() - 1
    classes = [_link("switch", host.latency_us, spec, host)]
    if further:
        classes.append(_link("uplink", host.latency_us + 2 * further * host.switch_us, spec, host))
    return classes


def _link(scope: str, latency_us: float, spec: ClusterSpec, host: Host) -> dict[str, Any]:
    per_byte_s = 1 / (host.core_mb_per_s * 1e6)
    return {
        "name": scope,
        "scope": scope,
        "latency_s": latency_us * 1e-6,
        "os_s": _line(host.send_us * 1e-6, per_byte_s, spec.hosts.eager_bytes),
        "or_s": _line(host.receive_us * 1e-6, per_byte_s, spec.hosts.eager_bytes),
        "g_s": _gap(spec, host),
        "eager_bytes": spec.hosts.eager_bytes,
        "connection_bytes_per_s": host.connection_mb_per_s * 1e6,
    }


def _gap(spec: ClusterSpec, host: Host) -> list[list[float]]:
    """The next message follows when the wire, the connection and both processors are done with this one.

    A long message is announced and answered first.
    """
    rate = connection_bytes_per_s(spec, host)
    eager = spec.hosts.eager_bytes

    def seconds(size: int) -> float:
        busy_s = max(host.send_us, host.receive_us) * 1e-6 + size / (host.core_mb_per_s * 1e6)
        return max(busy_s, size / rate)

    below = [[size, seconds(size)] for size in _SIZES if size < eager]
    asking_s = 2 * host.latency_us * 1e-6
    above = [[size, seconds(size) + asking_s] for size in _SIZES if size > eager]
    return [*below, [eager, seconds(eager)], [eager, seconds(eager) + asking_s], *above]


def _line(base_s: float, per_byte_s: float, size: int) -> list[list[float]]:
    """A line through 0 and `size`. The model continues work above the eager limit from what is below."""
    return [[0, base_s], [size, base_s + size * per_byte_s]]


def _topology(spec: ClusterSpec) -> dict[str, Any]:
    switches: list[dict[str, Any]] = []
    for switch in spec.switches:
        entry: dict[str, Any] = {"name": switch.name}
        if switch.parent >= 0:
            entry |= {
                "parent": spec.switches[switch.parent].name,
                "uplink_bytes_per_s": switch.uplink_bits_per_s / 8 * PAYLOAD_SHARE,
                "uplink_buffer_bytes": switch.uplink_buffer_bytes,
            }
        switches.append(entry)
    nodes = [
        {
            "switch": switch.name,
            "port_bytes_per_s": spec.port_bytes_per_s,
            "burst_bytes": spec.burst_bytes * PAYLOAD_SHARE,
            "count": switch.nodes,
        }
        for switch in spec.switches
        if switch.nodes
    ]
    return {"switches": switches, "nodes": nodes}
