# SPDX-License-Identifier: Apache-2.0
"""Measures mapping methods against each other: `python bench/mapping/run.py --out docs/measurements/mapping.jsonl`.

One line of JSON a method and instance: cost over block's, cyclic's cost over block's, processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import instances
from kahip import Kahip
from treematch import TreeMatch

from antiphon import core

#: The budget, by number of ranks.
SECONDS = {64: 0.01, 96: 0.015, 512: 0.1, 600: 0.1, 4096: 1.0, 65536: 60.0}
#: Exchanging all pairs takes minutes beyond.
MOST_RANKS = {"mpipp": 96}
#: Machines as trees with equal nodes: cores that are alike, branches above from below, costs against those within.
TREES = {
    (64, "flat"): (2, [2, 16], [2.1, 6.3]), (64, "racks"): (4, [4, 4], [13.7, 23]),
    (96, "flat"): (6, [2, 8], [2.1, 6.3]), (96, "racks"): (4, [6, 4], [13.7, 23]),
    (512, "flat"): (32, [2, 8], [2.1, 6.3]), (512, "racks"): (16, [4, 8], [13.7, 23]),
    (600, "flat"): (12, [2, 25], [2.1, 6.3]), (600, "racks"): (20, [5, 6], [13.7, 23]),
    (64, "fat"): (4, [4, 4], [1.4, 10.2]), (512, "fat"): (16, [4, 8], [1.4, 10.2]),
    (4096, "flat"): (32, [2, 64], [2.1, 6.3]), (4096, "fat"): (16, [4, 64], [1.4, 10.2]),
    (4096, "racks"): (64, [8, 8], [13.7, 23]),
}  # fmt: skip


def rows_of(options: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """All results, one after the other."""
    of_trees = {"kahip": Kahip(options.kahip)} if options.kahip else {}
    of_trees |= {"treematch": TreeMatch(options.treematch)} if options.treematch else {}
    patterns = instances.generated(options.generator) if options.generator else {}
    for ranks in options.ranks:
        machines = {
            name: _written(folder / f"{ranks}-{name}.json", make())
            for name, make in instances.MACHINES[ranks].items()
            if options.machines is None or name in options.machines
        }
        for pattern in options.patterns or patterns or instances.PATTERNS:
            traffic = instances.Traffic(ranks)
            (patterns[pattern] if patterns else instances.pattern_named(pattern))(traffic)
            file = folder / f"{ranks}-{pattern}.traffic"
            traffic.write(file)
            for machine, document in machines.items():
                for method in options.methods:
                    if ranks <= MOST_RANKS.get(method, ranks):
                        yield from _placed(ranks, pattern, machine, file, document, method, options)
                for name, tool in of_trees.items() if (ranks, machine) in TREES else ():
                    slots, seconds = tool.place(traffic, *TREES[ranks, machine])
                    yield {
                        **_scored(ranks, file, document, slots), "pattern": pattern, "machine": machine, "method": name,
                        "cpu_seconds": round(seconds, 6),
                    }  # fmt: skip


def _written(path: Path, machine: dict[str, Any]) -> Path:
    path.write_text(json.dumps(machine))
    return path


def _placed(
    ranks: int, pattern: str, machine: str, file: Path, document: Path, method: str, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    fields = {"traffic_file": str(file), "machine_file": str(document), "objective": "messages"}
    seconds = SECONDS[ranks] * options.longer
    answer = core.query("map", method=method, seconds=seconds, seed=options.seed, **fields)
    costs = {name: c["messages_s"] for name, c in answer["costs"].items()}
    yield {
        "ranks": ranks, "pattern": pattern, "machine": machine, "method": method,
        "cost": costs["chosen"] / costs["block"], "cyclic": costs["cyclic"] / costs["block"],
        "block_s": costs["block"], "cpu_seconds": round(answer["cpu_seconds"], 6), "seed": options.seed,
    }  # fmt: skip


def _scored(ranks: int, file: Path, document: Path, slots: list[int]) -> dict[str, Any]:
    fields = {"traffic_file": str(file), "machine_file": str(document), "objective": "messages"}
    found = core.query("score_mapping", slot_of_rank=slots, links=False, **fields)["costs"]["messages_s"]
    block = core.query("score_mapping", slot_of_rank=list(range(ranks)), links=False, **fields)["costs"]["messages_s"]
    return {"ranks": ranks, "cost": found / block, "block_s": block}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--ranks", type=int, nargs="+", default=sorted(instances.MACHINES), choices=sorted(instances.MACHINES)
    )
    parser.add_argument("--methods", nargs="+", default=["antiphon", "scotch", "greedy", "mpipp"])
    parser.add_argument("--kahip", type=Path, help="libkahip.so of PyPI's kahip; left out if not given")
    parser.add_argument("--treematch", type=Path, help="libtreematch.so; left out if not given")
    parser.add_argument(
        "--patterns", nargs="+", help="default: all; mesh.7 is the mesh made with seed 7, sparse.7 alike"
    )
    parser.add_argument("--machines", nargs="+", help="default: all")
    parser.add_argument("--generator", type=Path, help="take patterns from this Python file (instances.generated)")
    parser.add_argument("--seed", type=int, default=1, help="of the search")
    parser.add_argument("--longer", type=float, default=1, help="so many times the usual budget")
    parser.add_argument("--out", type=Path, help="raw results, one JSON object a line; default: standard output")
    return parser.parse_args()


def _write(options: argparse.Namespace, out: TextIO) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for row in rows_of(options, Path(folder)):
            print(json.dumps(row), file=out, flush=True)


def main() -> None:
    """Entry."""
    # Everyone gets one thread.
    os.environ["SCOTCH_PTHREAD_NUMBER"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    options = _options()
    if options.out is None:
        _write(options, sys.stdout)
        return
    with options.out.open("a") as out:
        _write(options, out)


if __name__ == "__main__":
    main()
