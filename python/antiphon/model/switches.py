# SPDX-License-Identifier: Apache-2.0
"""How many ranks each switch has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from antiphon.documents import parse_json


def of_profile(profile: str | None, ranks: int, ranks_per_node: int) -> tuple[int, ...]:
    """Returns how many ranks each switch of the profile has, with so many consecutive ranks a node; nothing with one
    switch.
    """
    if profile is None:
        return ()
    nodes = parse_json(profile).get("topology", {}).get("nodes", [])
    return of_nodes(((str(node.get("switch")), int(node.get("count", 1))) for node in nodes), ranks, ranks_per_node)


def of_nodes(behind: Iterable[tuple[str, int]], ranks: int, ranks_per_node: int) -> tuple[int, ...]:
    """Returns the same for switches and how many nodes follow one another on each; nodes begin again after the last."""
    nodes = [switch for switch, count in behind for _ in range(min(count, ranks))]
    if not nodes:
        return ()
    sizes = tuple(Counter(nodes[rank // ranks_per_node % len(nodes)] for rank in range(ranks)).values())
    return sizes if len(sizes) > 1 else ()
