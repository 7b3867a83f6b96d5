#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what placements gain in a lab: block, cyclic, MPIPP's, the same with collectives (OPP), and ours.

  measure.py prepare --work W --cluster two-racks-16x4 --profile machine.json --without-han gauss:192 sweep3d:--local:8
  measure.py time --work W --seconds 140       one slice: continues where the last one ended
  measure.py all --work W --through quiet      slices until all is measured, each through a command of yours
  measure.py table --work W                    tables; `raw`: all samples, as JSON

`prepare` records each application once in block order, with the library's collectives, and maps it and each
collective. It adds a setting (cluster, library) to those that slices go through: docs/measurements/placement.md.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import applications
import collectives
import joint
import tables
from common import Setting

LAB_S = 3.0


def prepare(args: argparse.Namespace) -> None:
    """Prepare one setting."""
    setting = Setting(args.cluster, args.profile.resolve(), args.mpi, args.without_han)
    setting.folder(args.work).mkdir(parents=True, exist_ok=True)
    for ranks in args.ranks:
        collectives.prepare(args.work, setting, ranks, args.cells)
    if args.joint:
        joint.prepare(args.work, setting)
    if args.applications:
        applications.prepare(args.work, setting, args.applications)
    setting.remember(args.work)


def time_slice(args: argparse.Namespace) -> None:
    """Measure what there is time for."""
    began = time.monotonic()

    def left() -> float:
        return args.seconds - (time.monotonic() - began) - LAB_S

    for setting in Setting.load_all(args.work):
        for ranks in collectives.CASES:
            how = {"rest": args.rest, "budget_s": args.cell_seconds}
            collectives.measure(args.work, setting, ranks, left(), how)
        joint.measure(args.work, setting, left())
        applications.measure(args.work, setting, args.rounds, left())


def finished(args: argparse.Namespace) -> bool:
    """Tell whether nothing is left to measure."""
    settings = Setting.load_all(args.work)
    cells = any(collectives.left(args.work, s, ranks) for s in settings for ranks in collectives.CASES)
    cells = cells or any(joint.left(args.work, s) for s in settings)
    return not cells and not any(applications.missing(args.work, s, args.rounds) for s in settings)


def everything(args: argparse.Namespace) -> None:
    """Measure slice after slice."""
    again = [sys.executable, __file__, "time", "--work", str(args.work), "--seconds", str(args.seconds)]
    again += ["--rounds", str(args.rounds), "--cell-seconds", str(args.cell_seconds), *["--rest"] * args.rest]
    while not finished(args):
        subprocess.run([*shlex.split(args.through), *again], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("prepare", "time", "all", "table", "raw"))
    parser.add_argument("applications", nargs="*", metavar="PROGRAM:ARGUMENT…")
    parser.add_argument("--work", type=Path, required=True, help="folder for everything that is kept between slices")
    parser.add_argument("--cluster", default="paper2-16x4")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--without-han", action="store_true", help="Open MPI: OMPI_MCA_coll_han_priority=0")
    parser.add_argument("--profile", type=Path, help="of `antiphon probe`, or a plain machine")
    parser.add_argument("--ranks", type=int, nargs="*", default=[64], choices=sorted(collectives.CASES))
    parser.add_argument("--joint", action="store_true", help="placement and Antiphon's algorithms together, too")
    parser.add_argument("--rounds", type=int, default=5, help="runs of an application under each placement")
    parser.add_argument(
        "--cells", nargs="*", default=[], metavar="NAME", help="collectives, such as 'gather 1024': those alone"
    )
    parser.add_argument("--cell-seconds", type=float, default=collectives.CELL_S, help="of a collective and size")
    parser.add_argument("--rest", action="store_true", help="ranks that are done with a call sleep until all are")
    parser.add_argument("--seconds", type=float, default=140.0, help="of a slice")
    parser.add_argument("--through", default="", metavar="COMMAND", help="runs each slice, alone on the machine")
    args = parser.parse_args()
    if args.action == "table":
        print(tables.text(args.work))
    elif args.action == "raw":
        json.dump(tables.raw(args.work), sys.stdout)
    else:
        {"prepare": prepare, "time": time_slice, "all": everything}[args.action](args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
