#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of docs/measurements/what-would-it-gain/simulator.md, in light and dark.

Lines are the times that the model predicts for growing parts of a cluster; a point is what SimGrid's SMPI needs for the
same schedules. Needs matplotlib (the extra `antiphon[plots]`). tests/unit/test_pictures.py draws it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import draw_gains
from draw_clusters import BYTES, KINDS, PANELS, colours_of, predictions
from draw_gains import SCHEMES
from matplotlib import pyplot, ticker

COLLECTIVES = ("bcast", "reduce", "allreduce", "allgather", "alltoall")
RANKS_PER_NODE = 32
WORDS = (
    "64 KiB, nodes with 32 ranks each, three levels of switches, 2:1\npredicted milliseconds over the number of nodes"
)


def read(cluster: str, collective: str) -> list[dict[str, Any]]:
    """Returns the rows of a collective, by the number of nodes."""
    wanted = (cluster, collective, BYTES, RANKS_PER_NODE)
    own = [
        row
        for row in predictions()
        if (row["cluster"], row["collective"], row["bytes"], row["ranks_per_node"]) == wanted
    ]
    return sorted(own, key=lambda row: row["nodes"])


def draw_panel(axes: Any, title: str, rows: Sequence[dict[str, Any]], c: draw_gains.Colours) -> None:
    """Draws a line for each way, and the simulator's points."""
    for kind, colour in colours_of(c).items():
        known = [row for row in rows if row[f"{kind}_s"]]
        axes.plot([row["nodes"] for row in known], [row[f"{kind}_s"] * 1e3 for row in known], color=colour,
                  linewidth=1.6, gid=f"{title} {kind}")  # fmt: skip
        seen = [row for row in known if row.get(f"{kind}_smpi_s")]
        axes.plot([row["nodes"] for row in seen], [row[f"{kind}_smpi_s"] * 1e3 for row in seen], color=colour,
                  marker="o", markersize=5, linewidth=0, gid=f"{title} {kind} points")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(ticker.FixedLocator([2, 8, 32, 128, 1024]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(ticker.NullLocator())
    axes.set_title(title, loc="left", color=c.ink, fontsize=11)
    axes.tick_params(colors=c.soft, labelcolor=c.ink, length=0)
    axes.grid(color=c.soft, alpha=0.25)
    for spine in axes.spines.values():
        spine.set_visible(False)


def draw(scheme: str) -> str:
    """Returns the picture as SVG."""
    c = SCHEMES[scheme]

    def fill(panels: Sequence[Any]) -> None:
        places = [(name, *panel) for name in COLLECTIVES for panel in PANELS.items()]
        for axes, (collective, rate, cluster) in zip(panels, places, strict=True):
            draw_panel(axes, f"{collective}, {rate}", read(cluster, collective), c)
        marks = [pyplot.Line2D([], [], color=colour, linewidth=1.6) for colour in colours_of(c).values()]
        marks.append(pyplot.Line2D([], [], color=c.ink, marker="o", markersize=5, linewidth=0))
        panels[0].legend(marks, (*KINDS.values(), "SMPI"), frameon=False, labelcolor=c.ink, fontsize=9)

    edges = {"left": 0.12, "right": 0.98, "bottom": 0.07, "hspace": 0.35, "wspace": 0.08}
    return draw_gains.svg_of_grid(fill, WORDS, (len(COLLECTIVES), len(PANELS)), 11, edges, c)


if __name__ == "__main__":
    draw_gains.write("growth", draw, __doc__)
