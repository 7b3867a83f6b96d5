# SPDX-License-Identifier: Apache-2.0
"""Writes the order of ranks for Cray MPICH: MPICH_RANK_ORDER, the ranks in the order of slots."""

from __future__ import annotations

from antiphon.errors import AntiphonError
from antiphon.placement.document import Placement
from antiphon.placement.launchers import Written

SUMMARY = "Cray MPICH: MPICH_RANK_ORDER"


def write(placement: Placement) -> Written:
    """Writes one line for each node, its ranks by core. Slots fill node by node, so all but the last are full alike."""
    by_node = [ranks for ranks in placement.ranks_on() if ranks]
    widths = {len(ranks) for ranks in by_node[:-1]}
    if len(widths) > 1 or (widths and len(by_node[-1]) > max(widths)):
        raise AntiphonError(
            "Cray's rank order cannot say how many ranks a node has, and here nodes have different numbers",
            hint="--max-per-node N, with as many nodes as that fills, makes them alike",
        )
    lines = []
    for ranks in by_node:
        ordered = sorted(ranks, key=lambda rank: (placement.core_of_rank[rank], rank))
        lines.append(",".join(map(str, ordered)) + "\n")
    nodes = ", ".join(node.name for node in placement.used())
    note = f"which node is which: the job's nodes must come in this order: {nodes}"
    options = [f"--ntasks-per-node={max(map(len, by_node))}"]
    text = "# Ranks where their traffic wants them: written by `antiphon map`\n" + "".join(lines)
    env = {"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": "FILE"}
    return Written(text, options, env, command="srun", left_out=[note])
