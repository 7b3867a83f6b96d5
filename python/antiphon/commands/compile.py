# SPDX-License-Identifier: Apache-2.0
"""Find the patterns that repeat in a trace, and write their schedules as a plan

  antiphon trace -n 16 ./solver                          records a run in solver.trace
  antiphon compile solver.trace -o plan.json             schedules the patterns that repeat
  antiphon explain --plan plan.json --svg phases.svg     shows them
  antiphon run --plan plan.json -n 16 ./solver           uses them, in the unmodified program

A pattern is who sends how many bytes to whom in one MPI_Alltoallv of a communicator. Calls that do not match the plan
run as they would without it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.commands import _options
from antiphon.errors import AntiphonError
from antiphon.model.limits import PAYLOAD_SHARE
from antiphon.output import files
from antiphon.output.tables import bytes_text, new_table, print_wide, ratio_text, time_text
from antiphon.patterns import of_trace, repeating
from antiphon.trace import Trace
from antiphon.units import rate_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon compile`."""
    add = parser.add_argument
    add("trace", type=Path, metavar="TRACE", help="what `antiphon trace` recorded")
    add("-o", "--output", type=Path, metavar="FILE", default=Path("plan.json"), help="the plan (default: %(default)s)")
    add("--min-calls", type=int, default=2, metavar="N", help="patterns seen less often are left out (default: 2)")
    add("--link-rate", metavar="RATE", help="of a node's link, as 100mbit: for the estimates (default: 100mbit)")
    _options.add_overwrite(parser, "the plan", old="--force")
    add("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace) -> int:
    """Compiles a trace."""
    if args.min_calls < 1:
        raise AntiphonError(f"--min-calls {args.min_calls}: must be at least 1")
    files.check(args.output, overwrite=args.overwrite, sources=(args.trace,))
    link = int(rate_option("--link-rate", args.link_rate or "100mbit") * PAYLOAD_SHARE / 8)
    trace = Trace.load(args.trace)
    found = repeating.find(trace)
    kept = [one for one in found if one.calls >= args.min_calls]
    if not kept:
        what = (
            f"{len(found)} patterns of MPI_Alltoallv, none seen {args.min_calls} times" if found else "no MPI_Alltoallv"
        )
        raise AntiphonError(f"{args.trace}: {what}", hint="`antiphon trace --show` shows what is in it", exit_code=1)
    patterns, rows = of_trace.compile_patterns(trace.nodes, kept, link)
    files.write(args.output, json.dumps({"version": 1, "patterns": patterns}) + "\n")
    if args.json:
        output.print_json({"plan": str(args.output), "patterns": rows, "left_out": len(found) - len(kept)})
    else:
        _show(args.output, rows, len(found) - len(kept))
    return 0


def _show(path: Path, rows: list[dict[str, Any]], left_out: int) -> None:
    table = new_table()
    for heading in (
        "ranks",
        "messages",
        "bytes",
        "calls",
        "took",
        "expected",
        "× bound",
        "phases",
        "scheduler",
        "synchronised by",
    ):
        table.add_column(heading, justify="left" if heading in ("scheduler", "synchronised by") else "right")
    for row in rows:
        ratio = row["expected_s"] / row["bound_s"] if row["bound_s"] else None
        table.add_row(str(row["ranks"]), str(row["messages"]), bytes_text(row["bytes"]), str(row["calls"]),
                      time_text(row["traced_s"]), time_text(row["expected_s"]), ratio_text(ratio), str(row["phases"]),
                      row["scheduler"], row["synchronisation"])  # fmt: skip
    print_wide(table)
    text = f"wrote {path}: {len(rows)} pattern{'s' * (len(rows) != 1)}"
    output.stderr().print(text + (f"; {left_out} seen too rarely" if left_out else ""), soft_wrap=True)
