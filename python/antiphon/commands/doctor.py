# SPDX-License-Identifier: Apache-2.0
"""Check this machine, or all nodes of a cluster: is everything fine, would anything be accelerated

  antiphon doctor                                  this machine: MPI libraries, preload objects, tools, multicast
  antiphon doctor --hostfile nodes ./program       every node, for this program
  antiphon doctor ./program                        the nodes of the batch job, or this machine, for this program

Every line says ok, warn (something is limited) or fail (something needed does not work), and what to do about it.
The exit code is 1 if a line says fail. MPI libraries are tried by running a program of two ranks with each. With
--profile it also tells whether multicast works between the nodes, as `antiphon probe` found it.

With nodes, the program's own launcher starts a check on each of them: the same installation, library and program,
links, frames, multicast from each to each, limits, other preloaded objects. Then usual collectives really run, and the
last lines answer whether anything would be accelerated, what not, and why.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

from antiphon import output
from antiphon.checks import FAIL, Check, machine, multicast, profiles, tools
from antiphon.checks import mpi as mpi_checks
from antiphon.commands import _options
from antiphon.commands._testbed import library_of, open_testbed
from antiphon.errors import AntiphonError
from antiphon.lab import cluster_names
from antiphon.mpi import discover

COLORS = {"ok": "32", "warn": "33", "fail": "31"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon doctor`."""
    parser.add_argument("--profile", type=Path, metavar="FILE", help="profile of the machine")
    parser.add_argument("--json", action="store_true", help="as JSON: {ok, mpi: […], checks: [{group, name, status…}]}"
                        "; with nodes also {accelerated, answer, nodes, run}")  # fmt: skip
    _options.add_where(parser, several=False, link_rate=": runs take it for theirs")
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="the MPI program that is to run there")
    parser.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Checks the nodes that the options name, or this machine."""
    if args.program or args.hostfile or args.lab is not None:
        return _nodes(args)
    for_nodes = ("n", "mpi", "launcher", "launcher_args", "link_rate", "transport", "map_by")
    for option in _options.given_where(args, *for_nodes):
        raise AntiphonError(f"{option} is for checks of nodes", hint="add --hostfile FILE, --lab or a program")
    return _this_machine(args)


def _nodes(args: argparse.Namespace) -> int:
    from antiphon import nodes

    def say(text: str) -> None:
        if output.stderr().is_terminal:
            output.stderr().print(f"doctor: {text}", soft_wrap=True)

    if args.lab == "" and args.program and (args.program.endswith(".toml") or args.program in cluster_names()):
        raise AntiphonError(
            f"{args.program} is a cluster, but stands where the program does", hint=f"write --lab={args.program}"
        )
    heard = [multicast.between_nodes(args.profile)] if args.profile else []
    program = [args.program, *args.args] if args.program else []
    mpi = library_of(program, args.mpi)
    with open_testbed(args) as testbed:
        found = nodes.survey(testbed, mpi, program, args.mpi, say)
        trial = None
        if not found.missing:
            say("running usual collectives")
            trial = nodes.trial(testbed, mpi, max(2, args.n or testbed.ranks()), args.profile)
        report = nodes.judge(found, trial)
    report.checks.extend(heard)
    if args.json:
        output.print_json({
            "ok": report.ok, "accelerated": report.accelerated, "answer": report.answer, "mpi": [mpi.to_json()],
            "checks": [line.to_json() for line in report.checks], "nodes": found.facts | {
                host: {"host": host, "missing": why} for host, why in found.missing.items()
            }, "run": trial.to_json() if trial else None,
        })  # fmt: skip
    else:
        for line in report.checks:
            show(line)
        for text in report.answer:
            output.stdout().print(text, soft_wrap=True)
    return 0 if report.ok else 1


def _this_machine(args: argparse.Namespace) -> int:
    """Shows each line as soon as it is known."""
    heard = [multicast.between_nodes(args.profile)] if args.profile else []
    mpis = discover()
    found = []
    for line in itertools.chain(
        mpi_checks.checks(mpis), tools.checks(), machine.checks(), profiles.checks(), multicast.checks(), heard
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
