# SPDX-License-Identifier: Apache-2.0
"""What studies have in common that launch a Python program on a lab again and again."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from antiphon.lab import Lab
from antiphon.mpi import Mpi, launch


def parser(description: str | None, launches: int) -> argparse.ArgumentParser:
    """Returns a parser of what all these studies are told; `launches` is how many of each kind there are by default."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--mpi", default="openmpi,mpich")
    made.add_argument("--cluster", default="ethernet-16")
    made.add_argument("--nodes", type=int, help="so many of its nodes, or more")
    made.add_argument("--ranks-per-node", type=int)
    made.add_argument("--launches", type=int, default=launches, help=f"of each kind (default: {launches})")
    made.add_argument("--json", type=Path, metavar="FILE")
    return made


def rows_of_ranks(
    lab: Lab, mpi: Mpi, program: str, words: Sequence[object], *, preloaded: bool, cache: str | os.PathLike[str]
) -> list[Any]:
    """Launches a program (handles.py) once, and returns the JSON that each rank prints on a line of its own."""
    rows: list[Any] = []

    def listen(line: str) -> None:
        if line.startswith(("{", "[")):
            rows.append(json.loads(line))

    argv = [sys.executable, "-I", "-S", "-c", program, mpi.family, *map(str, words)]
    objects = [*([launch.preload_object(mpi.abi)] if preloaded else []), mpi.libmpi]
    env = {"XDG_CACHE_HOME": str(cache)}
    lab.mpirun(mpi, lab.spec.ranks, argv, env=env, preload=objects, map_by="slot", on_stdout=listen).check()
    if len(rows) != lab.spec.ranks:
        raise SystemExit(f"{len(rows)} of {lab.spec.ranks} ranks said how long they took")
    return rows
