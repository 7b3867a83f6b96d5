# SPDX-License-Identifier: Apache-2.0
"""Runs a tuning: plans the cells, measures what is not yet measured, and turns it into decisions and evidence."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.bench import collectives
from antiphon.bench.collectives import CollectiveMeasurement, Race, RaceCell
from antiphon.bench.testbed import Testbed
from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.output.tables import bytes_text
from antiphon.tune import confirm, contenders, decide, document, grid, library, predictors
from antiphon.tune.contenders import Predictor, TunedMachine
from antiphon.tune.grid import Grid, Point
from antiphon.tune.known import NOTHING, Knowledge, point_of
from antiphon.tune.state import TuningState

#: Share of the remaining time that is kept for starting and for the last cell.
_RESERVE_S = 4.0
_RESERVE_SHARE = 0.06
#: Share of the time that is kept for measuring doubted choices again.
_AGAIN_SHARE = 0.08
#: Share of the time that predictions may take.
_PLANNING_SHARE = 0.2
#: The least and the largest budget of a cell in one mode.
_CELL_S = (0.15, 4.0)

#: A call that takes longer is measured in the first mode only: the links decide, in all modes alike.
_LONG_CALL_S = 0.15

#: Contenders of a cell that the profile keeps, besides the library.
_KEPT = 3

DECISIONS, EXPORT = "decisions", "export"


@dataclass(frozen=True)
class Request:
    """What to tune."""

    collectives: Sequence[str]
    modes: Sequence[str]
    budget_s: float
    ranks: int | None
    #: Measure the library's own algorithms, for `antiphon export`, instead of Antiphon's.
    purpose: str = DECISIONS
    sizes: Sequence[int] = grid.SIZES
    between: Sequence[int] = grid.BETWEEN
    most_contenders: int = 7
    #: Halves and quarters of the ranks too.
    parts: bool = True
    #: What was measured before, by tunings and by runs.
    known: Knowledge = NOTHING
    #: The text of the profile that the model reads.
    profile: str | None = None


@dataclass
class Surroundings:
    """The testbed and its ranks, as a short run shows them."""

    testbed: Testbed
    mpi: Mpi
    node_of_rank: Sequence[int]
    network: limits.Network | None

    @property
    def ranks(self) -> int:
        return len(self.node_of_rank)

    @property
    def nodes(self) -> int:
        return len(set(self.node_of_rank))

    @property
    def ranks_per_node(self) -> int:
        return max(list(self.node_of_rank).count(node) for node in set(self.node_of_rank))

    @property
    def machine(self) -> TunedMachine:
        rate = 0 if self.network is None else int(self.network.node_bits_per_s / limits.PAYLOAD_SHARE)
        return TunedMachine(self.nodes, self.ranks_per_node, rate, self.mpi.family)


@dataclass
class TuningResult:
    """What a tuning found."""

    verdicts: list[decide.Verdict]
    rules: list[dict[str, Any]]
    evidence: dict[str, Any]
    wrong: list[tuple[str, int, str, str]] = field(default_factory=list)


def look_around(testbed: Testbed, mpi: Mpi, ranks: int | None) -> Surroundings:
    """Where the ranks are, as MPI itself says it."""
    race = Race([RaceCell("barrier", 0, 0, ("sync",), ("library",))], 0.02, 30)
    results = collectives.run(testbed, mpi, ranks, race, lambda _event: None)
    return Surroundings(testbed, mpi, results.node_of_rank, results.network)


def plan_cells(
    request: Request,
    here: Surroundings,
    predictor: Predictor,
    on_point: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[list[RaceCell], Grid]:
    """The cells with their contenders, and the grid they are from."""
    wanted = grid.make(
        request.collectives,
        here.network,
        here.node_of_rank,
        request.budget_s,
        sizes=request.sizes,
        between=request.between,
        parts=request.parts,
        more=_learned_points(request, here),
    )
    listed = collectives.library_algorithms(here.testbed, here.mpi) if request.purpose == EXPORT else {}
    cells = []
    ends_s = time.monotonic() + _PLANNING_SHARE * request.budget_s
    for number, point in enumerate(wanted.points):
        on_point(number, len(wanted.points))
        if request.purpose == EXPORT:
            others = library.choices(point, here.mpi.family, listed)
        else:
            before = [d.use for d in request.known.at(point, here.machine)]
            most = _most(request, here, point)
            # What cheap points leave, the dear ones have: they come last.
            seconds = max(ends_s - time.monotonic(), 0) / (len(wanted.points) - number)
            in_time = predictors.within(predictor, seconds)
            others = contenders.choices(point, here.machine, in_time, most, before, request.profile)
        if others:
            modes = request.modes if grid.call_s(point, here.network) < _LONG_CALL_S else request.modes[:1]
            cells.append(RaceCell(point.collective, point.bytes, point.ranks, modes, ["library", *others]))
    return cells, wanted


def _learned_points(request: Request, here: Surroundings) -> list[Point]:
    """What runs have learned at other sizes; none if somebody has named the sizes."""
    if request.purpose == EXPORT or request.sizes is not grid.SIZES:
        return []
    counts = grid.rank_counts(here.ranks, here.ranks_per_node)
    return request.known.points(request.collectives, counts if request.parts else counts[:1], request.sizes)


def _most(request: Request, here: Surroundings, point: Point) -> int:
    """Long calls have few contenders: each costs as much as all of a short call's."""
    seconds = grid.call_s(point, here.network)
    if seconds < 0.003:
        return 2 * request.most_contenders
    return request.most_contenders if seconds < 0.02 else 3 if seconds < 0.15 else 2


