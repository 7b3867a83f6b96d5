# SPDX-License-Identifier: Apache-2.0
"""Traces and traffic (antiphon trace, antiphon traffic): who sends how much to whom, on which links, how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from antiphon.errors import AntiphonError
from antiphon.output.tables import bytes_text, share_text, time_text
from antiphon.placement import Placement
from antiphon.report import Recorded
from antiphon.report.kinds import _network, _timeline, _trace
from antiphon.report.page import Block, HeatMap, Page, Section, Table, Text
from antiphon.trace import Trace
from antiphon.traffic import Edges, Traffic
from antiphon.traffic.edges import Array
from antiphon.traffic.shares import contributions

#: With more ranks than this, nodes are shown instead.
MOST_RANKS = 96
MOST_NODES = 128


def accepts(document: Any) -> bool:
    """Accepts files that begin as ours do."""
    return isinstance(document, Recorded)


def page(document: Recorded, path: Path) -> Page:
    """Makes the whole report."""
    sections: list[Section] = []
    if document.kind == "trace":
        from antiphon.traffic.of_trace import of_trace

        trace = Trace.load(path)
        sections += [*_trace.sections(trace), _timeline.section(trace)]
        found = of_trace(trace)
        after = _moved(document.placement, found, lambda nodes: of_trace(trace, nodes=nodes))
    else:
        found = Traffic.load(path)
        after = _moved(document.placement, found, lambda _: found)
    views = _views(found, after)
    sections += [_calls(views), _heat(views)]
    if document.machine is not None:
        sections.append(_network.section(views, document.machine))
    sections.append(_trust(found))
    header = found.header
    subtitle = f"{found.ranks} ranks on {len(set(found.node_of_rank.tolist()))} nodes"
    subtitle += f", {header['mpi']}" if header.get("mpi") else ""
    subtitle += f"; collectives decomposed as {header.get('library', '?')} sends them"
    return Page(f"Traffic of {Path(str(header.get('program', '')) or path.name).name}", subtitle, sections)


def _moved(path: Path | None, before: Traffic, sent: Callable[[Sequence[int]], Traffic]) -> Traffic | None:
    """Returns the traffic of ranks in their places, on the placement's nodes; `sent`: by ranks on these nodes."""
    if path is None:
        return None
    placement = Placement.load(path)
    if placement.ranks != before.ranks:
        raise AntiphonError(f"{path} places {placement.ranks} ranks, the run had {before.ranks}")
    places = {"nodes": list(placement.node_of_rank), "hosts": [node.name for node in placement.nodes]}
    found = sent(placement.node_of_rank)
    return Traffic(found.ranks, found.parts, {**found.header, **places})


def _views(before: Traffic, after: Traffic | None) -> _network.Views:
    """Returns what is compared, and what it is called."""
    return [("", before)] if after is None else [("before", before), ("after", after)]


def _calls(views: _network.Views) -> Section:
    """Shows what each kind of call contributes, and which algorithm was assumed for it."""
    blocks: list[Block] = []
    for name, traffic in views:
        rows = []
        for one in contributions(traffic):
            part = one.part
            ranks = str(part.communicator_ranks or "")
            if part.communicators > 1:
                ranks = f"{part.communicators} × {ranks}"
            rows.append(
                [
                    part.name + (f", phase {part.phase}" if len({p.phase for p in traffic.parts}) > 1 else ""),
                    ranks,
                    str(part.calls),
                    part.algorithm + (" ≈" if part.approximation else ""),
                    part.schedules.replace("; ", ";\n"),
                    str(part.total_messages()),
                    bytes_text(one.payload_bytes),
                    share_text(one.payload_share),
                    bytes_text(one.crossing_bytes),
                    share_text(one.crossing_share),
                    time_text(part.seconds) if part.seconds else "–",
                ]
            )
        headings = ["call", "ranks", "calls", "algorithm assumed", "as our schedules", "messages", "payload", "share"]
        headings += ["between nodes", "share of that", "time in it"]
        blocks.append(Table(headings, rows, f"Each kind of call{', ' + name if name else ''}"))
    intro = (
        "Collectives are decomposed into the messages that the library really sends, by the algorithm that its table "
        "names for that size and number of ranks. A wrong one misleads: `antiphon traffic --verify` measures it. "
        "Payload only: no headers, no control messages."
    )
    return Section("What is sent", intro, blocks)


def _heat(views: _network.Views) -> Section:
    """Shows traffic between ranks, sorted by node, where there are few, and between nodes."""
    blocks: list[Block] = []
    by_rank = views[0][1].ranks <= MOST_RANKS
    shades = [_rank_matrix(traffic) if by_rank else None for _, traffic in views]
    for (name, traffic), matrix in zip(views, shades, strict=True):
        suffix = f", {name}" if name else ""
        if matrix is not None:
            order = np.argsort(traffic.node_of_rank, kind="stable")
            labels = [str(rank) for rank in order]
            blocks.append(_map(f"Between ranks, sorted by node{suffix}", matrix[np.ix_(order, order)], labels))
        nodes = int(traffic.node_of_rank.max()) + 1
        if nodes <= MOST_NODES:
            _, size = traffic.between()
            hosts = traffic.header.get("hosts") or []
            labels = [str(hosts[n]) if len(hosts) >= nodes else str(n) for n in range(nodes)]
            blocks.append(_map(f"Between nodes{suffix}", size, labels))
    return Section("Traffic", "Rows send. Shades are logarithmic; white is nothing.", blocks)


def _rank_matrix(traffic: Traffic) -> Array:
    edges: Edges
    edges, groups = traffic.total()
    matrix = np.zeros((traffic.ranks, traffic.ranks))
    for some in (edges, *(group.edges() for group in groups)):
        np.add.at(matrix, (some.source, some.target), some.bytes)
    return matrix


def _map(title: str, size: Array, labels: Sequence[str]) -> HeatMap:
    """Shows bytes as shades of their logarithm."""
    some = size[size > 0]
    low = float(np.log2(some.min())) if len(some) else 0.0
    shades = [[float(np.log2(v)) - low + 1 if v > 0 else 0.0 for v in row] for row in size]
    texts = [
        [f"{labels[r]} → {labels[c]}: {bytes_text(int(v))}" for c, v in enumerate(row)] for r, row in enumerate(size)
    ]
    least, most = (bytes_text(int(some.min())), bytes_text(int(some.max()))) if len(some) else ("0 B", "0 B")
    return HeatMap(title, shades, labels, texts, (f"nothing, {least}", most))


def _trust(found: Traffic) -> Section:
    """Lists the parts that are approximations."""
    lines = sorted({f"{part.name}: {part.approximation}" for part in found.parts if part.approximation})
    if not found.header.get("complete", True):
        lines.append("The trace is not complete: some ranks' calls are missing.")
    lines.append("Operations are taken to commute and to be MPI's own; a trace does not tell.")
    return Section("How far to trust this", "", [Text(lines)])
