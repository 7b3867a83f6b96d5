# SPDX-License-Identifier: Apache-2.0
"""Machines and traffic for tools that know trees and one weight per edge: KaHIP and TreeMatch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from instances import Traffic
from machines import Machine


@dataclass
class Tree:
    """Branches, from below, above groups of `cores` that are alike."""

    cores: int
    branches: list[int]
    #: Seconds per message and per byte: within such a group, then at each level of branches.
    levels: list[tuple[float, float]]
    #: The machine's slots in the tree's order.
    slots: np.ndarray

    @property
    def groups(self) -> int:
        return math.prod(self.branches)

    def costs(self, traffic: Traffic) -> list[float]:
        """Return the cost of a mean message at each level of branches, relative to one within a group."""
        rows = np.concatenate(traffic.entries)
        size = rows[:, 3].sum() / rows[:, 2].sum()
        inside, *above = (latency + size * per_byte for latency, per_byte in self.levels)
        return [cost / inside for cost in above]


def tree_of(machine: Machine) -> Tree | None:
    """Return the machine's tree, or None if nodes differ."""
    if not machine.groups:
        return None
    document = machine.document
    widths = [level["width"] for level in document["levels"]]
    inside = [_pair(level) for level in document["levels"]]
    nodes = math.prod(machine.groups)
    order = np.arange(nodes) if machine.order is None else machine.order
    return Tree(
        widths[0],
        [wide // narrow for narrow, wide in zip(widths, widths[1:], strict=False)] + machine.groups,
        inside + _above(machine, order),
        (order[:, None] * widths[-1] + np.arange(widths[-1])).ravel(),
    )


def _pair(cost: dict[str, float]) -> tuple[float, float]:
    return cost["latency_s"], 1 / cost["bytes_per_s"]


def _above(machine: Machine, order: np.ndarray) -> list[tuple[float, float]]:
    """Return the costs by level of groups: the switches' own, or the means of measured ones."""
    document = machine.document
    if "between_nodes" not in document:
        return [_pair(s) for s in reversed(document.get("switches", [document])[: len(machine.groups)])]
    between = document["between_nodes"]
    latency, rate = (np.array(between[key])[order][:, order] for key in ("latency_s", "bytes_per_s"))
    levels, size, index = [], 1, np.arange(len(order))
    for branches in machine.groups:
        near, size = index // size, size * branches
        pairs = (near[:, None] != near[None, :]) & (index[:, None] // size == index[None, :] // size)
        # A level with one branch has no pairs; it gets the cost of the level below.
        levels.append((latency[pairs].mean(), (1 / rate[pairs]).mean()) if pairs.any() else levels[-1])
    return levels


def undirected(traffic: Traffic, tree: Tree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with one integer per edge: its cost at the tree's highest level, scaled to at most 20,000."""
    latency, per_byte = tree.levels[-1]
    rows = np.concatenate(traffic.entries)
    rows = rows[rows[:, 0] != rows[:, 1]]
    cost = rows[:, 2] * latency + rows[:, 3] * per_byte
    ends = rows[:, :2].astype(np.int64)
    keys = np.concatenate([ends @ [traffic.ranks, 1], ends @ [1, traffic.ranks]])
    keys, inverse = np.unique(keys, return_inverse=True)
    weight = np.bincount(inverse, np.concatenate([cost, cost]))
    first = np.searchsorted(keys, np.arange(traffic.ranks + 1) * traffic.ranks)
    return first, keys % traffic.ranks, np.maximum(1, np.rint(weight / weight.max() * 20000))
