# SPDX-License-Identifier: Apache-2.0
"""Checks what nonblocking and neighbourhood collectives of a trace send."""

from __future__ import annotations

import numpy as np

from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace
from antiphon.traffic.of_trace import of_trace

WORLD = Communicator(1, "MPI_COMM_WORLD", tuple(range(4)))


def test_nonblocking_collectives_and_neighbours() -> None:
    """GIVEN nonblocking calls THEN they send what blocking ones do, and neighbours what their lists say."""
    functions = ("MPI_Bcast", "MPI_Ibcast", "MPI_Ineighbor_alltoallw", "MPI_Wait")
    ranks = []
    for r in range(4):
        shapes = [Shape(name, WORLD, root=1, send_count=10, send_size=8) for name in functions[:2]]
        right = (r + 1) % 4
        shapes.append(Shape(functions[2], WORLD, bytes_to=tuple(5 if to == right else 0 for to in range(4))))
        shapes.append(Shape("MPI_Wait", None, requests=1))
        calls = [Call(s, 1000 * i, 100) for i, s in enumerate(shapes)]
        ranks.append(RankTrace(r, [WORLD], shapes, calls, 0, 20000))
    found = of_trace(Trace(4, functions, {"mpi": "Open MPI v5.0.11", "nodes": [0, 0, 1, 1]}, ranks))
    parts = {part.name: part for part in found.parts}
    assert parts["bcast"].calls == 2 and parts["bcast"].total_bytes() == 2 * 3 * 80
    matrix = np.zeros((4, 4), np.int64)
    edges = parts["alltoallv"].edges
    matrix[edges.source, edges.target] = edges.bytes
    assert matrix.tolist() == [[0, 5, 0, 0], [0, 0, 5, 0], [0, 0, 0, 5], [5, 0, 0, 0]]
