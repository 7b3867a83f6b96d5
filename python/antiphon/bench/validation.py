# SPDX-License-Identifier: Apache-2.0
"""Compares predictions with measurements: how far off the model is, and whether its choices would have been right."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon import model, output
from antiphon.bench.results import WITHOUT_MULTICAST
from antiphon.draw import curves
from antiphon.errors import AntiphonError
from antiphon.output.tables import bytes_text, new_table, print_wide, ratio_text, time_text
from antiphon.traffic import libraries

#: A pick that is at most this much slower than the best one counts as equally good.
AS_GOOD = 1.1


@dataclass(frozen=True)
class Compared:
    """One algorithm in one cell of a benchmark."""

    collective: str
    bytes: int
    ranks: int
    mpi: str
    mode: str
    choice: str
    measured_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        """Returns the relative error of the prediction: 0.1 is 10 % too long."""
        return self.predicted_s / self.measured_s - 1

    @property
    def cell(self) -> tuple[str, str, int, int, str]:
        return self.mpi, self.collective, self.ranks, self.bytes, self.mode


@dataclass(frozen=True)
class Pick:
    """The model's choice in a cell, and the best one's."""

    cell: tuple[str, str, int, int, str]
    picked: Compared
    best: Compared

    @property
    def ratio(self) -> float:
        return self.picked.measured_s / self.best.measured_s


@dataclass(frozen=True)
class ModelCheck:
    """The comparison of all cells."""

    entries: Sequence[Compared]

    def rows(self) -> list[dict[str, Any]]:
        return [vars(e) | {"error": e.error} for e in self.entries]

    def picks(self) -> list[Pick]:
        """Returns the picks of every cell in which there was something to choose."""
        cells: dict[tuple[str, str, int, int, str], list[Compared]] = defaultdict(list)
        for entry in self.entries:
            cells[entry.cell].append(entry)
        return [
            Pick(cell, min(found, key=lambda e: e.predicted_s), min(found, key=lambda e: e.measured_s))
            for cell, found in cells.items()
            if len(found) > 1
        ]

    def by(self, key: str) -> Mapping[Any, list[Compared]]:
        """Groups the entries by one of Compared's fields."""
        groups: dict[Any, list[Compared]] = defaultdict(list)
        for entry in self.entries:
            groups[getattr(entry, key)].append(entry)
        return dict(sorted(groups.items()))


def check_row(row: Any) -> None:
    """Raises a ValueError for what is no result of the benchmark."""
    for key in ("mpi", "collective", "contender", "mode", "chosen"):
        if not isinstance(row, Mapping) or not isinstance(row.get(key), str):
            raise ValueError(f"a result without {key}")
    for key, least in (("ranks", 1), ("nodes", 1), ("bytes", 0)):
        if type(row.get(key)) is not int or row[key] < least:
            raise ValueError(f"a result whose {key} is no number from {least} on")
    seconds = row.get("median_s")
    if type(seconds) not in (int, float) or not 0 < seconds < math.inf:
        raise ValueError("a result whose median_s is no number above zero")


def without_older(measured: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[Any]]:
    """Removes cells that were measured twice from all files except the last that holds them."""

    def cell(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[key] for key in ("mpi", "collective", "ranks", "bytes", "mode"))

    last = {cell(row): i for i, rows in enumerate(measured) for row in rows}
    return [[row for row in rows if last[cell(row)] == i] for i, rows in enumerate(measured)]


def compare(rows: Iterable[Mapping[str, Any]], profile: str) -> ModelCheck:
    """Predicts every algorithm of the benchmark's results, without the library's own collectives."""
    entries = []
    for row in rows:
        # What went without its multicast group was measured as something that no choice names.
        library = row["chosen"] == "library" or WITHOUT_MULTICAST in row["chosen"]
        if library or not row["contender"].startswith("antiphon:"):
            continue
        machine = model.ModelledMachine(row["ranks"], _ranks_per_node(row), profile)
        sweep = model.predict(
            row["collective"], [row["bytes"]], machine, choices=[row["chosen"]], barrier=_barrier(row)
        )
        found = sweep.sizes[row["bytes"]]
        if found:
            entries.append(
                Compared(
                    row["collective"],
                    row["bytes"],
                    row["ranks"],
                    row["mpi"],
                    row["mode"],
                    row["chosen"],
                    row["median_s"],
                    found[0].seconds,
                )
            )
    if not entries:
        raise AntiphonError("no algorithm of Antiphon's is among the results", hint="measure with --algorithms all")
    return ModelCheck(entries)


