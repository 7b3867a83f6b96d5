# SPDX-License-Identifier: Apache-2.0
"""One size over growing parts of a cluster: the library, Antiphon flat and nested, and another simulator's points.

A part has the cluster's shape: nodes at even distances with their share of the links. So what holds for few of them
says something of all. Few enough are replayed by SimGrid's SMPI, where it is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.cluster.estimate import Estimate, Estimator, Way
from antiphon.cluster.spec import ClusterSpec
from antiphon.errors import AntiphonError
from antiphon.simulate import smpi
from antiphon.simulate.plans import plan_on

#: A replay of more ranks takes minutes.
MOST_SIMULATED_RANKS = 256
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Point:
    """A part of the cluster: the estimate, and SMPI's times of the same schedules where they were replayed."""

    estimate: Estimate
    simulated_flat_s: float | None = None
    simulated_nested_s: float | None = None


def parts_of(spec: ClusterSpec, ranks: int) -> list[ClusterSpec]:
    """Returns parts of two, eight, … nodes, four times as many each, and the one with so many ranks."""
    most = -(-ranks // spec.ranks_per_node)
    counts = [2]
    while counts[-1] * 4 < most:
        counts.append(counts[-1] * 4)
    return [spec.thinned(count) for count in sorted({*counts, most})]


def growth(
    parts: Sequence[ClusterSpec], library: str, collective: str, size: int, smpirun: Path | None = None
) -> Iterator[Point]:
    """Yields the points of parts of a cluster, as they are done."""
    for part in parts:
        found = Estimator(part, part.ranks, library).estimate(collective, size)
        simulated = [
            _simulated_s(part, collective, size, way, smpirun) if smpirun and way else None
            for way in (found.flat, found.nested)
        ]
        yield Point(found, *simulated)


def _simulated_s(part: ClusterSpec, collective: str, size: int, way: Way, smpirun: Path) -> float | None:
    """Returns SMPI's time of the same schedule; nothing where it is too large to replay."""
    if part.ranks > MOST_SIMULATED_RANKS:
        return None
    try:
        plan = plan_on(part, collective, way.choice, size)
        return smpi.run(smpirun, plan, part, part.ranks_per_node, TIMEOUT_S).seconds
    except AntiphonError:
        return None


def farthest(points: Sequence[Point]) -> float | None:
    """Returns the largest factor between model and simulator; nothing where nothing was replayed."""
    pairs = [
        (way.seconds, simulated)
        for point in points
        for way, simulated in (
            (point.estimate.flat, point.simulated_flat_s),
            (point.estimate.nested, point.simulated_nested_s),
        )
        if way and simulated
    ]
    return max((max(a / b, b / a) for a, b in pairs), default=None)
