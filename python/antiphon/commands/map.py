# SPDX-License-Identifier: Apache-2.0
"""Put ranks where their traffic wants them, collectives included

Computes from a trace (or its traffic) and a machine which node and core each rank should be on, shows what that should
gain over block, cyclic and the run's own placement, and writes it: for `antiphon run --placement`, or for a launcher.

  antiphon map solver.trace machine.json                                 shows what there is to gain
  antiphon map solver.trace machine.json -o placement.json               for `antiphon run --placement placement.json`
  antiphon map solver.trace machine.json -o ranks --launcher openmpi5    a rankfile, and how mpirun is told of it
  antiphon map placement.json -o hosts --launcher hydra                  a placement for another launcher
  antiphon map solver.trace machine.json --phase 1/4                     for the second quarter of the run
  antiphon map solver.trace machine.json --hostfile nodes --pin 0:node3 --method scotch
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from antiphon import core, output
from antiphon.commands import _options
from antiphon.errors import AntiphonError
from antiphon.mpi.hosts import Hosts
from antiphon.mpi.launch import read_hostfile
from antiphon.output import files
from antiphon.placement import Placement, launchers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon map`."""
    add = parser.add_argument
    add("traffic", metavar="TRACE", nargs="?", type=Path, help="of `antiphon trace`, or traffic, or a placement")
    add("machine", metavar="MACHINE", nargs="?", type=Path, help="a profile of `antiphon probe`, or a plain "
        "description (default: machine.json)")  # fmt: skip
    add("-o", "--output", type=Path, metavar="FILE", help="write the placement there")
    add("--hostfile", type=Path, metavar="FILE", help="the job's nodes, as `node slots=4` or `node:4`, of those the "
        "machine has")  # fmt: skip
    add("--launcher", metavar="L", help=f"write it for {', '.join(launchers.names())}; FILE.json is then the placement")
    _options.add_overwrite(parser, "what is written")
    add("--list", action="store_true", help="show the methods and the launchers")
    add("--json", action="store_true", help="print the result as JSON")
    add_wishes(parser)


def add_wishes(parser: argparse.ArgumentParser) -> None:
    """Adds the options that decide how ranks are placed; `antiphon run --apply` has them too."""
    group = parser.add_argument_group("how ranks are placed")
    add = group.add_argument
    add("--pin", action="append", default=[], metavar="RANK:NODE[:CORE]", help="a rank that has its place already")
    add("--method", default="antiphon", metavar="M", help="default: %(default)s; `antiphon map --list` shows all")
    add("--budget", type=_options.number, metavar="SECONDS", help="processor time of a method that searches")
    _options.add_old_name(parser, "--seconds", "--budget")
    add(
        "--objective",
        choices=("automatic", "time", "messages"),
        default="automatic",
        help="what is made small: the predicted time with what links carry, or the sum of all messages' times "
        "(default: time where rates are known)",
    )
    add("--library", type=_options.library, default="", metavar="L", help="whose collectives are assumed (default: the "
        "trace's MPI)")  # fmt: skip
    add("--own", action="store_true", help="assume Antiphon's collectives wherever its profile would use them")
    add("--between", default="", metavar="A:B", help="only what began between these seconds of the recorded run")
    add("--phase", default="", metavar="K[/N]", help="only that phase, from 0: of a trace as K/N, of N equally long")
    add("--ignore-collectives", action="store_true", help="look at point-to-point messages alone")
    add("--cores-per-node", type=_options.positive, default=0, metavar="N", help="ranks a node takes (default: what "
        "the machine says)")  # fmt: skip
    add("--max-per-node", type=_options.positive, default=0, metavar="N", help="use fewer than a node takes")
    add("--no-bind", action="store_true", help="nodes only, no cores: for ranks with threads, and virtual nodes")
    add("--oversubscribe", action="store_true", help="put several ranks on a core where there are too few")


