# SPDX-License-Identifier: Apache-2.0
"""Show who sends how much to whom in a recorded run, collectives as the messages that the library makes of them

Each collective is decomposed by a table that says which algorithm the MPI library uses for its size and its ranks
(docs/reference/traffic.md). What `antiphon map` and `antiphon report` read is written with -o.

  antiphon traffic run.trace                       a table: what each kind of call adds, by which algorithm
  antiphon traffic run.trace -o run.traffic        the same, and the messages between all ranks in a file
  antiphon traffic run.trace --library mpich-5     as another library would send them
  antiphon traffic run.trace --own --profile machine.json
  antiphon traffic run.trace --phases 4            four equally long phases, each for itself
  antiphon traffic run.trace --joint --profile machine.json -o run.plan
                                                   placement and Antiphon's algorithms, optimised together, as a plan
  antiphon traffic --verify --lab --mpi mpich      is the table right? Against the counters of each node's interface
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from antiphon import model, output
from antiphon.commands import _options, _traffic_joint, _traffic_verify
from antiphon.errors import AntiphonError
from antiphon.output import files, tables
from antiphon.trace import MAGIC, Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon traffic`."""
    add = parser.add_argument
    add("file", nargs="?", type=Path, metavar="TRACE", help="a trace, or a file that was written with -o")
    add("-o", "--output", type=Path, metavar="FILE", help="write the messages between ranks; with --joint: the plan")
    _options.add_overwrite(parser, "FILE of -o")
    add("--library", type=_options.library, default="", metavar="NAME", help="whose algorithms (default: the library "
        "of the recorded run)")  # fmt: skip
    add("--libraries", action="store_true", help="list the libraries that there are tables for")
    add("--own", action="store_true", help="as Antiphon's own collectives, where its rules choose them")
    _options.add_old_name(parser, "--antiphon", "--own")
    add("--profile", type=Path, metavar="FILE", help="profile of the machine: its decisions count "
        "for Antiphon's collectives")  # fmt: skip
    add("--phases", type=int, default=1, metavar="N", help="cut the run into N equally long phases")
    add("--between", metavar="A:B", help="only what began between these seconds of the run")
    add("--json", action="store_true", help="all of it as JSON")
    _traffic_joint.add_arguments(parser)
    _traffic_verify.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Reads, decomposes, writes, prints."""
    if args.phases < 1:
        raise AntiphonError(f"--phases {args.phases}: must be at least 1")
    if args.between is not None and args.phases > 1:
        raise AntiphonError("--between and --phases both say which part of the run counts", hint="give one of them")
    if args.libraries:
        return _libraries(args.json)
    if args.verify:
        return _traffic_verify.run(args)
    _traffic_verify.refuse_without(args)
    if args.joint is not None:
        return _traffic_joint.run(args)
    if args.output is not None:
        files.check(args.output, overwrite=args.overwrite, sources=(args.file, args.profile))
    if args.file is None:
        raise AntiphonError("no TRACE is named", hint="`antiphon trace -n 4 ./solver` records one")
    found = read(args)
    if args.output is not None:
        found.save(args.output)
    if args.json:
        output.print_json(found.to_json())
        return 0
    _show(found, args.file)
    if args.output is not None:
        output.stderr().print(f"traffic: {args.output} ({args.output.stat().st_size} bytes)", soft_wrap=True)
    return 0


def read(args: argparse.Namespace) -> Any:
    """Returns the traffic that the arguments name: of a trace, or from a file."""
    from antiphon.traffic import Traffic
    from antiphon.traffic.of_trace import Window, of_trace, phases_of

    try:
        is_trace = args.file.open("rb").read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise AntiphonError(f"{args.file}: {error.strerror}", hint="record a run with `antiphon trace`") from error
    if not is_trace:
        _refuse_for_traffic(args)
        return Traffic.load(args.file)
    trace = Trace.load(args.file)
    windows: list[Window] = []
    if args.between is not None:
        windows = [Window.parse(args.between)]
    elif args.phases > 1:
        windows = phases_of(trace, args.phases)
    return of_trace(trace, args.library, profile=model.read_profile(args.profile), own=args.own, windows=windows)


def _refuse_for_traffic(args: argparse.Namespace) -> None:
    """Refuses options about what a trace's calls become, since that is settled in a file of traffic."""
    about_traces = {"library": args.library, "own": args.own, "profile": args.profile, "between": args.between}
    for name, given in (about_traces | {"phases": args.phases > 1}).items():
        if given:
            raise AntiphonError(f"--{name} says how a trace is read; {args.file} is traffic already",
                                hint="name the trace that it was made from")  # fmt: skip


def _libraries(as_json: bool) -> int:
    from antiphon.traffic import libraries

    rows = [{"table": key, **libraries.load(key).about} for key in libraries.keys()]  # noqa: SIM118
    if as_json:
        output.print_json({"libraries": rows})
        return 0
    for row in rows:
        output.stdout().print(f"{row['table']}: {row['name']}; {row['source']}", soft_wrap=True)
    return 0


def _show(found: Any, path: Path) -> None:
    where = f"{found.ranks} ranks on {len(set(found.header.get('nodes', [])))} nodes"
    output.stdout().print(
        f"{path}: {where}; collectives as {found.header.get('library', '?')} sends them", soft_wrap=True
    )
    _show_parts(found)
    for note in sorted({part.approximation for part in found.parts if part.approximation}):
        output.stdout().print(f"≈ {note}", soft_wrap=True)
    messages, size = found.crossing()
    output.stdout().print(
        f"Between nodes, where the run had its ranks: {tables.bytes_text(size)} in "
        f"{messages} messages. Payload only: no headers, no control messages.",
        soft_wrap=True,
    )


def _show_parts(found: Any) -> None:
    """Prints a row for each kind of call; the phase appears only where there are several."""
    from antiphon.traffic.shares import contributions

    table = tables.new_table("")
    phased = len({part.phase for part in found.parts}) > 1
    headings = ("call", "ranks", "calls", "algorithm", "messages", "payload", "share", "between nodes", "share of that")
    for heading in (*(("phase",) if phased else ()), *headings):
        table.add_column(heading, justify="left" if heading in ("call", "algorithm") else "right")
    for one in contributions(found):
        part = one.part
        ranks = (
            f"{part.communicators} × {part.communicator_ranks}"
            if part.communicators > 1
            else str(part.communicator_ranks or "")
        )
        cells = [str(part.phase)] if phased else []
        algorithm = part.algorithm + (" ≈" if part.approximation else "")
        cells += [part.name, ranks, str(part.calls), algorithm, str(part.total_messages())]
        cells += [tables.bytes_text(one.payload_bytes), tables.share_text(one.payload_share)]
        table.add_row(*cells, tables.bytes_text(one.crossing_bytes), tables.share_text(one.crossing_share))
    tables.print_wide(table, ("share of that", "messages", "between nodes"))
