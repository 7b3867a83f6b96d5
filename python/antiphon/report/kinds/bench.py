# SPDX-License-Identifier: Apache-2.0
"""Results of antiphon bench --json: times by size for each collective, ratios to the library and to the limit."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from antiphon.bench import stats
from antiphon.model import limits
from antiphon.output.tables import bytes_text, ratio_text, time_text
from antiphon.report.page import Block, Chart, Page, Section, Series, Table


def accepts(document: Any) -> bool:
    """Keeps the rows with a contender and its median."""
    rows = document.get("results") if isinstance(document, Mapping) else None
    return (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(row, Mapping) and {"collective", "contender", "median_s"} <= row.keys() for row in rows)
    )


def page(document: Mapping[str, Any], path: Path) -> Page:
    """Makes a section for each collective, with a chart for each way of measuring it."""
    rows = document["results"]
    where = sorted({f"{row['mpi']} ({row['transport']}), {row['ranks']} ranks on {row['nodes']} nodes" for row in rows})
    names = list(dict.fromkeys(row["collective"] for row in rows))
    sections = [_section(name, [row for row in rows if row["collective"] == name]) for name in names]
    return Page(f"Benchmark {path.name}", "; ".join(where), sections)


def _section(name: str, rows: list[Mapping[str, Any]]) -> Section:
    blocks: list[Block] = []
    keys = sorted({(row["mpi"], row["mode"], row["ranks"]) for row in rows})
    for mpi, mode, ranks in keys:
        cell = [row for row in rows if (row["mpi"], row["mode"], row["ranks"]) == (mpi, mode, ranks)]
        series = [
            Series(c, [(r["bytes"], r["median_s"]) for r in _sorted(cell, c)])
            for c in dict.fromkeys(r["contender"] for r in cell)
        ]
        limit = sorted({(r["bytes"], r["limit_s"]) for r in cell if r.get("limit_s")})
        series += [Series("limit", limit)] if limit else []
        blocks.append(Chart(f"{mpi}, {mode}, {ranks} ranks", series, x_label="bytes", y_label="median time"))
    below = limits.below_note((row["median_s"], row.get("limit_s")) for row in rows)
    return Section(name, below or "", [*blocks, _table(rows)])


def _sorted(cell: Iterable[Mapping[str, Any]], contender: str) -> list[Mapping[str, Any]]:
    return sorted((row for row in cell if row["contender"] == contender), key=lambda row: row["bytes"])


def _table(rows: list[Mapping[str, Any]]) -> Table:
    cell_of = lambda r: (r["mpi"], r["mode"], r["ranks"], r["bytes"])  # noqa: E731
    lines = []
    for _, group in itertools.groupby(sorted(rows, key=cell_of), key=cell_of):
        cell = list(group)
        library = next((r["median_s"] for r in cell if r["contender"] == "library"), None)
        for r in cell:
            faster = ratio_text(library / r["median_s"]) if library and r["contender"] != "library" else ""
            s = stats.summarize(r["samples"]) if r.get("samples") else None
            interval = f"{time_text(s.ci_low)} … {time_text(s.ci_high)}" if s else ""
            limit = limits.ratio_text(r["median_s"], r["limit_s"]) if r.get("limit_s") else ""
            lines.append(
                [
                    f"{r['mpi']} {r['mode']} {r['ranks']}",
                    bytes_text(r["bytes"]),
                    r["contender"],
                    time_text(r["median_s"]),
                    interval,
                    faster,
                    limit,
                ]
            )
    return Table(["where", "bytes", "contender", "median", "95 %", "× library", "× limit"], lines)
