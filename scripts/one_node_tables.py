# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/measurements/one-node.md from results of `antiphon bench --json`: Open MPI's, then MPICH's.

python scripts/one_node_tables.py bench/results/one-node/1x2-{openmpi,mpich}.json.gz
"""

from __future__ import annotations

import statistics
import sys

from tuned_tables import Rows, bytes_text, chosen, columns, read


def text_of(cells: Rows, collective: str, size: int) -> str:
    """Returns the library's time over the schedule's; a dash where the library was chosen."""
    cell = cells[collective, size, "sync"]
    return "–" if chosen(cell) == "library" else f"{columns(cell)[1]:.2g}"


def main(paths: list[str]) -> None:
    tables = [read(path) for path in paths]
    rows = tables[0][1]
    sizes = sorted({size for _, size, _ in rows if size > 1024})
    sys.stdout.write(f"| collective | {' | '.join(map(bytes_text, sizes))} |\n|---|{'---:|' * len(sizes)}\n")
    for collective in dict.fromkeys(name for name, _, _ in rows):
        texts = [[text_of(cells, collective, size) for _, cells in tables] for size in sizes]
        joined = ["" if set(both) == {"–"} else " / ".join(both) for both in texts]
        sys.stdout.write(f"| {collective} | {' | '.join(joined)} |\n")
    for mpi, cells in tables:
        gains = [columns(cell)[1] for cell in cells.values() if chosen(cell) != "library"]
        left = [columns(cell)[1] for cell in cells.values() if chosen(cell) == "library"]
        sys.stdout.write(
            f"\n{mpi}: {len(gains)} cells by schedules, geometric mean {statistics.geometric_mean(gains):.2f}, least "
            f"{min(gains):.2f}; {len(left)} left to the library, {statistics.geometric_mean(left):.3f}.\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
