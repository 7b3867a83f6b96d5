# SPDX-License-Identifier: Apache-2.0
"""Makes the timeline of a trace: which collective each rank was in, and whether Antiphon or the library did it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from antiphon.report.kinds._trace import end_ns, spread
from antiphon.report.page import Section, Timeline
from antiphon.trace import AS_SCHEDULE, Call, Trace
from antiphon.traffic.edges import Array

SLICES = 240
#: Of more ranks, these many are shown, evenly chosen.
MOST_ROWS = 32
#: What takes less time than the first few is shown together.
MOST_SERIES = 7
POINT_TO_POINT = ("MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Wait", "MPI_Test", "MPI_Probe", "MPI_Ssend",
                  "MPI_Bsend", "MPI_Rsend", "MPI_Issend", "MPI_Ibsend", "MPI_Irsend", "MPI_Start", "MPI_Iprobe",
                  "MPI_Mprobe", "MPI_Improbe", "MPI_Mrecv", "MPI_Imrecv")  # fmt: skip


def section(trace: Trace) -> Section:
    """Returns the section with the lanes of the ranks."""
    end = end_ns(trace)
    width = end / SLICES
    count = min(len(trace.ranks), MOST_ROWS)
    chosen = [trace.ranks[i * len(trace.ranks) // count] for i in range(count)]
    lanes: list[dict[str, Array]] = []
    for rank in chosen:
        busy: dict[str, Array] = defaultdict(lambda: np.zeros(SLICES))
        for call in rank.calls:
            spread(busy[_name(call)], call.start_ns / width, (call.start_ns + call.duration_ns) / width)
        lanes.append(busy)
    series = _series(lanes)
    shares = [[[float(part[i]) for part in _parts(busy, series)] for i in range(SLICES)] for busy in lanes]
    some = f" {count} of {len(trace.ranks)} ranks are shown." if count < len(trace.ranks) else ""
    intro = (
        "Each lane is a rank. In each slice of time the colours fill as much of the lane as the calls took of the "
        f"slice; the rest is the program's own work. A rank that waits for another is in the call, too.{some} "
        "`antiphon trace --to perfetto` shows each single call."
    )
    rows = [f"rank {rank.rank}" for rank in chosen]
    return Section("Timeline", intro, [Timeline("Calls of each rank over the run", end / 1e9, rows, series, shares)])


def _name(call: Call) -> str:
    if call.function.startswith(POINT_TO_POINT):
        return "messages"
    return f"{call.function.removeprefix('MPI_')} by Antiphon" if call.shape.flags & AS_SCHEDULE else (
        f"{call.function.removeprefix('MPI_')} by the library")  # fmt: skip


def _series(lanes: list[dict[str, Array]]) -> list[str]:
    """Returns the names to show, those with the most time first."""
    total: dict[str, float] = defaultdict(float)
    for busy in lanes:
        for name, slices in busy.items():
            total[name] += float(slices.sum())
    names = sorted(total, key=lambda name: -total[name])
    return names if len(names) <= MOST_SERIES + 1 else [*names[:MOST_SERIES], "others"]


def _parts(busy: dict[str, Array], series: list[str]) -> list[Array]:
    """Returns the slices of each of the series."""
    nothing = np.zeros(SLICES)
    shown = [busy.get(name, nothing) for name in series]
    if series and series[-1] == "others":
        shown[-1] = sum((slices for name, slices in busy.items() if name not in series), nothing)
    return shown
