# SPDX-License-Identifier: Apache-2.0
"""KaHIP's process_mapping, through the library that PyPI's package `kahip` brings."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import numpy as np
from instances import Traffic

ECO = 1


class Kahip:
    """One loaded library."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def place(self, traffic: Traffic, domain: int, tree: list[int], costs: list[float]) -> tuple[list[int], float]:
        """Slots by rank, and processor time. `domain`: cores that are alike; `tree`: branches above, from below."""
        first, to, weight = undirected(traffic)
        n, depth = ctypes.c_int(traffic.ranks), len(tree)
        sizes = (ctypes.c_int * depth)(*tree)
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
        return _slots(np.array(part), domain, first, to, weight), seconds


def undirected(traffic: Traffic) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with one whole number an edge: what it costs between far nodes, the heaviest 20,000."""
    rows = np.concatenate(traffic.entries)
    rows = rows[rows[:, 0] != rows[:, 1]]
    cost = rows[:, 2] * 10e-6 + rows[:, 3] / 400e6
    keys = np.concatenate([rows[:, 0] * traffic.ranks + rows[:, 1], rows[:, 1] * traffic.ranks + rows[:, 0]]).astype(
        np.int64
    )
    keys, inverse = np.unique(keys, return_inverse=True)
    weight = np.bincount(inverse, np.concatenate([cost, cost]))
    first = np.searchsorted(keys, np.arange(traffic.ranks + 1) * traffic.ranks)
    return first, keys % traffic.ranks, np.maximum(1, np.rint(weight / weight.max() * 20000))


def _slots(part: np.ndarray, domain: int, first: np.ndarray, to: np.ndarray, weight: np.ndarray) -> list[int]:
    """Parts are only nearly even: what is too much goes to the domain with room that holds it most."""
    domains = len(part) // domain
    room = np.full(domains, domain)
    slots = np.full(len(part), -1)
    homeless = []
    for rank, where in enumerate(part):
        if room[where] == 0:
            homeless.append(rank)
            continue
        slots[rank] = where * domain + domain - room[where]
        room[where] -= 1
    for rank in homeless:
        edges = slice(first[rank], first[rank + 1])
        hold = np.bincount(part[to[edges]], weight[edges], domains)
        where = int(np.argmax(np.where(room > 0, hold, -1)))
        slots[rank] = where * domain + domain - room[where]
        part[rank] = where
        room[where] -= 1
    return [int(s) for s in slots]
