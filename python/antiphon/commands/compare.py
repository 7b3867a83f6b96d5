# SPDX-License-Identifier: Apache-2.0
"""Run a program without Antiphon and with it, by turns, and say whether it gains

  antiphon compare -n 64 --hostfile nodes ./solver input.dat
  antiphon compare --max-time 3600 ./solver        in a batch job, on its nodes and slots: within an hour
  antiphon compare --lab -n 16 ./solver            on an emulated cluster; another one by --lab=NAME

After one run of each that is not counted, each round has one run of each, in the other order than the round before.
What counts is the time from the launcher's start to its end. Runs with Antiphon use what is known of the nodes and keep
what they learn, as those of `antiphon run` do; with ANTIPHON_STORE=off they do neither. PROGRAM must be one that can
run again in the same place. Ctrl-C ends the comparison, and shows what the rounds until then say.

Exit codes: 0 compared; 1 a run failed, or --max-time was too short for one round; 2 wrong usage, or something is
missing; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
from pathlib import Path

from antiphon import output, run_summary
from antiphon.bench.comparison import ANTIPHON, LEAST_ROUNDS, MOST_ROUNDS, PLAIN, WAYS, Comparison, Ended, Failure
from antiphon.commands import _bench_json, _compare_runs, _options
from antiphon.commands import run as run_command
from antiphon.commands._testbed import open_testbed
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.output import files, tables

LABELS = {PLAIN: "plain", ANTIPHON: "Antiphon"}
WITH = {PLAIN: "without Antiphon", ANTIPHON: "with Antiphon"}
#: Of a failed run so many lines of each stream are shown.
SHOWN_LINES = 40
#: Runs that take less are mostly the launcher's.
SHORT_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon compare`."""
    add = parser.add_argument
    add("--rounds", type=_options.positive, default=5, metavar="N", help=f"at most so many rounds, at least "
        f"{LEAST_ROUNDS} (default: 5); fewer where the difference is clear before")  # fmt: skip
    add("--max-time", type=_options.number, metavar="SECONDS", help="begin no round that would not end within this "
        "time, and end a run that goes on after it")  # fmt: skip
    add("--no-warm-up", action="store_true", help="count all runs; what collectives take is not shown then")
    add("--stdin", type=Path, default=Path(os.devnull), metavar="FILE", help="each run's standard input (default: "
        "nothing)")  # fmt: skip
    add("--show-output", action="store_true", help="show the program's output, on stderr (default: a failed run's)")
    add("--json", nargs="?", const="-", metavar="FILE", help="as JSON, to stdout or, as --json=FILE, to FILE: "
        "{program, mpi, ranks, place, verdict, speed_up, more_rounds, stopped, plain, antiphon, output, collectives, "
        "failure}")  # fmt: skip
    _options.add_overwrite(parser, "FILE of --json")
    where = parser.add_argument_group("where")
    run_command.add_launch_options(where)
    _options.add_lab(where)
    _options.add_choices(
        parser.add_argument_group("as of `antiphon run`; all but --mpi for the runs with Antiphon alone")
    )
    parser.set_defaults(link_rate=None)
    add("program", metavar="PROGRAM", help="the MPI program")
    add("args", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Compares, and says what was found."""
    _check(args)
    mpi = run_command.mpi_of(args)
    with open_testbed(args) as testbed, _compare_runs.summary_file() as summary:
        on_line = _show if args.show_output else lambda line: None
        wanted = None if args.no_warm_up else summary
        start, ranks = _compare_runs.runs_of(args, mpi, testbed, wanted, on_line)
        argv, place = [args.program, *args.args], testbed.describe()
        console = output.stderr() if args.json == "-" else output.stdout()
        console.print(f"{shlex.join(argv)}: {mpi.label}, {ranks} ranks; {place}", soft_wrap=True)
        sys.stdout.flush()
        comparison = Comparison(args.rounds)
        comparison.measure(start, _Progress(args), max_time_s=args.max_time, warm_up=not args.no_warm_up)
        share = _compare_runs.share_of(wanted)
    if args.json is not None:
        about = {"program": argv, "mpi": mpi.label, "ranks": ranks, "place": place}
        _bench_json.write(args.json, about | comparison.to_json() | {"collectives": share and share.to_json()})
    if args.json != "-" and comparison.rounds:
        _show_result(comparison, _collectives(share) if wanted else "")
    return _exit_code(args, comparison)


def _check(args: argparse.Namespace) -> None:
    if args.rounds < LEAST_ROUNDS:
        raise AntiphonError(f"--rounds {args.rounds}: at least {LEAST_ROUNDS} tell a difference from noise")
    if args.max_time is not None and args.max_time <= 0:
        raise AntiphonError(f"--max-time {args.max_time:g}: no time to run in")
    if not os.access(args.stdin, os.R_OK):
        raise AntiphonError(f"--stdin {args.stdin}: cannot be read")
    if args.json not in (None, "-"):
        files.check(Path(args.json), overwrite=args.overwrite, sources=(args.program, args.stdin))


def _show(line: str) -> None:
    sys.stderr.write(line + "\n")


class _Progress:
    """Prints one line a run, and what Antiphon itself says."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._said: set[str] = set()

    def __call__(self, way: str, number: int, ended: Ended) -> None:
        own = [line for line in ended.stderr if line.startswith("antiphon: ") and line not in self._said]
        for line in ended.stderr if self._args.show_output else own:
            _show(line)
        self._said.update(own)
        if ended.exit_code == 0:
            what = f"round {number} of {self._args.rounds}" if number else "warm-up"
            _show(f"{what}: {LABELS[way]} {tables.time_text(ended.wall_s)}")


def _show_result(comparison: Comparison, collectives: str) -> None:
    table = tables.new_table()
    for heading in ("", "median", "least", "most", "runs"):
        table.add_column(heading, justify="right" if heading else "left")
    for way in WAYS:
        times = comparison.times_s(way)
        texts = [tables.time_text(value) for value in (statistics.median(times), min(times), max(times))]
        table.add_row(LABELS[way], *texts, str(len(times)))
    tables.print_wide(table)
    for line in filter(None, [_verdict(comparison), collectives, _outputs(comparison)]):
        output.stdout().print(line, soft_wrap=True)
    if comparison.verdict == "loses":
        output.print_hint("`antiphon run --summary` shows what took the time; `antiphon tune` measures which calls to "
                          "leave to the library")  # fmt: skip
    if statistics.median(comparison.times_s(PLAIN)) < SHORT_S:
        output.print_hint("such short runs are mostly the launcher's: give the program more to do")


def _verdict(comparison: Comparison) -> str:
    """Returns the answer in one sentence."""
    ratio = comparison.speed_up()
    if ratio is None:
        one = comparison.times_s(PLAIN)[0] / comparison.times_s(ANTIPHON)[0]
        return f"not known: {one:.2f} times as fast with Antiphon in one round, which says nothing of noise"
    values = (ratio.value, ratio.ci_low, ratio.ci_high)
    digits = 3 if all(abs(value - 1) < 0.1 for value in values) else 2
    value, low, high = (f"{value:.{digits}f}" for value in values)
    text = f"{value} times as fast with Antiphon (95 % interval: {low} to {high})"
    if comparison.verdict != "no difference":
        enough = f"; {len(comparison.rounds)} rounds were enough" if comparison.stopped == "clear" else ""
        return f"{comparison.verdict}: {text}{enough}"
    more = comparison.more_rounds
    rest = f"{MOST_ROUNDS} rounds would hardly show a difference" if more is None else \
        f"about {more} more round{'s' if more > 1 else ''} would tell, if the difference is what it seems"  # fmt: skip
    return f"no difference beyond noise: {text}; {rest}"


def _collectives(share: run_summary.Share | None) -> str:
    if share is None:
        return "collectives: not known: the warm-up with Antiphon wrote no summary (is it off? does MPI start?)"
    if not share.calls_s:
        return f"collectives: none was seen: {share.reason}" if share.reason else "collectives: none took time"
    text = f"collectives: {tables.share_text(share.calls_s / share.run_s)} of {tables.time_text(share.run_s)} from " \
           f"MPI_Init to MPI_Finalize with Antiphon; {tables.share_text(share.waiting_s / share.calls_s)} of that " \
           "waiting for the last rank"  # fmt: skip
    if not share.own_s:
        return f"{text}; the library did them all" + (f" ({share.reason})" if share.reason else "")
    return f"{text}; Antiphon did {tables.share_text(share.own_s / share.calls_s)} of them, by time"


def _outputs(comparison: Comparison) -> str:
    count = sum(map(len, comparison.outputs.values()))
    return {
        None: "",
        "same": f"output: the same lines in all {count} runs",
        "differs": "output: differs with Antiphon, and is the same in all runs without it (times, or sums in another "
        "order?)",
        "varies": "output: differs from run to run, also without Antiphon (times in it?)",
    }[comparison.output]


def _exit_code(args: argparse.Namespace, comparison: Comparison) -> int:
    """Says why the comparison ended early, and returns what the shell is told."""
    count = f"{len(comparison.rounds)} of {args.rounds} rounds"
    if comparison.failure is not None:
        _show_failure(args, comparison.failure)
        return EXIT_FAILURE
    if comparison.exit_code:
        output.print_error(f"interrupted after {count}")
    elif comparison.stopped == "time":
        message = f"--max-time {args.max_time:g}: the time was over after {count}"
        if not comparison.rounds:
            output.print_error(message, "give more time, or the program less to do")
            return EXIT_FAILURE
        output.print_warning(message)
    return comparison.exit_code


def _show_failure(args: argparse.Namespace, failure: Failure) -> None:
    """Shows a failed run's output, and says whose fault it may be."""
    for name, lines in (("stdout", failure.ended.stdout), ("stderr", failure.ended.stderr)):
        if lines and not args.show_output:
            left_out = f", its last {SHOWN_LINES} of {len(lines)} lines" if len(lines) > SHOWN_LINES else ""
            _show(f"--- {name} of the run that failed{left_out} ---")
            for line in lines[-SHOWN_LINES:]:
                _show(line)
    when = f"in round {failure.number}" if failure.number else "in the warm-up"
    what = f"{args.program} failed {WITH[failure.way]} {when}, with exit code {failure.ended.exit_code}"
    if failure.way == PLAIN:
        output.print_error(what, "Antiphon was not loaded: make the program run by itself first")
        return
    output.print_error(f"{what}; without Antiphon it did not fail",
                       f"`antiphon doctor {shlex.quote(args.program)}` checks this machine; `antiphon run --off` loads "
                       "Antiphon and leaves every call to the library: if that fails, too, report it")  # fmt: skip
