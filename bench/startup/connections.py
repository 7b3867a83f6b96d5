#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many TCP connections has a node after MPI_Init, and after short all-to-alls?

  python bench/startup/connections.py --mpi openmpi,mpich --ranks-per-node 16 --bytes 64 --json FILE

Launches on a lab once without Antiphon and once with it. Counted are the connections of the first node to others, by
`ss`, those of the launcher among them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from handles import HANDLES

from antiphon.lab import Lab, load_cluster
from antiphon.lab.network import SUBNET
from antiphon.mpi import Mpi, by_name, launch
from antiphon.units import parse_size

#: Twice, the first rank says where it is and waits until the connections are counted.
PROGRAM = (
    HANDLES
    + """
mpi.MPI_Init(None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
def await_reader(name):
    mpi.MPI_Barrier(world)
    if rank.value == 0:
        print("at", name, flush=True)
        while not os.path.exists(sys.argv[2] + name): time.sleep(0.01)
    mpi.MPI_Barrier(world)
await_reader("start")
m = int(sys.argv[3])
one, all = (ctypes.create_string_buffer(m * size.value) for _ in range(2))
for _ in range(50): mpi.MPI_Alltoall(one, m, byte, all, m, byte, world)
await_reader("alltoall")
mpi.MPI_Finalize()
"""
)


def connections(lab: Lab) -> int:
    """Returns how many connections the first node has to others."""
    listed = lab.execute(1, ["ss", "-Htn", "state", "established"]).check().stdout.splitlines()
    return sum(1 for line in listed if line.split()[-1].rpartition(":")[0].removeprefix("::ffff:").startswith(SUBNET))


def measure(lab: Lab, mpi: Mpi, preload: bool, size: int) -> dict[str, int]:
    """Launches once; returns the connections at either place."""
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:

        def listen(line: str) -> None:
            if line.startswith("at "):
                place = line.split()[1]
                found[place] = connections(lab)
                Path(folder, "read" + place).touch()

        argv = [sys.executable, "-I", "-S", "-c", PROGRAM, mpi.family, f"{folder}/read", str(size)]
        objects = [launch.preload_object(mpi.abi)] if preload else []
        env = {"XDG_CACHE_HOME": folder}
        lab.mpirun(
            mpi, lab.spec.ranks, argv, env=env, preload=[*objects, mpi.libmpi], map_by="slot", on_stdout=listen
        ).check()
    return found


def main() -> None:
    """Counts for each library and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--cluster", default="ethernet-16")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--ranks-per-node", type=int)
    parser.add_argument("--bytes", default="64", help="of a block (default: 64)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    spec = load_cluster(args.cluster).with_options(nodes=args.nodes, ranks_per_node=args.ranks_per_node)
    rows: list[dict[str, object]] = []
    for name in args.mpi.split(","):
        for preload in (False, True):
            with Lab(spec) as lab:
                found = measure(lab, by_name(name), preload, parse_size(args.bytes))
            row = {"mpi": name, "antiphon": preload, "nodes": spec.nodes, "ranks_per_node": spec.ranks_per_node}
            rows.append(row | {"bytes": parse_size(args.bytes), "connections": found})
            print(f"{name:8} {'with' if preload else 'without':8} {found}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
