# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/measurements/own-cores.md: what the default table's choices gained where they were forced.

python scripts/own_cores_tables.py bench/results/own-cores/*-algorithms.json.gz
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from antiphon import core, packed

LIBRARIES = ("openmpi", "mpich")


def gains_of(path: Path, mpi: str) -> dict[str, list[float]]:
    """Returns, by collective, the library's time over that of the choice, for the sizes that are not the library's."""
    times: dict[tuple[str, int, int], dict[str, float]] = defaultdict(dict)
    for row in json.loads(packed.read_text(path))["results"]:
        if row["contender"] != "antiphon":
            times[row["collective"], row["ranks"], row["bytes"]][row["chosen"]] = row["median_s"]
    gains = defaultdict(list)
    for (collective, ranks, size), measured in times.items():
        choice = core.choose(core.Question(collective, ranks, 1, ranks, size, 8, mpi=mpi)).choice
        if choice != "library":
            gains[collective].append(measured["library"] / measured[choice])
    return gains


def main(paths: list[str]) -> None:
    cells: dict[str, dict[tuple[int, str], list[float]]] = defaultdict(dict)
    for path in map(Path, paths):
        shape, mpi, _ = path.name.split("-", 2)
        for collective, gains in gains_of(path, mpi).items():
            cells[collective][int(shape.partition("x")[2]), mpi] = gains
            cells["all"].setdefault((int(shape.partition("x")[2]), mpi), []).extend(gains)
    sizes = sorted({ranks for ranks, _ in cells["all"]})
    print(f"| collective | {' | '.join(f'{ranks} ranks' for ranks in sizes)} |\n|---|{'---:|' * len(sizes)}")
    for collective in [*sorted(cells.keys() - {"all"}), "all"]:
        texts = []
        for ranks in sizes:
            found = [cells[collective].get((ranks, mpi)) for mpi in LIBRARIES]
            texts.append(" / ".join(f"{statistics.geometric_mean(g):.2f} ({min(g):.2f})" if g else "–" for g in found))
        print(f"| {collective} | {' | '.join(texts)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
