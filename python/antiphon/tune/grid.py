# SPDX-License-Identifier: Apache-2.0
"""Which cells tuning measures, in which order, and what each will cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from antiphon.model import limits

#: The collectives that are tuned if the user names none.
MAIN = (
    "barrier",
    "bcast",
    "scatter",
    "gather",
    "allgather",
    "alltoall",
    "alltoallv",
    "reduce",
    "allreduce",
    "reduce_scatter_block",
)

#: Sizes that are measured first, and those between them that are measured if time is left.
SIZES = (8, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20)
BETWEEN = (128, 4 << 10, 32 << 10)

#: Their sizes are not known alike to all ranks, so one choice must serve all of them.
UNSIZED = frozenset({"alltoallv", "scatterv", "gatherv"})

#: About how many calls one contender makes in a cell: first calls, and the turns of both modes.
_CALLS = 14
#: About how many contenders a cell of long calls has: the library and two others.
_CONTENDERS = 3
#: About how long even a call without bytes takes, for each doubling of the ranks.
_ROUND_S = 1e-4
#: All ranks and the main sizes are worth this much more time than the others.
_WEIGHT_OF_OTHERS = 12
#: A cell may take this share of the time.
_MOST_OF_BUDGET = 0.12


@dataclass(frozen=True)
class Point:
    """A collective at a size on a number of ranks."""

    collective: str
    bytes: int
    ranks: int


@dataclass(frozen=True)
class Grid:
    """The points to measure, the most important first, and those that would take too long."""

    points: Sequence[Point]
    too_long: Sequence[Point]


def rank_counts(ranks: int, ranks_per_node: int) -> list[int]:
    """All of them; then half and a quarter, as communicators of rows and columns have, where these fill nodes."""
    counts = [ranks]
    for divisor in (2, 4):
        part = ranks // divisor
        if ranks % divisor == 0 and part % ranks_per_node == 0 and part >= 3 and part // ranks_per_node >= 2:
            counts.append(part)
    return counts


def call_s(point: Point, network: limits.Network | None) -> float:
    """About how long one call takes: what the links need, and a latency for each round."""
    rounds = _ROUND_S * max(1, math.ceil(math.log2(max(point.ranks, 2))))
    if network is None:
        return rounds
    part = limits.Network(network.node_of_rank[: point.ranks], network.node_bits_per_s, network.uplinks)
    return rounds + 1.3 * (limits.limit_s(point.collective, point.bytes, part) or 0)


def make(
    collectives: Iterable[str],
    network: limits.Network | None,
    node_of_rank: Sequence[int],
    budget_s: float,
    sizes: Sequence[int] = SIZES,
    between: Sequence[int] = BETWEEN,
    parts: bool = True,
    more: Sequence[Point] = (),
) -> Grid:
    """The points, what is cheap first; fewer ranks and the sizes between count as dearer than they are. `parts`: fewer
    ranks than all, too. `more` points count as much as those of all ranks."""
    ranks = len(node_of_rank)
    ranks_per_node = max(list(node_of_rank).count(node) for node in set(node_of_rank))
    counts = rank_counts(ranks, ranks_per_node) if parts else [ranks]
    wanted = list(collectives)
    main = [(call_s(p, network), p) for p in [*_points(wanted, sizes, counts[:1]), *more]]
    others = [*_points(wanted, sizes, counts[1:]), *_points(wanted, between, counts[:1])]
    weighed = [*main, *((_WEIGHT_OF_OTHERS * call_s(p, network), p) for p in others)]
    ordered = [p for _, p in sorted(weighed, key=lambda pair: pair[0])]
    points: list[Point] = []
    too_long: list[Point] = []
    for point in ordered:
        cost_s = call_s(point, network) * _CALLS * _CONTENDERS
        (points if cost_s <= _MOST_OF_BUDGET * budget_s else too_long).append(point)
    return Grid(points, too_long)


def _points(collectives: Sequence[str], sizes: Sequence[int], counts: Sequence[int]) -> Iterator[Point]:
    for ranks in counts:
        for size in sizes:
            for collective in collectives:
                if collective != "barrier":
                    yield Point(collective, size, ranks)
                elif size == sizes[0] and sizes is not BETWEEN:
                    yield Point(collective, 0, ranks)
