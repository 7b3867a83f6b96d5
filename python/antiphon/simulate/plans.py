# SPDX-License-Identifier: Apache-2.0
"""Builds the schedules of a collective for the ranks of a cluster."""

from __future__ import annotations

from typing import Any

from antiphon import core, model
from antiphon.cluster.spec import ClusterSpec


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
