# SPDX-License-Identifier: Apache-2.0
"""Counts what collectives send over the link between a lab's two switches, with ranks in random order.

  python bench/switches/uplinks.py --mpi openmpi --profile two.json bcast:64k reduce:64k allgather:16k allreduce:64k
  python bench/switches/uplinks.py --mpi mpich --profile two.json --library --json two-mpich.json allreduce:256k

Shown are payload bytes of a call over the link, in each direction, by interface counters without the headers of all
frames, beside the least that there can be. Rooted collectives have a root in the middle of the random order.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

from antiphon.bench.verify import HEADER_BYTES
from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, discover, launch
from antiphon.units import parse_size

#: Before and after the calls of a case the first rank says so, and waits until the counters are read.
PROGRAM = """
import ctypes, os, sys, time
mpi = ctypes.CDLL(None)
family, order, calls, signal = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3]), sys.argv[4]
named = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
if family == "openmpi":
    world, kind, add = (named("ompi_mpi_" + name) for name in ("comm_world", "int", "op_sum"))
    comm = ctypes.c_void_p()
else:
    world, kind, add, comm = (ctypes.c_int(n) for n in (0x44000000, 0x4C000405, 0x58000003, 0))
mpi.MPI_Init(None, None)
rank, ranks = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(ranks))
mpi.MPI_Comm_split(world, 0, int(order[rank.value]), ctypes.byref(comm))
P = ranks.value
def await_reader(name):
    mpi.MPI_Barrier(world)
    if rank.value == 0:
        print("case", name, flush=True)
        while not os.path.exists(signal + name): time.sleep(0.01)
    mpi.MPI_Barrier(world)
for number, case in enumerate(sys.argv[5:]):
    name, size = case.split(":")
    m = int(size) // 4
    one, all = ((ctypes.c_int * (m * P))() for _ in range(2))
    call = {
        "bcast": lambda: mpi.MPI_Bcast(one, m, kind, P // 2, comm),
        "reduce": lambda: mpi.MPI_Reduce(one, all, m, kind, add, P // 2, comm),
        "allreduce": lambda: mpi.MPI_Allreduce(one, all, m, kind, add, comm),
        "allgather": lambda: mpi.MPI_Allgather(one, m, kind, all, m, kind, comm),
        "alltoall": lambda: mpi.MPI_Alltoall(one, m, kind, all, m, kind, comm),
        "reduce_scatter_block": lambda: mpi.MPI_Reduce_scatter_block(one, all, m, kind, add, comm),
    }[name]
    for _ in range(20): call()
    await_reader(str(number) + "-begins")
    for _ in range(calls): call()
    await_reader(str(number) + "-ends")
mpi.MPI_Finalize()
"""


def least_bytes(collective: str, block_bytes: int, ranks: int) -> tuple[int, int]:
    """Returns the least sum of both directions, and the least of the busier one, with half the ranks on each switch."""
    half = ranks // 2
    one_way = {
        "bcast": block_bytes,
        "reduce": block_bytes,
        "allreduce": block_bytes,
        "allgather": half * block_bytes,
        "reduce_scatter_block": half * block_bytes,
        "alltoall": half * half * block_bytes,
    }[collective]
    return (one_way if collective in ("bcast", "reduce") else 2 * one_way), one_way


class Counters:
    """The counters of the link between a lab's switches."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def payload_bytes(self) -> tuple[int, int]:
        """Returns what has left either switch."""
        found = []
        for name in ("up0a", "up0b"):
            shown = self._lab.execute("switch", ["ip", "-s", "-j", "link", "show", name]).check().stdout
            sent = json.loads(shown)[0]["stats64"]["tx"]
            found.append(sent["bytes"] - HEADER_BYTES * sent["packets"])
        return found[0], found[1]


def measure(args: argparse.Namespace, mpi: Mpi, preload: bool) -> list[tuple[float, float]]:
    """Returns the bytes of a call in each direction, by case."""
    spec = load_cluster(args.cluster)
    order = list(range(spec.nodes * spec.ranks_per_node))
    random.Random(args.seed).shuffle(order)
    read: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory() as folder, Lab(spec) as lab:
        counters = Counters(lab)

        def listen(line: str) -> None:
            if line.startswith("case "):
                read.append(counters.payload_bytes())
                Path(folder, "read" + line.split()[1]).touch()

        cases = [f"{case.split(':')[0]}:{parse_size(case.split(':')[1])}" for case in args.cases]
        argv = [sys.executable, "-I", "-S", "-c", PROGRAM, mpi.family, ",".join(map(str, order)), str(args.calls)]
        env = {"ANTIPHON_VERBOSE": "2" if args.verbose else "0", "ANTIPHON_ADAPT": args.adapt}
        if args.profile:
            env["ANTIPHON_PROFILE"] = str(args.profile.absolute())
        if args.topology:
            env["ANTIPHON_TOPOLOGY"] = args.topology
        objects = [launch.preload_object(mpi.abi), mpi.libmpi] if preload else [mpi.libmpi]
        result = lab.mpirun(mpi, len(order), [*argv, f"{folder}/read", *cases], env=env, preload=objects,
                            on_stdout=listen)  # fmt: skip
        result.check()
        if args.verbose:
            print(result.stderr, file=sys.stderr)
    return [
        ((after[0] - before[0]) / args.calls, (after[1] - before[1]) / args.calls)
        for before, after in zip(read[::2], read[1::2], strict=True)
    ]


def main() -> None:
    """Measures all cases and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi", help="openmpi or mpich")
    parser.add_argument("--cluster", default="paper1-16", help="one with two switches of equal size")
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1, help="of the order of ranks")
    parser.add_argument("--profile", type=Path, metavar="FILE")
    parser.add_argument("--topology", metavar="MAP", help="as of `antiphon run`")
    parser.add_argument("--adapt", default="keep", help="as of `antiphon run`: off leaves out calls that take turns")
    parser.add_argument("--library", action="store_true", help="measure the library alone, too")
    parser.add_argument("--verbose", action="store_true", help="show what was chosen")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("cases", nargs="+", metavar="COLLECTIVE:BYTES")
    args = parser.parse_args()
    mpi = next(mpi for mpi in discover() if mpi.abi == args.mpi and mpi.launcher is not None)
    spec = load_cluster(args.cluster)
    rows = []
    ways = [("antiphon", True)] + ([("library", False)] if args.library else [])
    for name, preload in ways:
        for case, bytes_up in zip(args.cases, measure(args, mpi, preload), strict=True):
            collective, size = case.split(":")
            least, one_way = least_bytes(collective, parse_size(size), spec.nodes * spec.ranks_per_node)
            ratio = sum(bytes_up) / least
            rows.append({"way": name, "case": case, "bytes": bytes_up, "least_bytes": least, "ratio": ratio,
                         "busier_ratio": max(bytes_up) / one_way})  # fmt: skip
            print(f"{name:10} {case:28} {bytes_up[0]:12.0f} {bytes_up[1]:12.0f}  {ratio:6.3f} of the least", flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps({"mpi": args.mpi, "cluster": args.cluster, "calls": args.calls,
                                         "seed": args.seed, "results": rows}) + "\n")  # fmt: skip


if __name__ == "__main__":
    main()
