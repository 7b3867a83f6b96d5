# SPDX-License-Identifier: Apache-2.0
"""Show what Antiphon gains: two programs on an emulated cluster, without and with it

Brings up the emulated cluster, runs a parallel integer sort and a 3-D Fourier transform by turns under plain MPI and
under Antiphon, and prints one table. The programs check their own results. Where the kernel refuses namespaces, the
same runs on this machine. Takes two to three minutes; nothing is left behind.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from antiphon import mpi as mpis
from antiphon import output
from antiphon.bench.demonstration import EXAMPLES, Demonstration, usual_ranks
from antiphon.bench.testbed import HostTestbed, LabTestbed, Testbed
from antiphon.commands import _options
from antiphon.errors import AntiphonError
from antiphon.lab import Lab, load_cluster
from antiphon.output import progress, tables

if TYPE_CHECKING:
    from rich.table import Table

RANKS_HERE = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon demo`."""
    add = parser.add_argument
    add("--mpi", default="openmpi", metavar="MPI", help="openmpi (default), mpich, both, or a path")
    add("--cluster", default="ethernet-16", metavar="NAME", help="a cluster's name or file (default: %(default)s)")
    add("--rounds", type=int, default=3, metavar="N", help="how often each program runs both ways (default: 3)")
    add(
        "--budget",
        type=_options.number,
        default=150.0,
        metavar="SECONDS",
        help="begin no further round after this time (default: 150)",
    )
    add("--here", action="store_true", help="on this machine, without the emulated cluster")
    add("--json", action="store_true", help="the results as JSON")


def run(args: argparse.Namespace) -> int:
    """Runs all examples and prints the table."""
    if args.rounds < 1:
        raise AntiphonError(f"--rounds {args.rounds}: at least 1 is needed")
    found = [mpis.by_name(name) for name in (("openmpi", "mpich") if args.mpi == "both" else (args.mpi,))]
    documents = []
    with _open_testbed(args) as (testbed, ranks):
        for mpi in found:
            demonstration = _demonstrate(args, testbed, mpi, ranks, args.budget / len(found))
            documents.append(_document(demonstration, testbed, mpi, ranks))
            if not args.json:
                tables.print_wide(_table(demonstration, f"{mpi.label}, {ranks} ranks; {testbed.describe()}"))
    if args.json:
        output.print_json({"demo": documents})
    else:
        output.stdout().print(_explanation(isinstance(testbed, LabTestbed)), soft_wrap=True)
    return 0


@contextlib.contextmanager
def _open_testbed(args: argparse.Namespace) -> Iterator[tuple[Testbed, int]]:
    """Yields a lab, which is removed afterwards, or this machine where no lab is possible."""
    lab = None if args.here else Lab(load_cluster(args.cluster))
    if lab is not None:
        output.stderr().print(f"emulated cluster {lab.spec.name}: {lab.spec.summary()}")
        try:
            lab.up()
        except AntiphonError as error:
            output.print_warning(f"no emulated cluster here: {error.message}")
            if error.hint:
                output.stderr().print(f"hint: {error.hint}")
            output.stderr().print(f"running the same on this machine with {RANKS_HERE} ranks instead")
            lab = None
    if lab is None:
        yield HostTestbed(), RANKS_HERE
        return
    with lab:
        yield LabTestbed(lab), usual_ranks(lab.spec.ranks)


def _demonstrate(
    args: argparse.Namespace, testbed: Testbed, mpi: mpis.Mpi, ranks: int, budget_s: float
) -> Demonstration:
    start = time.monotonic()
    with _progress(mpi.label, 2 * args.rounds * len(EXAMPLES)) as on_run:
        demonstration = Demonstration(testbed, mpi, ranks, on_run)
        for done in range(args.rounds):
            if done and (time.monotonic() - start) * (done + 1) / done > budget_s:
                break
            demonstration.round()
    return demonstration


@contextlib.contextmanager
def _progress(label: str, total: int) -> Iterator[Callable[[str], None]]:
    """Shows a bar on a terminal and lines in a log."""
    console, begun = output.stderr(), 0
    with progress.bar(label, total) as move:

        def on_run(text: str) -> None:
            nonlocal begun
            move(completed=begun, description=text)
            begun += 1
            if progress.hidden(console):
                console.print(f"[{begun}/{total}] {text}")

        yield on_run


def _table(demonstration: Demonstration, title: str) -> Table:
    from rich.text import Text

    table = tables.new_table(title)
    for heading in ("", "plain", "Antiphon", "speed-up", "limit", "used by Antiphon"):
        table.add_column(
            heading, justify="left" if heading in ("", "used by Antiphon") else "right", no_wrap=heading == ""
        )
    for comparison in demonstration.comparisons:
        plain, antiphon = comparison.time_s("plain"), comparison.time_s("antiphon")
        limit = tables.time_text(comparison.limit_s(demonstration.network) or None)
        table.add_row(
            Text(comparison.example.label, style="bold"),
            tables.time_text(plain),
            tables.time_text(antiphon),
            Text(tables.ratio_text(comparison.speed_up), style="bold"),
            limit,
            "",
        )
        for phase in [*comparison.collectives, ""]:
            plain, antiphon = comparison.phase_s("plain", phase), comparison.phase_s("antiphon", phase)
            limit_s = comparison.limit_s(demonstration.network, phase) if phase else None
            table.add_row(
                f"  {phase or 'computing'}",
                tables.time_text(plain),
                tables.time_text(antiphon),
                tables.ratio_text(comparison.phase_speed_up(phase)) if phase else "",
                tables.time_text(limit_s or None) if phase else "",
                str(comparison.used.get(phase, "")),
                end_section=not phase,
            )
    return table


def _explanation(in_lab: bool) -> str:
    runs = (
        "Medians of runs by turns. Times in collectives are means over ranks and include waiting for the last rank to\n"
        "come; where the library did the calls, a shorter time is less waiting and no speed-up of theirs."
    )
    if in_lab:
        limit = "limit: the least time in which the links can carry the program's messages; computing comes on top."
        return f"{runs}\n{limit}"
    why = "On one machine messages go through shared memory: most calls are the library's, so expect little."
    return f"{runs}\n{why}"


def _document(demonstration: Demonstration, testbed: Testbed, mpi: mpis.Mpi, ranks: int) -> dict[str, object]:
    return {
        "mpi": mpi.label,
        "transport": testbed.transport(mpi),
        "ranks": ranks,
        "place": testbed.describe(),
        "programs": [comparison.to_json(demonstration.network) for comparison in demonstration.comparisons],
    }
