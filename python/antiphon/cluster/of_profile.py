# SPDX-License-Identifier: Apache-2.0
"""Describes a measured machine as a cluster, for simulators: of a profile, what such a description can say.

value                          from the profile's link class between nodes
latency_us                     latency_s, of which what a receiver's turns take is a part where ranks share cores
send_us, receive_us            os(0), and or(0) without what is waiting for a turn: as much as os(0)
core_mb_per_s                  the slopes of os and or up to the eager limit
connection_mb_per_s            connection_way_bytes_per_s, connection_bytes_per_s: the lesser
memory_us, memory_mb_per_s     the class within nodes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.cluster.hosts import FIELDS, HostRange, for_rate
from antiphon.cluster.spec import ClusterSpec, Switch
from antiphon.model.limits import PAYLOAD_SHARE

#: A message of this size is long beside what any message costs.
_LONG_BYTES = 16384


def spec_of(document: Mapping[str, Any], name: str) -> ClusterSpec:
    """Returns the cluster of a profile; ports hold what the profile says, or 64 KiB."""
    topology = document["topology"]
    port = min(node["port_bytes_per_s"] for node in topology["nodes"])
    bits_per_s = round(8 * port / PAYLOAD_SHARE)
    buffer_bytes = document.get("contention", {}).get("port_buffer_bytes", 65536)
    return ClusterSpec(
        name,
        _switches(topology, buffer_bytes),
        bits_per_s,
        buffer_bytes,
        _hosts(document, bits_per_s, port),
        description="a measured machine",
        ranks_per_node=document["machine"].get("ranks_per_node", 1),
    )


def nodes_of(document: Mapping[str, Any]) -> list[int]:
    """Returns the profile's number of each of the cluster's nodes, which are numbered in the order of the switches."""
    place = {switch["name"]: index for index, switch in enumerate(document["topology"]["switches"])}
    behind = [place[node["switch"]] for node in document["topology"]["nodes"] for _ in range(node.get("count", 1))]
    return sorted(range(len(behind)), key=lambda node: behind[node])


def _switches(topology: Mapping[str, Any], buffer_bytes: int) -> tuple[Switch, ...]:
    place = {switch["name"]: index for index, switch in enumerate(topology["switches"])}
    nodes = [0] * len(place)
    for node in topology["nodes"]:
        nodes[place[node["switch"]]] += node.get("count", 1)
    return tuple(
        Switch(
            switch["name"],
            place[switch["parent"]] if "parent" in switch else -1,
            nodes[index],
            round(8 * switch.get("uplink_bytes_per_s", 0) / PAYLOAD_SHARE),
            switch.get("uplink_buffer_bytes", buffer_bytes),
        )
        for index, switch in enumerate(topology["switches"])
    )


def _hosts(document: Mapping[str, Any], bits_per_s: int, port_bytes_per_s: float) -> HostRange:
    links = {entry["scope"]: entry for entry in document["link_classes"]}
    link = links.get("switch") or links.get("uplink") or document["link_classes"][-1]
    usual = for_rate(bits_per_s)
    send_s = _at(link["os_s"], 0)
    per_byte_s = max(_slope(link["os_s"]), _slope(link["or_s"]))
    limits = [link[key] for key in ("connection_way_bytes_per_s", "connection_bytes_per_s") if link.get(key)]
    values = {field: usual.values[field][1] for field in FIELDS} | {
        "latency_us": 1e6 * link["latency_s"],
        "send_us": 1e6 * send_s,
        "receive_us": 1e6 * min(_at(link["or_s"], 0), send_s),
        "core_mb_per_s": 1e-6 / per_byte_s if per_byte_s > 0 else 20e-6 * port_bytes_per_s,
        "connection_mb_per_s": 1e-6 * min(limits, default=0.0),
    }
    if "node" in links:
        near = links["node"]
        values["memory_us"] = 1e6 * near["latency_s"]
        values["memory_mb_per_s"] = 1e-6 * _LONG_BYTES / max(_at(near["g_s"], _LONG_BYTES), 1e-9)
    return HostRange(
        f"of {document['machine']['name']}",
        "measured",
        "antiphon probe",
        bits_per_s,
        link.get("eager_bytes", 1 << 30),
        {field: (value, value, value) for field, value in values.items()},
    )


def _slope(curve: Sequence[Sequence[float]]) -> float:
    """Returns the seconds for each byte between nothing and the last size below _LONG_BYTES."""
    inside = [point for point in curve if point[0] <= _LONG_BYTES]
    if len(inside) < 2:
        inside = list(curve[:2])
    size, seconds = inside[-1]
    return max(seconds - inside[0][1], 0.0) / size if size else 0.0


def _at(curve: Sequence[Sequence[float]], size: int) -> float:
    """Returns the value at the largest size of the curve that is not above `size`."""
    return max((point for point in curve if point[0] <= size), key=lambda point: point[0])[1]
