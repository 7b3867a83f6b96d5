#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does Antiphon add to MPI_Init, and to a rank's memory?

  python bench/startup/init.py --mpi openmpi,mpich --nodes 16 --launches 10 --json FILE

Launches on a lab by turns: without Antiphon, with it on nodes that it does not know, and on nodes that it knows from
runs before. Shown are medians over launches of the slowest rank's MPI_Init, and of the largest rank's memory after it
and after one call each of four collectives. Needs an idle machine.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from handles import HANDLES
from launches import parser, rows_of_ranks

from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, by_name

#: Each rank prints the time of its MPI_Init and its largest memory.
PROGRAM = (
    HANDLES
    + """
began = time.perf_counter()
mpi.MPI_Init(None, None)
took = time.perf_counter() - began
size = ctypes.c_int()
mpi.MPI_Comm_size(world, ctypes.byref(size))
one, all = (ctypes.create_string_buffer(8 * size.value) for _ in range(2))
mpi.MPI_Barrier(world)
mpi.MPI_Bcast(one, 8, byte, 0, world)
mpi.MPI_Allgather(one, 8, byte, all, 8, byte, world)
mpi.MPI_Alltoall(one, 8, byte, all, 8, byte, world)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({"init_s": took, "peak_kib": int(status["VmHWM"].split()[0])}), flush=True)
mpi.MPI_Finalize()
"""
)
WAYS = ("without", "unknown nodes", "known nodes")


def measure(lab: Lab, mpi: Mpi, way: str, known: Path) -> dict[str, float]:
    """Launches once; returns the slowest rank's time and the largest rank's memory."""
    with tempfile.TemporaryDirectory() as unknown:
        cache = unknown if way == "unknown nodes" else known
        rows = rows_of_ranks(lab, mpi, PROGRAM, (), preloaded=way != "without", cache=cache)
    return {key: max(row[key] for row in rows) for key in ("init_s", "peak_kib")}


def main() -> None:
    """Measures all ways by turns and prints a table."""
    args = parser(__doc__, launches=10).parse_args()
    spec = load_cluster(args.cluster).with_options(nodes=args.nodes, ranks_per_node=args.ranks_per_node)
    samples: dict[str, dict[str, list[Any]]] = {}
    for name in args.mpi.split(","):
        mpi, found = by_name(name), samples.setdefault(name, {way: [] for way in WAYS})
        with tempfile.TemporaryDirectory() as known, Lab(spec) as lab:
            measure(lab, mpi, "known nodes", Path(known))
            for _ in range(args.launches):
                for way in WAYS:
                    found[way].append(measure(lab, mpi, way, Path(known)))
        for way in WAYS:
            init, peak = (statistics.median(one[key] for one in found[way]) for key in ("init_s", "peak_kib"))
            print(f"{name}, {spec.ranks} ranks, {way:14} MPI_Init {1e3 * init:7.1f} ms, {peak / 1024:6.1f} MiB a rank",
                  flush=True)  # fmt: skip
    if args.json is not None:
        args.json.write_text(json.dumps({"arguments": {**vars(args), "json": None}, "samples": samples}))


if __name__ == "__main__":
    main()
