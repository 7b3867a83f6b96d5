#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws README's picture, in light and dark, from the samples that docs/measurements/defaults/sixteen-nodes.md shows.

For each collective one bar is the library's time and one is Antiphon's, both in multiples of the time that the busiest
link needs for the bytes. Needs matplotlib (the extra `antiphon[plots]`). tests/unit/test_pictures.py draws it again.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
SAMPLES = {"Open MPI 5": "openmpi", "MPICH 5": "mpich"}
BYTES = 256 << 10
#: Verdana's letters are as wide, so what has no DejaVu draws the same picture.
FONTS = "'DejaVu Sans', Verdana, sans-serif"
WORDS = (
    "256 KiB, 16 nodes, one rank each, 100 Mb/s Ethernet (emulated), no option set",
    "time of one call, in multiples of the time that the busiest link needs for its bytes",
)


@dataclass(frozen=True)
class Colours:
    """What a scheme draws with; the page behind shows through."""

    ink: str
    soft: str
    library: str
    antiphon: str
    limit: str


SCHEMES = {
    "light": Colours("#1d2733", "#55626f", "#b9c3cd", "#08519c", "#b3261e"),
    "dark": Colours("#e3e8ee", "#a3afbb", "#5a6773", "#6db3f2", "#ff8a80"),
}


def read(mpi: str) -> dict[str, dict[str, Any]]:
    """Returns, for each collective, the rows of the two contenders."""
    found: dict[str, dict[str, Any]] = {}
    with gzip.open(ROOT / "bench" / "results" / "defaults" / f"16x1-{mpi}.json.gz") as file:
        for row in json.load(file)["results"]:
            if row["bytes"] == BYTES and row["limit_s"]:
                found.setdefault(row["collective"], {})[row["contender"]] = row
    return found


def gain(rows: Mapping[str, Any]) -> float:
    """Returns how many times faster than the library Antiphon is."""
    return rows["library"]["median_s"] / rows["antiphon"]["median_s"]


def label_panel(axes: Any, title: str, names: Sequence[str], c: Colours) -> None:
    """Writes the name of each place, from the top down, and what the places are of."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_title(title, loc="left", color=c.ink, fontsize=12, fontweight="bold")
    axes.tick_params(colors=c.soft, labelcolor=c.ink, length=0)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(c.soft)


def svg(fill: Callable[[Sequence[Any]], None], words: str, height: float, bottom: float, c: Colours) -> str:
    """Returns two panels, one above the other, as SVG: `fill` draws in them, and the words stand below."""
    return svg_of_grid(fill, words, (2, 1), height, {"left": 0.27, "right": 0.99, "bottom": bottom, "hspace": 0.2}, c)


def svg_of_grid(
    fill: Callable[[Sequence[Any]], None],
    words: str,
    shape: tuple[int, int],
    height: float,
    edges: Mapping[str, float],
    c: Colours,
) -> str:
    """Returns rows and columns of panels with common scales; `edges` are matplotlib's, in shares of the picture."""
    style = {"svg.hashsalt": "antiphon", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 11}
    with matplotlib.rc_context(style):
        figure, panels = pyplot.subplots(*shape, figsize=(7, height), sharex=True, sharey="row")
        fill(panels.flat)
        figure.supxlabel(words, fontsize=10, color=c.soft)
        figure.subplots_adjust(top=0.95, **edges)
        content = io.BytesIO()
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return content.getvalue().decode().replace("'DejaVu Sans'", FONTS)


def write(name: str, draw_scheme: Callable[[str], str], description: str | None) -> None:
    """Writes the picture in each scheme."""
    argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for scheme in SCHEMES:
        (PICTURES / f"{name}-{scheme}.svg").write_text(draw_scheme(scheme), encoding="utf-8")


def draw_panel(axes: Any, title: str, measured: Mapping[str, Mapping[str, Any]], order: list[str], c: Colours) -> None:
    """Draws one library's bars, with the interval of each median and the limit."""
    for place, collective in enumerate(order):
        rows = measured[collective]
        for contender, offset, colour in (("library", -0.2, c.library), ("antiphon", 0.2, c.antiphon)):
            row = rows[contender]
            middle, low, high = (row[key] / row["limit_s"] for key in ("median_s", "ci_low_s", "ci_high_s"))
            axes.barh(place + offset, middle, 0.36, color=colour, gid=f"{title} {collective} {contender}")
            axes.plot([low, high], [place + offset] * 2, color=c.ink, linewidth=0.8)
        end = max(row["ci_high_s"] / row["limit_s"] for row in rows.values())
        times = f"{gain(rows):.1f}×"
        look = {"color": c.soft} if times == "1.0×" else {"color": c.ink, "fontweight": "bold"}
        axes.text(end + 0.12, place, times, va="center", **look)
    axes.axvline(1, color=c.limit, linewidth=1.2, linestyle=(0, (3, 2)))
    axes.set_xlim(0, 11.6)
    label_panel(axes, title, order, c)


def draw(scheme: str) -> str:
    """Returns the picture as SVG."""
    c = SCHEMES[scheme]
    measured = {title: read(mpi) for title, mpi in SAMPLES.items()}
    first = measured["Open MPI 5"]
    order = sorted(first, key=lambda name: -gain(first[name]))

    def fill(panels: Sequence[Any]) -> None:
        for axes, (title, rows) in zip(panels, measured.items(), strict=True):
            draw_panel(axes, title, rows, order, c)
        marks = [pyplot.Rectangle((0, 0), 1, 1, color=colour) for colour in (c.library, c.antiphon)]
        marks.append(pyplot.Line2D([], [], color=c.limit, linewidth=1.2, linestyle=(0, (3, 2))))
        names = ("the library alone", "with Antiphon", "limit of the link")
        panels[0].legend(marks, names, loc="lower right", frameon=False, labelcolor=c.ink)

    return svg(fill, "\n".join(WORDS), 6.6, 0.12, c)


if __name__ == "__main__":
    write("gains", draw, __doc__)
