# SPDX-License-Identifier: Apache-2.0
"""The schedules to simulate: of a collective for the ranks of a cluster, or those of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon import core, model
from antiphon.cluster.spec import ClusterSpec
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.patterns import compiled
from antiphon.plan import Plan


def plan_on(spec: ClusterSpec, collective: str, choice: str, size: int, ranks: int | None = None) -> dict[str, Any]:
    """Returns the plan of an algorithm whose ranks stand along the cluster's nodes and switches: all of its ranks, or
    the first of them. Raises CoreError where it does not support the call.
    """
    ranks = ranks or spec.ranks
    case = core.Case(
        collective, choice, ranks, size, element_bytes=model.element_bytes(collective, size),
        ranks_per_node=min(spec.ranks_per_node, ranks), switch_sizes=spec.switch_sizes(ranks),
    )  # fmt: skip
    return core.build(case)


def read(path: Path, spec: ClusterSpec) -> dict[str, Mapping[str, Any]]:
    """Returns the calls of a plan's patterns by name, or the one call whose schedules the file has. They must fit."""
    try:
        text = path.read_text(encoding="utf-8")
        document = parse_json(text)
    except (OSError, ValueError) as error:
        raise AntiphonError(f"--plan {path}: {getattr(error, 'strerror', None) or error}",
                            hint="`antiphon compile` writes plans of patterns") from None  # fmt: skip
    if isinstance(document, dict) and "schedules" in document:
        try:
            core.query("evaluate_plan", plan=text, ranks=document.get("size", 1))
        except core.CoreError as error:
            raise AntiphonError(f"--plan {path}: {error.message}") from None
        spec.with_ranks(document["size"], None)
        return {"the plan": document}
    patterns = Plan.load(path).patterns
    if not patterns:
        raise AntiphonError(f"--plan {path}: has no pattern, and patterns are what is simulated",
                            hint="`antiphon compile` writes plans of patterns")  # fmt: skip
    spec.with_ranks(max(pattern["size"] for pattern in patterns), None)
    calls = compiled.calls_of(json.dumps({"version": 1, "patterns": list(patterns)}))
    return {f"pattern {number}: {call['size']} ranks": call for number, call in enumerate(calls, start=1)}
