# SPDX-License-Identifier: Apache-2.0
"""Prove on this machine or cluster that results are the same, and show the gain, in about a minute

  antiphon selftest -n 4                            on this machine
  antiphon selftest -n 64 --hostfile nodes          on a cluster
  antiphon selftest --hostfile nodes ./program      with this program's MPI library
  antiphon selftest --lab                           on an emulated cluster

First every collective runs under Antiphon, wherever it has an algorithm, with many types, counts, roots and
communicators (on up to 64 ranks); each byte of each buffer is compared with what MPI demands. Then the library's calls
and Antiphon's take turns, and their results are checked too. Sums of floating-point numbers are compared where they are
exact; elsewhere their last bits depend on the order of additions, in any MPI library.

Exit codes: 0 the results are the same; 1 a result differs, or a run failed; 2 wrong usage, or something is missing.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from antiphon import mpi as mpis
from antiphon import output
from antiphon.bench import selftest
from antiphon.bench.testbed import Testbed
from antiphon.commands import _options
from antiphon.commands._testbed import library_of, open_testbed
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.output import progress, tables

#: The part of the budget that measuring gets at least.
MEASURING_SHARE = 0.4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon selftest`."""
    add = parser.add_argument
    add(
        "--budget",
        type=_options.number,
        default=60.0,
        metavar="SECONDS",
        help="the time it may take, about (default: 60)",
    )
    add("--no-gain", action="store_true", help="compare results only, measure nothing")
    _options.add_where(parser, several=False, link_rate=": runs take it for theirs")
    add("--json", action="store_true", help="as JSON: {ok, mpi, ranks, results, gain}")
    # A "program" would take the word behind --lab, which has always been the cluster here.
    add("command", metavar="PROGRAM", nargs="*", help="the MPI program whose library is tested, and its arguments")


def run(args: argparse.Namespace) -> int:
    """Checks, measures and says what was found."""
    if args.budget < 5:
        raise AntiphonError(f"--budget {args.budget:g}: in less than 5 seconds nothing can be measured")
    if args.n is not None and args.n < 2:
        raise AntiphonError(f"-n {args.n}: a collective has at least 2 ranks")
    mpi = library_of(args.command, args.mpi)
    clock = selftest.Clock(args.budget)
    with open_testbed(args) as testbed:
        ranks = max(2, args.n or testbed.ranks())
        if not args.json:
            place = f"{mpi.label} ({testbed.transport(mpi)}), {ranks} ranks; {testbed.describe()}"
            output.stdout().print(place, soft_wrap=True)
        checked, blame = _check(testbed, mpi, ranks, say=not args.json)
        gain = None
        if checked.same and not args.no_gain:
            seconds = max(MEASURING_SHARE * args.budget, clock.left_s())
            gain = _measure(testbed, mpi, ranks, seconds)
    good = checked.same and not (gain and gain.results.wrong)
    if args.json:
        about = {"ok": good, "mpi": mpi.label, "ranks": ranks, "place": testbed.describe()}
        results = checked.to_json() | {"library_alone_differs": blame}
        output.print_json({**about, "results": results, "gain": gain.to_json() if gain else None})
    elif gain is not None:
        _show_gain(gain)
    return 0 if good else EXIT_FAILURE


def _check(testbed: Testbed, mpi: mpis.Mpi, ranks: int, *, say: bool) -> tuple[selftest.Checked, bool | None]:
    """Compares results; where some differ, also those of the library alone: True if they differ without Antiphon."""
    with _progress(len(selftest.CHECKS)) as advance:
        checked = selftest.check(testbed, mpi, ranks, lambda what: advance(f"results: {what}"))
    blame = None
    if not checked.same:
        with _progress(len(selftest.CHECKS)) as advance:
            alone = selftest.check(testbed, mpi, ranks, lambda what: advance(f"library alone: {what}"), plain=True)
        blame = not alone.same
    if say:
        _show_results(checked, blame)
    return checked, blame


def _show_results(checked: selftest.Checked, blame: bool | None) -> None:
    console = output.stdout()
    total = sum(checked.passed.values())
    if checked.same:
        what = f"the same: {total} comparisons in {len(checked.passed)} kinds of calls on {checked.ranks} ranks, "
        what += "1 node" if checked.nodes == 1 else f"{checked.nodes} nodes"
        console.print(f"results: {what}", soft_wrap=True)
        return
    differing = ", ".join(what for what, count in checked.failed.items() if count)
    why = checked.ended or f"{sum(checked.failed.values())} of {total} comparisons differ, in {differing}"
    hint = "report this with the lines above; `antiphon run --off` runs without Antiphon"
    if blame:
        hint = "the library alone fails in the same way: look at it first (`antiphon doctor`)"
    for line in checked.lines[:10]:
        console.print(f"  {line}", soft_wrap=True)
    output.print_error(f"results: {why}", hint)


def _measure(testbed: Testbed, mpi: mpis.Mpi, ranks: int, budget_s: float) -> selftest.Gain:
    with _progress(len(selftest.MEASURED) * len(selftest.SIZES)) as advance:
        seen = set()

        def on_event(event: Mapping[str, Any]) -> None:
            if event["event"] == "result" and (event["collective"], event["bytes"]) not in seen:
                seen.add((event["collective"], event["bytes"]))
                advance(f"gain: {event['collective']} {tables.bytes_text(event['bytes'])}")

        return selftest.gain(testbed, mpi, ranks, budget_s, on_event)


def _show_gain(gain: selftest.Gain) -> None:
    table = tables.new_table()
    for heading in ("collective", "block", "speed", "done by"):
        table.add_column(heading, justify="right" if heading in ("block", "speed") else "left", overflow="fold")
    used = gain.used()
    for (name, size), ratio in gain.ratios().items():
        table.add_row(name, tables.bytes_text(size), tables.ratio_text(ratio), used[name, size])
    tables.print_wide(table)
    for line in _verdict(gain):
        output.stdout().print(line, soft_wrap=True)
    for entry in gain.results.wrong:
        output.print_error("results: " + " ".join(map(str, entry)), "please report it")


def _verdict(gain: selftest.Gain) -> Iterator[str]:
    of = len(gain.used())
    if gain.accelerated == 0:
        yield "gain: none here: all calls are left to the library"
        yield "hint: `antiphon doctor --hostfile FILE ./program` says why"
        return
    ratios = gain.ratios().values()
    yield (f"gain: {gain.mean:.2f} times the library's speed (geometric mean of {len(ratios)} kinds of calls; "
           f"Antiphon did {gain.accelerated} of {of}; least {min(ratios):.2f}, most {max(ratios):.2f})")  # fmt: skip
    if gain.slower():
        names = ", ".join(f"{name} {tables.bytes_text(size)}" for name, size in gain.slower())
        yield f"hint: slower than the library: {names}; `antiphon tune` measures which to leave to it"


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """Shows a bar that each text moves by one."""
    with progress.bar("selftest: starting", total) as move:
        yield lambda text: move(advance=1, description=f"selftest: {text}")
