# SPDX-License-Identifier: Apache-2.0
"""Shows a plan: as tables, and as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from antiphon import output
from antiphon.output.tables import bytes_text, new_table, print_wide, ratio_text, time_text
from antiphon.plan.document import Plan


def to_json(plan: Plan) -> dict[str, Any]:
    """Returns what the plan holds, without schedules."""
    place = plan.placement
    return {
        "made_for": dict(plan.made_for),
        "parts": plan.parts(),
        "placement": {"hosts": place.hosts, "saves_s": place.about.get("saves_s")} if place else None,
        "algorithms": [dict(rule) for rule in plan.rules],
        "multicasts": [dict(rule) for rule in plan.multicasts()],
        "patterns": [pattern_facts(pattern) for pattern in plan.patterns],
        "compression": dict(plan.compression) if plan.compression else None,
        "expected": [dict(state) for state in plan.expected],
    }


def pattern_facts(pattern: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a pattern in a few numbers."""
    parts = [part for phase in pattern["phases"] for part in phase["parts"]]
    return {
        "ranks": pattern["size"], "calls": pattern.get("calls", 0), "messages": len({(p[0], p[1]) for p in parts}),
        "bytes": sum(part[3] for part in parts), "phases": len(pattern["phases"]), "scheduler": pattern["scheduler"],
        "expected_s": pattern.get("expected_ns", 0) / 1e9, "saves_s": pattern.get("saves_ns", 0) / 1e9,
    }  # fmt: skip


def communicator_text(rule: Mapping[str, Any]) -> str:
    """Names a kind of communicator: "64 ranks", "8 ranks, each 8 further on"."""
    (ranks, _), (stride, _) = rule["ranks"], rule.get("stride", [1, 1])
    apart = {0: ", irregular", 1: ""}.get(stride, f", each {stride} further on")
    return f"{ranks} ranks{apart}"


def sizes_text(rule: Mapping[str, Any]) -> str:
    """Names the class of sizes of a rule."""
    least, most = rule.get("bytes", (None, None))
    if least is None:
        return "any"
    return bytes_text(most) if least == most else f"{bytes_text(least)} … {bytes_text(most + 1)}"


def title(plan: Plan) -> str:
    """Names the run that the plan was made for."""
    made = plan.made_for
    if not made:
        return "a compiled plan: patterns alone"
    words = " ".join([str(made["program"]), *(made.get("arguments") or [])]).strip()
    return f"{words or 'a program'}: {made['ranks']} ranks on {made['nodes']} nodes"


def show(plan: Plan) -> None:
    """Prints the plan."""
    console = output.stdout()
    console.print(title(plan), style="bold", soft_wrap=True, markup=False)
    _show_expected(plan)
    if plan.placement is not None:
        used = plan.placement.used()
        saves = time_text(float(plan.placement.about.get("saves_s") or 0))
        console.print(f"placement: {plan.placement.ranks} ranks on {len(used)} nodes; saves {saves} by the model\n",
                      soft_wrap=True)  # fmt: skip
    _show_rules(plan)
    _show_patterns(plan)
    _show_compression(plan)
    if not plan.parts():
        console.print("nothing pays here: a run does by itself what is best", soft_wrap=True)


def _show_expected(plan: Plan) -> None:
    if not plan.expected:
        return
    table = new_table("Predicted communication")
    for heading in ("", "collectives", "point-to-point", "together", "times less"):
        table.add_column(heading, justify="left" if not heading else "right")
    for row in plan.expected:
        times = (time_text(row[key]) for key in ("collectives_s", "point_to_point_s", "seconds"))
        table.add_row(row["name"], *times, ratio_text(row["gain"]))
    print_wide(table)


def _show_rules(plan: Plan) -> None:
    if not plan.rules:
        return
    table = new_table("Algorithms")
    for heading in ("collective", "communicator", "block", "calls", "a call", "saves", "use"):
        left = heading in ("collective", "communicator", "use")
        table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for rule in plan.rules:
        table.add_row(rule["collective"], communicator_text(rule), sizes_text(rule), str(rule.get("calls", "")),
                      time_text(rule.get("expected_s", 0)), time_text(rule.get("saves_s", 0)),
                      rule["use"])  # fmt: skip
    print_wide(table)


def _show_patterns(plan: Plan) -> None:
    if not plan.patterns:
        return
    table = new_table("Patterns of MPI_Alltoallv")
    for heading in ("ranks", "messages", "bytes", "calls", "expected", "phases", "scheduler"):
        table.add_column(heading, justify="left" if heading == "scheduler" else "right")
    for pattern in plan.patterns:
        one = pattern_facts(pattern)
        table.add_row(str(one["ranks"]), str(one["messages"]), bytes_text(one["bytes"]), str(one["calls"]),
                      time_text(one["expected_s"]), str(one["phases"]), one["scheduler"])  # fmt: skip
    print_wide(table)


def _show_compression(plan: Plan) -> None:
    if not plan.compression:
        return
    least = plan.compression.get("least_bytes")
    table = new_table(f"Compression of messages of at least {bytes_text(least)}" if least else "Compression")
    for heading in ("link", "messages", "encoded", "bytes", "sent as", "times less", "communicator"):
        table.add_column(heading, justify="left" if heading in ("link", "communicator") else "right")
    for row in plan.compression["classes"]:
        table.add_row(row["class"], str(row["messages"]), str(row["encoded"]), bytes_text(row["bytes"]),
                      bytes_text(row["wire_bytes"]), ratio_text(row["rate"]), row["communicator"])  # fmt: skip
    print_wide(table)
