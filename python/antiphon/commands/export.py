# SPDX-License-Identifier: Apache-2.0
"""Write what was measured in the forms that other software reads

  antiphon export --to openmpi-rules --profile machine.json -o rules.conf      for those who cannot preload
  antiphon export --to mpich-json --profile machine.json -o tree.json
  antiphon export --to goal alltoall --ranks 16 --bytes 64k -o alltoall.goal   a schedule, for LogGOPSim and its kin
  antiphon export --list

Each file is read again with its reader's own rules before it is written; what that reader would misread is refused.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from antiphon import exporters, output
from antiphon import profile as profiles
from antiphon.commands import _options
from antiphon.errors import AntiphonError
from antiphon.exporters import Exported, Options
from antiphon.output import files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon export`."""
    add = parser.add_argument
    add("collective", nargs="?", metavar="COLLECTIVE", help="goal: whose schedule")
    add("--to", metavar="FORMAT", help=", ".join(exporters.names()))
    add("--list", action="store_true", help="show the formats")
    add("-o", "--output", type=Path, metavar="FILE", help="write it there (default: to stdout)")
    _options.add_overwrite(parser, "FILE", old="--force")
    add("--json", action="store_true", help="print the text, its usage and what was left out as JSON")
    tuned = parser.add_argument_group("decisions of a profile")
    add = tuned.add_argument
    add("--profile", type=Path, default=Path("machine.json"), metavar="FILE", help="profile of the machine "
        "(default: %(default)s)")  # fmt: skip
    add(
        "--reader-version",
        metavar="VERSION",
        help="of the software that will read it (default: the one that was measured)",
    )
    add("--libmpi", type=Path, metavar="FILE", help="mpich-json: the library whose tree is completed (default: found)")
    schedule = parser.add_argument_group("a schedule (goal)")
    add = schedule.add_argument
    add("-n", "--ranks", type=int, metavar="P", help="number of ranks")
    add("--bytes", metavar="M", help="bytes of a block, or of the message, as 65536 or 64k")
    add("--root", type=int, default=0, metavar="R", help="root of a rooted collective (default: 0)")
    add("--algorithm", metavar="A[:P=V,…]", help="default: what Antiphon would use")


def run(args: argparse.Namespace) -> int:
    """Exports one thing."""
    if args.list:
        return _list(args.json)
    if args.to is None:
        raise AntiphonError("--to is missing", hint=f"one of {', '.join(exporters.names())}")
    if args.output:
        files.check(args.output, overwrite=args.overwrite, sources=(args.profile, args.libmpi))
    module = exporters.load(args.to)
    if hasattr(module, "export_schedule"):
        exported = module.export_schedule(args)
    else:
        if args.collective is not None:
            raise AntiphonError(f"--to {args.to} writes the profile's decisions; it takes no collective")
        exported = module.export(profiles.load(args.profile), Options(args.reader_version, args.libmpi))
    return _write(args, exported)


def _write(args: argparse.Namespace, exported: Exported) -> int:
    if args.output:
        files.write(args.output, exported.text)
    if args.json:
        output.print_json(
            {"format": args.to, "text": exported.text, "usage": exported.usage, "left_out": list(exported.left_out)}
        )
        return 0
    if not args.output:
        sys.stdout.write(exported.text)
    for text in exported.left_out:
        output.print_warning(f"left out: {text}")
    usage = exported.usage_of(args.output) if args.output else exported.usage
    output.stderr().print(usage, soft_wrap=True)
    return 0


def _list(as_json: bool) -> int:
    listed = {name: exporters.load(name).SUMMARY for name in exporters.names()}
    if as_json:
        output.print_json(listed)
    else:
        width = max(map(len, listed))
        sys.stdout.writelines(f"{name:<{width}}  {text}\n" for name, text in listed.items())
    return 0
