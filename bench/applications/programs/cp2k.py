# SPDX-License-Identifier: Apache-2.0
"""The wave function of 16 water molecules."""

from __future__ import annotations

import re
from pathlib import Path

from programs import INPUTS, Application, copied


def said(folder: Path) -> str:
    return (folder / "water.out").read_text(encoding="utf-8")


def figures(folder: Path) -> dict[str, float]:
    """The time of the whole calculation."""
    text = said(folder)
    found = re.search(r"^ CP2K +\d+ .* (\d+\.\d+)$", text, re.MULTILINE)
    assert found is not None, text[-2000:]
    return {"whole calculation": float(found[1])}


def result(folder: Path) -> str:
    """The total energies."""
    return " ".join(re.findall(r"ENERGY\| Total.*?(-?[\d.]+)$", said(folder), re.MULTILINE))


APPLICATION = Application(
    ("cp2k.psmp", "-i", "water.inp", "-o", "water.out"), copied(INPUTS / "water.inp"), figures, result
)
