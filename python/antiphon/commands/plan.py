# SPDX-License-Identifier: Apache-2.0
"""Make one plan for a program, from a run that this records or from a trace

The plan says where each rank goes, which algorithm each kind of communicator uses, the phases of patterns that repeat,
and whether compressing messages pays. `antiphon run --plan` applies all of it.

  antiphon plan -n 64 --hostfile nodes --profile machine.json ./solver input.dat    records a run, writes solver.plan
  antiphon plan -n 64 --lab paper2-16x4 ./solver input.dat         the same in an emulated cluster
  antiphon plan --profile machine.json solver.trace                from a trace
  antiphon plan --link-rate 1gbit --parts algorithms,patterns solver.trace
  antiphon explain --plan solver.plan                              shows it
  antiphon run --plan solver.plan --summary ./solver input.dat     uses it, and says what each part did
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from antiphon import output, plan
from antiphon.commands import _options, _plan_record
from antiphon.commands import run as run_command
from antiphon.errors import EXIT_USAGE, AntiphonError
from antiphon.output import files
from antiphon.plan import tables
from antiphon.trace import MAGIC, Trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon plan`."""
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="FILE", help="the plan (default: PROGRAM.plan, here)")
    _options.add_overwrite(parser, "the plan, or FILE of --trace,")
    add("--parts", default=",".join(plan.PARTS), metavar="P,P…", help="what it may hold (default: %(default)s)")
    add("--profile", type=Path, metavar="FILE", help="profile of the machine")
    add("--cluster", metavar="NAME|FILE", help="instead: a described cluster, as of `antiphon cluster`")
    add("--link-rate", metavar="RATE", help="instead: the rate of a node's link, as 1gbit, on one switch")
    add("--library", type=_options.library, default="", metavar="L", help="whose collectives are assumed (default: the "
        "run's MPI)")  # fmt: skip
    add("--min-calls", type=int, default=2, metavar="N", help="patterns seen less often are left out (default: 2)")
    add("--summary", type=Path, metavar="FILE", help="with a trace: the summary of a run with --compress on, as "
        "--summary=FILE.json wrote it")  # fmt: skip
    add("--trace", type=Path, metavar="FILE", help="keep the trace of the recorded run")
    add("--json", action="store_true", help="print what it holds as JSON")
    where = parser.add_argument_group("the run to record")
    where.add_argument("--mpi", metavar="MPI", help="as of `antiphon run`")
    where.add_argument("--lab", metavar="CLUSTER", help="record on an emulated cluster: its name or file, or a lab "
                       "that is up")  # fmt: skip
    where.add_argument("--map-by", default="node", choices=("node", "slot"), help="in a lab: as of `antiphon lab run`")
    run_command.add_launch_options(parser)
    add("program", metavar="PROGRAM|TRACE", help="the MPI program, or what `antiphon trace` recorded")
    add("args", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Records, makes, writes, shows."""
    from antiphon.plan import making

    parts = _parts(args.parts)
    if args.min_calls < 1:
        raise AntiphonError(f"--min-calls {args.min_calls}: must be at least 1")
    source = Path(args.program)
    from_trace = source.is_file() and source.open("rb").read(len(MAGIC)) == MAGIC
    target = args.output or Path(source.name.removesuffix(".trace") + ".plan")
    files.check(target, overwrite=args.overwrite, sources=(source, args.profile, args.summary))
    if not from_trace and args.summary is not None:
        raise AntiphonError("--summary goes with a trace", hint="a program's run is recorded with its own summary")
    compress = "compression" in parts
    with _read(args, source) if from_trace else _plan_record.recording(args, target, compress=compress) as recorded:
        _say(f"{recorded.trace.size} ranks on {len(set(recorded.trace.nodes))} nodes; looking for what pays")
        made = making.make(recorded, parts)
        made.plan.save(target)
    if args.json:
        held = {**tables.to_json(made.plan), "left_out": made.left_out, "notes": list(made.notes)}
        output.print_json({"plan": str(target), **held})
        return 0
    tables.show(made.plan)
    for note in made.notes:
        output.print_warning(note)
    for name, why in made.left_out.items():
        output.stderr().print(f"no {name}: {why}", soft_wrap=True, markup=False)
    _say(f"{target}: use it by `antiphon run --plan {target} …`")
    return 0


@contextlib.contextmanager
def _read(args: argparse.Namespace, path: Path) -> Iterator[Any]:
    """Gives what was recorded, with all that belongs to it."""
    from antiphon.plan.making import Recorded

    if args.args or args.lab is not None or args.hostfile or args.trace:
        raise AntiphonError(f"{path} is a trace, and arguments, --lab, --hostfile and --trace are for a run",
                            hint="leave them away, or name the program")  # fmt: skip
    trace = Trace.load(path)
    machine = _plan_record.machine_of(args, None)(trace)
    summary = _plan_record.summary_of(args.summary) if args.summary else None
    yield Recorded(trace, machine, args.profile is None, None, summary, args.library, args.min_calls)


def _parts(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if part not in plan.PARTS:
            raise AntiphonError(f"--parts: {part!r} is none of {', '.join(plan.PARTS)}", exit_code=EXIT_USAGE)
    return parts


def _say(text: str) -> None:
    output.stderr().print(text, soft_wrap=True, markup=False)
