# SPDX-License-Identifier: Apache-2.0
"""mpi4py-fft's input: real fields in three dimensions, there and back, cut into slabs and into pencils."""

import statistics
import time

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

POINTS = (32, 64, 96, 128)
TIMES = 12
comm = MPI.COMM_WORLD


def seconds(points: int, grid: list[int]) -> float:
    """Returns the median time of a transform and its inverse, on the slowest rank."""
    transform = PFFT(comm, [points] * 3, axes=(0, 1, 2), dtype=float, grid=grid)
    field, there = newDistArray(transform, False), newDistArray(transform)
    before = np.random.default_rng(comm.rank).random(field.shape)
    field[:] = before
    times = []
    for _ in range(TIMES):
        comm.Barrier()
        began = time.perf_counter()
        transform.forward(field, there)
        transform.backward(there, field)
        times.append(comm.allreduce(time.perf_counter() - began, op=MPI.MAX))
    assert np.allclose(field, before)
    return statistics.median(times[2:])


for points in POINTS:
    for cut, grid in (("slabs", [-1]), ("pencils", [0, 0])):
        found = seconds(points, grid)
        if comm.rank == 0:
            print(f"{points} points, {cut}: {found} s")
