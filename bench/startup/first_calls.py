#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long does a program's first call of a collective take, and a later one?

  python bench/startup/first_calls.py --mpi openmpi,mpich --nodes 16 --launches 6 --json FILE

Each launch calls one collective six times, between barriers; launches with Antiphon and without take turns. Shown are
medians over launches of the slowest rank's first call, and of the median of its last four. Needs an idle machine.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from typing import Any

from handles import HANDLES
from launches import parser, rows_of_ranks

from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, by_name

CALLS = 6
#: Each rank prints the times of its calls.
PROGRAM = (
    HANDLES
    + """
kind, count, calls = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
mpi.MPI_Init(None, None)
size, request, status = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(64)
mpi.MPI_Comm_size(world, ctypes.byref(size))
one, all = (ctypes.create_string_buffer(count * size.value) for _ in range(2))
maximum = named("ompi_mpi_op_max") if sys.argv[1] == "openmpi" else ctypes.c_int(0x58000001)
integer = named("ompi_mpi_int") if sys.argv[1] == "openmpi" else ctypes.c_int(0x4C000405)
form = {
    "Bcast": (one, count, byte, 0, world),
    "Reduce": (one, all, count // 4, integer, maximum, 0, world),
    "Allreduce": (one, all, count // 4, integer, maximum, world),
    "Allgather": (one, count, byte, all, count, byte, world),
    "Alltoall": (one, count, byte, all, count, byte, world),
}[kind.removeprefix("I").capitalize()]
times = []
for call in range(calls):
    mpi.MPI_Barrier(world)
    mpi.MPI_Barrier(world)
    began = time.perf_counter()
    if kind.startswith("I"):
        getattr(mpi, "MPI_" + kind)(*form, ctypes.byref(request))
        mpi.MPI_Wait(ctypes.byref(request), status)
    else:
        getattr(mpi, "MPI_" + kind)(*form)
    times.append(time.perf_counter() - began)
print(json.dumps(times), flush=True)
mpi.MPI_Finalize()
"""
)
KINDS = ("Bcast:32768", "Bcast:262144", "Reduce:65536", "Allreduce:65536", "Allgather:16384", "Alltoall:16384",
         "Ialltoall:16384")  # fmt: skip
WAYS = ("without", "with")


def measure(lab: Lab, mpi: Mpi, way: str, kind: str) -> list[float]:
    """Launches once; returns the slowest rank's time of each call."""
    words = (*kind.split(":"), CALLS)
    with tempfile.TemporaryDirectory() as unknown:
        rows = rows_of_ranks(lab, mpi, PROGRAM, words, preloaded=way == "with", cache=unknown)
    return [max(times) for times in zip(*rows, strict=True)]


def main() -> None:
    """Measures both ways by turns and prints a table."""
    args = parser(__doc__, launches=6).parse_args()
    spec = load_cluster(args.cluster).with_options(nodes=args.nodes, ranks_per_node=args.ranks_per_node)
    samples: dict[str, dict[str, dict[str, list[Any]]]] = {}
    for name in args.mpi.split(","):
        mpi = by_name(name)
        with Lab(spec) as lab:
            for kind in KINDS:
                found = samples.setdefault(name, {}).setdefault(kind, {way: [] for way in WAYS})
                for turn in range(args.launches):
                    for way in WAYS[:: -1 if turn % 2 else 1]:
                        found[way].append(measure(lab, mpi, way, kind))
                cells = []
                for take in (lambda times: times[0], lambda times: statistics.median(times[2:])):
                    plain, own = (1e3 * statistics.median(map(take, found[way])) for way in WAYS)
                    cells.append(f"{plain:.3g} → {own:.3g} ms, {plain / own:.2f}")
                print(f"| {name} | {kind} | {cells[0]} | {cells[1]} |", flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps({"arguments": {**vars(args), "json": None}, "samples": samples}))


if __name__ == "__main__":
    main()
