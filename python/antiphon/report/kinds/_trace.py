# SPDX-License-Identifier: Apache-2.0
"""Shows the contents of a trace besides its traffic: calls, and time spent in them over the run."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from antiphon.output.tables import bytes_text, time_text
from antiphon.report.page import Chart, Section, Series, Table
from antiphon.trace import Trace
from antiphon.trace.summary import functions
from antiphon.traffic.edges import Array

SLICES = 120
MOST_FUNCTIONS = 7


def sections(trace: Trace) -> list[Section]:
    """Shows calls as a table, and the share of time in each function as lines."""
    rows = [
        [
            row["function"],
            str(row["calls"]),
            str(row["shapes"]),
            bytes_text(row["bytes"]),
            time_text(row["time_s"]),
            time_text(row["max_time_s"]),
        ]
        for row in functions(trace)
    ]
    headings = ["function", "calls a rank", "kinds of call", "bytes in all", "time, mean", "longest rank"]
    intro = "Bytes are what ranks hand in, before collectives are decomposed. Time is from begin to end, with waiting."
    return [Section("Calls", intro, [Table(headings, rows), over_time(trace)])]


def over_time(trace: Trace) -> Chart:
    """Returns the share of the ranks' time in each function, in equal slices of the run."""
    width = end_ns(trace) / SLICES
    busy: dict[str, Array] = defaultdict(lambda: np.zeros(SLICES))
    for rank in trace.ranks:
        for call in rank.calls:
            spread(busy[call.function], call.start_ns / width, (call.start_ns + call.duration_ns) / width)
    most = sorted(busy, key=lambda name: -busy[name].sum())[:MOST_FUNCTIONS]
    ranks = max(1, len(trace.ranks))
    series = [
        Series(name, [((i + 0.5) * width / 1e9, 100 * float(v) / ranks) for i, v in enumerate(busy[name])])
        for name in most
    ]
    return Chart(
        "Share of time in calls",
        series,
        x="seconds",
        y="number",
        x_label="time of the run",
        y_label="% of all ranks' time",
        log_x=False,
        log_y=False,
    )


def end_ns(trace: Trace) -> int:
    """Returns when the last rank was seen."""
    end = max((r.ended_ns or 0 for r in trace.ranks), default=0)
    return max([end, *(c.start_ns + c.duration_ns for r in trace.ranks for c in r.calls[-1:])], default=1) or 1


def spread(slices: Array, begin: float, end: float) -> None:
    """Adds an interval, in units of slices, to those that it touches."""
    first, last = min(int(begin), len(slices) - 1), min(int(end), len(slices) - 1)
    if first == last:
        slices[first] += end - begin
        return
    slices[first] += first + 1 - begin
    slices[first + 1 : last] += 1
    slices[last] += end - last
