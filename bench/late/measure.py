# SPDX-License-Identifier: Apache-2.0
"""What do collectives gain in a loop whose ranks come late in turn?

  for abi in openmpi mpich; do cmake --build build/wheel --target antiphon-late-$abi; done
  python bench/late/measure.py --nodes 8 --rest 3,6 --json FILE gather:8192 gatherv:8192

Each rank rests for a while before each call, as if it computed on a core of its own; with --compute it computes on the
core that it shares with others. Launches on a lab alternate: without Antiphon, with it, and with each choice of
--choice. Shown is a loop's time for one iteration, the median over launches. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, by_name, launch

ROOT = Path(__file__).resolve().parents[2]


def measure(lab: Lab, mpi: Mpi, way: str, words: list[str]) -> dict[str, float]:
    """Launches once, with an empty cache; returns seconds of an iteration by cell."""
    found: dict[str, float] = {}

    def listen(line: str) -> None:
        if line.startswith("{"):
            row = json.loads(line)
            found[row["cell"]] = row["seconds"]

    argv = [str(ROOT / f"build/wheel/lib/antiphon-late-{mpi.abi}"), *words]
    preload = [] if way == "without" else [launch.preload_object(mpi.abi)]
    with tempfile.TemporaryDirectory() as cache:
        env = {"XDG_CACHE_HOME": cache, **({} if way in ("without", "antiphon") else {"ANTIPHON_FORCE": way})}
        lab.mpirun(mpi, lab.spec.ranks, argv, env=env, preload=preload, map_by="slot", on_stdout=listen).check()
    return found


def of_ways(samples: dict[str, list[float]]) -> list[str]:
    """Returns each way's median over launches, and how many times as fast it is as the first."""
    medians = {way: statistics.median(times) for way, times in samples.items()}
    first_s = next(iter(medians.values()))
    return [f"{way} {1e3 * median_s:.2f} ms ({first_s / median_s:.2f})" for way, median_s in medians.items()]


def main() -> None:
    """Measures all ways by turns and prints a line for each library and cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--cluster", default="ethernet-16")
    parser.add_argument("--nodes", type=int, help="so many of its nodes, or more")
    parser.add_argument("--ranks-per-node", type=int)
    parser.add_argument("--link-rate")
    parser.add_argument("--rest", default="3,6", metavar="MS,MS", help="the least and the greatest before a call")
    parser.add_argument("--compute", action="store_true", help="compute instead of resting")
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--choice", action="append", default=[], metavar="CHOICES", help="as --force takes them")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("cells", nargs="+", metavar="COLLECTIVE:BYTES")
    args = parser.parse_args()
    words = ["compute" if args.compute else "rest"]
    words += [*(f"{float(ms) / 1e3:g}" for ms in args.rest.split(",")), str(args.calls), *args.cells]
    spec = load_cluster(args.cluster).with_options(
        nodes=args.nodes, rate=args.link_rate, ranks_per_node=args.ranks_per_node
    )
    ways = ["without", "antiphon", *args.choice]
    samples: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name in args.mpi.split(","):
        mpi = by_name(name)
        found = samples.setdefault(name, {cell: {way: [] for way in ways} for cell in args.cells})
        with Lab(spec) as lab:
            for _ in range(args.launches):
                for way in ways:
                    for cell, seconds in measure(lab, mpi, way, words).items():
                        found[cell][way].append(seconds)
        for cell in args.cells:
            print(f"{name:8} {cell:18}", *of_ways(found[cell]), flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps({"arguments": {**vars(args), "json": None}, "samples": samples}))


if __name__ == "__main__":
    main()
