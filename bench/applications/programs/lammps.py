# SPDX-License-Identifier: Apache-2.0
"""4,096 ions of molten salt. Most of the time goes into a mesh for long-range forces, and exchanges of its parts."""

from __future__ import annotations

from pathlib import Path

from programs import CONFORMANCE, Application, copied, found


def figures(folder: Path) -> dict[str, float]:
    """The time of all steps, and that of the mesh, whose transforms are collectives."""
    log = folder / "log.lammps"
    loop, mesh = found(r"Loop time of ([\d.]+)", log), found(r"Kspace +\| *[\d.]+ *\| *([\d.]+)", log)
    return {"all steps": float(loop[1]), "mesh (Kspace)": float(mesh[1])}


def result(folder: Path) -> str:
    """The energies of the last step."""
    return (folder / "log.lammps").read_text(encoding="utf-8").partition("Loop time")[0].strip().splitlines()[-1]


APPLICATION = Application(("lmp", "-in", "in.pppm"), copied(CONFORMANCE / "in.pppm"), figures, result)
