# SPDX-License-Identifier: Apache-2.0
"""Measures mapping methods against each other: `python bench/mapping/run.py --out FILE`.

Writes one JSON line per method and instance: cost relative to block's, cyclic's cost relative to block's, and
processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import instances
import numpy as np
from kahip import Kahip
from machines import Machine
from treematch import TreeMatch
from trees import tree_of

from antiphon import core

#: Most ranks of a method: exchanging all pairs takes minutes beyond this.
MOST_RANKS = {"mpipp": 100}
#: Runs of a method, each with its own seed, from `--seed` on.
SEEDS = {"scotch": 5}


def budget(ranks: int) -> float:
    """Return processor seconds: 10 ms, 100 ms and 1 s for 64, 512 and 4,096 ranks, interpolated between them."""
    return float(0.01 * (ranks / 64) ** (math.log(10) / math.log(8)))


def rows_of(options: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield all results, one after the other."""
    of_trees: dict[str, Kahip | TreeMatch] = {"kahip": Kahip(options.kahip)} if options.kahip else {}
    of_trees |= {"treematch": TreeMatch(options.treematch)} if options.treematch else {}
    generator = instances.generator(options.generator) if options.generator else instances.OWN
    for ranks in options.ranks or generator.machines:
        machines = {
            name: Placed(ranks, make(), folder / f"{ranks}-{name}.json")
            for name, make in generator.machines[ranks].items()
            if options.machines is None or name in options.machines
        }
        for pattern in options.patterns or generator.patterns:
            traffic = instances.Traffic(ranks)
            generator.pattern(pattern)(traffic)
            file = folder / f"{ranks}-{pattern}.traffic"
            traffic.write(file)
            for name, machine in machines.items():
                of = {"ranks": ranks, "pattern": pattern, "machine": name}
                for method in options.methods:
                    if ranks <= MOST_RANKS.get(method, ranks):
                        for seed in range(options.seed, options.seed + (SEEDS.get(method, 1) if options.seeds else 1)):
                            yield {**of, "method": method, "seed": seed, **machine.mapped(file, method, seed, options)}
                for method, tool in of_trees.items() if machine.tree else ():
                    yield {**of, "method": method, **machine.told(file, *tool.place(traffic, machine.tree))}


class Placed:
    """A machine that ranks are placed on."""

    def __init__(self, ranks: int, machine: Machine, path: Path) -> None:
        path.write_text(json.dumps(machine.document))
        self._ranks, self._common = ranks, {"machine_file": str(path), "objective": "messages"}
        self.tree = tree_of(machine)

    def mapped(self, traffic: Path, method: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
        """Map with a method of the core."""
        fields = {"traffic_file": str(traffic), **self._common}
        answer = core.query("map", method=method, seconds=budget(self._ranks) * options.longer, seed=seed, **fields)
        costs = {name: c["messages_s"] for name, c in answer["costs"].items()}
        return _row(costs["chosen"], costs["block"], answer["cpu_seconds"], costs["cyclic"])

    def told(self, traffic: Path, places: np.ndarray, seconds: float) -> dict[str, Any]:
        """Evaluate a mapping that is given as slots of the tree."""
        block, cost = (self._score(traffic, self.tree.slots[p].tolist()) for p in (np.argsort(self.tree.slots), places))
        return _row(cost, block, seconds)

    def _score(self, traffic: Path, slots: list[int]) -> float:
        answer = core.query(
            "score_mapping", slot_of_rank=slots[: self._ranks], links=False, traffic_file=str(traffic), **self._common
        )
        return float(answer["costs"]["messages_s"])


def _row(cost: float, block: float, seconds: float, cyclic: float | None = None) -> dict[str, Any]:
    over = {"cost": cost} if cyclic is None else {"cost": cost, "cyclic": cyclic}
    return {**{k: round(v / block, 8) for k, v in over.items()}, "cpu_seconds": round(seconds, 6)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", help="default: all that there are machines for")
    parser.add_argument("--methods", nargs="+", default=["antiphon", "scotch", "greedy", "mpipp"])
    parser.add_argument("--kahip", type=Path, help="libkahip.so of PyPI's kahip; left out if not given")
    parser.add_argument("--treematch", type=Path, help="libtreematch.so; left out if not given")
    parser.add_argument(
        "--patterns", nargs="+", help="default: all; mesh.7 is the mesh made with seed 7, sparse.7 alike"
    )
    parser.add_argument("--machines", nargs="+", help="default: all")
    parser.add_argument("--generator", type=Path, help="take instances from this Python file (instances.generator)")
    parser.add_argument("--seed", type=int, default=1, help="of the search")
    parser.add_argument("--seeds", action="store_true", help="five of them for Scotch")
    parser.add_argument("--longer", type=float, default=1, help="so many times the usual budget")
    parser.add_argument("--out", type=Path, help="raw results, one JSON object a line; default: standard output")
    return parser.parse_args()


def _write(options: argparse.Namespace, out: TextIO) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for row in rows_of(options, Path(folder)):
            print(json.dumps(row), file=out, flush=True)


def main() -> None:
    """Measure as the command line says."""
    # Every method gets one thread.
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
