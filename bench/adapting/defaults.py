# SPDX-License-Identifier: Apache-2.0
"""Compares Antiphon's defaults with the library: ten collectives, several sizes, on clusters of many shapes.

  python bench/adapting/defaults.py --mpi openmpi,mpich --budget 0.5 16x1 16x4 FOLDER
  python bench/adapting/defaults.py --table FOLDER/*.json.gz

Nothing is known at first: no profile, an empty cache. FOLDER gets one file with all samples for each cluster and
library. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

COLLECTIVES = ["barrier", "bcast", "scatter", "gather", "allgather", "alltoall", "alltoallv"]
COLLECTIVES += ["reduce", "allreduce", "reduce_scatter_block"]
SIZES = "8,1k,8k,64k,256k,1m"
LAB = "defaults"
#: Clusters that are more than a shape: what `antiphon lab up` makes, and more options of `antiphon bench`.
CLUSTERS: dict[str, tuple[str, str]] = {
    "16x1": ("--cluster ethernet-16", ""),
    "16x4": ("--cluster paper2-16x4", ""),
    "16x4-dealt": ("--cluster paper2-16x4", "--map-by node"),
    "33-on-16": ("--nodes 16 --ranks-per-node 3", "-n 33"),
    "two-racks": ("--cluster two-racks-16x4", ""),
    "8x2-1gbit": ("--cluster gigabit-8 --ranks-per-node 2", ""),
    "16x1-hidden": ("--cluster ethernet-16 --hide-rate", ""),
}
LOW = 0.97


def lab_of(name: str) -> tuple[str, str]:
    """Returns the options for a cluster of that name, or of a shape like 6x3 or 3x5-1gbit: nodes x ranks, links."""
    if name in CLUSTERS:
        return CLUSTERS[name]
    shape = re.fullmatch(r"(\d+)x(\d+)(?:-(\d+[mg]bit))?", name)
    if not shape:
        raise SystemExit(f"error: no cluster and no shape: {name}")
    nodes, ranks, rate = shape.groups(default="100mbit")
    return f"--nodes {nodes} --ranks-per-node {ranks} --link-rate {rate}", ""


def antiphon(*words: object) -> None:
    """Runs a command of Antiphon's; its progress is shown."""
    command = [sys.executable, "-m", "antiphon", *(str(word) for word in words)]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL).returncode:
        raise SystemExit(f"failed: antiphon {' '.join(command[3:])}")


def measure(name: str, mpi: str, sizes: str, budget_s: float, file: Path) -> None:
    """Measures one cluster with one library."""
    cluster, options = lab_of(name)
    antiphon("lab", "up", "--name", LAB, *cluster.split())
    try:
        with tempfile.TemporaryDirectory(prefix="antiphon-defaults-") as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            results = Path(folder, "results.json")
            antiphon("bench", *COLLECTIVES, "--bytes", sizes, "--budget", budget_s, "--lab", LAB, "--mpi", mpi,
                     *options.split(), "--json", results)  # fmt: skip
            file.write_bytes(gzip.compress(results.read_bytes(), mtime=0))
    finally:
        antiphon("lab", "down", "--name", LAB)


def ratios(document: Mapping[str, Any]) -> Iterator[tuple[str, int, float, str]]:
    """Yields collective, bytes, the library's time over Antiphon's, and what Antiphon chose last."""
    cells: dict[tuple[str, int], dict[str, Any]] = {}
    for row in document["results"]:
        cells.setdefault((row["collective"], row["bytes"]), {})[row["contender"]] = row
    for (collective, size), cell in cells.items():
        if {"library", "antiphon"} <= cell.keys():
            ratio = cell["library"]["median_s"] / cell["antiphon"]["median_s"]
            yield collective, size, ratio, cell["antiphon"]["chosen"]


def table(files: Sequence[Path]) -> None:
    """Prints the figures as Markdown: a table for each file, then what is below the bound."""
    for file in files:
        found = list(ratios(json.loads(gzip.decompress(file.read_bytes()))))
        sizes = sorted({size for _, size, _, _ in found})
        print(f"\n{file.name}: geometric mean {statistics.geometric_mean(ratio for _, _, ratio, _ in found):.2f}\n")
        print("| collective | " + " | ".join(str(size) for size in sizes) + " |\n|---|" + "---:|" * len(sizes))
        for collective in COLLECTIVES:
            cells = {size: f"{ratio:.2f}{'' if chosen != 'library' else ' ='}"
                     for name, size, ratio, chosen in found if name == collective}  # fmt: skip
            print(f"| {collective} | " + " | ".join(cells.get(size, "") for size in sizes) + " |")
        for collective, size, ratio, chosen in found:
            if ratio < LOW:
                print(f"below {LOW}: {collective} {size} {ratio:.2f} {chosen}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--bytes", default=SIZES)
    parser.add_argument("--budget", type=float, default=0.5, help="as of `antiphon bench`")
    parser.add_argument("--table", action="store_true")
    parser.add_argument(
        "what",
        nargs="+",
        help=f"of {', '.join(CLUSTERS)}, or shapes like 3x5-1gbit, then the folder; with --table: files",
    )
    args = parser.parse_args()
    if args.table:
        return table([Path(file) for file in args.what])
    *names, folder = args.what
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names:
        for mpi in args.mpi.split(","):
            measure(name, mpi, args.bytes, args.budget, Path(folder) / f"{name}-{mpi}.json.gz")
    return None


if __name__ == "__main__":
    main()
