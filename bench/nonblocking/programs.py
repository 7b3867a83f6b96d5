# SPDX-License-Identifier: Apache-2.0
"""Times programs that overlap communication with computing on a lab, without Antiphon and with it, by turns.

  python bench/nonblocking/programs.py --cluster ethernet-16 --mpi openmpi --rounds 5 samples.json
  python bench/nonblocking/programs.py --table samples.json…

Each program verifies its result. Each run starts with an empty cache, so that none learns from another. Needs an idle
machine. A file that is there is continued.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon.bench.testbed import program
from antiphon.lab import load_cluster
from antiphon.mpi import Mpi, by_name

LAB = "nonblocking"
LIMIT_S = 90
PROGRAMS = {
    "2-D transform, Ialltoall": "slabs 2048 4 3",
    "pipelined conjugate gradients, Iallreduce": "lines_cg",
    "LU with look-ahead, Ibcast": "lookahead 1024 32",
    "stencil, Ineighbor_alltoallv": "neighbours stencil 8192 20",
    "stencil, Neighbor_alltoallw": "neighbours faces 8192 20",
    "sparse exchange, Ineighbor_alltoallv": "neighbours sparse 8192 20",
}
TIME = re.compile(r": ([\d.]+) (ms|s)\b")
UNITS_S = {"s": 1.0, "ms": 1e-3}
WAYS: dict[str, list[str]] = {"plain": ["--plain"], "antiphon": []}


def antiphon(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs a command of Antiphon's."""
    command = [sys.executable, "-m", "antiphon", *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def run(words: Sequence[str], mpi: Mpi, ranks: int, options: Sequence[str]) -> dict[str, Any]:
    """Runs a program once, with an empty cache."""
    with tempfile.TemporaryDirectory(prefix="antiphon-nonblocking-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        summary = Path(folder, "summary.json")
        more = [] if "--plain" in options else [f"--summary={summary}"]
        done = antiphon("lab", "run", "--name", LAB, "-n", ranks, "--map-by", "slot", "--mpi", mpi.prefix,
                        "--timeout", LIMIT_S, *options, *more, *words)  # fmt: skip
        found = TIME.search(done.stdout)
        used = json.loads(summary.read_text())["collectives"] if summary.is_file() else None
        return {
            "time_s": float(found[1]) * UNITS_S[found[2]] if found else None,
            "verified": "verified" in done.stdout,
            "exit_code": done.returncode,
            "collectives": used,
        }


def measure(title: str, mpi: Mpi, ranks: int, rounds: int) -> dict[str, Any]:
    """Measures a program in both ways, by turns; each round begins with the other one."""
    name, *arguments = PROGRAMS[title].split()
    words = [str(program(f"demo-{name}", mpi.abi)), *arguments]
    samples: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for turn in range(rounds):
        for way in list(WAYS)[:: -1 if turn % 2 else 1]:
            samples[way].append(run(words, mpi, ranks, WAYS[way]))
    return {"title": title, "command": PROGRAMS[title], "samples": samples}


def times(row: Mapping[str, Any], way: str) -> list[float]:
    """Returns the times of the runs that ended well."""
    return [one["time_s"] for one in row["samples"][way] if one["verified"] and one["exit_code"] == 0 and one["time_s"]]


def table(files: Sequence[Path]) -> None:
    """Prints medians and ranges as Markdown."""
    for file in files:
        document = json.loads(file.read_text())
        print(f"\n{document['cluster']}, {document['mpi']}, {document['ranks']} ranks, {document['rounds']} rounds\n")
        print("| program | plain, ms | with Antiphon, ms | |\n|---|---:|---:|---:|")
        for row in document["programs"]:
            found = {way: times(row, way) for way in WAYS}
            wrong = sum(len(row["samples"][way]) - len(found[way]) for way in WAYS)
            if not all(found.values()):
                print(f"| `{row['command']}` | no result | | |")
                continue
            cells = [f"{1e3 * statistics.median(f):.4g} ({1e3 * min(f):.4g} to {1e3 * max(f):.4g})"
                     for f in found.values()]  # fmt: skip
            ratio = statistics.median(found["plain"]) / statistics.median(found["antiphon"])
            print(f"| `{row['command']}` | {' | '.join(cells)} | {ratio:.2f}{f', {wrong} failed' if wrong else ''} |")


def main() -> None:
    """Measures what is missing in the file, or prints tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", default="ethernet-16")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only programs whose command contains this")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("samples", type=Path, nargs="+")
    args = parser.parse_args()
    if args.table:
        return table(args.samples)
    (file,), spec, mpi = args.samples, load_cluster(args.cluster), by_name(args.mpi)
    document = {"cluster": args.cluster, "mpi": mpi.label, "ranks": spec.ranks, "rounds": args.rounds, "programs": []}
    if file.is_file():
        document = json.loads(file.read_text())
    done = {row["title"] for row in document["programs"]}
    antiphon("lab", "up", "--name", LAB, "--cluster", args.cluster)
    try:
        for title, command in PROGRAMS.items():
            if title in done or args.only not in command:
                continue
            document["programs"].append(measure(title, mpi, spec.ranks, args.rounds))
            file.write_text(json.dumps(document) + "\n")
            row = document["programs"][-1]
            print(command, {way: times(row, way) for way in WAYS}, flush=True)
    finally:
        antiphon("lab", "down", "--name", LAB)
    return None


if __name__ == "__main__":
    main()
