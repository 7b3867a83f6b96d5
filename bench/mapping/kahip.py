# SPDX-License-Identifier: Apache-2.0
"""KaHIP's process_mapping, from the library in PyPI's package `kahip`."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import numpy as np
from instances import Traffic
from trees import Tree, undirected

ECO = 1


class Kahip:
    """One loaded library."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def place(self, traffic: Traffic, tree: Tree) -> tuple[np.ndarray, float]:
        """Return the tree slot of each rank, and the processor time."""
        first, to, weight = undirected(traffic, tree)
        branches, costs = _two_levels(tree.branches, tree.costs(traffic))
        n, depth = ctypes.c_int(traffic.ranks), len(branches)
        sizes = (ctypes.c_int * depth)(*branches)
        distances = (ctypes.c_int * depth)(*(max(1, round(4 * c / costs[0])) for c in costs))
        part = (ctypes.c_int * traffic.ranks)()
        cut, qap, imbalance = ctypes.c_int(), ctypes.c_int(), ctypes.c_double(0.0)
        pointers = [
            np.ascontiguousarray(a, np.int32).ctypes.data_as(ctypes.POINTER(ctypes.c_int)) for a in (first, weight, to)
        ]
        begin = time.process_time()
        self._library.process_mapping(
            ctypes.byref(n), None, *pointers, sizes, distances, depth, ECO, 0, ctypes.byref(imbalance), True, 1,
            ctypes.byref(cut), ctypes.byref(qap), part,
        )  # fmt: skip
        seconds = time.process_time() - begin
        return _places(np.array(part), tree, first, to, weight), seconds


def _two_levels(branches: list[int], costs: list[float]) -> tuple[list[int], list[float]]:
    """Add a level, because the library crashes if there is only one."""
    if len(branches) > 1:
        return branches, costs
    part = next(p for p in range(2, branches[0] + 1) if branches[0] % p == 0)
    return [part, branches[0] // part], costs * 2


def _places(part: np.ndarray, tree: Tree, first: np.ndarray, to: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Even out the parts: excess ranks go to the group with room that has most traffic with them."""
    cores, groups = tree.cores, tree.groups
    room = np.full(groups, cores)
    places = np.full(len(part), -1)
    homeless = []
    for rank, where in enumerate(part):
        if room[where] == 0:
            homeless.append(rank)
            continue
        places[rank] = where * cores + cores - room[where]
        room[where] -= 1
    for rank in homeless:
        edges = slice(first[rank], first[rank + 1])
        hold = np.bincount(part[to[edges]], weight[edges], groups)
        where = int(np.argmax(np.where(room > 0, hold, -1)))
        places[rank] = where * cores + cores - room[where]
        part[rank] = where
        room[where] -= 1
    return places
