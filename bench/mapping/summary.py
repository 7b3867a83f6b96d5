# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/measurements/mapping.md from run.py's lines: `python bench/mapping/summary.py FILE…`.

`--merge` writes one line per instance instead, with the costs and processor seconds of all methods (one value per
seed). It reads such lines, too.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from antiphon.packed import read_text

#: By pattern and machine.
Cells = dict[tuple[str, str], dict[str, Any]]


def read(files: list[Path]) -> dict[int, Cells]:
    """Return, by ranks and instance, `cyclic`, and by method `cost` and `cpu_seconds`."""
    by_ranks: dict[int, Cells] = defaultdict(lambda: defaultdict(lambda: {"cost": {}, "cpu_seconds": {}}))
    for row in (json.loads(line) for file in files for line in read_text(file).splitlines()):
        cell = by_ranks[row["ranks"]][row["pattern"], row["machine"]]
        if "cyclic" in row:
            cell["cyclic"] = row["cyclic"]
        for key in ("cost", "cpu_seconds"):
            for method, values in row[key].items() if "method" not in row else [(row["method"], [row[key]])]:
                cell[key].setdefault(method, []).extend(values)
    return by_ranks


def mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(statistics.fmean(math.log(v) for v in values))


def table(ranks: int, cells: Cells) -> list[str]:
    """Return one line per method: its cost (mean of seeds), how antiphon's compares, where it loses, its time."""
    methods = sorted({m for cell in cells.values() for m in cell["cost"]}, key=lambda m: (m != "antiphon", m))
    lines = [f"### {ranks} ranks, {len(cells)} instances", ""]
    lines += ["| method | instances | cost / block | antiphon's / its | above block or cyclic | median s | longest s |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for method in methods:
        of = [cell for cell in cells.values() if method in cell["cost"]]
        costs = [statistics.fmean(cell["cost"][method]) for cell in of]
        ratios = [cell["cost"]["antiphon"][0] / cost for cell, cost in zip(of, costs, strict=True)]
        worse = sum(c > min(1.0, cell["cyclic"]) * (1 + 1e-7) for cell, c in zip(of, costs, strict=True))
        times = [t for cell in of for t in cell["cpu_seconds"][method]]
        lines.append(
            f"| {method} | {len(of)} | {mean(costs):.4f} | {mean(ratios):.4f} | {worse} "
            f"| {statistics.median(times):.4f} | {max(times):.4f} |"
        )
    return [*lines, "", *losses(cells), ""]


def losses(cells: Cells) -> list[str]:
    """List the instances where another method's best seed was more than 1 % better."""
    found = []
    for (pattern, machine), cell in sorted(cells.items()):
        others = {m: min(costs) for m, costs in cell["cost"].items() if m != "antiphon"}
        best = min(others, key=lambda m: others[m], default="antiphon")
        ratio = cell["cost"]["antiphon"][0] / others.get(best, math.inf)
        if ratio > 1.01:
            found.append(f"{pattern} on {machine} ({best}: {ratio:.3f})")
    return [f"More than 1 % worse than the best of all: {', '.join(found) if found else 'none'}."]


def merge(by_ranks: dict[int, Cells]) -> None:
    """Print one line per instance."""
    for ranks, cells in sorted(by_ranks.items()):
        for (pattern, machine), cell in cells.items():
            print(json.dumps({"ranks": ranks, "pattern": pattern, "machine": machine, **cell}, separators=(",", ":")))


def main() -> None:
    """Print what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--merge", action="store_true", help="write one line an instance")
    options = parser.parse_args()
    by_ranks = read(options.files)
    if options.merge:
        merge(by_ranks)
        return
    for ranks, cells in sorted(by_ranks.items()):
        print("\n".join(table(ranks, cells)))


if __name__ == "__main__":
    main()
