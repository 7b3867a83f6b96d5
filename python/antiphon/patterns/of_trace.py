# SPDX-License-Identifier: Apache-2.0
"""Schedules the patterns that repeat in a trace, as a plan holds them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from antiphon.patterns import compiled, repeating

Patterns = list[dict[str, Any]]


def compile_patterns(
    nodes: Sequence[int], kept: Sequence[repeating.Repeating], link_bytes_per_s: int
) -> tuple[Patterns, Patterns]:
    """Returns the plan's patterns, and a line about each. Ranks that lie differently on nodes are scheduled apart."""
    patterns: Patterns = []
    rows = []
    for one in kept:
        fabric = {"link_bytes_per_s": link_bytes_per_s, "node_of_rank": repeating.node_of_members(nodes, one.members)}
        text = compiled.compile_plan([(one.pattern, one.calls)], fabric)
        ((schedule, bound),) = compiled.describe_plan(text, fabric)
        (pattern,) = json.loads(text)["patterns"]
        pattern["saves_ns"] = round(1e9 * max(0.0, schedule.seconds["none"] - schedule.expected_s))
        patterns.append(pattern)
        rows.append({
            "ranks": one.pattern.size, "messages": len(one.pattern.messages), "bytes": one.pattern.bytes,
            "calls": one.calls,
            "traced_s": one.duration_s / one.calls, "expected_s": schedule.expected_s, "bound_s": bound.seconds,
            "scheduler": schedule.scheduler, "phases": len(schedule.phases),
            "synchronisation": schedule.synchronisation,
        })  # fmt: skip
    return patterns, rows
