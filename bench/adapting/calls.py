# SPDX-License-Identifier: Apache-2.0
"""Compares each MPI_Alltoallv of a program with the network's limit: the library's calls, and Antiphon's as it chooses.

  python bench/adapting/calls.py --mpi openmpi,mpich --runs 3 integer_sort W

The program runs on a lab, recorded, by turns with both. A call takes as long as its slowest rank; the limit is that of
its busiest rank's bytes. Shown are medians over runs of the calls' times over the limit. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from antiphon.bench.testbed import program
from antiphon.lab import Lab, load_cluster
from antiphon.model.limits import PAYLOAD_SHARE
from antiphon.mpi import Mpi, by_name, launch
from antiphon.trace import Trace

FUNCTION = "MPI_Alltoallv"
WAYS = {"library": {"ANTIPHON_FORCE": "alltoallv:library"}, "antiphon": {}}


def over_limit(trace: Trace, payload_bytes_per_s: float) -> list[float]:
    """Returns each call's time over its limit. Calls that all ranks make on the world alike are compared."""
    calls = [[call for call in rank.calls if call.function == FUNCTION] for rank in trace.ranks]
    found = []
    for together in zip(*calls, strict=True):
        nodes: dict[tuple[int, int], int] = {}
        for rank, call in zip(trace.ranks, together, strict=True):
            for way, blocks in enumerate((call.shape.send_bytes(), call.shape.receive_bytes())):
                for peer, size in enumerate(blocks or []):
                    if trace.nodes[peer] != trace.nodes[rank.rank]:
                        at = (trace.nodes[rank.rank], way)
                        nodes[at] = nodes.get(at, 0) + size
        took_s = 1e-9 * max(call.duration_ns for call in together)
        found.append(took_s * payload_bytes_per_s / max(nodes.values()))
    return found


def measure(lab: Lab, mpi: Mpi, argv: list[str], env: dict[str, str]) -> list[float]:
    """Runs the program once, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run.trace")
        variables = {**env, "ANTIPHON_TRACE": str(file), "XDG_CACHE_HOME": folder}
        preload = [launch.preload_object(mpi.abi)]
        lab.mpirun(mpi, lab.spec.ranks, argv, env=variables, preload=preload, map_by="slot").check()
        return over_limit(Trace.load(file), lab.spec.rate_bits_per_s * PAYLOAD_SHARE / 8)


def main() -> None:
    """Measures both ways by turns and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--cluster", default="ethernet-16")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("program", help="one of Antiphon's example programs")
    parser.add_argument("arguments", nargs="*")
    args = parser.parse_args()
    samples: dict[str, dict[str, list[list[float]]]] = {}
    for name in args.mpi.split(","):
        mpi, found = by_name(name), samples.setdefault(name, {way: [] for way in WAYS})
        argv = [str(program(f"demo-{args.program}", mpi.abi)), *args.arguments]
        with Lab(load_cluster(args.cluster)) as lab:
            for _ in range(args.runs):
                for way, env in WAYS.items():
                    found[way].append(measure(lab, mpi, argv, env))
        for way, runs in found.items():
            each = [statistics.median(times) for times in zip(*runs, strict=True)]
            print(f"{name} {way:9}", " ".join(f"{value:.2f}" for value in each), flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps({"arguments": {**vars(args), "json": None}, "samples": samples}))


if __name__ == "__main__":
    main()
