#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of docs/measurements/what-would-it-gain.md, in light and dark, from the predictions it shows.

A bar is the predicted time of one call: of the library, and of Antiphon flat and nested.
Needs matplotlib (the extra `antiphon[plots]`). tests/unit/test_pictures.py draws it again.
"""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Sequence
from typing import Any

import draw_gains
from draw_gains import ROOT, SCHEMES
from matplotlib import pyplot

SAMPLES = ROOT / "bench" / "results" / "simulators" / "several-none-curves.jsonl.gz"
BYTES = 65536
PANELS = {"25 Gb/s": "25gbe-1024x32-3levels-2to1", "100 Gb/s": "100gbe-1024x32-3levels-2to1"}
KINDS = {"library": "the library", "flat": "Antiphon, flat", "nested": "Antiphon, nested"}
WORDS = "64 KiB, 1,024 nodes × 32 ranks, three levels of switches, 2:1; predicted seconds"


@functools.cache
def predictions() -> tuple[dict[str, Any], ...]:
    """Returns all rows: one for each cluster, collective, size and number of nodes."""
    return tuple(json.loads(line) for line in gzip.decompress(SAMPLES.read_bytes()).splitlines())


def read(cluster: str) -> dict[str, dict[str, Any]]:
    """Returns the row of each collective on the whole cluster."""
    wanted = [row for row in predictions() if (row["cluster"], row["bytes"], row["nodes"]) == (cluster, BYTES, 1024)]
    return {row["collective"]: row for row in wanted}


def colours_of(c: draw_gains.Colours) -> dict[str, str]:
    """Returns what each way is drawn with."""
    return {"library": c.library, "flat": c.antiphon, "nested": c.limit}


def draw_panel(axes: Any, title: str, rows: dict[str, dict[str, Any]], c: draw_gains.Colours) -> None:
    """Draws one cluster's bars; what is not known has none."""
    colours = colours_of(c)
    for place, name in enumerate(rows):
        for number, kind in enumerate(KINDS):
            if seconds := rows[name][f"{kind}_s"]:
                axes.barh(place + (number - 1) * 0.26, seconds, 0.24, color=colours[kind], gid=f"{title} {name} {kind}")
    axes.set_xscale("log")
    draw_gains.label_panel(axes, title, list(rows), c)


def draw(scheme: str) -> str:
    """Returns the picture as SVG."""
    c = SCHEMES[scheme]

    def fill(panels: Sequence[Any]) -> None:
        for axes, (title, cluster) in zip(panels, PANELS.items(), strict=True):
            draw_panel(axes, title, read(cluster), c)
        marks = [pyplot.Rectangle((0, 0), 1, 1, color=colour) for colour in colours_of(c).values()]
        panels[0].legend(marks, KINDS.values(), loc="upper right", frameon=False, labelcolor=c.ink)

    return draw_gains.svg(fill, WORDS, 7.4, 0.1, c)


if __name__ == "__main__":
    draw_gains.write("clusters", draw, __doc__)
