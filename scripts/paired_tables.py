# SPDX-License-Identifier: Apache-2.0
"""Writes a table of docs/measurements/ethernet-16.md from results of `antiphon bench --json`, one file a library.

python scripts/paired_tables.py bench/results/ethernet-16/ethernet-16-{openmpi,mpich}-sync.json.gz
"""

from __future__ import annotations

import statistics
import sys

from tuned_tables import bytes_text, columns, read


def main(paths: list[str]) -> None:
    tables = [read(path) for path in paths]
    head = "".join(f" {mpi.rsplit('.', 2)[0]} | Antiphon | × library | × limit |" for mpi, _ in tables)
    sys.stdout.write(f"| collective | bytes |{head}\n|{'---|' * (2 + 4 * len(tables))}\n")
    ratios: list[list[float]] = [[] for _ in tables]
    for collective, size, mode in tables[0][1]:
        texts = []
        for (_, cells), column in zip(tables, ratios, strict=True):
            cell, ratio = columns(cells[collective, size, mode])
            texts += cell
            column.append(ratio)
        sys.stdout.write(f"| {collective} | {bytes_text(size)} | {' | '.join(texts)} |\n")
    means = (
        f"{statistics.geometric_mean(column):.2f} × {mpi.rsplit('.', 2)[0]} (least {min(column):.2f})"
        for (mpi, _), column in zip(tables, ratios, strict=True)
    )
    sys.stdout.write(f"\nGeometric mean: {', '.join(means)}.\n")


if __name__ == "__main__":
    main(sys.argv[1:])
