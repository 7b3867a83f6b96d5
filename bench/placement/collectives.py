# SPDX-License-Identifier: Apache-2.0
"""Collectives one by one, as in paper 2's Figures 8 to 16: all placements alternate in one run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import AGAIN, Setting, append, lines_of

from antiphon.bench.testbed import program
from antiphon.bench.verify import call_for
from antiphon.lab import Lab, load_cluster
from antiphon.mapping import machine
from antiphon.mapping.compute import compute
from antiphon.mapping.scoring import Wishes
from antiphon.traffic import Traffic, libraries
from antiphon.traffic.decompose import Decomposer
from antiphon.traffic.edges import Array
from antiphon.traffic.graph import Made, Part
from antiphon.traffic.libraries import CollectiveCall

#: By number of ranks: collective and bytes (of a block, or of the whole message where there is one).
CASES: dict[int, tuple[tuple[str, int], ...]] = {
    64: (
        ("bcast", 1024), ("bcast", 16384), ("bcast", 65536), ("gather", 1024), ("gather", 8192),
        ("allgather", 256), ("allgather", 4096), ("reduce", 1024), ("reduce", 65536), ("allreduce", 1024),
        ("allreduce", 16384), ("scatter", 256), ("scatter", 8192), ("alltoall", 512), ("alltoall", 2048),
        ("reduce_scatter_block", 1024), ("barrier", 0),
    ),
    33: (
        ("allreduce", 1024), ("allreduce", 16384), ("allreduce", 65536), ("bcast", 16384), ("gather", 8192),
        ("allgather", 256), ("allgather", 4096), ("reduce", 65536),
    ),
}  # fmt: skip
METHODS = {"block": "block", "cyclic": "cyclic", "opp": "mpipp", "antiphon": "antiphon", AGAIN: "block"}
LAUNCH_S = 15.0
CELL_S = 4.0


def plan_file(work: Path, setting: Setting, ranks: int) -> Path:
    """Return the file of cells with the placements to measure them under, and the predictions."""
    return setting.folder(work) / f"collectives-{ranks}.plan.json"


def samples_file(work: Path, setting: Setting, ranks: int) -> Path:
    """Return the file with one line per cell."""
    return setting.folder(work) / f"collectives-{ranks}.jsonl"


def prepare(work: Path, setting: Setting, ranks: int, only: Sequence[str] = ()) -> None:
    """Place the ranks of each collective, or only of the named ones."""
    spec = load_cluster(setting.cluster)
    per_node = spec.ranks // spec.nodes
    decomposer = Decomposer(libraries.load(setting.table))
    cells = []
    for collective, size in CASES[ranks]:
        if only and f"{collective} {size}" not in only:
            continue
        call = call_for(collective, size, 0, ranks)
        where = machine.load(setting.profile, message_bytes=max(1, size), cores_per_node=per_node)
        ways = ways_of(decomposer, call, where)
        cells.append(
            {
                "name": f"{collective} {size}",
                "steps": [{"collective": collective, "bytes": size}],
                "ways": [{**way, "ranks": world_ranks(way["node_of_rank"], per_node)} for way in ways],
            }
        )
        shown = {way["name"]: f"{1e3 * way['predicted_s']:.2f} ms" for way in ways}
        print(setting.name, collective, size, decomposer.decompose(call, block(ranks, per_node)).algorithm, shown)
    plan_file(work, setting, ranks).write_text(json.dumps({"cells": cells}), encoding="utf-8")


def block(ranks: int, per_node: int) -> Array:
    """Return the node of each rank if nodes are filled one after the other."""
    return np.arange(ranks) // per_node


def ways_of(decomposer: Decomposer, call: CollectiveCall, where: machine.Machine) -> list[dict[str, Any]]:
    """Return block, cyclic, OPP, ours, and block again: what the same placement differs from itself is noise."""
    per_node = where.nodes[0].slots

    def decompose(nodes: Sequence[int] | None) -> Traffic:
        places = block(call.ranks, per_node) if nodes is None else np.array(nodes)
        done = decomposer.decompose(call, places)
        made = [Made(call, done.schedule, tuple(range(call.ranks)), 1)] if done.schedule else []
        part = Part(call.collective, done.edges, done.uniform, done.algorithm, calls=1, made=made)
        return Traffic(call.ranks, [part], {"nodes": places.tolist(), "hosts": [n.name for n in where.nodes]})

    ways = []
    for name, method in METHODS.items():
        result = compute(decompose, where, Wishes(method))
        nodes = list(result.placement.node_of_rank)
        costs = {"predicted_s": result.total("chosen"), "costs": result.costs["chosen"]}
        ways.append({"name": name, "node_of_rank": nodes, **costs})
    return ways


def world_ranks(node_of_rank: Sequence[int], per_node: int) -> list[int]:
    """Return the processes of a job in block order that are on these nodes, each taken once."""
    taken: dict[int, int] = {}
    found = []
    for node in node_of_rank:
        at = taken.get(node, 0)
        taken[node] = at + 1
        found.append(node * per_node + at)
    return found


def left(work: Path, setting: Setting, ranks: int) -> list[dict[str, Any]]:
    """Return the cells that have not been measured."""
    file = plan_file(work, setting, ranks)
    if not file.is_file():
        return []
    done = {row["name"] for row in lines_of(samples_file(work, setting, ranks))}
    return [cell for cell in json.loads(file.read_text(encoding="utf-8"))["cells"] if cell["name"] not in done]


def measure(work: Path, setting: Setting, ranks: int, seconds: float, how: Mapping[str, Any] | None = None) -> None:
    """Measure as many cells as there is time for."""
    cells, results = left(work, setting, ranks), samples_file(work, setting, ranks)
    measure_cells(work, setting, cells, results, setting.rank_env, seconds, how)


def measure_cells(
    work: Path,
    setting: Setting,
    cells: Sequence[Mapping[str, Any]],
    results: Path,
    env: Mapping[str, str],
    seconds: float,
    how: Mapping[str, Any] | None = None,
) -> None:
    """Run the measuring program (`how`: fields of its plan) and keep each cell's result as it comes."""
    if not cells or seconds < LAUNCH_S + CELL_S:
        return
    began, mpi, sliced = time.monotonic(), setting.mpi, setting.folder(work) / "slice.json"
    plan = {"budget_s": CELL_S, "deadline_s": seconds - LAUNCH_S, "cells": cells, **(how or {})}
    sliced.write_text(json.dumps(plan), encoding="utf-8")

    def keep(line: str) -> None:
        if line.startswith("{"):
            append(results, json.loads(line))
            print(f"{time.monotonic() - began:.0f} s", setting.name, json.loads(line)["name"], flush=True)

    with Lab(load_cluster(setting.cluster)) as lab:
        argv = [str(program("placements", mpi.abi)), str(sliced)]
        lab.mpirun(mpi, lab.spec.ranks, argv, env=env, map_by="slot", on_stdout=keep, timeout_s=seconds).check()
