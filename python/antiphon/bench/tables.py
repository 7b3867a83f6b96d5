# SPDX-License-Identifier: Apache-2.0
"""The table of `antiphon bench`, and its list of algorithms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from antiphon.bench import stats
from antiphon.bench.benchmark import Measurement, Results
from antiphon.core import Algorithm
from antiphon.output.tables import bytes_text, new_table, ratio_text, time_text

if TYPE_CHECKING:
    from rich.table import Table


def cells(results: Results) -> dict[tuple[str, int, str], list[Measurement]]:
    """Measurements that were interleaved with one another: same collective, size and mode."""
    grouped: dict[tuple[str, int, str], list[Measurement]] = defaultdict(list)
    for m in results.measurements:
        grouped[m.collective, m.bytes, m.mode].append(m)
    return grouped


def speed_up(measurement: Measurement, cell: Iterable[Measurement]) -> float | None:
    """How much faster than the library, in the same cell."""
    library = next((m for m in cell if m.contender == "library"), None)
    own = measurement.summary.median
    return library.summary.median / own if library and own else None


def benchmark_table(results: Results, where: str) -> Table:
    """One row per contender; the cells are set apart by blank lines."""
    table = new_table(f"{results.mpi} ({results.transport}), {results.ranks} ranks on {results.nodes} nodes; {where}")
    for heading, justify in (
        ("collective", "left"),
        ("bytes", "right"),
        ("mode", "left"),
        ("contender", "left"),
        ("median", "right"),
        ("95 %", "right"),
        ("n", "right"),
        ("× library", "right"),
        ("× limit", "right"),
        ("used", "left"),
    ):
        table.add_column(heading, justify=justify, no_wrap=heading != "used", overflow="fold")  # type: ignore[arg-type]
    for (collective, size, mode), cell in cells(results).items():
        for i, m in enumerate(cell):
            first = (
                (collective, bytes_text(size) if size or collective != "barrier" else "", mode)
                if i == 0
                else ("", "", "")
            )
            table.add_row(*first, *_contender_columns(results, m, cell), end_section=i + 1 == len(cell))
    return table


def _contender_columns(results: Results, m: Measurement, cell: Sequence[Measurement]) -> list[str]:
    s, limit = m.summary, results.limit_s(m)
    faster = None if m.contender == "library" else speed_up(m, cell)
    used = m.chosen if m.contender == "antiphon" else ""
    return [
        m.contender,
        time_text(s.median),
        f"{time_text(s.ci_low)} … {time_text(s.ci_high)}",
        str(s.count),
        ratio_text(faster),
        ratio_text(s.median / limit if limit else None),
        used,
    ]


def mean_lines(results: Results) -> list[str]:
    """Geometric means of Antiphon's own choice against the library, per mode."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for (_, _, mode), cell in cells(results).items():
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
    """Every algorithm with its parameters, as text that can be searched: one line each."""
    lines: list[str] = []
    collective = None
    for a in algorithms:
        if a.collective != collective:
            lines += [*([""] if lines else []), a.collective]
            collective = a.collective
        lines.append(f"  {a.name}: {a.summary}")
        lines += [f"      {p.name}={p.default} ({p.min} … {p.max}): {p.meaning}" for p in a.parameters]
    return lines
