# SPDX-License-Identifier: Apache-2.0
"""Exchanges of messages, point to point, as programs have them: what each takes, in lines of JSON.

mpirun -n 4 python bench/messages/exchange.py ring,grid 65536,262144 SECONDS [DATA]

DATA is "constant" or "field", a smooth one in double precision with little noise, which changes from time to time.
"""

from __future__ import annotations

import json
import sys
import time

import numpy
from mpi4py import MPI

WARM_UP = 2
#: Neighbours in a ring, and in a grid of two dimensions.
DIMENSIONS = {"ring": 1, "grid": 2}


def neighbours(dimensions: int) -> list[int]:
    """Returns the ranks with which this one exchanges, the left one and the right one of each dimension."""
    comm = MPI.COMM_WORLD
    dims = MPI.Compute_dims(comm.size, dimensions)
    grid = comm.Create_cart(dims, periods=[True] * len(dims))
    pairs = [grid.Shift(dimension, 1) for dimension in range(len(dims))]
    return [rank for pair in pairs for rank in pair]


def peers_of(pattern: str) -> tuple[list[int], list[int]]:
    """Returns the ranks with which this one exchanges, and where each of them has it in its own list.

    pingpong: the first and the last rank, there and back. all: all other ranks in the order of their numbers. shifted:
    the same, beginning with the rank after this one.
    """
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    if pattern == "pingpong":
        return ([size - 1 - rank], [0]) if rank in (0, size - 1) else ([], [])
    if pattern == "all":
        peers = [peer for peer in range(size) if peer != rank]
        return peers, [rank - (rank > peer) for peer in peers]
    if pattern == "shifted":
        return [(rank + step) % size for step in range(1, size)], [size - 1 - step for step in range(1, size)]
    peers = neighbours(DIMENSIONS[pattern])
    # What is sent to the left comes from the right.
    return peers, [index ^ 1 for index in range(len(peers))]


Buffers = list[numpy.ndarray]


def exchange(peers: list[int], places: list[int], there_and_back: bool, out: Buffers, into: Buffers) -> None:
    comm = MPI.COMM_WORLD
    if there_and_back:
        for sends in (comm.rank == 0, comm.rank != 0):
            for peer in peers:
                comm.Send(out[0], peer) if sends else comm.Recv(into[0], peer)
        return
    requests = [comm.Irecv(buffer, peer, tag) for buffer, peer, tag in zip(into, peers, places, strict=True)]
    requests += [comm.Isend(buffer, peer, tag) for tag, (buffer, peer) in enumerate(zip(out, peers, strict=True))]
    MPI.Request.Waitall(requests)


def contents(data: str, size: int, place: int) -> numpy.ndarray:
    """Returns the first message from or to the peer at this place."""
    if data == "constant":
        return numpy.full(size, 1 + place, "u1")
    noise = numpy.random.default_rng(place).standard_normal(size // 8)
    return numpy.sin(numpy.linspace(place, place + 20, size // 8)) + 1e-6 * noise


def change(out: Buffers, data: str) -> None:
    for buffer in out if data == "field" else []:
        buffer *= 1.001


def seconds_of(pattern: str, size: int, budget_s: float, data: str) -> list[float]:
    """Returns the times of single exchanges, of the rank that took longest."""
    comm = MPI.COMM_WORLD
    peers, places = peers_of(pattern)
    out = [contents(data, size, i) for i in range(len(peers))]
    wanted = [contents(data, size, place) for place in places]
    into = [numpy.zeros_like(buffer) for buffer in wanted]
    times: list[float] = []
    while comm.bcast(len(times) < WARM_UP + 3 or sum(times) < budget_s):
        change(out, data)
        change(wanted, data)
        comm.Barrier()
        begin = time.perf_counter()
        exchange(peers, places, pattern == "pingpong", out, into)
        times.append(comm.allreduce(time.perf_counter() - begin, MPI.MAX))
    for buffer, right in zip(into, wanted, strict=True):
        assert (buffer == right).all(), f"wrong bytes in {pattern} of {size}"
    return times[WARM_UP:]


def main() -> None:
    data = sys.argv[4] if len(sys.argv) > 4 else "constant"
    for pattern in sys.argv[1].split(","):
        for size in map(int, sys.argv[2].split(",")):
            seconds = seconds_of(pattern, size, float(sys.argv[3]), data)
            if MPI.COMM_WORLD.rank == 0:
                print(json.dumps({"pattern": pattern, "bytes": size, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
