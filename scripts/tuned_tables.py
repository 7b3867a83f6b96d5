# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/measurements/tuned.md from results of `antiphon bench --json`, one file a library.

python scripts/tuned_tables.py docs/measurements/tuned-11-openmpi.json docs/measurements/tuned-11-mpich.json
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

Rows = dict[tuple[str, int, str], dict[str, dict[str, object]]]


def bytes_text(count: int) -> str:
    for size, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B" if count else "–"


def read(path: str) -> tuple[str, Rows]:
    cells: Rows = defaultdict(dict)
    mpi = ""
    for row in json.loads(Path(path).read_text(encoding="utf-8"))["results"]:
        cells[row["collective"], row["bytes"], row["mode"]][row["contender"]] = row
        mpi = row["mpi"]
    return mpi, cells


def columns(cell: dict[str, dict[str, object]]) -> tuple[list[str], float | None]:
    library, own = cell["library"], cell["antiphon"]
    before, after = float(library["median_s"]), float(own["median_s"])  # type: ignore[arg-type]
    limit = own["limit_s"]
    over = f"{after / limit:.2f}" if limit and own["bytes"] >= 8192 else ""  # type: ignore[operator]
    used = str(own["chosen"])
    return [f"{1e3 * before:.3g}", f"{1e3 * after:.3g}", f"{before / after:.2f}", over, f"`{used}`"], before / after


def main(paths: list[str]) -> None:
    for mpi, cells in map(read, paths):
        ratios = []
        sys.stdout.write(
            f"\n### {mpi}\n\n| collective | bytes | mode | library | Antiphon | × library | × limit | used |\n"
        )
        sys.stdout.write("|---|---|---|---|---|---|---|---|\n")
        for (collective, size, mode), cell in cells.items():
            if {"library", "antiphon"} <= set(cell):
                texts, ratio = columns(cell)
                ratios.append(ratio or 1.0)
                sys.stdout.write(f"| {collective} | {bytes_text(size)} | {mode} | {' | '.join(texts)} |\n")
        mean, least = statistics.geometric_mean(ratios), min(ratios)
        sys.stdout.write(f"\nGeometric mean: {mean:.2f} × {mpi} ({len(ratios)} cells, least {least:.2f}).\n")


if __name__ == "__main__":
    main(sys.argv[1:])
