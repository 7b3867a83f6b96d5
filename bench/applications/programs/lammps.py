# SPDX-License-Identifier: Apache-2.0
"""4,096 ions of molten salt. Most of the time goes into a mesh for long-range forces, and exchanges of its parts."""

from __future__ import annotations

import re
from pathlib import Path

from programs import CONFORMANCE, Application, copied


def said(folder: Path) -> str:
    return (folder / "log.lammps").read_text(encoding="utf-8")


def figures(folder: Path) -> dict[str, float]:
    """The time of all steps, and that of the mesh, whose transforms are collectives."""
    text = said(folder)
    loop, mesh = re.search(r"Loop time of ([\d.]+)", text), re.search(r"Kspace +\| *[\d.]+ *\| *([\d.]+)", text)
    assert loop is not None and mesh is not None, text[-2000:]
    return {"all steps": float(loop[1]), "mesh (Kspace)": float(mesh[1])}


def result(folder: Path) -> str:
    """The energies of the last step."""
    return said(folder).partition("Loop time")[0].strip().splitlines()[-1]


APPLICATION = Application(("lmp", "-in", "in.pppm"), copied(CONFORMANCE / "in.pppm"), figures, result)
