# SPDX-License-Identifier: Apache-2.0
"""`antiphon bench --presence`: measures what short calls cost a program when the preload object is there."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from antiphon import output
from antiphon.bench import presence, stats
from antiphon.bench.testbed import Testbed
from antiphon.commands import _bench_json
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi
from antiphon.output import tables

if TYPE_CHECKING:
    from rich.status import Status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that only this measurement has."""
    group = parser.add_argument_group("presence")
    group.add_argument(
        "--presence",
        action="store_true",
        help="instead: short calls, a halo exchange and nonblocking calls of a program that is launched with Antiphon "
        "and without it, by turns",
    )
    group.add_argument(
        "--launches",
        type=int,
        default=20,
        metavar="N",
        help="at most this many of each kind; fewer where the ratios are known to 1 %% (default: %(default)s)",
    )


def run(args: argparse.Namespace, testbed: Testbed, found: list[Mpi]) -> int:
    """Measures and prints. --budget is the time that one launch measures."""
    if args.launches < 1:
        raise AntiphonError(f"--launches {args.launches}: at least 1 is needed")
    if args.budget <= 0:
        raise AntiphonError(f"--budget {args.budget:g}: a launch needs some time")
    taken: list[presence.PresenceResults] = []
    with _bench_json.kept(args.json, lambda: _document(taken)):
        for mpi in found:
            ranks = args.n or testbed.ranks()
            with output.stderr().status(output.literal(f"{mpi.label}: starting")) as status:
                say = _progress(status, mpi.label, 2 * args.launches)
                results = presence.measure(testbed, mpi, ranks, args.launches, args.budget, say, taken)
            if args.json != "-":
                _show(results, testbed)
    if args.json:
        _bench_json.write(args.json, _document(taken))
    return 0


def _document(taken: list[presence.PresenceResults]) -> dict[str, list[Any]]:
    return {"presence": [row for results in taken for row in results.document()]}


def _progress(status: Status, label: str, most: int) -> Callable[[int], None]:
    return lambda launches: status.update(output.literal(f"{label}: {launches} of at most {most} launches"))


def _show(results: presence.PresenceResults, testbed: Testbed) -> None:
    title = f"{results.mpi}, {results.ranks} ranks, {results.launches} launches; {testbed.describe()}"
    table = tables.new_table(title)
    for heading in ("call", "size", "without", "with Antiphon", "ratio", "95 % of it"):
        table.add_column(heading, justify="left" if heading == "call" else "right")
    for row in results.rows:
        ratio = row.ratio
        table.add_row(
            row.call,
            tables.bytes_text(row.bytes),
            tables.time_text(stats.summarize(row.without_s).median),
            tables.time_text(stats.summarize(row.with_s).median),
            f"{ratio.median:.3f}",
            f"{ratio.ci_low:.3f}–{ratio.ci_high:.3f}",
        )
    tables.print_wide(table)
    if not results.is_known:
        output.stdout().print(
            "Not every ratio is known to 1 %: more --launches or a quieter machine would tell.", soft_wrap=True
        )
