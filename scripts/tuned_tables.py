# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/measurements/tuned.md from results of `antiphon bench --json`, one file a library.

python scripts/tuned_tables.py bench/results/tuned/ethernet-16-{openmpi,mpich}.json.gz
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from antiphon.packed import read_text

Cell = dict[str, dict[str, object]]
Rows = dict[tuple[str, int, str], Cell]

MODES = ("sync", "throughput")
#: Columns of means: the lower bound in bytes, and the upper bound, which is not included.
GROUPS = {"of 8 B and barriers": (0, 1024), "1 and 8 KiB": (1024, 65536), "from 64 KiB": (65536, 1 << 62)}


def bytes_text(count: int) -> str:
    for size, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B" if count else "–"


def read(path: str) -> tuple[str, Rows]:
    cells: Rows = defaultdict(dict)
    mpi = ""
    for row in json.loads(read_text(Path(path)))["results"]:
        cells[row["collective"], row["bytes"], row["mode"]][row["contender"]] = row
        mpi = row["mpi"]
    return mpi, cells


def columns(cell: Cell) -> tuple[list[str], float]:
    library, own = cell["library"], cell["antiphon"]
    before, after = float(library["median_s"]), float(own["median_s"])  # type: ignore[arg-type]
    limit = own["limit_s"]
    over = f"{after / limit:.2f}" if limit and own["bytes"] >= 8192 else ""  # type: ignore[operator]
    return [f"{1e3 * before:.3g}", f"{1e3 * after:.3g}", f"{before / after:.2f}", over], before / after


def chosen(cell: Cell) -> str:
    return str(cell["antiphon"]["chosen"]).split(" ")[0]


def gain(cell: Cell) -> float:
    """Returns the gain over the library; where the library was chosen, both sides are the library."""
    return 1.0 if chosen(cell) == "library" else columns(cell)[1]


def write_means(mpi: str, cells: Rows) -> None:
    for mode in MODES:
        gains = {size: [] for _, size, of_mode in cells if of_mode == mode}
        for (_, size, of_mode), cell in cells.items():
            if of_mode == mode:
                gains[size].append(gain(cell))
        every = [one for of_size in gains.values() for one in of_size]
        means = [f"{statistics.geometric_mean(every):.2f}", f"{min(every):.2f}"]
        for least, most in GROUPS.values():
            group = [one for size, of_size in gains.items() if least <= size < most for one in of_size]
            means.append(f"{statistics.geometric_mean(group):.2f}" if group else "")
        sys.stdout.write(f"| {mpi} | {mode} | {len(every)} | {' | '.join(means)} |\n")


def of_library(cells: Rows, collective: str, size: int) -> list[str]:
    """Prints gains in both modes, the throughput's time over the limit, and what was used."""
    if any((collective, size, mode) not in cells for mode in MODES):
        return ["", "", "", "–"]
    sync, throughput = (cells[collective, size, mode] for mode in MODES)
    limit = columns(throughput)[0][3]
    if chosen(sync) == "library":
        return ["", "", limit, "library"]
    return [f"{gain(sync):.2f}", f"{gain(throughput):.2f}", limit, f"`{chosen(sync)}`"]


def main(paths: list[str]) -> None:
    tables = {mpi.rsplit(".", 2)[0]: cells for mpi, cells in map(read, paths)}
    sys.stdout.write(f"| library | mode | cells | geometric mean | least | {' | '.join(GROUPS)} |\n|{'---|' * 8}\n")
    for mpi, cells in tables.items():
        write_means(mpi, cells)
    head = "".join(f" {mpi}: sync | throughput | limit | used |" for mpi in tables)
    sys.stdout.write(f"\n| collective | bytes |{head}\n|{'---|' * (2 + 4 * len(tables))}\n")
    for collective, size in sorted({key[:2] for cells in tables.values() for key in cells}):
        texts = [text for cells in tables.values() for text in of_library(cells, collective, size)]
        sys.stdout.write(f"| {collective} | {bytes_text(size)} | {' | '.join(texts)} |\n")


if __name__ == "__main__":
    main(sys.argv[1:])
