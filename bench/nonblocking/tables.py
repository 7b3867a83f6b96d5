# SPDX-License-Identifier: Apache-2.0
"""Prints results of `antiphon bench --nonblocking --algorithms blocking` as the tables of docs/measurements.

python bench/nonblocking/tables.py alone FILE…       start, then wait: the library's time over Antiphon's
python bench/nonblocking/tables.py computing FILE…   beside a computation, with tests and without
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from antiphon import packed
from antiphon.output.tables import bytes_text

Row = Mapping[str, Any]
Cells = dict[tuple[str, int], dict[tuple[str, str], Row]]


def cells_of(files: list[Path]) -> Cells:
    """Returns rows by collective and bytes, then by mode and contender."""
    cells: Cells = {}
    for file in files:
        for row in json.loads(packed.read_text(file))["results"]:
            cell = cells.setdefault((row["collective"], row["bytes"]), {})
            cell[row["mode"], row["contender"]] = row
    return cells


def ratio(cell: Mapping[tuple[str, str], Row], mode: str, over: str = "library", under: str = "antiphon") -> float:
    """Returns one contender's time over another's."""
    return float(cell[mode, over]["median_s"] / cell[mode, under]["median_s"])


def alone(cells: Cells) -> Iterator[str]:
    """Yields a row for each collective: the gain at each size, and what the blocking call takes of the time."""
    sizes = sorted({size for _, size in cells})
    yield "| collective | " + " | ".join(bytes_text(size) for size in sizes) + " |"
    yield "|---|" + "---:|" * len(sizes)
    for name in dict.fromkeys(name for name, _ in cells):
        texts = []
        for size in sizes:
            cell = cells.get((name, size))
            if cell is None:
                texts.append("")
                continue
            passed = cell["sync", "antiphon"]["chosen"] == "library"
            text = f"{ratio(cell, 'sync'):.2f}{' =' if passed else ''}"
            if ("sync", "antiphon:blocking") in cell:
                text += f" ({ratio(cell, 'sync', 'antiphon', 'antiphon:blocking'):.2f})"
            texts.append(text)
        yield f"| {name} | " + " | ".join(texts) + " |"


def computing(cells: Cells) -> Iterator[str]:
    """Yields a row for each collective and size: times, gains and overlap."""
    yield "| collective | alone | | tested | | overlap | untested | |\n|---|---:|---:|---:|---:|---:|---:|---:|"
    for (name, size), cell in cells.items():
        texts = [f"{name} {bytes_text(size)}"]
        for mode in ("sync", "tested", "overlap"):
            times = [f"{1e3 * cell[mode, who]['median_s']:.3g}" for who in ("library", "antiphon")]
            texts += [" / ".join(times), f"{ratio(cell, mode):.2f}"]
            if mode == "tested":
                texts.append(f"{100 * cell[mode, 'antiphon']['overlap']:.0f} %")
        yield "| " + " | ".join(texts) + " |"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("alone", "computing"))
    parser.add_argument("files", type=Path, nargs="+", help="of one library on one cluster; later ones replace rows")
    args = parser.parse_args()
    rows = alone(cells_of(args.files)) if args.what == "alone" else computing(cells_of(args.files))
    sys.stdout.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
