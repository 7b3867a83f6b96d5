# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms in three dimensions: MPI_Alltoallw of subarrays among all ranks, or among rows and columns.

The first python3 of the PATH needs numpy, mpi4py and mpi4py-fft, of PyPI.
"""

from __future__ import annotations

import re
from pathlib import Path

from programs import INPUTS, PRINTED, Application, copied


def said(folder: Path) -> list[tuple[str, str]]:
    return re.findall(r"^(\d+ points, \w+): (\S+) s$", (folder / PRINTED).read_text(encoding="utf-8"), re.MULTILINE)


def figures(folder: Path) -> dict[str, float]:
    """The time of a transform and its inverse, by the number of points of an edge and the cut."""
    return {what: float(seconds) for what, seconds in said(folder)}


def result(folder: Path) -> str:
    """What was transformed: the program checks that the inverse gives back the field."""
    return " ".join(what for what, _ in said(folder))


APPLICATION = Application(("python3", "transforms.py"), copied(INPUTS / "transforms.py"), figures, result)
