#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is a preload object of another build as fast?

  python bench/builds/compare.py OLD NEW --mpi openmpi,mpich --rounds 4 --json FILE

OLD and NEW are directories of preload objects and programs, as ANTIPHON_LIB_DIR takes them. By turns, with each: what a
call costs that is passed on; collectives of short and long blocks on an emulated cluster; and MPI_Init there. Shown are
medians over rounds, and the new build's time by the old one's. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

COLLECTIVES = ("bcast", "allreduce", "alltoall", "allgather", "barrier")
#: Seconds by what was measured and the directory that it was measured with.
Samples = dict[str, dict[str, list[float]]]


def antiphon(folder: Path, *words: str) -> dict[str, Any]:
    """Returns what a command with objects of a directory writes as JSON."""
    env = {**os.environ, "ANTIPHON_LIB_DIR": str(folder)}
    command = [sys.executable, "-m", "antiphon", *words, "--json", "-"]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def passed_on(folder: Path, mpi: str) -> dict[str, float]:
    """Returns what calls cost, on one rank, that are left to the library."""
    rows = antiphon(folder, "bench", "--overhead", "--mpi", mpi)["overhead"]
    return {f"passed on: {row['collective']}": row["added_ns"] * 1e-9 for row in rows}


def in_lab(folder: Path, mpi: str, budget_s: float) -> dict[str, float]:
    """Returns the times of collectives as schedules, on sixteen nodes."""
    words = ["bench", *COLLECTIVES, "--lab", "--mpi", mpi, "--bytes", "8,16k", "--modes", "sync,throughput"]
    words += ["--against", "nothing", "--budget", str(budget_s)]
    rows = antiphon(folder, *words)["results"]
    return {f"{row['collective']} {row['bytes']} {row['mode']}": row["median_s"] for row in rows}


def starting(folder: Path, mpi: str) -> dict[str, float]:
    """Returns the time of MPI_Init on nodes that are known."""
    script = Path(__file__).parents[1] / "startup" / "init.py"
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        command = [sys.executable, str(script), "--mpi", mpi, "--launches", "2", "--json", file.name]
        env = {**os.environ, "ANTIPHON_LIB_DIR": str(folder)}
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        known = json.load(file)["samples"][mpi]["known nodes"]
    return {"MPI_Init": min(one["init_s"] for one in known)}


def show(mpi: str, samples: Samples, old: str, new: str) -> None:
    """Prints a line for each thing that was measured, and the mean of all in the lab."""
    ratios = []
    for what, found in samples.items():
        before, after = (statistics.median(found[name]) for name in (old, new))
        each = [b / a for a, b in zip(found[old], found[new], strict=True) if a > 0]
        ratio = statistics.median(each)
        if not what.startswith("passed on"):
            ratios.append(ratio)
        spread = f"{min(each):.3f} to {max(each):.3f}"
        print(f"{mpi:8} {what:32} {1e6 * before:11.3f} {1e6 * after:11.3f} µs  {ratio:6.3f} ({spread})", flush=True)
    print(f"{mpi:8} {'all but passed on':32} {'':25}  {statistics.geometric_mean(ratios):6.3f}", flush=True)


def main() -> None:
    """Measures both builds by turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument(
        "--budget", type=float, default=0.5, metavar="S", help="for a collective at a size (default: 0.5)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    all_samples: dict[str, Samples] = {}
    for mpi in args.mpi.split(","):
        samples: Samples = defaultdict(lambda: defaultdict(list))
        for turn in range(args.rounds):
            for folder in (args.old, args.new) if turn % 2 == 0 else (args.new, args.old):
                for found in (passed_on(folder, mpi), starting(folder, mpi), in_lab(folder, mpi, args.budget)):
                    for what, seconds in found.items():
                        samples[what][folder.name].append(seconds)
        show(mpi, samples, args.old.name, args.new.name)
        all_samples[mpi] = samples
    if args.json is not None:
        args.json.write_text(json.dumps({"old": args.old.name, "new": args.new.name, "seconds": all_samples}))


if __name__ == "__main__":
    main()
