# SPDX-License-Identifier: Apache-2.0
"""What `antiphon tune` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import mpi as mpis
from antiphon import output
from antiphon.bench.collectives import RaceCell
from antiphon.output import tables
from antiphon.tune import conclusions, decide, driver, grid, known
from antiphon.tune.contenders import TunedMachine

if TYPE_CHECKING:
    from antiphon.tune import modelled


#: Whose decision a cell keeps.
_KEPT = {
    known.MEASURED: "kept: measured here",
    known.LEARNED: "kept: runs have learned it",
    "built-in": "kept: the built-in rules' own",
}


def show_modelled(answer: modelled.ModelledRules, written: str) -> None:
    """Shows the decisions for one library, and what became of its rules."""
    subject, out = answer.subject, output.stdout()
    _show_decided(answer.decided, f"{subject.library.name}, {subject.machine.ranks} ranks, by the model")
    out.print(f"{len(answer.rules)} rules {written}", soft_wrap=True)
    if answer.kept():
        out.print(f"{answer.kept()} cells keep what was measured, against the model", soft_wrap=True)


def _show_decided(decided: Sequence[modelled.Decided], title: str) -> None:
    """Shows what the model decides at each point, and what it would decide where another decision is kept."""
    table = tables.new_table(title)
    for heading, justify in (("collective", "left"), ("ranks", "right"), ("bytes", "right"), ("library", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for heading, justify in (("best", "right"), ("× library", "right"), ("used", "left"), ("why", "left")):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for d in sorted(decided, key=lambda d: (d.point.collective, -d.point.ranks, d.point.bytes)):
        row = d.row()
        times = [tables.time_text(row[key]) for key in ("library_s", "best_s")]
        ratio = tables.ratio_text(row["library_s"] / row["best_s"] if row["library_s"] and row["best_s"] else None)
        where = (row["collective"], str(row["ranks"]), tables.bytes_text(row["bytes"]))
        table.add_row(*where, *times, ratio, row["used"], _why(row))
    tables.print_wide(table)


def _why(row: Mapping[str, Any]) -> str:
    if not row["kept"]:
        return "by the model"
    if row["used"] == row["modelled"] == decide.LIBRARY:
        return "no clear gain"
    return _KEPT[row["kept"]] + ("" if row["modelled"] == row["used"] else f" (the model: {row['modelled']})")


def plan_rows(cells: list[RaceCell], request: driver.Request, machine: TunedMachine) -> list[dict[str, Any]]:
    """Returns what would be measured, with the source of what is known already."""
    return [
        {
            "collective": c.collective,
            "bytes": c.bytes,
            "ranks": c.ranks,
            "choices": list(c.choices),
            "known": {d.use: d.source for d in request.known.at(grid.Point(c.collective, c.bytes, c.ranks), machine)},
        }
        for c in cells
    ]


def show_plan(rows: Sequence[Mapping[str, Any]], library: str, too_long: int) -> None:
    """Shows the rows of plan_rows()."""
    table = tables.new_table(f"{library}: {len(rows)} cells; {too_long} would take too long")
    for heading in ("collective", "bytes", "ranks", "contenders"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        sources = row["known"]
        lines = [choice + (f" ({sources[choice]})" if choice in sources else "") for choice in row["choices"]]
        table.add_row(row["collective"], tables.bytes_text(row["bytes"]), str(row["ranks"]), "\n".join(lines))
    tables.print_wide(table)


def _print_judged(rows: Sequence[Mapping[str, Any]]) -> None:
    """Says which earlier decisions were confirmed, and names the others."""
    refuted = [row for row in rows if not row["confirmed"]]
    out = output.stdout()
    if rows:
        out.print(f"known before: {len(rows) - len(refuted)} confirmed, {len(refuted)} refuted", soft_wrap=True)
    for row in refuted:
        where = f"{row['collective']} {tables.bytes_text(row['bytes'])} on {row['ranks']} ranks"
        out.print(f"refuted: {where}: {row['use']} ({row['source']}); now {row['now']}", soft_wrap=True)


def show(outcome: conclusions.TuningResult, request: driver.Request, mpi: mpis.Mpi, profile: Path) -> None:
    """Shows what a tuning found."""
    title = f"{mpi.label}: {len(outcome.verdicts)} cells measured on up to {outcome.evidence['ranks']} ranks"
    table = tables.new_table(title)
    for heading, justify in (
        ("collective", "left"),
        ("ranks", "right"),
        ("bytes", "right"),
        *((m, "right") for m in request.modes),
        ("best", "left"),
    ):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for v in sorted(outcome.verdicts, key=lambda v: (v.collective, -v.ranks, v.bytes)):
        best = v.good[0]
        ratios = [tables.ratio_text(v.faster.get(best, {}).get(mode)) for mode in request.modes]
        table.add_row(v.collective, str(v.ranks), tables.bytes_text(v.bytes), *ratios, best)
    tables.print_wide(table)
    out = output.stdout()
    if outcome.rules:
        out.print(
            f"{len(outcome.rules)} rules written to {profile}; `antiphon run --profile {profile}` uses them",
            soft_wrap=True,
        )
    elif request.purpose == driver.DECISIONS:
        out.print(f"no rule is better than what is used without; evidence written to {profile}", soft_wrap=True)
    else:
        out.print(f"evidence written to {profile}; `antiphon export --profile {profile}` uses it", soft_wrap=True)
    _print_judged(outcome.evidence.get("known_before", []))
    for text in outcome.evidence["not_covered"]:
        out.print(f"not covered: {text}", soft_wrap=True)


def tell_wrong(outcome: conclusions.TuningResult) -> None:
    """Says which contenders gave wrong results."""
    for entry in outcome.wrong:
        what = f"{entry['collective']} {tables.bytes_text(entry['bytes'])} {entry['contender']}"
        output.print_error(f"{what}: {entry['why']}")
