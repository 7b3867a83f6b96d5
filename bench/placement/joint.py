# SPDX-License-Identifier: Apache-2.0
"""Times placement and Antiphon's algorithms, together and alone, as `antiphon traffic --joint` finds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from collectives import block, measure_cells, world_ranks
from common import Setting, lines_of

from antiphon.lab import load_cluster
from antiphon.mapping.joint import JointChoice, Optimiser
from antiphon.mpi import launch
from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace

RANKS, WIDTH = 64, 8
#: Steps as the measuring program takes them; the number of a program's rounds does not matter.
PROGRAMS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "allgather of 4 KiB, 64 KiB to the rank 8 further on": (
        {"collective": "allgather", "bytes": 4096},
        {"shift": 8, "bytes": 65536},
    ),
    "broadcast of 16 KiB": ({"collective": "bcast", "bytes": 16384},),
    "broadcasts of 64 KiB in columns, 4 KiB in rows": (
        {"collective": "bcast", "bytes": 65536, "over": "columns", "width": WIDTH},
        {"collective": "bcast", "bytes": 4096, "over": "rows", "width": WIDTH},
    ),
    "allreduce of 32 KiB in rows, 64 KiB to the rank 8 further on": (
        {"collective": "allreduce", "bytes": 32768, "over": "rows", "width": WIDTH},
        {"shift": 8, "bytes": 65536},
    ),
}
STATES = {"as it ran": "start", "algorithms alone": "algorithms", "placement alone": "placement", "both": "both"}


def trace_of(steps: Sequence[Mapping[str, Any]], nodes: Sequence[int], hosts: Sequence[str]) -> Trace:
    """Return one round of the steps as if a run had been recorded."""
    functions = sorted({_function(step) for step in steps})
    header = {"ranks": RANKS, "functions": functions, "program": "steps", "mpi": "Open MPI v5.0.11"}
    header |= {"nodes": list(nodes), "hosts": list(hosts)}
    ranks = []
    for rank in range(RANKS):
        shapes = [_shape(step, rank, number) for number, step in enumerate(steps)]
        calls = [Call(shape, 1000 * i, 500) for i, shape in enumerate(shapes)]
        comms = list(dict.fromkeys(shape.comm for shape in shapes))
        ranks.append(RankTrace(rank, comms, shapes, calls, 0, 1000 * len(steps), 0))
    return Trace(RANKS, tuple(functions), header, ranks)


def _function(step: Mapping[str, Any]) -> str:
    return "MPI_Send" if "shift" in step else f"MPI_{step['collective'].capitalize()}"


def _shape(step: Mapping[str, Any], rank: int, number: int) -> Shape:
    everybody = list(range(RANKS))
    over = step.get("over", "all")
    rows, columns = everybody[rank // WIDTH * WIDTH :][:WIDTH], everybody[rank % WIDTH :: WIDTH]
    comm = Communicator(number + 1, over, tuple({"all": everybody, "rows": rows, "columns": columns}[over]))
    size = step["bytes"]
    if "shift" in step:
        return Shape("MPI_Send", comm, peer=(rank + step["shift"]) % RANKS, tag=0, send_count=size, send_size=1)
    element = 8 if step["collective"] == "allreduce" else 1
    received = {"receive_count": size, "receive_size": 1} if step["collective"] == "allgather" else {}
    root = 0 if step["collective"] == "bcast" else None
    return Shape(_function(step), comm, root=root, send_count=size // element, send_size=element, **received)


def prepare(work: Path, setting: Setting) -> None:
    """Optimise each program, recorded in block and in cyclic order."""
    spec = load_cluster(setting.cluster)
    profile, per_node = setting.profile.read_text(encoding="utf-8"), spec.ranks // spec.nodes
    cells = []
    for name, steps in PROGRAMS.items():
        for recorded, nodes in (("block", block(RANKS, per_node)), ("cyclic", np.arange(RANKS) % spec.nodes)):
            optimiser = Optimiser(trace_of(steps, nodes.tolist(), spec.node_names()), profile)
            outcome = optimiser.run()
            states: dict[str, JointChoice] = {title: getattr(outcome, key) for title, key in STATES.items()}
            ways = [
                {"name": title, "predicted_s": state.seconds, "choices": choices_of(steps, state),
                 "ranks": world_ranks(state.nodes, per_node)}
                for title, state in states.items()
            ]  # fmt: skip
            cells.append({"name": f"{name}; recorded {recorded}", "steps": steps, "ways": ways})
            print(cells[-1]["name"], {w["name"]: f"{1e3 * w['predicted_s']:.1f} ms" for w in ways}, flush=True)
    setting.folder(work).mkdir(parents=True, exist_ok=True)
    plan_file(work, setting).write_text(json.dumps({"cells": cells}), encoding="utf-8")


def choices_of(steps: Sequence[Mapping[str, Any]], state: JointChoice) -> list[str]:
    """Return the algorithm of each step; "" for messages."""
    by_call = {(call.collective, call.bytes): choice for call, choice in state.choices.items()}
    return ["" if "shift" in step else by_call[step["collective"], step["bytes"]] for step in steps]


def plan_file(work: Path, setting: Setting) -> Path:
    """Return the file of cells with the predictions."""
    return setting.folder(work) / "joint.plan.json"


def samples_file(work: Path, setting: Setting) -> Path:
    """Return the file with one line per cell."""
    return setting.folder(work) / "joint.jsonl"


def left(work: Path, setting: Setting) -> list[dict[str, Any]]:
    """Return the cells that have not been measured."""
    file = plan_file(work, setting)
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"] if file.is_file() else []
    done = {row["name"] for row in lines_of(samples_file(work, setting))}
    return [cell for cell in cells if cell["name"] not in done]


def measure(work: Path, setting: Setting, seconds: float) -> None:
    """Measure as many cells as there is time for, under Antiphon."""
    env = launch.rank_environment(setting.mpi, launch.Settings(), {})
    measure_cells(work, setting, left(work, setting), samples_file(work, setting), env, seconds)
