# SPDX-License-Identifier: Apache-2.0
"""`antiphon traffic --verify`: checks tables against interface counters."""

from __future__ import annotations

import argparse
from typing import Any

from antiphon import mpi, output
from antiphon.commands import _options
from antiphon.commands._testbed import open_testbed
from antiphon.errors import AntiphonError
from antiphon.output import tables
from antiphon.units import size_option

DEFAULT_SIZES, DEFAULT_TOLERANCE = "8k,64k", 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that only --verify has."""
    add = parser.add_argument
    add("--verify", action="store_true", help="measure what collectives send over each node's link, and compare")
    add("--collectives", metavar="C,…", help="with --verify: these (default: all that the table knows)")
    add("--bytes", metavar="B,…", default=DEFAULT_SIZES, help="with --verify: sizes (default: %(default)s)")
    add(
        "--tolerance",
        type=_options.number,
        metavar="PERCENT",
        default=DEFAULT_TOLERANCE,
        help="with --verify: what is right (default: 5)",
    )
    _options.add_where(parser, several=False, link_rate=None)


def refuse_without(args: argparse.Namespace) -> None:
    """Raises an error for options that only --verify looks at."""
    own = (("--collectives", args.collectives), ("--bytes", args.bytes is not DEFAULT_SIZES),
           ("--tolerance", args.tolerance != DEFAULT_TOLERANCE))  # fmt: skip
    where = ("n", "mpi", "hostfile", "launcher", "launcher_args", "lab", "transport", "map_by")
    for option in [*(name for name, given in own if given), *_options.given_where(args, *where)]:
        raise AntiphonError(f"{option} is for --verify, which measures", hint="leave it away, or add --verify")


def run(args: argparse.Namespace) -> int:
    """Measures and prints; returns exit code 1 if any link is off by more than the tolerance."""
    from antiphon.bench import verify
    from antiphon.traffic.of_trace import COLLECTIVES

    chosen = mpi.chosen(args.mpi)[0]
    wanted = args.collectives.split(",") if args.collectives else sorted(COLLECTIVES - {"barrier"})
    unknown = [name for name in wanted if name not in COLLECTIVES]
    if unknown:
        raise AntiphonError(
            f"--collectives: no collective named {unknown[0]}", hint=f"there are {', '.join(sorted(COLLECTIVES))}"
        )
    sizes = [size_option("--bytes", text) for text in args.bytes.split(",")]
    with open_testbed(args) as testbed:
        ranks = args.n or testbed.ranks()
        rows = verify.verify(testbed, chosen, ranks, args.library, wanted, sizes, _say)
        where = testbed.describe()
    if args.json:
        output.print_json({"mpi": chosen.label, "where": where, "results": [row.to_json() for row in rows]})
    else:
        _show(rows, f"{chosen.label} on {where}")
    return 1 if any(row.error > args.tolerance / 100 for row in rows) else 0


def _say(row: Any) -> None:
    output.stderr().print(f"{row.case.argument()} {row.algorithm}: {100 * row.error:.1f} %", soft_wrap=True)


def _show(rows: Any, title: str) -> None:
    table = tables.new_table(title)
    for heading in (
        "collective",
        "bytes",
        "calls",
        "algorithm",
        "busiest link, expected",
        "measured",
        "greatest error",
    ):
        table.add_column(heading, justify="left" if heading in ("collective", "algorithm") else "right")
    for row in rows:
        at = row.expected.argmax()
        values = (tables.bytes_text(int(values.flat[at])) for values in (row.expected, row.measured))
        table.add_row(
            row.case.collective,
            str(row.case.bytes),
            str(row.case.calls),
            row.algorithm,
            *values,
            f"{100 * row.error:.1f} %",
        )
    tables.print_wide(table)
