# SPDX-License-Identifier: Apache-2.0
"""Shows estimates: rows of a table, and a page with curves over sizes for several numbers of ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from antiphon.cluster.estimate import Estimate, Way
from antiphon.cluster.hosts import FIELDS, VARIANTS
from antiphon.cluster.spec import ClusterSpec
from antiphon.output.tables import bytes_text, ratio_text, time_text
from antiphon.report.page import Block, Chart, Page, Section, Series, Table, Text
from antiphon.simulate.growth import Point

CAUTION = (
    "Nothing here was measured on this cluster. Times are the model's, for an idle network without losses. The "
    "library's own algorithms do not bound what is under way: they lose more than Antiphon's where ports overflow."
)
BINDS = {
    "wire": "the nodes' links bind",
    "uplink": "the links between switches bind",
    "host": "the hosts' cores bind, before the wire",
    "connections": "the connections bind, before the wire",
}
#: Sizes of the curves.
SIZES = tuple(1 << shift for shift in range(10, 23, 2))
#: The collectives whose curves are drawn.
_SHOWN = ("bcast", "reduce", "allreduce", "allgather", "alltoall")
#: Curves are drawn for the whole cluster, a quarter of its nodes, and a sixteenth.
_SHARES = (4, 16)
HEADINGS = (
    "collective", "bytes", "library", "Antiphon", "gain", "range of gain", "× limit", "what binds", "Antiphon's way",
    "used without tuning",
)  # fmt: skip


def shown(names: Sequence[str]) -> list[str]:
    """Returns the collectives that get curves: those, or what was asked for."""
    return [name for name in _SHOWN if name in names] or [name for name in names if name != "barrier"]


def fewer_ranks(spec: ClusterSpec, ranks: int) -> list[int]:
    """Returns smaller numbers of ranks that get curves too, at least two nodes each."""
    nodes = -(-ranks // spec.ranks_per_node)
    return [nodes // share * spec.ranks_per_node for share in _SHARES if nodes // share >= 2]


def row(one: Estimate) -> list[str]:
    """Returns the cells of an estimate, as HEADINGS."""
    gain = one.gain
    span = f"{gain.low_s:.2f} – {gain.high_s:.2f}" if gain else "–"
    ratio = one.antiphon.typical_s / one.bound.seconds if one.antiphon and one.bound else None
    return [
        one.collective,
        bytes_text(one.bytes) if one.collective != "barrier" else "",
        time_text(one.library.typical_s if one.library else None),
        time_text(one.antiphon.typical_s if one.antiphon else None),
        ratio_text(gain.typical_s if gain else None),
        span,
        ratio_text(ratio),
        one.bound.binds if one.bound else "–",
        one.choice,
        one.at_once,
    ]


def page(
    spec: ClusterSpec,
    library: str,
    found: Sequence[Estimate],
    curves: Sequence[Estimate],
    grown: Mapping[str, Sequence[Point]],
) -> Page:
    """Returns the page: a table of everything, then each collective's curves over sizes and over ranks."""
    sections = [Section("Estimates", CAUTION, [Table(list(HEADINGS), [row(one) for one in found])])]
    for name in dict.fromkeys(one.collective for one in curves):
        sections.append(_section([one for one in curves if one.collective == name]))
        if grown.get(name):
            sections[-1].blocks.append(over_ranks(grown[name]))
    sections.append(_assumed(spec))
    return Page(f"What Antiphon would gain on {spec.name}", f"{spec.summary()}; beside {library}", sections)


def _section(curves: Sequence[Estimate]) -> Section:
    ranks = sorted({one.ranks for one in curves}, reverse=True)
    largest = [one for one in curves if one.ranks == ranks[0]]
    blocks: list[Block] = [
        Chart(
            f"time, {ranks[0]} ranks",
            [
                Series("library", [(one.bytes, one.library.typical_s) for one in largest if one.library]),
                Series("Antiphon", [(one.bytes, one.antiphon.typical_s) for one in largest if one.antiphon]),
                Series("Antiphon, flat", [(one.bytes, one.flat.seconds) for one in largest if one.flat]),
                Series("Antiphon, nested", [(one.bytes, one.nested.seconds) for one in largest if one.nested]),
                Series("limit", [(one.bytes, one.bound.seconds) for one in largest if one.bound]),
            ],
            x_label="bytes",
            y_label="time",
        ),
        Chart(
            "gain: the library's time over Antiphon's",
            [
                Series(
                    f"{count} ranks",
                    [(one.bytes, one.gain.typical_s) for one in curves if one.ranks == count and one.gain],
                )
                for count in ranks
            ],
            x_label="bytes",
            y_label="times faster",
            y="number",
            log_y=False,
        ),
    ]
    return Section(curves[0].collective, _said(largest), blocks)


def over_ranks(points: Sequence[Point]) -> Chart:
    """Returns lines over ranks at one size, with the simulator's points on the model's lines."""

    def line(pick: Callable[[Point], float | None]) -> list[tuple[float, float]]:
        return [(point.estimate.ranks, value) for point in points if (value := pick(point))]

    def seconds(way: Way | None) -> float | None:
        return way.seconds if way else None

    lines = [
        Series("library", line(lambda p: p.estimate.library.typical_s if p.estimate.library else None)),
        Series("Antiphon, flat", line(lambda p: seconds(p.estimate.flat))),
        Series("Antiphon, nested", line(lambda p: seconds(p.estimate.nested))),
        Series("flat, simulated by SMPI", line(lambda p: p.simulated_flat_s), marks_only=True),
        Series("nested, simulated by SMPI", line(lambda p: p.simulated_nested_s), marks_only=True),
    ]
    size = bytes_text(points[0].estimate.bytes)
    shown = [one for one in lines if one.points]
    return Chart(f"{size} over parts of the cluster of the same shape", shown, x="number", x_label="ranks",
                 y_label="time")  # fmt: skip


def _said(largest: Sequence[Estimate]) -> str:
    """Says where there is no gain."""
    gains = [(one.bytes, one.gain) for one in largest if one.gain]
    none = [bytes_text(size) for size, gain in gains if gain.typical_s < 1.05]
    if not gains:
        return "What the library does here is not known."
    if not none:
        return "Faster than the library at every size that is shown."
    return f"No gain of 5 % or more at {', '.join(none)}."


def _assumed(spec: ClusterSpec) -> Section:
    rows = [[name, *(f"{value:g}" for value in spec.hosts.values[name])] for name in FIELDS]
    lines = Text([f"Hosts: {spec.hosts.name}, {spec.hosts.basis}. {spec.hosts.source}"])
    return Section("What is assumed", "The range of an estimate is that of fast and slow hosts.",
                   [lines, Table(["value", *VARIANTS], rows)])  # fmt: skip
