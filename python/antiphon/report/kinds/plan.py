# SPDX-License-Identifier: Apache-2.0
"""Plans (antiphon plan, compile): where ranks go, which algorithms are used, patterns, compression."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon.output.tables import bytes_text, ratio_text, time_text
from antiphon.plan import Plan, is_plan, tables
from antiphon.report.page import Block, Page, Section, Table, Text


def accepts(document: Any) -> bool:
    """Accepts plans, and those of `antiphon compile`."""
    return is_plan(document) or (isinstance(document, Mapping) and document.keys() == {"version", "patterns"})


def page(document: Mapping[str, Any], path: Path) -> Page:
    """Makes the whole report."""
    plan = Plan.of_json(document, str(path))
    sections = [_expected(plan), _placement(plan), _algorithms(plan), _patterns(plan), _compression(plan)]
    subtitle = f"made for {tables.title(plan)}" + (f", {plan.made_for['mpi']}" if plan.made_for.get("mpi") else "")
    return Page(f"Plan {path.name}", subtitle, [section for section in sections if section is not None])


def _expected(plan: Plan) -> Section | None:
    if not plan.expected:
        return None
    rows = [
        [row["name"], *(time_text(row[key]) for key in ("collectives_s", "point_to_point_s", "seconds")),
         ratio_text(row["gain"])]
        for row in plan.expected
    ]  # fmt: skip
    headings = ["state", "collectives", "point-to-point", "together", "times less"]
    intro = "What the model predicts for all communication of a run like the recorded one."
    return Section("What is expected", intro, [Table(headings, rows)])


def _placement(plan: Plan) -> Section | None:
    if plan.placement is None:
        return None
    rows = [
        [node.name, str(len(ranks)), ", ".join(map(str, ranks))]
        for node, ranks in zip(plan.placement.nodes, plan.placement.ranks_on(), strict=True)
    ]
    saves = time_text(float(plan.placement.about.get("saves_s") or 0))
    return Section("Placement", f"By the model it saves {saves}.", [Table(["node", "how many", "ranks"], rows)])


def _algorithms(plan: Plan) -> Section | None:
    if not plan.rules:
        return None
    rows = [
        [rule["collective"], tables.communicator_text(rule), tables.sizes_text(rule), str(rule.get("calls", "")),
         time_text(rule.get("expected_s", 0)), time_text(rule.get("saves_s", 0)), rule["use"]]
        for rule in plan.rules
    ]  # fmt: skip
    headings = ["collective", "communicator", "block", "calls", "a call", "saves", "use"]
    blocks: list[Block] = [Table(headings, rows)]
    groups = [f"{tables.communicator_text(rule)}: {rule['collective']} of {tables.sizes_text(rule)}"
              for rule in plan.multicasts()]  # fmt: skip
    if groups:
        blocks.append(Text(["Each of these communicators has its multicast group:", *groups]))
    intro = "For each kind of communicator and class of sizes; the run itself chooses for all others."
    return Section("Algorithms", intro, blocks)


def _patterns(plan: Plan) -> Section | None:
    if not plan.patterns:
        return None
    facts = [tables.pattern_facts(pattern) for pattern in plan.patterns]
    rows = [
        [str(i + 1), str(one["ranks"]), str(one["messages"]), bytes_text(one["bytes"]), str(one["calls"]),
         time_text(one["expected_s"]), time_text(one["saves_s"]), str(one["phases"]), one["scheduler"]]
        for i, one in enumerate(facts)
    ]  # fmt: skip
    headings = ["pattern", "ranks", "messages", "bytes", "calls", "a call", "saves", "phases", "scheduler"]
    intro = "Who sends how much to whom in an MPI_Alltoallv. `antiphon explain --plan` draws each one's phases."
    return Section("Patterns", intro, [Table(headings, rows)])


def _compression(plan: Plan) -> Section | None:
    if not plan.compression:
        return None
    rows = [
        [row["class"], row["communicator"], str(row["messages"]), str(row["encoded"]), bytes_text(row["bytes"]),
         bytes_text(row["wire_bytes"]), ratio_text(row["rate"]), time_text(row["saved_s"])]
        for row in plan.compression["classes"]
    ]  # fmt: skip
    headings = ["link", "communicator", "messages", "encoded", "bytes", "sent as", "times less", "saved"]
    intro = "What encoding did in the recorded run, sums over ranks. In a run each channel decides anew."
    if plan.compression.get("least_bytes"):
        intro += f" Messages below {bytes_text(plan.compression['least_bytes'])} are as without the plan."
    return Section("Compression", intro, [Table(headings, rows)])
