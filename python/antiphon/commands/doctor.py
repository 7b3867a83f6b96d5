# SPDX-License-Identifier: Apache-2.0
"""Check the machine: MPI libraries, preload objects, tools, launchers, namespaces, multicast

Every line says ok, warn (something is limited) or fail (something needed does not work), and what to do about it.
The exit code is 1 if a line says fail. MPI libraries are tried by running a program of two ranks with each. With
--profile it also tells whether multicast works between the nodes, as `antiphon probe` found it.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

from antiphon import output
from antiphon.checks import FAIL, Check, machine, multicast, profiles, tools
from antiphon.checks import mpi as mpi_checks
from antiphon.mpi import discover

COLORS = {"ok": "32", "warn": "33", "fail": "31"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon doctor`."""
    parser.add_argument("--profile", type=Path, metavar="FILE", help="profile of the machine")
    parser.add_argument("--json", action="store_true", help="as JSON: {ok, mpi: […], checks: [{group, name, status…}]}")


def run(args: argparse.Namespace) -> int:
    """Shows each line as soon as it is known."""
    mpis = discover()
    found = []
    of_profile = multicast.checks(args.profile)
    for line in itertools.chain(
        mpi_checks.checks(mpis), tools.checks(), machine.checks(), profiles.checks(), of_profile
    ):
        found.append(line)
        if not args.json:
            show(line)
    good = all(line.status != FAIL for line in found)
    if args.json:
        lines = [line.to_json() for line in found]
        output.print_json({"ok": good, "mpi": [mpi.to_json() for mpi in mpis], "checks": lines})
    return 0 if good else 1


def show(line: Check) -> None:
    """Prints one line for people; the words carry the meaning, and colours only help."""
    status = f"{line.status:<4}"
    if output.use_color(sys.stdout):
        status = f"\x1b[{COLORS[line.status]}m{status}\x1b[0m"
    sys.stdout.write(f"{status}  {line.group}: {line.name}: {line.detail}\n")
    if line.hint:
        sys.stdout.write(f"      hint: {line.hint}\n")
    sys.stdout.flush()
