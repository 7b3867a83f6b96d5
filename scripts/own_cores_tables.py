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

#: Collective, ranks, bytes.
Call = tuple[str, int, int]
#: Parameters that are younger than the samples, at the values that do what was done then.
YOUNGER = {("gather", "flat"): "unasked_bytes=0"}


def measured(path: Path) -> dict[Call, dict[str, float]]:
    """Returns the seconds of each call by the library and by the algorithms that were forced."""
    times: dict[Call, dict[str, float]] = defaultdict(dict)
    for row in json.loads(packed.read_text(path))["results"]:
        # What Antiphon chose then is known by the forced algorithms alone.
        if row["contender"] != "antiphon":
            choice = today(row["collective"], row["chosen"])
            times[row["collective"], row["ranks"], row["bytes"]][choice] = row["median_s"]
    return times


def today(collective: str, chosen: str) -> str:
    """Returns what a recorded choice is called now."""
    younger = YOUNGER.get((collective, chosen.partition(":")[0]))
    return f"{chosen},{younger}" if younger else chosen


def choice_of(call: Call, mpi: str) -> str:
    """Returns what the default table chooses for a call on one node, with a core for each rank."""
    collective, ranks, size = call
    return core.choose(core.Question(collective, ranks, 1, ranks, size, 8, mpi=mpi)).choice


def gains_of(path: Path, mpi: str) -> dict[str, list[float]]:
    """Returns, by collective, the library's time over that of the choice, for the sizes that are not the library's."""
    gains = defaultdict(list)
    for call, times in measured(path).items():
        choice = choice_of(call, mpi)
        if choice != "library":
            gains[call[0]].append(times["library"] / times[choice])
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