def run(args: argparse.Namespace) -> int:
    """Computes, shows and writes."""
    from antiphon.mapping import sources

    if args.list:
        return _list(args.json)
    if args.traffic is None:
        raise AntiphonError(
            "no TRACE to place the ranks of", hint="`antiphon trace` records one; --list shows the methods"
        )
    if args.launcher is not None:
        launchers.load(args.launcher)
        if args.output is None:
            raise AntiphonError("--launcher needs -o FILE")
    machine = args.machine or Path("machine.json")
    read = (args.traffic, machine, args.hostfile)
    if args.output is not None:
        files.check(args.output, overwrite=args.overwrite, sources=read)
    if sources.kind_of(args.traffic) == "placement":
        return _convert(args)
    if args.launcher is not None:
        files.check(_beside(args.output), overwrite=args.overwrite, sources=read)
    hosts = read_hostfile(args.hostfile) if args.hostfile else None
    result = sources.place(sources_of(args, args.traffic, machine, hosts), wishes_of(args))
    from antiphon.mapping import tables

    if args.json:
        output.print_json(tables.to_json(result))
    else:
        tables.show(result)
    if args.output is not None:
        _write(args, result.placement)
    return 0


def sources_of(args: argparse.Namespace, traffic: Path, machine: Path, hosts: Hosts | None) -> Any:
    """Returns the sources of the placement, from the options."""
    from antiphon.mapping.sources import Sources

    return Sources(
        traffic,
        machine,
        hosts,
        library=args.library,
        own=args.own,
        ignore_collectives=args.ignore_collectives,
        between=args.between,
        phase=args.phase,
        cores_per_node=args.cores_per_node,
        bind=not args.no_bind,
    )


def wishes_of(args: argparse.Namespace) -> Any:
    """Returns how ranks are to be placed."""
    from antiphon.mapping import sources
    from antiphon.mapping.scoring import Wishes

    known = {m["name"]: m["unavailable"] for m in core.query("mapping_methods")["methods"]}
    if args.method not in known:
        raise AntiphonError(f"--method {args.method}: no such method", hint=f"there are {', '.join(known)}")
    if known[args.method]:
        raise AntiphonError(f"--method {args.method} cannot be used here: {known[args.method]}")
    return Wishes(
        args.method, args.budget, sources.pins(args.pin), args.oversubscribe, args.max_per_node, args.objective
    )


def _convert(args: argparse.Namespace) -> int:
    """Writes an existing placement for a launcher."""
    if args.launcher is None or args.machine is not None:
        raise AntiphonError(
            f"{args.traffic} is a placement already", hint="--launcher L -o FILE writes it for a launcher"
        )
    placement = Placement.load(args.traffic)
    _write_for_launcher(args, placement, args.traffic)
    if args.json:
        output.print_json({"placement": placement.to_json()})
    return 0


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _write(args: argparse.Namespace, placement: Placement) -> None:
    if args.launcher is None:
        placement.save(args.output)
        output.stderr().print(f"{args.output}: use it by `antiphon run --placement {args.output} …`", soft_wrap=True)
        return
    beside = _beside(args.output)
    _write_for_launcher(args, placement, beside)
    placement.save(beside)


def _write_for_launcher(args: argparse.Namespace, placement: Placement, beside: Path) -> None:
    written = launchers.write(args.launcher, placement)
    files.write(args.output, written.text)
    for note in written.left_out:
        output.print_warning(f"{args.launcher} is not told {note}")
    say = output.stderr()
    say.print(f"{args.output}: {written.usage(str(args.output.absolute()), placement.ranks)}", soft_wrap=True)
    say.print(f"Under Antiphon, ANTIPHON_PLACEMENT={beside.absolute()} has the run say whether that was honoured.",
              soft_wrap=True)  # fmt: skip


def _list(as_json: bool) -> int:
    methods = core.query("mapping_methods")["methods"]
    known = {name: launchers.load(name).SUMMARY for name in launchers.names()}
    if as_json:
        output.print_json({"methods": methods, "launchers": known})
        return 0
    lines = ["methods:"]
    lines += [
        f"  {m['name']:<10}  {m['summary']}" + (f" ({m['unavailable']})" if m["unavailable"] else "") for m in methods
    ]
    lines += ["launchers:", *(f"  {name:<10}  {text}" for name, text in known.items())]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
