# SPDX-License-Identifier: Apache-2.0
"""Runs a tuning: plans the cells and measures what is not yet measured."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon import __version__
from antiphon.bench import collectives
from antiphon.bench.collectives import CollectiveMeasurement, Race, RaceCell
from antiphon.bench.results import WITHOUT_MULTICAST
from antiphon.bench.testbed import Testbed
from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.tune import contenders, decide, document, grid, library, predictors
from antiphon.tune.contenders import Predictor, TunedMachine
from antiphon.tune.grid import Grid, Point
from antiphon.tune.known import NOTHING, Knowledge
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
    def blocked(self) -> bool:
        """Whether each node's ranks follow one another."""
        changes = sum(a != b for a, b in itertools.pairwise(self.node_of_rank))
        return changes == self.nodes - 1

    @property
    def machine(self) -> TunedMachine:
        rate = 0 if self.network is None else int(self.network.node_bits_per_s / limits.PAYLOAD_SHARE)
        return TunedMachine(self.nodes, self.ranks_per_node, rate, self.mpi.family, self.blocked)


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
        parts=request.parts and here.blocked,
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
            # One choice for all sizes must also beat what tells them apart.
            untuned = [decide.AUTO] if point.collective in grid.UNSIZED and request.purpose == DECISIONS else []
            cells.append(RaceCell(point.collective, point.bytes, point.ranks, modes, ["library", *others, *untuned]))
    return cells, wanted


def _learned_points(request: Request, here: Surroundings) -> list[Point]:
    """What runs have learned at other sizes; none if somebody has named the sizes."""
    if request.purpose == EXPORT or request.sizes is not grid.SIZES:
        return []
    counts = grid.rank_counts(here.ranks, here.ranks_per_node)
    return request.known.points(
        request.collectives, counts if request.parts and here.blocked else counts[:1], request.sizes
    )


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
    for key, cell in decide.cells_of(measured_in(state.measurements, state.finished)).items():
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


def measured_in(measured: Sequence[CollectiveMeasurement], cells: Container[decide.Key]) -> list[CollectiveMeasurement]:
    """The measurements of these cells, without those of choices that went without their multicast groups: no rule can
    name what ran."""
    return [m for m in measured if (m.collective, m.bytes, m.ranks) in cells and not why_not_multicast(m)]


def why_not_multicast(measured: CollectiveMeasurement) -> str:
    """Why a choice's multicast group could not be opened; "" where it could, and of what is used untuned."""
    return "" if decide.is_auto(measured) else measured.chosen.partition(WITHOUT_MULTICAST)[2]


def state_path(profile: Path, mpi: Mpi, purpose: str) -> Path:
    """Beside the profile: `machine.json` → `machine.tune-openmpi.jsonl`."""
    return profile.with_name(f"{profile.stem}.tune-{mpi.family}{'' if purpose == DECISIONS else '-library'}.jsonl")


def header(request: Request, here: Surroundings) -> dict[str, Any]:
    """The facts that must be equal if a tuning is to continue with the measurements of an earlier one."""
    return {
        "antiphon": __version__,
        "library": here.mpi.label,
        "transport": here.testbed.transport(here.mpi),
        "ranks": here.ranks,
        "nodes": here.nodes,
        **document.in_order(here.blocked),
        "modes": list(request.modes),
        "purpose": request.purpose,
        **here.testbed.link_facts(),
    }


def stopwatch() -> Callable[[], float]:
    """Seconds since now."""
    start = time.monotonic()
    return lambda: time.monotonic() - start
