# SPDX-License-Identifier: Apache-2.0
"""Shows traffic on the links of a measured machine: the switch tree, and the model's costs."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon import core, profile
from antiphon.mapping.hosts import expanded, in_profile
from antiphon.output.tables import bytes_text, ratio_text, time_text
from antiphon.report import tree
from antiphon.report.page import Block, Drawing, Section, Table, Text
from antiphon.traffic import Traffic

MOST_LINKS = 24
#: What is compared, and what it is called.
Views = Sequence[tuple[str, Traffic]]


def section(views: Views, machine: Path) -> Section:
    """Returns the tree with bytes on its links, the links that need longest, and what each call costs."""
    document = profile.load(machine)
    text = machine.read_text(encoding="utf-8")
    nodes = sum(int(node.get("count", 1)) for node in document["topology"]["nodes"])
    used = max(int(traffic.node_of_rank.max()) for _, traffic in views) + 1
    if used > nodes:
        words = f"{machine} has {nodes} nodes, the run used {used}: no network is shown."
        return Section("Network", "", [Text([words])])
    topology = expanded(document["topology"])
    views, notes = _on_machine(views, document["topology"])
    scores = [score(traffic, text) for _, traffic in views]
    blocks: list[Block] = [Text(notes)] if notes else []
    for (name, _), one in zip(views, scores, strict=True):
        loads = {load["name"]: load for load in one["links"]}
        title = "Traffic on the network's links" + (f", {name}" if name else "")
        blocks.append(Drawing(title, tree.svg(topology, loads), tree.words(topology, loads)))
    blocks += [_links(views, scores), _costs(views, scores), _contributions(views, text)]
    intro = (
        "Numbers at links are payload in the fuller direction; the darker, the more time at the link's rate. "
        "Costs are the model's that `antiphon map` minimises (docs/reference/mapping-files.md)."
    )
    return Section("Network", intro, blocks)


def _on_machine(views: Views, topology: Mapping[str, Any]) -> tuple[Views, list[str]]:
    """Returns the views with the profile's numbers of their nodes, and what is not known of these."""
    found, notes = [], []
    for name, traffic in views:
        places = traffic.node_of_rank
        numbers, note = in_profile(traffic.header.get("hosts") or [], int(places.max()) + 1, topology)
        nodes = [numbers[place] for place in places]
        found.append((name, Traffic(traffic.ranks, traffic.parts, {**traffic.header, "nodes": nodes})))
        notes += [f"{name}: {note}" if name else note] if note else []
    return found, notes


def score(traffic: Traffic, machine: str) -> dict[str, Any]:
    """Returns the core's costs and link loads of the ranks where this traffic says that they are."""
    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        file = Path(folder) / "traffic"
        traffic.mapping_file(file)
        nodes = traffic.node_of_rank.tolist()
        request = {"traffic_file": str(file), "machine": machine, "node_of_rank": nodes}
        return core.query("score_mapping", **request, cores_per_node=max(Counter(nodes).values()))


def _links(views: Views, scores: Sequence[Mapping[str, Any]]) -> Table:
    found: dict[str, list[str]] = {}
    order: list[str] = []
    for i, one in enumerate(scores):
        for load in one["links"]:
            if load["name"] not in found:
                order.append(load["name"])
                found[load["name"]] = ["–"] * (2 * len(scores))
            found[load["name"]][2 * i : 2 * i + 2] = [bytes_text(int(load["bytes"])), time_text(load["seconds"])]
    headings = ["link", *(f"{what}{', ' + name if name else ''}" for name, _ in views for what in ("bytes", "time"))]
    rows = [[name, *found[name]] for name in order[:MOST_LINKS]]
    return Table(
        headings, rows, "Links that need the most time" + (" (first those of the run)" if len(views) > 1 else "")
    )


COSTS = {
    "predicted_s": "predicted",
    "congestion_s": "busiest link",
    "rank_latency_s": "latencies of a rank",
    "rank_volume_s": "bytes of a rank",
    "messages_s": "all messages one by one",
}


def _costs(views: Views, scores: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for key, words in COSTS.items():
        values = [float(one["costs"][key]) for one in scores]
        faster = [ratio_text(values[0] / values[-1])] if len(values) > 1 and values[-1] > 0 else []
        rows.append([words, *(time_text(v) for v in values), *faster])
    gain = ["times less"] if len(views) > 1 else []
    return Table(["cost", *(name or "as it ran" for name, _ in views), *gain], rows, "Costs of the whole run")


def _contributions(views: Views, machine: str) -> Table:
    """Returns the cost of each kind of call alone."""
    totals: dict[str, list[float]] = {}
    for i, (_, traffic) in enumerate(views):
        for name in dict.fromkeys(part.name for part in traffic.parts):
            one = score(traffic.selected(lambda part, name=name: part.name == name), machine)  # type: ignore[misc]
            totals.setdefault(name, [0.0] * len(views))[i] = float(one["costs"]["predicted_s"])
    rows = []
    for name, values in sorted(totals.items(), key=lambda item: -item[1][0]):
        faster = [ratio_text(values[0] / values[-1]) if values[-1] > 0 else "–"] if len(views) > 1 else []
        rows.append([name, *(time_text(v) for v in values), *faster])
    gain = ["times less"] if len(views) > 1 else []
    return Table(
        ["call", *(name or "as it ran" for name, _ in views), *gain], rows, "Predicted cost of each kind of call alone"
    )
