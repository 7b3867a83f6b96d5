# SPDX-License-Identifier: Apache-2.0
"""A machine's profile (antiphon probe, antiphon tune): curves, matrices, topology, contention, decisions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon import profile
from antiphon.output.tables import bytes_text, ratio_text, time_text
from antiphon.probe.curves import at
from antiphon.report import tree
from antiphon.report.page import Block, Chart, Drawing, HeatMap, Page, Section, Series, Table, Text

CURVES = (
    ("g_s", "g(m), the gap between messages"),
    ("os_s", "os(m), the sender's processor"),
    ("or_s", "or(m), the receiver's processor"),
)


def accepts(document: Any) -> bool:
    """A profile identifies itself; a broken one is accepted, so that its error names the field."""
    return isinstance(document, Mapping) and document.get("format") == profile.FORMAT


def page(document: Mapping[str, Any], path: Path) -> Page:
    """Makes the whole report."""
    profile.check(document, str(path))
    machine = document["machine"]
    mpi = machine.get("mpi", {})
    under = " ".join(
        filter(None, (mpi.get("name"), mpi.get("version"), f"({mpi['transport']})" if mpi.get("transport") else ""))
    )
    subtitle = f"{machine['nodes']} nodes × {machine.get('ranks_per_node', 1)}" + (f", {under}" if under else "")
    subtitle += f", measured {document['created']}" if "created" in document else ""
    sections = [
        _network(document),
        _links(document),
        _pairs(document),
        _contention(document),
        _concurrency(document),
        _codecs(document),
        _decisions(document),
        _quality(document),
    ]
    return Page(f"Profile of {machine['name']}", subtitle, [section for section in sections if section.blocks])


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e6:.4g} MB/s"


def _network(document: Mapping[str, Any]) -> Section:
    topology = document["topology"]
    rows = [
        [
            entry["name"],
            time_text(entry["latency_s"]),
            *_at_sizes(entry["g_s"]),
            bytes_text(entry["eager_bytes"]) if "eager_bytes" in entry else "–",
        ]
        for entry in document["link_classes"]
    ]
    blocks: list[Block] = [
        Drawing(
            f"Switches and nodes, as found from the measurements{profile.sureness(topology)}",
            tree.svg(topology),
            tree.words(topology),
        ),
        Table(["link", "L", "g(0)", "g(1 KiB)", "g(64 KiB)", "best rate", "eager to"], rows, "Classes of links"),
    ]
    processors = document.get("processors")
    if processors:
        shared = processors.get("nodes_sharing", 1)
        cores = processors.get("physical_cores") or processors.get("cores_per_node")
        words = [f"{cores} cores a node"] if cores else []
        words += [f"{shared} nodes share them: an emulated cluster"] if shared > 1 else []
        blocks.append(Text(["; ".join(words) + "."])) if words else None
    return Section("Network", "Rates count payload, in each direction.", blocks)


def _at_sizes(points: Sequence[Sequence[float]]) -> list[str]:
    curve = [(int(size), float(seconds)) for size, seconds in points]
    rate = max((size / seconds for size, seconds in curve if size >= 65536 and seconds > 0), default=0.0)
    return [*(time_text(at(curve, size)) for size in (0, 1024, 65536)), _rate(rate) if rate else "–"]


def _links(document: Mapping[str, Any]) -> Section:
    blocks: list[Block] = []
    for entry in document["link_classes"]:
        series = [Series(name, [tuple(point) for point in entry[key]]) for key, name in CURVES]
        blocks.append(Chart(f"{entry['name']}: pLogP", series, x_label="bytes of a message", y_label="time"))
        details = entry.get("details", {})
        ways = (("one_way_s", "one message after the other (busy link)"), ("rested_s", "after a rest"))
        times = [Series(name, [tuple(point) for point in details[key]]) for key, name in ways if key in details]
        if times:
            blocks.append(
                Chart(f"{entry['name']}: time of one message", times, x_label="bytes of a message", y_label="time")
            )
    intro = (
        "Each point is a median; where one jumps (eager limits), the line does too. A size of 0 is drawn at 1. "
        "Drag to enlarge, double-click to go back."
    )
    return Section("Curves", intro, blocks)


def _pairs(document: Mapping[str, Any]) -> Section:
    pairs = document["topology"].get("pairs", {})
    names = [node.get("name", str(i)) for i, node in enumerate(document["topology"]["nodes"])]
    blocks: list[Block] = []
    for key, title, text, legend in (
        ("latency_s", "Latency", time_text, ("near", "far")),
        ("bytes_per_s", "Bandwidth", _rate, ("slow", "fast")),
    ):
        matrix = pairs.get(key)
        if matrix:
            labels = names if len(names) == len(matrix) else [str(i) for i in range(len(matrix))]
            texts = [
                [f"{labels[r]} → {labels[c]}: {'not measured' if v is None else text(v)}" for c, v in enumerate(row)]
                for r, row in enumerate(matrix)
            ]
            known = [v for row in matrix for v in row if v is not None]
            ends = (f"{text(min(known))} ({legend[0]})", f"{text(max(known))} ({legend[1]})") if known else legend
            blocks.append(HeatMap(f"{title} between nodes; rows send", matrix, labels, texts, ends))
    return Section(
        "Pairs", "Latency: half of a round trip of one byte. Bandwidth: one stream, nothing else on its links.", blocks
    )


def _contention(document: Mapping[str, Any]) -> Section:
    contention = document.get("contention", {})
    blocks: list[Block] = []
    if contention.get("gamma"):
        series = [Series("γ", [(row["ranks"], row["gamma"]) for row in contention["gamma"]])]
        blocks.append(
            Chart(
                "Contention of an all-to-all",
                series,
                x="number",
                y="number",
                x_label="ranks",
                y_label="γ",
                log_x=False,
                log_y=False,
            )
        )
    blocks += _incast(contention)
    if contention.get("credit_bytes"):
        credit = bytes_text(contention["credit_bytes"])
        blocks.append(Text([f"Credit: {credit} may be under way to one node, however many send."]))
    if contention.get("retransmission_timeout_s"):
        blocks.append(Text([f"A lost tail costs {time_text(contention['retransmission_timeout_s'])}."]))
    intro = "An exchange among P ranks takes lower + γ (upper − lower), of the bounds that pLogP gives."
    return Section("Contention", intro, blocks)


def _incast(contention: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    tried = sorted(contention.get("incast", []), key=lambda row: (row["senders"], row["bytes"]))
    if tried:
        groups = itertools.groupby(tried, key=lambda row: row["senders"])
        series = [Series(f"{k} senders", [(row["bytes"] * k, row["ratio"]) for row in rows]) for k, rows in groups]
        blocks.append(
            Chart(
                "Incast: time over that of the same bytes from one",
                series,
                y="number",
                x_label="bytes of all senders together",
                y_label="ratio",
                log_y=False,
            )
        )
    kept = contention.get("details", {}).get("by_senders", [])
    if kept:
        lost = [bytes_text(row["lost_bytes"]) if row["lost_bytes"] else "–" for row in kept]
        rows = [[str(row["senders"]), bytes_text(row["kept_bytes"]), lost[i]] for i, row in enumerate(kept)]
        blocks.append(Table(["senders", "most without loss, in all", "least with loss"], rows))
    return blocks


def _concurrency(document: Mapping[str, Any]) -> Section:
    found = document.get("concurrency", {})
    sizes = found.get("details", {}).get("sizes", [])
    if not sizes:
        return Section("Concurrency")
    names = {
        "one": "one message",
        "two": "two, to different ranks",
        "four": "four",
        "split_two": "one, in two halves to two ranks",
        "first_of_two": "the first of two",
        "one_way": "one, one direction only",
    }
    series = [
        Series(text, [(row["bytes"], row["seconds"][name]) for row in sizes if name in row["seconds"]])
        for name, text in names.items()
    ]
    words = f"Index worth using: {found.get('index', 1)}. "
    words += f"Two messages at once take {found.get('two_destinations_ratio', 0):.2f} times one"
    if "two_directions_ratio" in found:
        words += f", a message each way {found['two_directions_ratio']:.2f} times one way"
    blocks: list[Block] = [
        Text([words + "."]),
        Chart("Messages at once", series, x_label="bytes of a message", y_label="time of the slowest rank"),
    ]
    return Section("Concurrency", "", blocks)


def _codecs(document: Mapping[str, Any]) -> Section:
    codecs = document.get("codecs", [])
    rows = [
        [c["name"], *(_rate(c[key]) if key in c else "–" for key in ("encode_bytes_per_s", "decode_bytes_per_s"))]
        for c in codecs
    ]
    return Section("Codecs", "", [Table(["codec", "encodes", "decodes"], rows)] if rows else [])


def _decisions(document: Mapping[str, Any]) -> Section:
    rules = document.get("decisions", {}).get("rules", [])
    blocks: list[Block] = []
    if rules:
        rows = [[str(rule.get("collective", "*")), _when(rule), _use(rule), str(rule.get("why", ""))] for rule in rules]
        blocks.append(Table(["collective", "when", "use", "why"], rows, "Rules; the first that fits decides"))
    for tuned in document.get("measurements", {}).get("tune", []):
        where = (
            f"{tuned.get('library', tuned.get('mpi', ''))}, {tuned.get('ranks', '?')} ranks, for {tuned.get('purpose')}"
        )
        blocks.append(
            Table(["collective", "bytes", "ranks", "mode", "fastest", "median", "× library"], _fastest(tuned), where)
        )
    return Section("Decisions", "", blocks)


def _fastest(tuned: Mapping[str, Any]) -> list[list[str]]:
    """Returns for each cell the contender with the least median, and how much faster than the library's own it is."""
    cells: dict[tuple[str, int, int, str], list[Mapping[str, Any]]] = {}
    for cell in tuned.get("cells", []):
        cells.setdefault((cell["collective"], cell["bytes"], cell["ranks"], cell["mode"]), []).append(cell)
    rows = []
    for (collective, size, ranks, mode), contenders in sorted(cells.items()):
        best = min(contenders, key=lambda cell: cell["median_s"])
        library = next((cell["median_s"] for cell in contenders if cell["contender"] == "library"), None)
        faster = ratio_text(library / best["median_s"]) if library else ""
        name = best["contender"].removeprefix("antiphon:")
        rows.append([collective, bytes_text(size), str(ranks), mode, name, time_text(best["median_s"]), faster])
    return rows


