# SPDX-License-Identifier: Apache-2.0
"""The options of studies that launch on a lab again and again."""

from __future__ import annotations

import argparse
from pathlib import Path


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
