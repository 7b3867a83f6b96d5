# SPDX-License-Identifier: Apache-2.0
"""Reads measurements of a real cluster: messages between two nodes, and of growing numbers of nodes at once."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.errors import AntiphonError

#: Columns of the two kinds of files.
POINT_TO_POINT = ("experiment", "call", "bytes", "median_s")
SATURATION = ("rank", "bytes", "start_ms", "duration_ms")


@dataclass(frozen=True)
class Times:
    """Median seconds by size, of one call in one experiment."""

    points: Sequence[tuple[int, float]]

    def up_to(self, size: int) -> Sequence[tuple[int, float]]:
        return [point for point in self.points if point[0] <= size]


@dataclass(frozen=True)
class Phase:
    """So many ranks repeat a message at the same time."""

    ranks: tuple[int, ...]
    bytes: int
    seconds: float


def point_to_point(path: Path) -> Mapping[tuple[str, str], Times]:
    """Returns the times of each (experiment, call)."""
    points: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for number, row in enumerate(_rows(path, POINT_TO_POINT), start=2):
        points[row["experiment"], row["call"]].append(
            (int(_number(row, "bytes", path, number)), _number(row, "median_s", path, number))
        )
    return {key: Times(tuple(sorted(found))) for key, found in points.items()}


def saturation(path: Path) -> tuple[Phase, ...]:
    """Returns the phases in the order of time. In each, all ranks send as many messages; later ones have more ranks."""
    messages: dict[int, list[tuple[float, float]]] = defaultdict(list)
    size = 0
    for number, row in enumerate(_rows(path, SATURATION), start=2):
        start, duration = _number(row, "start_ms", path, number), _number(row, "duration_ms", path, number)
        messages[int(_number(row, "rank", path, number))].append((start, duration * 1e-3))
        size = int(_number(row, "bytes", path, number))
    least = min(map(len, messages.values()))
    if any(len(found) % least for found in messages.values()):
        raise AntiphonError(f"{path}: the ranks' messages make no phases of equal length")
    count = max(map(len, messages.values())) // least
    phases = []
    for place in range(count):
        ranks, seconds = [], []
        for rank, found in sorted(messages.items()):
            # Ranks join one after the other and stay, so the last phase is the last of everybody's messages.
            own = place - (count - len(found) // least)
            if own >= 0:
                ranks.append(rank)
                seconds += [s for _, s in sorted(found)[own * least : (own + 1) * least]]
        median_s = statistics.median(seconds)
        if size <= 0 or median_s <= 0:
            raise AntiphonError(f"{path}: messages of {size} bytes take {median_s:g} s", hint="both must be above zero")
        phases.append(Phase(tuple(ranks), size, median_s))
    return tuple(phases)


def _rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AntiphonError(f"{path} cannot be read: {error}") from None
    if not rows or any(column not in rows[0] for column in columns):
        raise AntiphonError(
            f"{path}: no rows, or not the columns {', '.join(columns)}", hint="docs/guides/clusters.md shows the form"
        )
    return rows


def _number(row: Mapping[str, str], column: str, path: Path, line: int) -> float:
    try:
        value = float(row[column])
    except (TypeError, ValueError):
        value = -1
    if not 0 <= value < 1e15:
        raise AntiphonError(f"{path}, line {line}: {column} is {row[column]!r}, not a number from 0 on")
    return value
