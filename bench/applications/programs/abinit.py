# SPDX-License-Identifier: Apache-2.0
"""The electrons of silicon in plane waves: bands over two groups of ranks, transforms over the ranks of each."""

from __future__ import annotations

import re
from pathlib import Path

from programs import INPUTS, PRINTED, Application, copied, found


def figures(folder: Path) -> dict[str, float]:
    """The time of the whole calculation on the first rank."""
    return {"whole calculation": float(found(r"individual time.*wall= +([\d.]+)", folder / "silicon.abo")[1])}


def result(folder: Path) -> str:
    """The energies of the steps."""
    text = (folder / PRINTED).read_text(encoding="utf-8")
    return " ".join(re.findall(r"ETOT +\d+ +(-[\d.]+)", text))


APPLICATION = Application(("abinit", "silicon.abi"), copied(INPUTS / "silicon.abi"), figures, result)
