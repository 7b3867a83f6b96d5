# SPDX-License-Identifier: Apache-2.0
"""Says in words and numbers what a drawing shows, for those who do not see it."""

from __future__ import annotations

from collections.abc import Callable

from antiphon.output.tables import bytes_text, share_text, time_text
from antiphon.report.page import Chart, HeatMap, Series, Table, Timeline

#: Charts with more places than this on their axis have no table.
MOST_ROWS = 150


def _rate_text(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e6:.4g} MB/s"


UNITS: dict[str, Callable[[float], str]] = {
    "bytes": lambda value: bytes_text(int(value)),
    "seconds": lambda value: time_text(value) if value > 0 else "0 s",
    "rate": _rate_text,
    "number": lambda value: f"{value:.4g}",
}


def of_chart(chart: Chart) -> str:
    """Returns where each line begins and ends."""
    return "; ".join(_line(chart, series) for series in chart.series if series.points) or "no points"


def _line(chart: Chart, series: Series) -> str:
    x, y = UNITS[chart.x], UNITS[chart.y]
    (x_first, y_first), (x_last, y_last) = series.points[0], series.points[-1]
    if len(series.points) == 1:
        return f"{series.name}: {y(y_first)} at {x(x_first)}"
    return f"{series.name}: from {y(y_first)} at {x(x_first)} to {y(y_last)} at {x(x_last)}"


def table_of(chart: Chart) -> Table | None:
    """Returns all points as a table, or None where it would be longer than anyone reads."""
    columns = [dict(series.points) for series in chart.series]
    places = sorted(set().union(*columns)) if columns else []
    if not 0 < len(places) <= MOST_ROWS:
        return None
    x, y = UNITS[chart.x], UNITS[chart.y]
    rows = [[x(place), *(y(column[place]) if place in column else "" for column in columns)] for place in places]
    return Table([chart.x_label or chart.x, *(series.name for series in chart.series)], rows)


def of_heat_map(heat: HeatMap) -> str:
    """Returns the extremes of a matrix, each with its cell."""
    cells = [
        (value, heat.texts[r][c])
        for r, row in enumerate(heat.values)
        for c, value in enumerate(row)
        if value is not None and r != c
    ]
    if not cells:
        return f"{len(heat.labels)} rows, of which nothing is known"
    least, most = min(cells, key=lambda cell: cell[0]), max(cells, key=lambda cell: cell[0])
    return f"{len(heat.labels)} rows and columns; least {least[1]}; most {most[1]}"


def of_timeline(timeline: Timeline) -> str:
    """Returns each series' share of all rows' time."""
    count = sum(len(row) for row in timeline.shares) or 1
    totals = [sum(part[i] for row in timeline.shares for part in row) / count for i in range(len(timeline.series))]
    named = ", ".join(f"{name} {share_text(share)}" for name, share in zip(timeline.series, totals, strict=True))
    return f"{len(timeline.rows)} rows over {time_text(timeline.end_s)}; shares of the time: {named or 'no calls'}"
