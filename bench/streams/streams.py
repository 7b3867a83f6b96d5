#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times streams of MPI_Alltoallv calls in a lab: counts that are equal, nearly equal, grow, take turns or change.

  streams.py --mpi openmpi,mpich --rounds 5 -o streams.jsonl

Each way (the library, Antiphon, rotated phases) has a new communicator in each round, and they take turns in one run.
Keeps the time of the slowest rank in every call; the limit is that of the busiest rank's link (where nodes have
several ranks, it is lower than the node's). Needs an mpicc of that library.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from antiphon.lab import Lab, load_cluster
from antiphon.model.limits import PAYLOAD_SHARE
from antiphon.mpi import Mpi, by_name, launch

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "mpi" / "programs" / "streams.c"
#: From this call on, what nearly repeats must be known.
SETTLED = 3
TIMEOUT_S = 900
STREAMS = (
    "even:equal", "even:key", "even:little", "even:growing", "even:new", "even:turns", "even:3", "even:10", "even:100",
    "uneven:equal", "uneven:key", "uneven:little", "skewed:10",
)  # fmt: skip

Row = dict[str, Any]


def build(mpi: Mpi, folder: Path) -> Path:
    """Builds the program, which checks every byte and that all ranks go the same way."""
    mpicc = shutil.which("mpicc", path=str(mpi.launcher.parent))
    if mpicc is None:
        raise SystemExit(f"{mpi.label} has no mpicc")
    program = folder / "streams"
    subprocess.run([mpicc, "-O2", f"-I{ROOT / 'include'}", "-o", program, PROGRAM, "-ldl"], check=True)
    return program


def measure(args: argparse.Namespace, mpi: Mpi, program: Path, stream: str) -> list[Row]:
    """Runs one stream in a new lab."""
    spec = load_cluster(args.cluster)
    kind = stream.partition(":")[2]
    calls = max(args.calls, int(kind) + 10 if kind.isdigit() else 0)
    argv = [program, str(args.bytes), str(calls), str(args.rounds), args.ways, stream]
    with Lab(spec) as lab:
        preload = [launch.preload_object(mpi.abi)]
        said = (
            lab.mpirun(mpi, spec.ranks, argv, preload=preload, timeout_s=TIMEOUT_S, map_by=args.map_by).check().stdout
        )
    facts = {"mpi": mpi.label, "cluster": args.cluster, "map_by": args.map_by, "ranks": spec.ranks, "bytes": args.bytes}
    link_bytes_per_s = spec.rate_bits_per_s * PAYLOAD_SHARE / 8
    rows = [{**facts, **json.loads(line)} for line in said.splitlines() if line.startswith("{")]
    for row in rows:
        row["limit_s"] = [round(b / link_bytes_per_s, 6) for b in row.pop("limit_bytes")]
    return rows


def show(rows: Iterable[Row]) -> None:
    """Prints, for each stream and way, times over the limit from the third call on: median, worst call, and the
    worst call over the library's median there.
    """
    by_call: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        times = [s / limit for s, limit in zip(row["seconds"], row["limit_s"], strict=True)]
        by_call[row["stream"]][row["way"]].append(times)
    for stream, ways in by_call.items():
        medians = {way: [median(call) for call in zip(*rounds, strict=True)] for way, rounds in ways.items()}
        for way, calls in medians.items():
            settled = calls[SETTLED - 1 :]
            text = f"{stream:15} {way:10} median {median(settled):5.2f}  worst {max(settled):5.2f}"
            if way != "library" and "library" in medians:
                shares = [own / other for own, other in zip(calls, medians["library"], strict=True)]
                worst = max(range(len(shares)), key=shares.__getitem__)
                text += (
                    f"  of the library's: median {median(shares):4.2f}, worst {shares[worst]:4.2f} in call {worst + 1}"
                )
            print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi,mpich", help="the libraries (default: openmpi,mpich)")
    parser.add_argument("--cluster", default="ethernet-16", help="the lab's cluster (default: ethernet-16)")
    parser.add_argument("--bytes", type=int, default=16384, help="the mean message (default: 16384, as in NAS IS W)")
    parser.add_argument("--calls", type=int, default=24, help="calls of a stream (default: 24)")
    parser.add_argument("--rounds", type=int, default=5, help="streams of each way (default: 5)")
    parser.add_argument("--ways", default="library,antiphon,rotated", help="default: library,antiphon,rotated")
    parser.add_argument(
        "--map-by", choices=("node", "slot"), default="slot", help="node deals ranks out (default: slot)"
    )
    parser.add_argument("--streams", default=",".join(STREAMS), help=f"default: {','.join(STREAMS)}")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file to append a line to for each round")
    args = parser.parse_args()
    for name in args.mpi.split(","):
        mpi = by_name(name)
        print(f"{mpi.label}, {args.cluster}, {args.bytes} bytes; times the limit from call {SETTLED} on", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            program = build(mpi, Path(folder))
            for stream in args.streams.split(","):
                rows = measure(args, mpi, program, stream)
                with args.output.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in rows)
                show(rows)


if __name__ == "__main__":
    main()
