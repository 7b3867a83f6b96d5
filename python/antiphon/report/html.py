# SPDX-License-Identifier: Apache-2.0
"""Writes a page as one HTML file that needs nothing else: styles, scripts and data are inside."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from antiphon import __version__, report
from antiphon.output.tables import time_text
from antiphon.report import heat, lanes, words
from antiphon.report.page import Chart, HeatMap, Page, Table, Timeline

ASSETS = Path(__file__).with_name("assets")


def of_document(path: Path, *more: Path | None) -> tuple[Page, str]:
    """Returns the page of a document (as report.page_of) and its text; what is damaged may show only in the text."""
    page = report.page_of(path, *more)
    with report.damage_of(path):
        return page, render(page)


def render(page: Page) -> str:
    """Returns the file's text."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"chart_json": chart_json, "chart_words": words.of_chart, "chart_table": words.table_of}
    environment.filters["code"] = code
    environment.filters |= {"heat_words": words.of_heat_map, "timeline_words": words.of_timeline}
    environment.globals |= {"heat_map": _heat_map, "numeric": _numeric, "lane": lanes.lane, "ticks": _ticks}
    charts = any(block.kind == "chart" for section in page.sections for block in section.blocks)
    return environment.get_template("page.html").render(
        page=page,
        version=__version__,
        charts=charts,
        style=_style(),
        plot_style=_asset("uPlot.min.css"),
        plot_script=_asset("uPlot.iife.min.js"),
        script=_asset("charts.js"),
    )


def code(text: str) -> str:
    """Escapes a text, and sets what stands in backquotes as code."""
    import markupsafe

    return markupsafe.Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(markupsafe.escape(text))))


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _style() -> str:
    shades = f":root{{{heat.style(heat.STOPS)}}}"
    shades += f"@media (prefers-color-scheme:dark){{:root{{{heat.style(heat.DARK_STOPS)}}}}}"
    return _asset("page.css") + shades + heat.classes()


def chart_json(chart: Chart) -> str:
    """Returns the data that charts.js reads: one list of x, and each series' values there, null where there is none."""
    columns: list[dict[float, float]] = []
    for series in chart.series:
        column: dict[float, float] = {}
        for x, y in series.points:
            place = float(max(x, 1) if chart.log_x else x)
            while place in column:  # a jump: two values at one place
                place *= 1 + 1e-9
            column[place] = y
        columns.append(column)
    xs = sorted(set().union(*columns)) if columns else []
    data: dict[str, Any] = {
        "x": chart.x,
        "y": chart.y,
        "xLabel": chart.x_label,
        "yLabel": chart.y_label,
        "logX": chart.log_x,
        "logY": chart.log_y,
        "names": [series.name for series in chart.series],
        "marks": [series.marks_only for series in chart.series],
        "data": [xs, *([column.get(x) for x in xs] for column in columns)],
    }
    # Nothing in a script element may look like the end of it.
    return json.dumps(data).replace("<", "\\u003c")


def _numeric(table: Table) -> list[bool]:
    """Returns which columns hold numbers only (or nothing): they are aligned to the right."""
    columns = zip(*table.rows, strict=True) if table.rows else ([] for _ in table.headings)
    return [all(not cell or re.match(r"[-+±–−]?\s?\d|–$", cell) for cell in column) for column in columns]


def _heat_map(block: HeatMap) -> str:
    return heat.svg(block.values, block.labels, block.texts, words.of_heat_map(block))


def _ticks(timeline: Timeline) -> list[str]:
    """Returns the times below a timeline: its begin, its end, and three between."""
    return ["0", *(time_text(timeline.end_s * i / 4) for i in range(1, 5))]
