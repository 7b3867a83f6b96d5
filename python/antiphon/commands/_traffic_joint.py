# SPDX-License-Identifier: Apache-2.0
"""`antiphon traffic --joint`: optimises placement and algorithms together."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from antiphon import model, output
from antiphon.errors import AntiphonError
from antiphon.output import files, tables
from antiphon.trace import Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares --joint. It took the profile once, and so it still may have a value."""
    parser.add_argument(
        "--joint",
        nargs="?",
        const="",
        metavar="",
        help="with Antiphon's collectives on the machine of --profile: placement and algorithms optimised together",
    )


def run(args: argparse.Namespace) -> int:
    """Optimises and prints."""
    from antiphon.mapping.joint import Optimiser
    from antiphon.plan import making

    if args.between is not None or args.phases > 1:
        raise AntiphonError("--joint optimises the whole run", hint="leave --between and --phases away")
    profile = _profile_of(args)
    if args.output is not None:
        files.check(args.output, overwrite=args.overwrite, sources=(args.file, args.profile))
    optimiser = Optimiser(Trace.load(args.file), profile, args.library)
    outcome = optimiser.run()
    document = described(outcome)
    if args.output is not None:
        recorded = making.Recorded(optimiser.trace, profile, library=args.library)
        making.of_joint(optimiser, outcome, recorded).save(args.output)
    if args.json:
        output.print_json(document)
    else:
        _show(document, args)
    return 0


def _profile_of(args: argparse.Namespace) -> str:
    """Returns the profile's text, and settles which file is the trace."""
    if args.joint and args.profile is None:
        output.print_hint("--joint PROFILE is written --joint --profile PROFILE now; the old form goes away some day")
        args.profile = Path(args.joint)
    elif args.joint and args.file is None:
        args.file = Path(args.joint)
    if args.profile is None:
        raise AntiphonError("--joint needs --profile FILE", hint="`antiphon probe` writes profiles")
    if args.file is None:
        raise AntiphonError("no TRACE is named", hint="`antiphon trace -n 4 ./solver` records one")
    return model.read_profile(args.profile) or ""  # It is named, so it has a text.


def _show(document: dict[str, Any], args: argparse.Namespace) -> None:
    table = tables.new_table(f"{args.file}: predicted communication, Antiphon's collectives")
    for heading in ("", "collectives", "point-to-point", "together", "times less"):
        table.add_column(heading, justify="left" if not heading else "right")
    for row in document["states"]:
        times = (tables.time_text(row[key]) for key in ("collectives_s", "point_to_point_s", "seconds"))
        table.add_row(row["name"], *times, tables.ratio_text(row["gain"]))
    tables.print_wide(table)
    output.stdout().print(f"algorithms: --force '{document['force']}'", soft_wrap=True)
    for note in document["notes"]:
        output.print_warning(note)
    if args.output is not None:
        output.stderr().print(f"{args.output}: use it by `antiphon run --plan {args.output} …`, or write its placement "
                              f"for a launcher by `antiphon map`", soft_wrap=True, markup=False)  # fmt: skip


def described(outcome: Any) -> dict[str, Any]:
    """Returns the result as --json prints it."""
    from antiphon.plan import making

    choices = [
        {"collective": call.collective, "ranks": call.ranks, "bytes": call.bytes, "use": use}
        for call, use in outcome.both.choices.items()
    ]
    # Only one algorithm per collective can be forced: that of its longest calls.
    longest = {c["collective"]: c for c in sorted(choices, key=lambda c: int(c["bytes"]))}
    force = ";".join(f"{name}:{c['use']}" for name, c in longest.items())
    return {
        "states": making.states_of(outcome),
        "rounds": outcome.rounds,
        "node_of_rank": outcome.both.nodes,
        "choices": choices,
        "force": force,
        "notes": outcome.notes,
    }
