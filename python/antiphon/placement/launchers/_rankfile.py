# SPDX-License-Identifier: Apache-2.0
"""Writes Open MPI's rankfile, which its versions 4 and 5 read alike: `rank 3=node02 slot=1`."""

from __future__ import annotations

from antiphon.placement.document import Node, Placement


def text(placement: Placement) -> str:
    """Writes a line for each rank."""
    lines = ["# Ranks where their traffic wants them: written by `antiphon map`\n"]
    for rank, (node, core) in enumerate(zip(placement.node_of_rank, placement.core_of_rank, strict=True)):
        lines.append(f"rank {rank}={placement.nodes[node].name} slot={slot(placement.nodes[node], core)}\n")
    return "".join(lines)


def slot(node: Node, core: int) -> str:
    """Returns a processor of the rank's own, or any of the node's where there are fewer processors than slots."""
    if node.cores >= node.slots:
        return str(core)
    return f"0-{node.cores - 1}" if node.cores > 1 else "0"


def hosts(placement: Placement) -> str:
    """Returns the nodes with their slots, as --host takes them: a rankfile's nodes must be among those."""
    return ",".join(f"{node.name}:{node.slots}" for node in placement.used())


def binds(placement: Placement) -> bool:
    """Returns whether the processors of all nodes are known, so that a rankfile can be written."""
    return all(node.cores > 0 for node in placement.used())


def sequence(placement: Placement) -> str:
    """Writes one node per line, in the order of ranks, for the mapper `seq`."""
    return "".join(f"{host}\n" for host in placement.hosts)
