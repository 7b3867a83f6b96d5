# SPDX-License-Identifier: Apache-2.0
"""Poisson's equation on a cube of a million cells: the mesh is cut and dealt out, then conjugate gradients solve it."""

from __future__ import annotations

import re
from pathlib import Path

from programs import PRINTED, Application, found


def write_input(folder: Path) -> None:
    """The program makes its mesh itself."""


def seconds(name: str, folder: Path) -> float:
    return float(found(rf"^{re.escape(name)} *\| *\d+ +\S+ +(\S+)", folder / PRINTED)[1])


def figures(folder: Path) -> dict[str, float]:
    """The times of the mesh, of PT-Scotch within it, and of the solver, on the slowest rank."""
    names = {
        "mesh": "ZZZ Create Mesh",
        "its cut (PT-Scotch)": "SCOTCH: call SCOTCH_dgraphPart",
        "assembly": "ZZZ Assemble",
        "solver": "ZZZ Solve",
    }
    return {figure: seconds(name, folder) for figure, name in names.items()}


def result(folder: Path) -> str:
    """The norm of the solution."""
    return found(r"Solution norm: +(\S+)", folder / PRINTED)[1]


PROBLEM = ("--problem_type", "poisson", "--scaling_type", "strong", "--ndofs", "200000")
SOLVER = ("-ksp_type", "cg", "-pc_type", "jacobi", "-ksp_max_it", "200", "-ksp_rtol", "1e-6")
APPLICATION = Application(("dolfinx-scaling-test", *PROBLEM, *SOLVER), write_input, figures, result)
