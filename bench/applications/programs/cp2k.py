# SPDX-License-Identifier: Apache-2.0
"""The wave function of 16 water molecules."""

from __future__ import annotations

import re
from pathlib import Path

from programs import INPUTS, Application, copied, found


def figures(folder: Path) -> dict[str, float]:
    """The time of the whole calculation."""
    return {"whole calculation": float(found(r"^ CP2K +\d+ .* (\d+\.\d+)$", folder / "water.out")[1])}


def result(folder: Path) -> str:
    """The total energies."""
    text = (folder / "water.out").read_text(encoding="utf-8")
    return " ".join(re.findall(r"ENERGY\| Total.*?(-?[\d.]+)$", text, re.MULTILINE))


APPLICATION = Application(
    ("cp2k.psmp", "-i", "water.inp", "-o", "water.out"), copied(INPUTS / "water.inp"), figures, result
)