def _when(rule: Mapping[str, Any]) -> str:
    skip = ("collective", "use", "parameters", "why", "details")
    return ", ".join(f"{key} {_range(key, value)}" for key, value in rule.items() if key not in skip)


def _range(key: str, value: Any) -> str:
    """Writes [low, high] in words; either end may be open."""
    if not (isinstance(value, list) and len(value) == 2):
        return str(value)
    text = bytes_text if key.endswith("bytes") else str
    low, high = value
    if low == high:
        return text(low)
    return f"from {text(low)}" if high is None else f"to {text(high)}" if not low else f"{text(low)} – {text(high)}"


def _use(rule: Mapping[str, Any]) -> str:
    parameters = ", ".join(f"{key}={value}" for key, value in (rule.get("parameters") or {}).items())
    return str(rule.get("use", "")) + (f" ({parameters})" if parameters else "")


def _held_out(round_trips: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        [
            f"{r.get('link_class', '')}, {r['link']}",
            bytes_text(r["bytes"]),
            time_text(r["predicted_s"]),
            time_text(r["measured_s"]),
            f"{100 * r['error']:+.1f} %",
        ]
        for r in round_trips
    ]
    headings = ["link", "bytes", "predicted", "measured", "error"]
    return Table(headings, rows, "Round trips at sizes that no curve was made from")


def _quality(document: Mapping[str, Any]) -> Section:
    found = document.get("measurements", {})
    blocks: list[Block] = []
    spread = [
        [e["name"], *(f"±{100 * e['details']['confidence'][q]:.1f} %" for q in ("os", "or", "g"))]
        for e in document["link_classes"]
        if "confidence" in e.get("details", {})
    ]
    if spread:
        blocks.append(
            Table(
                ["link", "os", "or", "g"],
                spread,
                "Half the 95 % interval of the median, over the median (median of all sizes)",
            )
        )
    if found.get("held_out"):
        blocks.append(_held_out(found["held_out"]))
    if "samples_taken" in found:
        words = f"{found['samples_taken']} samples, {found['outliers']} of them far from the rest (kept)"
        blocks.append(Text([words + (f"; all are in {found['samples']}." if "samples" in found else ".")]))
    if found.get("notes"):
        blocks.append(Text(list(found["notes"])))
    return Section("How far to trust this", "", blocks)
