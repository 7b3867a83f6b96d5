# SPDX-License-Identifier: Apache-2.0
"""Draws switches and nodes: each switch above its nodes, links between switches with their rates."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from antiphon.output.tables import bytes_text
from antiphon.report.heat import shade

NODE_WIDTH, NODE_HEIGHT, GAP, LEVEL = 58, 26, 8, 104
MOST_DRAWN = 20


def svg(topology: Mapping[str, Any], loads: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Returns the drawing of a profile's topology; `loads` says what goes over links, by the core's names for them."""
    switches = topology["switches"]
    names = [switch["name"] for switch in switches]
    depth = _depths(switches)
    columns = {name: _shown(topology["nodes"], name) for name in names}
    width_of = {name: max(150, (NODE_WIDTH + GAP) * min(len(columns[name]), 8)) for name in names}
    levels = [[name for name in names if depth[name] == d] for d in range(max(depth.values()) + 1)]
    total = max(sum(width_of[name] + 40 for name in level) for level in levels) + 20
    place: dict[str, tuple[float, float]] = {}
    y = 30.0
    for level in levels:
        used = sum(width_of[name] + 40 for name in level)
        x = (total - used) / 2 + 20
        for name in level:
            place[name] = (x + width_of[name] / 2, y)
            x += width_of[name] + 40
        y += LEVEL + 34 * max(-(-len(columns[name]) // 8) for name in level)
    y -= LEVEL - 50
    parts = [
        f'<svg class="tree" viewBox="0 0 {total:.0f} {y:.0f}" width="{min(total, 1080):.0f}" role="img" '
        f'aria-label="{escape(words(topology, loads))}">'
    ]
    most = max((load["seconds"] for load in (loads or {}).values()), default=0.0)
    parts += [
        _uplink(switch, place, _loaded(loads, switch["name"], ("up", "down"), most))
        for switch in switches
        if "parent" in switch
    ]
    for name in names:
        traffic = {node: _loaded(loads, node, ("out", "in"), most) for node, _ in columns[name]}
        parts += _switch(name, place[name], columns[name], width_of[name], traffic)
    return "".join([*parts, "</svg>"])


def words(topology: Mapping[str, Any], loads: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Returns in words what the drawing shows."""
    said = []
    for switch in topology["switches"]:
        nodes = [node for node in topology["nodes"] if node["switch"] == switch["name"]]
        count = sum(int(node.get("count", 1)) for node in nodes)
        rates = sorted({f"{node['port_bytes_per_s'] / 1e6:.4g}" for node in nodes})
        text = f"{switch['name']} has {count} nodes" + (f" at {' and '.join(rates)} MB/s a port" if nodes else "")
        if "parent" in switch:
            text += f" and a link of {switch['uplink_bytes_per_s'] / 1e6:.4g} MB/s to {switch['parent']}"
        said.append(text)
    if loads:
        name, load = max(loads.items(), key=lambda item: float(item[1]["seconds"]))
        said.append(f"the link that needs the most time is {name}, with {bytes_text(int(load['bytes']))}")
    return "; ".join(said) + "."


def _depths(switches: list[Mapping[str, Any]]) -> dict[str, int]:
    depth: dict[str, int] = {}
    for switch in switches:
        depth[switch["name"]] = depth[switch["parent"]] + 1 if "parent" in switch else 0
    return depth


def _shown(nodes: list[Mapping[str, Any]], switch: str) -> list[tuple[str, float]]:
    """Returns names and rates of a switch's nodes; many nodes become the first few and a count."""
    listed = [
        (
            str(node.get("name", "node")) + (f" ×{node['count']}" if node.get("count", 1) > 1 else ""),
            node["port_bytes_per_s"],
        )
        for node in nodes
        if node["switch"] == switch
    ]
    if len(listed) <= MOST_DRAWN:
        return listed
    return [*listed[: MOST_DRAWN - 1], (f"+ {len(listed) - MOST_DRAWN + 1}", listed[-1][1])]


#: The text of a link's traffic, and a colour that says how much of the busiest link's time it needs.
Load = tuple[str, str]


def _loaded(
    loads: Mapping[str, Mapping[str, Any]] | None, name: str, directions: tuple[str, str], most: float
) -> Load | None:
    """Returns the fuller direction of a link, or None where no traffic is to be shown."""
    if loads is None:
        return None
    both = [loads[f"{name} {way}"] for way in directions if f"{name} {way}" in loads]
    if not both:
        return ("0 B", _colour(0.0))
    fuller = max(both, key=lambda load: float(load["bytes"]))
    return (bytes_text(int(fuller["bytes"])), _colour(fuller["seconds"] / most if most else 0.0))


def _colour(share: float) -> str:
    return f"var(--h{shade(share)})"


def _uplink(switch: Mapping[str, Any], place: Mapping[str, tuple[float, float]], load: Load | None) -> str:
    (x1, y1), (x2, y2) = place[switch["parent"]], place[switch["name"]]
    rate = f"{switch['uplink_bytes_per_s'] / 1e6:.4g} MB/s" + (f": {load[0]}" if load else "")
    shade = f' style="stroke:{load[1]};stroke-width:7"' if load else ""
    return (
        f'<line class="uplink" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"{shade}/>'
        f'<text class="rate" x="{(x1 + x2) / 2 + 8:.0f}" y="{y2 - 22:.0f}">{rate}</text>'
    )


def _switch(
    name: str, at: tuple[float, float], nodes: list[tuple[str, float]], width: float, traffic: Mapping[str, Load | None]
) -> list[str]:
    x, y = at
    rates = sorted({f"{rate / 1e6:.4g}" for _, rate in nodes})
    label = f"{name}: {' and '.join(rates)} MB/s a port" if nodes else name
    parts = []
    for i, (node, _) in enumerate(nodes):
        row, column = divmod(i, 8)
        in_row = min(8, len(nodes) - 8 * row)
        left = x - in_row * (NODE_WIDTH + GAP) / 2 + column * (NODE_WIDTH + GAP) + GAP / 2
        top = y + 44 + row * 34
        load = traffic[node]
        shade = f' style="stroke:{load[1]};stroke-width:4"' if load else ""
        middle = left + NODE_WIDTH / 2
        parts.append(f'<line class="port" x1="{x:.0f}" y1="{y:.0f}" x2="{middle:.0f}" y2="{top:.0f}"{shade}/>')
        parts.append(
            f'<rect class="node" x="{left:.0f}" y="{top:.0f}" width="{NODE_WIDTH}" height="{NODE_HEIGHT}" rx="4"/>'
        )
        parts.append(
            f'<text x="{middle:.0f}" y="{top + 17 - 4 * bool(load):.0f}" text-anchor="middle">{escape(node[:9])}</text>'
        )
        if load:
            parts.append(f'<text x="{middle:.0f}" y="{top + 23:.0f}" text-anchor="middle">{escape(load[0])}</text>')
    parts.append(
        f'<rect class="switch" x="{x - width / 2:.0f}" y="{y - 15:.0f}" width="{width:.0f}" height="30" rx="6"/>'
    )
    parts.append(f'<text class="switch-name" x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{escape(label)}</text>')
    return parts
