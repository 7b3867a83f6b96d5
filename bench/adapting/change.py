# SPDX-License-Identifier: Apache-2.0
"""Changes the rate of a lab's links in the middle of runs, and compares a run that adapts with each fixed choice.

  python bench/adapting/change.py --mpi openmpi bcast 2k library chain:segment_bytes=2k
  python bench/adapting/change.py --mpi mpich --rate 25mbit --calls 2000 --runs 5 allgather 4k library ring

The run that adapts begins with the first way. All run by turns; shown are medians of seconds, for each half.
Needs an idle machine; `--json FILE` keeps every call's time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, discover, launch

#: The first rank prints the time of each call; between the halves it waits for a file.
PROGRAM = """
import ctypes, json, os, sys, time
mpi = ctypes.CDLL(None)
family, collective, size, calls, signal = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
named = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
if family == "openmpi":
    world, byte = named("ompi_mpi_comm_world"), named("ompi_mpi_byte")
else:
    world, byte = ctypes.c_int(0x44000000), ctypes.c_int(0x4C00010D)
mpi.MPI_Init(None, None)
rank, ranks = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(ranks))
one, all = (ctypes.create_string_buffer(size * ranks.value) for _ in range(2))
call = {
    "bcast": lambda: mpi.MPI_Bcast(one, size, byte, 0, world),
    "allgather": lambda: mpi.MPI_Allgather(one, size, byte, all, size, byte, world),
    "alltoall": lambda: mpi.MPI_Alltoall(one, size, byte, all, size, byte, world),
}[collective]
for half in range(2):
    if half == 1:
        if rank.value == 0:
            print("half", flush=True)
            while not os.path.exists(signal):
                time.sleep(0.01)
        mpi.MPI_Barrier(world)
    times = []
    for i in range(calls // 2):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    began = time.perf_counter()
    mpi.MPI_Barrier(world)
    times.append(time.perf_counter() - began)
    if rank.value == 0:
        print(json.dumps(times), flush=True)
mpi.MPI_Finalize()
"""


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi", help="openmpi or mpich")
    parser.add_argument("--cluster", default="ethernet-16")
    parser.add_argument("--nodes", type=int, help="so many of its nodes")
    parser.add_argument("--rate", default="25mbit", help="of the nodes' links in the second half")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("collective", choices=("bcast", "allgather", "alltoall"))
    parser.add_argument("bytes")
    parser.add_argument("ways", nargs=2, help="two choices, as --force takes them")
    return parser.parse_args()


def measure(args: argparse.Namespace, mpi: Mpi, way: str | None) -> list[list[float]]:
    """Returns the seconds of each call of both halves, under a forced way or, with None, adapting."""
    size = int(args.bytes.removesuffix("k")) * (1024 if args.bytes.endswith("k") else 1)
    halves: list[list[float]] = []
    with tempfile.TemporaryDirectory() as folder, Lab(load_cluster(args.cluster).with_options(nodes=args.nodes)) as lab:
        signal, profile = Path(folder, "changed"), Path(folder, "profile.json")
        rules = [{"collective": args.collective, "use": use} for use in args.ways]
        profile.write_text(json.dumps({"decisions": {"version": 1, "rules": rules}}))
        env = {"ANTIPHON_PROFILE": str(profile), "ANTIPHON_ADAPT": "run"}
        if way is not None:
            env = {"ANTIPHON_FORCE": f"{args.collective}:{way}"}

        def listen(line: str) -> None:
            if line.strip() == "half":
                shape = f"rate {args.rate} burst 8kb limit 2mb".split()
                for node in range(1, lab.spec.nodes + 1):
                    lab.execute(node, ["tc", "qdisc", "change", "dev", "eth0", "root", "tbf", *shape]).check()
                signal.touch()
            elif line.startswith("["):
                halves.append(json.loads(line))

        argv = [sys.executable, "-I", "-S", "-c", PROGRAM, mpi.family, args.collective, size, args.calls, signal]
        objects = [launch.preload_object(mpi.abi), mpi.libmpi]
        lab.mpirun(mpi, lab.spec.nodes, [str(a) for a in argv], env=env, preload=objects, on_stdout=listen).check()
    return halves


def main() -> None:
    """Measures all ways by turns and prints a table."""
    args = arguments()
    mpi = next(mpi for mpi in discover() if mpi.abi == args.mpi and mpi.launcher is not None)
    ways: list[str | None] = [None, *args.ways]
    samples: dict[str, list[Any]] = {way or "adapts": [] for way in ways}
    for _ in range(args.runs):
        for way in ways:
            samples[way or "adapts"].append(measure(args, mpi, way))
    totals = {}
    for name, runs in samples.items():
        first, second = (statistics.median(sum(run[half]) for run in runs) for half in range(2))
        totals[name] = first + second
        print(f"{name:40} {first:8.3f} s {second:8.3f} s   together {totals[name]:8.3f} s")
    best = min(total for name, total in totals.items() if name != "adapts")
    print(f"adapting takes {totals['adapts'] / best:.3f} times as long as the best fixed choice in hindsight")
    if args.json is not None:
        args.json.write_text(json.dumps({"arguments": {**vars(args), "json": None}, "samples": samples}))


if __name__ == "__main__":
    main()
