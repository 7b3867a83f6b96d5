# SPDX-License-Identifier: Apache-2.0
"""Exchanges of long messages, point to point, as programs on grids have them: what each takes, in lines of JSON.

mpirun -n 4 python bench/messages/exchange.py 65536,262144 SECONDS
"""

from __future__ import annotations

import json
import sys
import time

import numpy
from mpi4py import MPI

WARM_UP = 2
#: Neighbours in a ring, and in a grid of two dimensions; a message there and back between the first and the last rank.
PATTERNS = {"ring": 1, "grid": 2, "pingpong": 0}


def neighbours(pattern: str) -> list[int]:
    """Returns the ranks with which this one exchanges, the left one and the right one of each dimension."""
    comm = MPI.COMM_WORLD
    if PATTERNS[pattern] == 0:
        return [comm.size - 1 - comm.rank] if comm.rank in (0, comm.size - 1) else []
    dims = MPI.Compute_dims(comm.size, PATTERNS[pattern])
    grid = comm.Create_cart(dims, periods=[True] * len(dims))
    pairs = [grid.Shift(dimension, 1) for dimension in range(len(dims))]
    return [rank for pair in pairs for rank in pair]


def exchange(peers: list[int], there_and_back: bool, out: list[numpy.ndarray], into: list[numpy.ndarray]) -> None:
    comm = MPI.COMM_WORLD
    if there_and_back:
        for sends in (comm.rank == 0, comm.rank != 0):
            for peer in peers:
                comm.Send(out[0], peer) if sends else comm.Recv(into[0], peer)
        return
    # What is sent to the left comes from the right.
    requests = [comm.Irecv(buffer, peer, tag ^ 1) for tag, (buffer, peer) in enumerate(zip(into, peers, strict=True))]
    requests += [comm.Isend(buffer, peer, tag) for tag, (buffer, peer) in enumerate(zip(out, peers, strict=True))]
    MPI.Request.Waitall(requests)


def seconds_of(pattern: str, size: int, budget_s: float) -> list[float]:
    """Returns the times of single exchanges, of the rank that took longest."""
    comm = MPI.COMM_WORLD
    peers = neighbours(pattern)
    out = [numpy.full(size, 1 + i, "u1") for i in range(len(peers))]
    into = [numpy.zeros(size, "u1") for _ in peers]
    times: list[float] = []
    while comm.bcast(len(times) < WARM_UP + 3 or sum(times) < budget_s):
        comm.Barrier()
        begin = time.perf_counter()
        exchange(peers, pattern == "pingpong", out, into)
        times.append(comm.allreduce(time.perf_counter() - begin, MPI.MAX))
    for index, buffer in enumerate(into):
        expected = 1 if pattern == "pingpong" else 1 + (index ^ 1)
        assert (buffer == expected).all(), f"wrong bytes in {pattern} of {size}"
    return times[WARM_UP:]


def main() -> None:
    for pattern in PATTERNS:
        for size in map(int, sys.argv[1].split(",")):
            seconds = seconds_of(pattern, size, float(sys.argv[2]))
            if MPI.COMM_WORLD.rank == 0:
                print(json.dumps({"pattern": pattern, "bytes": size, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
