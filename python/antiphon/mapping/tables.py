# SPDX-License-Identifier: Apache-2.0
"""A placement's reasons, for people and for programs."""

from __future__ import annotations

from typing import Any

from antiphon import output
from antiphon.mapping.compute import WORTH_IT, CallCosts, Result
from antiphon.output.tables import bytes_text, new_table, print_wide, ratio_text, time_text

NAMES = {"predicted_s": "the predicted time of each kind of call", "messages_s": "the sum of all messages' times"}


def show(result: Result) -> None:
    """The cost of each kind of call in each arrangement, and whether the placement is worth it."""
    about = result.placement.about
    who = str(about["program"]).rpartition("/")[2] or "the program"
    nodes = len(result.placement.used())
    table = new_table(
        f"{who}: {result.placement.ranks} ranks on {nodes} node{'s' * (nodes != 1)} of {about['machine']}; "
        f"{NAMES[result.measure]}, collectives as in {about['library'] or 'the traffic'}"
    )
    arrangements = [name for name in ("block", "cyclic", "current") if name in result.costs]
    for column in ("call", "as", "calls", "bytes"):
        table.add_column(column, justify="left" if column in ("call", "as") else "right")
    for column in [*arrangements, "placed", f"over {result.reference}"]:
        table.add_column(column, justify="right")
    for row in result.rows:
        costs = [time_text(row.costs[name]) for name in (*arrangements, "chosen")]
        table.add_row(row.name, row.algorithm, str(row.calls), bytes_text(row.bytes), *costs,
                      ratio_text(row_gain(row, result.reference)))  # fmt: skip
    totals = [time_text(result.total(name)) for name in (*arrangements, "chosen")]
    table.add_section()
    table.add_row("all together", "", "", "", *totals, ratio_text(result.gain(result.reference)))
    print_wide(table)
    for line in verdict(result):
        output.stdout().print(line, soft_wrap=True)
    for note in result.notes:
        output.print_warning(note)


def row_gain(row: CallCosts, over: str) -> float | None:
    """How many times less this kind of call costs."""
    after = row.costs["chosen"]
    return row.costs[over] / after if after > 0 else None


def verdict(result: Result) -> list[str]:
    """Whether to use it, in sentences."""
    gains = [f"{result.gain(name):.2f}× {name}" for name in ("block", "cyclic", "current") if name in result.costs]
    lines = [f"Expected of communication: {', '.join(gains)}."]
    run_s, calls_s = result.placement.about.get("run_s"), sum(row.measured_s for row in result.rows)
    gain = result.gain("current")
    if run_s and gain and 0 < calls_s <= run_s:
        share = calls_s / run_s
        whole = 1 / (1 - share + share / gain)
        lines.append(
            f"The calls took {share:.0%} of the run: about {whole:.2f}× in all, if they wait for nothing else."
        )
    if not result.worth_it:
        keep = "the current placement" if result.reference == "current" else "block"
        lines.append(f"Not worth it: less than {WORTH_IT:.0%} better than {keep}; keep that.")
    elif result.plain is not None:
        how = {"block": "--map-by slot", "cyclic": "--map-by node"}[result.plain]
        lines.append(
            f"{result.plain} is as good and needs no file: Open MPI {how}, Slurm --distribution={result.plain}."
        )
    return lines


def to_json(result: Result) -> dict[str, Any]:
    """All of it."""
    return {
        "placement": result.placement.to_json(),
        "measure": result.measure,
        "gain": {name: result.gain(name) for name in ("block", "cyclic", "current") if name in result.costs},
        "worth_it": result.worth_it,
        "as_good": result.plain,
        "calls": [
            {
                "name": row.name,
                "algorithm": row.algorithm,
                "calls": row.calls,
                "bytes": row.bytes,
                "measured_s": row.measured_s,
                "costs_s": dict(row.costs),
            }
            for row in result.rows
        ],
        "notes": result.notes,
    }
