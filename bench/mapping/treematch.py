# SPDX-License-Identifier: Apache-2.0
"""TreeMatch, as a library built from the sources in Open MPI 4.1 (docs/measurements/mapping.md says how).

The tree is optimised first, by a call that Open MPI has commented out. This is TreeMatch's best, not Open MPI's.
"""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import numpy as np
from instances import Traffic
from trees import Tree, undirected


class _Solution(ctypes.Structure):
    _fields_ = (
        ("sigma", ctypes.POINTER(ctypes.c_int)),
        ("sigma_length", ctypes.c_size_t),
        ("k", ctypes.c_void_p),
        ("k_length", ctypes.c_size_t),
        ("oversub_fact", ctypes.c_int),
    )


class TreeMatch:
    """One loaded library."""

    def __init__(self, library: Path) -> None:
        self._library = tm = ctypes.CDLL(str(library))
        pointer = ctypes.c_void_p
        for name, arguments, result in (
            ("tm_build_synthetic_topology", [pointer, pointer, ctypes.c_int, pointer, ctypes.c_int], pointer),
            ("tm_optimize_topology", [pointer], None),
            ("tm_build_affinity_mat", [pointer, ctypes.c_int], pointer),
            ("tm_build_tree_from_topology", [pointer] * 4, pointer),
            ("tm_compute_mapping", [pointer, pointer], ctypes.POINTER(_Solution)),
        ):
            function = getattr(tm, name)
            function.argtypes, function.restype = arguments, result
        tm.tm_set_verbose_level(0)
        tm.tm_set_max_nb_threads(1)

    def place(self, traffic: Traffic, tree: Tree) -> tuple[np.ndarray, float]:
        """Like Kahip.place."""
        tm, ranks, depth = self._library, traffic.ranks, len(tree.branches) + 2
        arity = (ctypes.c_int * depth)(*reversed(tree.branches), tree.cores, 0)
        cost = (ctypes.c_double * depth)(*reversed(tree.costs(traffic)), 1.0, 0.0)
        first, to, weight = undirected(traffic, tree)
        matrix = np.zeros((ranks, ranks))
        matrix[np.repeat(np.arange(ranks), np.diff(first)), to] = weight
        rows = (ctypes.c_void_p * ranks)(*(matrix.ctypes.data + row * matrix.strides[0] for row in range(ranks)))
        cores = (ctypes.c_int * tree.cores)(*range(tree.cores))
        begin = time.process_time()
        topology = ctypes.c_void_p(tm.tm_build_synthetic_topology(arity, cost, depth, cores, tree.cores))
        tm.tm_optimize_topology(ctypes.byref(topology))
        affinity = tm.tm_build_affinity_mat(rows, ranks)
        found = tm.tm_compute_mapping(topology, tm.tm_build_tree_from_topology(topology, affinity, None, None)).contents
        seconds = time.process_time() - begin
        return np.array([found.sigma[rank] for rank in range(ranks)]), seconds
