# SPDX-License-Identifier: Apache-2.0
"""The density of a benzene molecule on a grid, which is cut into a part for each rank."""

from __future__ import annotations

import re
from pathlib import Path

from programs import INPUTS, PRINTED, Application, copied, found


def said(folder: Path) -> re.Match[str]:
    return found(r"energy (\S+) seconds (\S+)", folder / PRINTED)


def figures(folder: Path) -> dict[str, float]:
    """The time of the calculation, without the start of Python."""
    return {"whole calculation": float(said(folder)[2])}


def result(folder: Path) -> str:
    """The energy, without the digits that depend on the order of sums."""
    return f"{float(said(folder)[1]):.8f}"


APPLICATION = Application(("gpaw", "python", "benzene.py"), copied(INPUTS / "benzene.py"), figures, result)