def measure(
    request: Request,
    here: Surroundings,
    cells: Sequence[RaceCell],
    state: TuningState,
    elapsed_s: float,
    on_event: Callable[[Mapping[str, Any]], None],
) -> collectives.CollectiveResults:
    """Measures the cells that the state does not have yet."""
    left = [cell for cell in cells if (cell.collective, cell.bytes, cell.ranks) not in state.finished]
    again = 0 if request.purpose == EXPORT else _AGAIN_SHARE
    remaining_s = _remaining_s(request, elapsed_s) - request.budget_s * again

    def take(event: Mapping[str, Any]) -> None:
        state.add(event)
        on_event(event)

    return _run(request, here, left, remaining_s, take)


def measure_again(
    request: Request,
    here: Surroundings,
    state: TuningState,
    elapsed_s: float,
    on_event: Callable[[Mapping[str, Any]], None],
) -> collectives.CollectiveResults:
    """The best of each cell where it is not clear that they gain: new samples of them and of the library, alone.

    Of many contenders the one that was lucky is picked; what it gains shows in samples that it was not picked by.
    """
    cells = []
    for key, cell in decide.cells_of(_of(state.measurements, state.finished)).items():
        found = decide.verdict(key, cell) if request.purpose == DECISIONS and key not in state.finished_again else None
        doubted = decide.doubted(found) if found else []
        if doubted:
            modes = tuple(mode for mode in request.modes if mode in cell.by_choice[decide.LIBRARY])
            cells.append(RaceCell(*key, modes, ["library", *doubted]))

    def take(event: Mapping[str, Any]) -> None:
        state.add(event, again=True)
        on_event(event)

    return _run(request, here, cells, _remaining_s(request, elapsed_s), take)


def _remaining_s(request: Request, elapsed_s: float) -> float:
    return request.budget_s * (1 - _RESERVE_SHARE) - elapsed_s - _RESERVE_S


def _run(
    request: Request,
    here: Surroundings,
    cells: Sequence[RaceCell],
    remaining_s: float,
    take: Callable[[Mapping[str, Any]], None],
) -> collectives.CollectiveResults:
    if not cells:
        return collectives.CollectiveResults(mpi=here.mpi.label, transport=here.testbed.transport(here.mpi))
    per_cell_s = 1.2 * remaining_s / (len(cells) * len(request.modes))
    race = Race(cells, min(max(per_cell_s, _CELL_S[0]), _CELL_S[1]), max(remaining_s, 1.0))
    return collectives.run(here.testbed, here.mpi, request.ranks, race, take)


def _of(measured: Sequence[CollectiveMeasurement], cells: Container[decide.Key]) -> list[CollectiveMeasurement]:
    return [m for m in measured if (m.collective, m.bytes, m.ranks) in cells]


def conclude(request: Request, here: Surroundings, wanted: Grid, state: TuningState) -> TuningResult:
    """Rules and evidence from all that is measured by now."""
    finished = _of(state.measurements, state.finished)
    second = _of(state.again, state.finished_again)
    again = decide.cells_of(second)
    found = [decide.verdict(key, cell, again.get(key)) for key, cell in decide.cells_of(finished).items()]
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
        "created": document.now(),
        "samples": state.path.name,
        "not_covered": not_covered(wanted, state, here, partly),
        **({"known_before": judged} if judged else {}),
        "cells": [*(_row(m, here) for m in _telling(_latest(finished, second), judged)), *older],
    }
    return TuningResult(verdicts, rules, evidence)


def _conclusions(
    verdicts: Sequence[decide.Verdict], known: Knowledge, here: Surroundings, too_long: Sequence[Point]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Rules; what is now said of earlier decisions; and the evidence of earlier tunings that still counts."""
    all_verdicts = [*verdicts, *confirm.carried(verdicts, known, here.machine)]
    all_verdicts += confirm.gaps(all_verdicts, too_long)
    rules = decide.rules(all_verdicts, here.mpi.family, here.ranks_per_node)
    # What runs have learned and the time did not reach for stays, before the rules that are newer.
    learned = [dict(rule) for rule in confirm.unjudged(verdicts, known, here.machine)]
    points = set(confirm.older_points(verdicts, known, here.machine))
    older = [dict(cell) for cell in known.cells(here.mpi.family, here.ranks_per_node) if point_of(cell) in points]
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
    """The library, the best few of each cell and what was judged in it, in all its modes. All samples are in the file
    beside the profile."""
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


def state_path(profile: Path, mpi: Mpi, purpose: str) -> Path:
    """Beside the profile: `machine.json` → `machine.tune-openmpi.jsonl`."""
    return profile.with_name(f"{profile.stem}.tune-{mpi.family}{'' if purpose == DECISIONS else '-library'}.jsonl")


def header(request: Request, here: Surroundings) -> dict[str, Any]:
    """The facts that must be equal if a tuning is to continue with the measurements of an earlier one."""
    return {
        "library": here.mpi.label,
        "transport": here.testbed.transport(here.mpi),
        "ranks": here.ranks,
        "nodes": here.nodes,
        "modes": list(request.modes),
        "purpose": request.purpose,
    }


def stopwatch() -> Callable[[], float]:
    """Seconds since now."""
    start = time.monotonic()
    return lambda: time.monotonic() - start
