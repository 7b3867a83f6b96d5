# SPDX-License-Identifier: Apache-2.0
"""Turns what a tuning has measured into rules, evidence, and sentences on what it does not cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.bench.collectives import CollectiveMeasurement
from antiphon.model import limits
from antiphon.output.tables import bytes_text
from antiphon.tune import confirm, contenders, decide, document, grid
from antiphon.tune.driver import EXPORT, Request, Surroundings, measured_in, why_not_multicast
from antiphon.tune.grid import Grid, Point
from antiphon.tune.known import Knowledge, point_of
from antiphon.tune.state import TuningState

#: Contenders of a cell that the profile keeps, besides the library.
_KEPT = 3


@dataclass
class TuningResult:
    """What a tuning found."""

    verdicts: list[decide.Verdict]
    rules: list[dict[str, Any]]
    evidence: dict[str, Any]
    #: Contenders that gave a wrong result or could not take part, as `antiphon bench --json` prints them.
    wrong: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"rules": self.rules, **self.evidence, "wrong": self.wrong, "skipped": self.skipped}


def draw(request: Request, here: Surroundings, wanted: Grid, state: TuningState) -> TuningResult:
    """Rules and evidence from all that is measured by now."""
    finished = measured_in(state.measurements, state.finished)
    second = measured_in(state.again, state.finished_again)
    again = decide.cells_of(second)
    found = [
        decide.verdict(key, cell, again.get(key), contenders.own_choice(Point(*key), here.machine))
        for key, cell in decide.cells_of(finished).items()
    ]
    verdicts = [v for v in found if v is not None]
    partly = _partly_measured(wanted, state) if request.purpose != EXPORT else set()
    decided = [v for v in verdicts if (v.collective, v.ranks) not in partly]
    rules, judged, older = (
        _conclusions(decided, request.known, here, wanted.too_long) if request.purpose != EXPORT else ([], [], [])
    )
    evidence = {
        "purpose": request.purpose,
        "mpi": here.mpi.family,
        "library": here.mpi.label,
        "version": here.mpi.version,
        "transport": here.testbed.transport(here.mpi),
        "ranks": here.ranks,
        "nodes": here.nodes,
        "ranks_per_node": here.ranks_per_node,
        **document.in_order(here.blocked),
        "created": document.now(),
        "samples": state.path.name,
        "not_covered": [
            *(_staying(decided) if request.purpose != EXPORT else []),
            *not_covered(wanted, state, here, partly),
        ],
        **({"known_before": judged} if judged else {}),
        "cells": [*(_row(m, here) for m in _telling(_latest(finished, second), judged)), *older],
    }
    return TuningResult(verdicts, rules, evidence, skipped=_without_multicast(state.measurements, here))


def _without_multicast(measured: Sequence[CollectiveMeasurement], here: Surroundings) -> list[dict[str, Any]]:
    """The contenders whose multicast groups could not be opened, once for each cell, as those that are skipped."""
    reasons = {(m.collective, m.bytes, m.ranks, m.contender): why for m in measured if (why := why_not_multicast(m))}
    return [
        {"mpi": here.mpi.label, "collective": c, "bytes": size, "contender": contender, "why": f"no multicast: {why}"}
        for (c, size, _, contender), why in reasons.items()
    ]


def _conclusions(
    verdicts: Sequence[decide.Verdict], known: Knowledge, here: Surroundings, too_long: Sequence[Point]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Rules; what is now said of earlier decisions; and the evidence of earlier tunings that still counts."""
    all_verdicts = [*verdicts, *confirm.carried(verdicts, known, here.machine)]
    all_verdicts += confirm.gaps(all_verdicts, too_long)
    rules = decide.rules(all_verdicts, here.mpi.family, here.ranks_per_node, blocked=here.blocked)
    # What runs have learned and the time did not reach for stays, before the rules that are newer.
    learned = [dict(rule) for rule in confirm.unjudged(verdicts, known, here.machine)]
    points = set(confirm.older_points(verdicts, known, here.machine))
    older = [dict(cell) for cell in known.cells(here.machine) if point_of(cell) in points]
    return [*learned, *rules] if rules else [], confirm.judge(verdicts, known, here.machine), older


def _latest(
    first: Sequence[CollectiveMeasurement], second: Sequence[CollectiveMeasurement]
) -> list[CollectiveMeasurement]:
    """The first measurements; those that were made again are replaced by the second ones."""

    def key(m: CollectiveMeasurement) -> tuple[str, int, int, str, str]:
        return m.collective, m.bytes, m.ranks, m.mode, m.contender

    replaced = {key(m): m for m in second}
    return [replaced.get(key(m), m) for m in first]


