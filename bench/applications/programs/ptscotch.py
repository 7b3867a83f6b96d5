# SPDX-License-Identifier: Apache-2.0
"""A cube's graph cut into 16 parts, by exchanges among neighbours and gatherings of coarser graphs."""

from __future__ import annotations

import re
from pathlib import Path

from programs import PRINTED, Application, found

EDGE = 56


def number(x: int, y: int, z: int) -> int:
    return (x * EDGE + y) * EDGE + z


def write_input(folder: Path) -> None:
    """Writes the graph of a cube of points, in Scotch's format."""
    rows = []
    for x, y, z in ((x, y, z) for x in range(EDGE) for y in range(EDGE) for z in range(EDGE)):
        beside = ((x - 1, y, z), (x + 1, y, z), (x, y - 1, z), (x, y + 1, z), (x, y, z - 1), (x, y, z + 1))
        there = [number(*point) for point in beside if all(0 <= i < EDGE for i in point)]
        rows.append(" ".join(map(str, [len(there), *there])))
    edges = 6 * EDGE * EDGE * (EDGE - 1)
    lines = ["0", f"{EDGE**3} {edges}", "0 000", *rows, ""]
    (folder / "cube.grf").write_text("\n".join(lines), encoding="utf-8")


def figures(folder: Path) -> dict[str, float]:
    """The time of the cut on the slowest rank, without reading and writing."""
    return {"cut into parts": float(found(r"^T\tMapping.*max=([\d.]+)", folder / PRINTED)[1])}


def result(folder: Path) -> str:
    """The number of parts that hold something: which cut is found depends on the order of messages."""
    text = (folder / PRINTED).read_text(encoding="utf-8")
    return " ".join(re.findall(r"Processors (\S+?)\(", text))


APPLICATION = Application(("dgpart", "16", "cube.grf", "cube.map", "-vmst"), write_input, figures, result)
