#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of docs/measurements/what-would-it-gain.md, in light and dark, from the predictions it shows.

A bar is the predicted time of one call: of the library, and of Antiphon flat and nested.
Needs matplotlib (the extra `antiphon[plots]`). tests/unit/test_pictures.py draws it again.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
from typing import Any

import draw_gains
import matplotlib
from draw_gains import FONTS, PICTURES, ROOT, SCHEMES
from matplotlib import pyplot

SAMPLES = ROOT / "bench" / "results" / "simulators" / "several-none-curves.jsonl.gz"
BYTES = 65536
PANELS = {"25 Gb/s": "25gbe-1024x32-3levels-2to1", "100 Gb/s": "100gbe-1024x32-3levels-2to1"}
KINDS = {"library": "the library", "flat": "Antiphon, flat", "nested": "Antiphon, nested"}
WORDS = "64 KiB, 1,024 nodes × 32 ranks, three levels of switches, 2:1; predicted seconds"


def read(cluster: str) -> dict[str, dict[str, Any]]:
    """Returns the row of each collective on the whole cluster."""
    rows = [json.loads(line) for line in gzip.decompress(SAMPLES.read_bytes()).splitlines()]
    wanted = [row for row in rows if (row["cluster"], row["bytes"], row["nodes"]) == (cluster, BYTES, 1024)]
    return {row["collective"]: row for row in wanted}


def draw_panel(axes: Any, title: str, rows: dict[str, dict[str, Any]], c: draw_gains.Colours) -> None:
    """Draws one cluster's bars; what is not known has none."""
    colours = {"library": c.library, "flat": c.antiphon, "nested": c.limit}
    for place, name in enumerate(rows):
        for number, kind in enumerate(KINDS):
            if seconds := rows[name][f"{kind}_s"]:
                axes.barh(place + (number - 1) * 0.26, seconds, 0.24, color=colours[kind], gid=f"{title} {name} {kind}")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.set_title(title, loc="left", color=c.ink, fontsize=12, fontweight="bold")
    axes.tick_params(colors=c.soft, labelcolor=c.ink, length=0)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(c.soft)


def draw(scheme: str) -> str:
    """Returns the picture as SVG."""
    c = SCHEMES[scheme]
    style = {"svg.hashsalt": "antiphon", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 11}
    with matplotlib.rc_context(style):
        figure, panels = pyplot.subplots(2, 1, figsize=(7, 7.4), sharex=True)
        for axes, (title, cluster) in zip(panels, PANELS.items(), strict=True):
            draw_panel(axes, title, read(cluster), c)
        marks = [pyplot.Rectangle((0, 0), 1, 1, color=colour) for colour in (c.library, c.antiphon, c.limit)]
        panels[0].legend(marks, KINDS.values(), loc="lower right", frameon=False, labelcolor=c.ink)
        figure.supxlabel(WORDS, fontsize=10, color=c.soft)
        figure.subplots_adjust(left=0.27, right=0.99, top=0.95, bottom=0.1, hspace=0.2)
        content = io.BytesIO()
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return content.getvalue().decode().replace("'DejaVu Sans'", FONTS)


def main() -> None:
    """Writes the pictures."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for scheme in SCHEMES:
        (PICTURES / f"clusters-{scheme}.svg").write_text(draw(scheme), encoding="utf-8")


if __name__ == "__main__":
    main()
