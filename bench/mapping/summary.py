# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/measurements/mapping.md from the lines that run.py wrote: `python bench/mapping/summary.py FILE…`."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

Cells = dict[tuple[str, str], dict[str, dict[str, Any]]]


def mean(ratios: list[float]) -> float:
    """Geometric."""
    return math.exp(statistics.fmean(math.log(r) for r in ratios))


def table(ranks: int, cells: Cells) -> list[str]:
    """One line a method: its cost, how antiphon's compares, where it loses, its time."""
    methods = sorted({m for cell in cells.values() for m in cell}, key=lambda m: (m != "antiphon", m))
    lines = [f"### {ranks} ranks, {len(cells)} instances", ""]
    lines += ["| method | instances | cost / block | antiphon's / its | above block or cyclic | median s | longest s |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for method in methods:
        rows = [(cell[method], cell["antiphon"]) for cell in cells.values() if method in cell]
        # kahip's rows do not carry cyclic's cost, antiphon's of the same instance do.
        worse = sum(r["cost"] > min(1.0, own["cyclic"]) * (1 + 1e-9) for r, own in rows)
        times = [r["cpu_seconds"] for r, _ in rows]
        lines.append(
            f"| {method} | {len(rows)} | {mean([r['cost'] for r, _ in rows]):.4f} "
            f"| {mean([own['cost'] / r['cost'] for r, own in rows]):.4f} | {worse} "
            f"| {statistics.median(times):.4f} | {max(times):.4f} |"
        )
    return [*lines, "", *losses(cells), ""]


def losses(cells: Cells) -> list[str]:
    """Instances where somebody else was more than 1 % better."""
    found = []
    for (pattern, machine), cell in sorted(cells.items()):
        best = min((m for m in cell if m != "unaided"), key=lambda m: cell[m]["cost"])
        ratio = cell["antiphon"]["cost"] / cell[best]["cost"]
        if ratio > 1.01:
            found.append(f"{pattern} on {machine} ({best}: {ratio:.3f})")
    return [f"More than 1 % worse than the best of all: {', '.join(found) if found else 'none'}."]


def main() -> None:
    """Entry."""
    by_ranks: dict[int, Cells] = defaultdict(lambda: defaultdict(dict))
    for name in sys.argv[1:]:
        for line in Path(name).read_text().splitlines():
            row = json.loads(line)
            by_ranks[row["ranks"]][row["pattern"], row["machine"]][row["method"]] = row
    for ranks, cells in sorted(by_ranks.items()):
        print("\n".join(table(ranks, cells)))


if __name__ == "__main__":
    main()