def _telling(
    measurements: Sequence[CollectiveMeasurement], judged: Sequence[Mapping[str, Any]]
) -> list[CollectiveMeasurement]:
    """The library, the best few choices of each cell and what was judged in it, in all its modes. The file beside the
    profile has all samples."""
    measurements = [m for m in measurements if not decide.is_auto(m)]
    uses = {(row["collective"], row["bytes"], row["ranks"], row["use"]) for row in judged}
    best: dict[decide.Key, set[str]] = {}
    for mode in {m.mode for m in measurements}:
        by_cell: dict[decide.Key, list[CollectiveMeasurement]] = {}
        for m in measurements:
            if m.mode == mode:
                by_cell.setdefault((m.collective, m.bytes, m.ranks), []).append(m)
        for key, own in by_cell.items():
            ranked = sorted(own, key=lambda m: m.summary.median)
            best.setdefault(key, {decide.LIBRARY}).update(m.contender for m in ranked[:_KEPT])
    return [
        m
        for m in measurements
        if m.contender in best[m.collective, m.bytes, m.ranks] or (m.collective, m.bytes, m.ranks, m.chosen) in uses
    ]


def _staying(verdicts: Sequence[decide.Verdict]) -> list[str]:
    """A sentence on each collective whose one choice for all sizes stays what it is without this tuning."""
    return [
        f"{span.verdicts[0].collective} on {place.ranks} ranks: no one choice gains at all sizes, so what is used stays"
        for place, span in decide.all_spans(v for v in verdicts if v.collective in grid.UNSIZED)
        if span.choice == decide.KEPT
    ]


def _missed(wanted: Grid, state: TuningState) -> list[Point]:
    return [p for p in wanted.points if (p.collective, p.bytes, p.ranks) not in state.finished]


def _partly_measured(wanted: Grid, state: TuningState) -> set[tuple[str, int]]:
    """Collectives and numbers of ranks whose one choice must serve all sizes, and of which the time did not reach some.

    What wins at a few bytes may lose at the sizes that are left.
    """
    return {(p.collective, p.ranks) for p in _missed(wanted, state) if p.collective in grid.UNSIZED}


def not_covered(wanted: Grid, state: TuningState, here: Surroundings, partly: Iterable[tuple[str, int]]) -> list[str]:
    """Sentences for people: the cases in which the rules rest on no measurement."""

    def named(points: Iterable[Point]) -> str:
        by_collective: dict[str, list[str]] = {}
        for p in points:
            on = "" if p.ranks == here.ranks else f" on {p.ranks} ranks"
            by_collective.setdefault(p.collective, []).append(bytes_text(p.bytes) + on)
        return "; ".join(f"{collective} {', '.join(sizes)}" for collective, sizes in by_collective.items())

    said = []
    missed = _missed(wanted, state)
    if missed:
        said.append(f"the time did not reach for: {named(missed)}")
    undecided = sorted({collective for collective, _ in partly})
    if undecided:
        said.append(f"one choice serves all sizes, and not all were reached: {', '.join(undecided)}")
    if wanted.too_long:
        said.append(f"a call takes too long, decided by the next smaller size: {named(wanted.too_long)}")
    smallest = min((p.ranks for p in wanted.points), default=here.ranks)
    said.append(
        f"fewer than {smallest} or more than {here.ranks} ranks, or not {here.ranks_per_node} on each node: "
        "the built-in rules"
    )
    return said


def _row(m: CollectiveMeasurement, here: Surroundings) -> dict[str, Any]:
    s = m.summary
    network = here.network and limits.Network(
        here.network.node_of_rank[: m.ranks], here.network.node_bits_per_s, here.network.uplinks
    )
    limit = limits.limit_s(m.collective, m.bytes, network) if network else None
    return {
        "collective": m.collective,
        "bytes": m.bytes,
        "ranks": m.ranks,
        "mode": m.mode,
        "contender": m.contender,
        "chosen": m.chosen,
        "median_s": _short(s.median),
        "ci_low_s": _short(s.ci_low),
        "ci_high_s": _short(s.ci_high),
        "samples": s.count,
        "limit_s": None if limit is None else _short(limit),
    }


def _short(seconds: float) -> float:
    return float(f"{seconds:.4g}")
