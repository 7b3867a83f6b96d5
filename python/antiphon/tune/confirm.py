# SPDX-License-Identifier: Apache-2.0
"""What a tuning says of decisions that were known before: whether its measurements confirm them, and which stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.tune import decide
from antiphon.tune.contenders import TunedMachine
from antiphon.tune.grid import SIZES, UNSIZED, Point
from antiphon.tune.known import MEASURED, Knowledge, Rule, point_of


def judge(verdicts: Iterable[decide.Verdict], known: Knowledge, machine: TunedMachine) -> list[dict[str, Any]]:
    """One row for each earlier decision about a measured cell: what it was, and what it is now."""
    rows = []
    for v in verdicts:
        for d in known.at(Point(v.collective, v.bytes, v.ranks), machine)[:1]:
            row = {"collective": v.collective, "bytes": v.bytes, "ranks": v.ranks, "source": d.source, "use": d.use}
            rows.append(row | {"confirmed": d.use in v.good, "now": d.use if d.use in v.good else v.good[0]})
    return rows


def unjudged(verdicts: Sequence[decide.Verdict], known: Knowledge, machine: TunedMachine) -> list[Rule]:
    """Rules that runs have learned since the profile was written, about which nothing was measured."""
    points = [Point(v.collective, v.bytes, v.ranks) for v in verdicts]
    collectives = {p.collective for p in points}
    return [
        rule
        for rule in known.fresh
        if rule["collective"] in collectives and not any(known.says(rule, point, machine) for point in points)
    ]


def carried(verdicts: Sequence[decide.Verdict], known: Knowledge, machine: TunedMachine) -> list[decide.Verdict]:
    """What an earlier tuning measured and this one did not: it still holds between this one's cells."""
    collectives = {v.collective for v in verdicts}
    found = []
    for point in older_points(verdicts, known, machine):
        medians = known.medians(point, machine)
        before = [d.use for d in known.at(point, machine) if d.source == MEASURED][:1]
        for use in before if point.collective in collectives else []:
            library = medians.get(decide.LIBRARY, {})
            ratios = {mode: library[mode] / s for mode, s in medians.get(use, {}).items() if mode in library and s}
            if ratios:
                faster = {} if use == decide.LIBRARY else {use: ratios}
                found.append(decide.Verdict(point.collective, point.bytes, point.ranks, [use], faster))
    return found


def older_points(verdicts: Sequence[decide.Verdict], known: Knowledge, machine: TunedMachine) -> list[Point]:
    """Where earlier tunings have measured and this one has not."""
    measured = {Point(v.collective, v.bytes, v.ranks) for v in verdicts}
    cells = known.cells(machine)
    return [point for point in dict.fromkeys(point_of(cell) for cell in cells) if point not in measured]


def gaps(verdicts: Iterable[decide.Verdict], too_long: Sequence[Point]) -> list[decide.Verdict]:
    """Sizes below and above all that were measured, where what is used without a tuning stays. A call that takes too
    long is decided by the next smaller size."""
    measured: dict[tuple[str, int], list[int]] = {}
    for v in verdicts:
        measured.setdefault((v.collective, v.ranks), []).append(v.bytes)
    beyond = [
        Point(collective, size, ranks)
        for (collective, ranks), sizes in measured.items()
        for size in SIZES
        if collective != "barrier" and collective not in UNSIZED and not min(sizes) <= size <= max(sizes)
    ]
    return [decide.Verdict(p.collective, p.bytes, p.ranks, [decide.KEPT], {}) for p in beyond if p not in too_long]
