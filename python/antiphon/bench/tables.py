# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of `antiphon bench`, and its list of algorithms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from antiphon.bench import stats
from antiphon.bench.collectives import CollectiveMeasurement, CollectiveResults
from antiphon.bench.patterns import PatternResults
from antiphon.bench.results import M, Measurement, Results
from antiphon.core import Algorithm
from antiphon.model import limits
from antiphon.output.tables import bytes_text, new_table, ratio_text, time_text

if TYPE_CHECKING:
    from rich.table import Table

#: Every table has these columns, after those that say what was measured.
_COLUMNS = (("contender", "left"), ("median", "right"), ("95 %", "right"), ("n", "right"), ("× library", "right"),
            ("× limit", "right"), ("used", "left"))  # fmt: skip
#: What a narrow terminal may lack.
DROPPABLE = ("n", "95 %", "used")


def speed_up(measurement: Measurement, cell: Iterable[Measurement]) -> float | None:
    """Returns how much faster this is than the library in the same cell."""
    library = next((m for m in cell if m.contender == "library"), None)
    own = measurement.summary.median
    return library.summary.median / own if library and own else None


def collective_table(results: CollectiveResults, where: str) -> Table:
    """Makes one row per contender; blank lines separate the cells."""
    table = _new_table(results, where, (("collective", "left"), ("bytes", "right"), ("mode", "left")))
    computes = any(m.computation_s for m in results.measurements)
    if computes:
        table.add_column("overlap", justify="right", no_wrap=True)

    def overlap(m: CollectiveMeasurement) -> list[str]:
        part = results.overlap(m)
        return ["" if part is None else f"{100 * part:.0f} %"] if computes else []

    for (collective, size, mode), cell in _cells(results, _cell_of).items():
        size_text = bytes_text(size) if size or collective != "barrier" else ""
        _add_cell(table, results, (collective, size_text, mode), cell, lambda m: m.contender == "antiphon", overlap)
    return table


def pattern_table(results: PatternResults, where: str) -> Table:
    """Makes one row per contender; blank lines separate the patterns and modes."""
    table = _new_table(results, where, (("pattern", "left"), ("mode", "left")))
    for heading, cell in _cells(results, lambda m: (m.pattern, m.mode)).items():
        _add_cell(table, results, heading, cell, lambda m: m.chosen != m.contender, lambda _: ())
    return table


def _cell_of(m: CollectiveMeasurement) -> tuple[str, int, str]:
    return m.collective, m.bytes, m.mode


K = TypeVar("K", bound=Hashable)


def _cells(results: Results[M], key: Callable[[M], K]) -> dict[K, list[M]]:
    """Groups the measurements with calls that alternated with one another."""
    grouped: dict[K, list[M]] = defaultdict(list)
    for m in results.measurements:
        grouped[key(m)].append(m)
    return grouped


def _new_table(results: Results[M], where: str, subject: Sequence[tuple[str, str]]) -> Table:
    table = new_table(f"{results.mpi} ({results.transport}), {results.ranks} ranks on {results.nodes} nodes; {where}")
    for heading, justify in (*subject, *_COLUMNS):
        table.add_column(heading, justify=justify, no_wrap=heading != "used", overflow="fold")  # type: ignore[arg-type]
    return table


def _add_cell(
    table: Table,
    results: Results[M],
    subject: Sequence[str],
    cell: Sequence[M],
    shows_chosen: Callable[[M], bool],
    last: Callable[[M], Sequence[str]],
) -> None:
    """Adds a row for each contender of a cell; only the first row names what was measured."""
    for i, m in enumerate(cell):
        s, limit = m.summary, results.limit_s(m)
        table.add_row(
            *(subject if i == 0 else [""] * len(subject)),
            m.contender,
            time_text(s.median),
            f"{time_text(s.ci_low)} … {time_text(s.ci_high)}",
            str(s.count),
            ratio_text(None if m.contender == "library" else speed_up(m, cell)),
            limits.ratio_text(s.median, limit),
            m.used if shows_chosen(m) or m.chosen_first else "",
            *last(m),
            end_section=i + 1 == len(cell),
        )


def mean_lines(results: CollectiveResults) -> list[str]:
    """Prints geometric means of Antiphon's own choice against the library, per mode."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for (_, _, mode), cell in _cells(results, _cell_of).items():
        for m in cell:
            faster = speed_up(m, cell) if m.contender == "antiphon" else None
            if faster is not None:
                ratios[mode].append(faster)
    return [
        f"{mode}: {stats.geometric_mean(values):.2f}× the library's speed (geometric mean of {len(values)}; "
        f"least {min(values):.2f}×, most {max(values):.2f}×)"
        for mode, values in ratios.items()
    ]


def algorithm_lines(algorithms: Iterable[Algorithm]) -> list[str]:
    """Prints every algorithm with its parameters as searchable text, one line each."""
    lines: list[str] = []
    collective = None
    for a in algorithms:
        if a.collective != collective:
            lines += [*([""] if lines else []), a.collective]
            collective = a.collective
        lines.append(f"  {a.name}: {a.summary}")
        lines += [f"      {p.name}={p.default} ({p.min} … {p.max}): {p.meaning}" for p in a.parameters]
    return lines