def _barrier(row: Mapping[str, Any]) -> list[dict[str, str]] | None:
    return libraries.barrier(row["mpi"], row["ranks"], _ranks_per_node(row)) if row["mode"] == "sync" else None


def _ranks_per_node(row: Mapping[str, Any]) -> int:
    return -(-int(row["ranks"]) // int(row["nodes"]))


def quantile(values: Sequence[float], share: float) -> float:
    """Returns the least of the values that `share` of all values do not exceed."""
    ordered = sorted(values)
    rank = math.ceil(round(share * len(ordered), 6))  # 0.7 × 10 is a little more than 7.
    return ordered[max(rank, 1) - 1]


def summary_lines(comparison: ModelCheck) -> list[str]:
    """Returns the figures that the goals name: errors and picks."""
    errors = [abs(e.error) for e in comparison.entries]
    lines = [
        f"{len(errors)} predictions: median error {statistics.median(errors):.1%}, "
        f"90th percentile {quantile(errors, 0.9):.1%}"
    ]
    picks = comparison.picks()
    if picks:
        good = sum(p.ratio <= AS_GOOD for p in picks)
        worst = max(picks, key=lambda p: p.ratio)
        lines.append(
            f"the model's pick is within {AS_GOOD - 1:.0%} of the best in {good} of {len(picks)} cells "
            f"({good / len(picks):.0%}); worst {ratio_text(worst.ratio)}: {worst.picked.choice} instead of "
            f"{worst.best.choice}, {_cell_text(worst.picked)}"
        )
    return lines


def show(comparison: ModelCheck) -> None:
    """Prints tables by collective, size and ranks, then the summary."""
    for key, heading in (("collective", "collective"), ("bytes", "bytes"), ("ranks", "ranks")):
        table = new_table()
        table.add_column(heading)
        for name in ("predictions", "median error", "90 %", "worst"):
            table.add_column(name, justify="right")
        for value, entries in comparison.by(key).items():
            errors = [abs(e.error) for e in entries]
            label = bytes_text(value) if key == "bytes" else str(value)
            table.add_row(
                label,
                str(len(errors)),
                f"{statistics.median(errors):.1%}",
                f"{quantile(errors, 0.9):.1%}",
                f"{max(errors):.0%}",
            )
        print_wide(table)
    _show_worst(comparison)
    for line in summary_lines(comparison):
        output.stdout().print(line, soft_wrap=True)


def _show_worst(comparison: ModelCheck, count: int = 12) -> None:
    table = new_table("farthest off")
    for heading in ("where", "algorithm", "measured", "predicted", "error"):
        table.add_column(heading, justify="left" if heading in ("where", "algorithm") else "right")
    for e in sorted(comparison.entries, key=lambda e: -abs(e.error))[:count]:
        table.add_row(_cell_text(e), e.choice, time_text(e.measured_s), time_text(e.predicted_s), f"{e.error:+.0%}")
    print_wide(table)


def _cell_text(e: Compared) -> str:
    return f"{e.collective} {bytes_text(e.bytes)}, {e.ranks} ranks, {e.mpi}"


def draw(comparison: ModelCheck, path: Path) -> None:
    """Draws predicted over measured times, with one colour per collective."""
    groups = {
        name: [(e.measured_s, e.predicted_s) for e in found] for name, found in comparison.by("collective").items()
    }
    curves.scatter_svg(f"{len(comparison.entries)} predictions; lines at 0, ±10 % and ±25 %", groups, path)
