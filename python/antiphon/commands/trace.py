# SPDX-License-Identifier: Apache-2.0
"""Record which MPI calls a program makes, or show such a record

Runs PROGRAM as `antiphon run` does and writes one file with every rank's calls: functions, communicators, peers, tags,
counts, sizes and times (docs/reference/trace.md). `antiphon compile` and process mapping read it.

  antiphon trace -n 16 ./solver input.dat              writes solver.trace
  antiphon trace -o run.trace -n 64 --hostfile nodes ./solver
  antiphon trace --show run.trace                      what was called, how often, how much, how long
  antiphon trace --recover run.trace                   joins what the ranks of a run that died have left
  antiphon trace --to perfetto run.trace               writes run.perfetto.json, which ui.perfetto.dev shows
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from antiphon import output
from antiphon.commands import _options
from antiphon.commands import run as run_command
from antiphon.errors import AntiphonError
from antiphon.mpi import waiting
from antiphon.output import files
from antiphon.trace import Trace, perfetto
from antiphon.trace import summary as trace_summary
from antiphon.trace.reader import TraceError
from antiphon.trace.writer import join_parts, parts_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon trace`."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the trace (default: PROGRAM.trace, here)")
    _options.add_overwrite(parser, "the file")
    parser.add_argument("--memory", type=int, metavar="MIB", help="memory a rank may use for its calls (default: 64)")
    parser.add_argument("--off", action="store_true", help="leave every collective to the library while recording")
    parser.add_argument("--mpi", metavar="MPI", help="as of `antiphon run`")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="as of `antiphon run`")
    parser.add_argument("--plan", type=Path, metavar="FILE", help="as of `antiphon run`")
    _options.add_force(parser)
    run_command.add_launch_options(parser)
    parser.add_argument("--show", type=Path, metavar="FILE", help="print what a trace holds")
    _options.add_old_name(parser, "--summary", "--show")
    parser.add_argument("--recover", type=Path, metavar="FILE", help="write FILE from the parts that ranks left")
    parser.add_argument("--to", choices=("perfetto",), help="write a trace, named in place of PROGRAM, as events that "
                        "Perfetto and Chrome show (-o FILE.json.gz: compressed)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="with --show: as JSON")
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="the MPI program")
    parser.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Records, shows or recovers."""
    if args.recover is not None:
        return recover(args.recover)
    if args.show is not None:
        rows = trace_summary.summarise(args.show)
        output.print_json(rows) if args.json else trace_summary.print_summary(rows)
        return 0
    if args.to is not None:
        return convert(args)
    if args.program is None:
        raise AntiphonError("no PROGRAM to record", hint="antiphon trace -n 4 ./solver, or --show FILE")
    return record(args)


def convert(args: argparse.Namespace) -> int:
    """Writes a trace in another form."""
    if args.program is None:
        raise AntiphonError("no trace to write is named", hint="antiphon trace --to perfetto run.trace")
    if args.args:
        hint = f"options stand before it, as `antiphon trace --to {args.to} -o FILE {args.program}`"
        raise AntiphonError(f"{args.args[0]}: nothing may follow the trace's name", hint=hint)
    source = Path(args.program)
    files.refuse_directory(source)
    target = args.output or source.with_name(f"{source.name.removesuffix('.trace')}.{args.to}.json")
    files.check(target, overwrite=args.overwrite, sources=(source,))
    calls = perfetto.write(Trace.load(source), target)
    output.stderr().print(f"{target}: {calls} calls; open it at ui.perfetto.dev or chrome://tracing", soft_wrap=True)
    return 0


def record(args: argparse.Namespace) -> int:
    """Runs the program; its exit code is ours, unless the trace is missing after a successful run."""
    path = (args.output or Path(Path(args.program).name + ".trace")).absolute()
    files.check(path, overwrite=args.overwrite, sources=(Path(args.program), args.profile, args.plan))
    args.summary = args.capture = args.compress = None
    if args.off:  # The recorder is in the wrappers, so these must be active.
        args.off, args.force = False, "*:library"
    variables = {"ANTIPHON_TRACE": str(path)}
    if args.memory is not None:
        variables["ANTIPHON_TRACE_BYTES"] = str(max(1, args.memory) << 20)
    os.environ |= variables
    start = run_command.prepare(args)
    run_command.check_launcher(start)
    before = _version(path)
    return after(path, waiting.run(start), before)


def _version(path: Path) -> tuple[int, int] | None:
    """Returns what changes when a file is written: it tells an older trace from the new one."""
    found = path.stat() if path.exists() else None
    return (found.st_ino, found.st_mtime_ns) if found else None


def after(path: Path, code: int, before: tuple[int, int] | None) -> int:
    """Says what became of the trace; `before` is the version of the file before the run."""
    if path.exists() and not path.is_file():
        return code  # A pipe or a device has taken it, or else a rank has ended with an error.
    if path.is_file() and _version(path) != before:
        output.stderr().print(f"trace: {path} ({path.stat().st_size} bytes)", soft_wrap=True)
        return code
    if not parts_of(path):
        output.print_error(f"no trace was written to {path}", "does the program call MPI_Init, and did it begin?")
        return code or 1
    try:
        there, size = _joined(path)
    except TraceError as error:
        output.print_error(f"no trace was written: {error.message}", error.hint)
        return code or 1
    what = f"{path} holds what {there} of {size} ranks had recorded until then"
    output.print_warning(f"the program did not reach MPI_Finalize on all ranks; {what}")
    return code or 1


def recover(path: Path) -> int:
    """Joins the parts of a trace that was not written."""
    if path.exists():
        raise AntiphonError(f"{path} is there already", hint="--recover is for a trace that was never written")
    there, size = _joined(path)
    output.stderr().print(f"trace: {path} holds what {there} of {size} ranks had recorded", soft_wrap=True)
    return 0


def _joined(path: Path) -> tuple[int, int]:
    """Joins the parts of the newest run, and names those of others and those that cannot be read."""
    unreadable: dict[Path, str] = {}
    found = join_parts(path, unreadable)
    if unreadable:
        names = ", ".join(part.name for part in unreadable)
        output.print_warning(f"left out, for they cannot be read ({next(iter(unreadable.values()))}): {names}")
    others = [part for part in parts_of(path) if part not in unreadable]
    if others:
        names = ", ".join(part.name for part in others)
        output.print_warning(f"left as they are, for they are of another run: {names}")
    return found
