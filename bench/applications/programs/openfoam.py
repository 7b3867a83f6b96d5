# SPDX-License-Identifier: Apache-2.0
"""Air in a cavity below a moving wall, 10,000 cells: sums of one number, and messages between neighbours."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from programs import INPUTS, PRINTED, Application, found

#: Debian's programs look here for their settings.
ENVIRONMENT = {"WM_PROJECT_DIR": "/usr/share/openfoam"}


def write_input(folder: Path) -> None:
    """Makes the mesh, and cuts it into eight parts."""
    shutil.copytree(INPUTS / "cavity", folder, dirs_exist_ok=True)
    for program in ("blockMesh", "decomposePar"):
        subprocess.run([program], cwd=folder, env=os.environ | ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)


def figures(folder: Path) -> dict[str, float]:
    """The time of all steps."""
    return {"all steps": float(found(r"ClockTime = (\d+) s\s+End", folder / PRINTED)[1])}


def result(folder: Path) -> str:
    """The errors of continuity after each correction of the last step."""
    return " ".join(re.findall(r"continuity errors : (.*)", (folder / PRINTED).read_text(encoding="utf-8"))[-2:])


APPLICATION = Application(("icoFoam", "-parallel"), write_input, figures, result, ENVIRONMENT)
