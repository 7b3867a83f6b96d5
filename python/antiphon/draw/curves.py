# SPDX-License-Identifier: Apache-2.0
"""Draws times over sizes: on a terminal with plotext, as SVG with matplotlib (both in the extra `antiphon[plots]`)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.output import files

#: A curve is a list of (bytes, seconds), by size.
Curve = Sequence[tuple[int, float]]
_INSTALL = "pip install matplotlib plotext"


@dataclass(frozen=True)
class CurveChart:
    """A chart of named curves on logarithmic axes."""

    title: str
    curves: Mapping[str, Curve]
    x_label: str = "bytes"
    y_label: str = "time / s"


def terminal(chart: CurveChart, width: int) -> str | None:
    """Returns the chart as text, or None where plotext is missing."""
    try:
        import plotext
    except ImportError:
        return None
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(min(width, 120), 24)
    plotext.xscale("log")
    plotext.yscale("log")
    for name, curve in chart.curves.items():
        plotext.plot([max(x, 1) for x, _ in curve], [y for _, y in curve], label=name)
    plotext.title(chart.title)
    plotext.xlabel(chart.x_label)
    plotext.ylabel(chart.y_label)
    return str(plotext.uncolorize(plotext.build()))


def svg(chart: CurveChart, path: Path) -> None:
    """Writes the chart."""
    figure, axes = pyplot().subplots(figsize=(9, 5.5))
    for name, curve in chart.curves.items():
        axes.plot([max(x, 1) for x, _ in curve], [y for _, y in curve], marker="o", markersize=3, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8)
    _save(figure, path)


def scatter_svg(title: str, groups: Mapping[str, Sequence[tuple[float, float]]], path: Path) -> None:
    """Draws predicted over measured seconds, with one colour per group and lines at ±10 % and ±25 %."""
    figure, axes = pyplot().subplots(figsize=(7, 7))
    points = [p for group in groups.values() for p in group]
    if not points:
        raise AntiphonError("there is nothing to draw")
    span = [min(min(p) for p in points), max(max(p) for p in points)]
    for share, style in ((0.0, "-"), (0.10, "--"), (0.25, ":")):
        for factor in {1 + share, 1 - share}:
            axes.plot(span, [v * factor for v in span], style, color="0.6", linewidth=0.8)
    for name, group in groups.items():
        axes.scatter([x for x, _ in group], [y for _, y in group], s=9, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(title=title, xlabel="measured / s", ylabel="predicted / s")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8)
    _save(figure, path)


def pyplot() -> Any:
    """Returns what draws charts; commands ask for it before the work that fills them."""
    try:
        import matplotlib
    except ImportError:
        raise AntiphonError("charts need matplotlib", hint=_INSTALL) from None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "antiphon"
    from matplotlib import pyplot

    return pyplot


def _save(figure: Any, path: Path) -> None:
    content = io.BytesIO()
    figure.savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot().close(figure)
    files.write(path, content.getvalue())
