#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the model expects on large clusters: the library, Antiphon flat and nested, and SMPI on small parts.

    bench/simulators/curves.py compute -o curves.jsonl
    bench/simulators/curves.py simulate -o curves.jsonl
    bench/simulators/curves.py table curves.jsonl

`compute` predicts each collective and size on each cluster, and how one size grows with the nodes; `simulate` lets
SimGrid's SMPI replay the best schedules on parts of 2 to 32 nodes under the same switches, beside the model's time of
the same part. Both write a line for each cell, and leave alone what the file has already. `table` shows gains.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from antiphon import core, model, packed
from antiphon.cluster import bounds, profile
from antiphon.cluster import files as clusters
from antiphon.cluster.spec import ClusterSpec
from antiphon.errors import AntiphonError
from antiphon.output.tables import bytes_text
from antiphon.simulate import smpi
from antiphon.simulate.plans import plan_on

LIBRARY = "openmpi-5.0"
CLUSTERS = tuple(
    f"{rate}gbe-1024x32-{levels}{over}to1" for rate in (25, 100) for levels in ("", "3levels-") for over in (1, 2, 4)
)
#: The size is that of a block where each rank has one for each other; then the longest would not fit into memory.
OF_MESSAGE = ("bcast", "reduce", "allreduce")
OF_BLOCK = ("alltoall", "allgather", "reduce_scatter_block", "scatter", "gather")
SIZES = (65536, 1024, 1 << 20)
LONGEST_BLOCK = 65536
#: Cluster, nodes, ranks a node; then other numbers of ranks.
SHAPES = (
    *((cluster, 1024, 32) for cluster in CLUSTERS),
    ("25gbe-1024x32-2to1", 128, 32),
    ("100gbe-1024x32-2to1", 128, 32),
    ("100gbe-1024x64", 1024, 64),
)
#: So many ranks of a node send to other nodes at a time.
LEADERS = (1, 4, 16)
#: Parts of a cluster that SMPI replays in seconds.
PARTS = ((8, 2), (16, 2))
#: Numbers of nodes of the lines, with 32 ranks each. SMPI replays those of few nodes.
GROWTH_CLUSTERS = ("25gbe-1024x32-3levels-2to1", "100gbe-1024x32-3levels-2to1")
GROWTH_NODES = tuple(2**n for n in range(1, 10))
MOST_REPLAYED_NODES = {"bcast": 32, "reduce": 32, "allreduce": 32, "allgather": 8, "alltoall": 2}
SIMULATED = ("bcast", "reduce", "allreduce", "allgather", "alltoall")
SIMULATED_CLUSTERS = tuple(name for name in CLUSTERS if name.endswith("2to1"))
TIMEOUT_S = 120.0

Row = dict[str, Any]
Cell = tuple[str, str, int, int, int]


def cells() -> Iterator[Cell]:
    """Yields cluster, collective, bytes, nodes and ranks a node; clusters take turns."""
    for size in SIZES:
        for name in (*OF_MESSAGE, *(OF_BLOCK if size <= LONGEST_BLOCK else ())):
            for cluster, nodes, per_node in SHAPES:
                yield cluster, name, size, nodes, per_node
    yield from growth(simulated=False)


def growth(simulated: bool) -> Iterator[Cell]:
    """Yields the cells of the lines that are replayed, or those that are not."""
    for nodes, name, cluster in itertools.product(GROWTH_NODES, SIMULATED, GROWTH_CLUSTERS):
        if (nodes <= MOST_REPLAYED_NODES[name]) is simulated:
            yield cluster, name, 65536, nodes, 32


def parts() -> Iterator[Cell]:
    for (nodes, per_node), name, cluster in itertools.product(PARTS, SIMULATED, SIMULATED_CLUSTERS):
        yield cluster, name, 65536, nodes, per_node
    yield from growth(simulated=True)


def spec_of(cell: Cell) -> ClusterSpec:
    cluster, _, _, nodes, per_node = cell
    spec = clusters.load(cluster).with_ranks(None, per_node)
    return spec if nodes == spec.nodes else spec.thinned(nodes)


def choices_of(collective: str, per_node: int) -> list[str]:
    """Returns all algorithms with usual parameters, and nested ones with each way among nodes and some leaders."""
    found = []
    for algorithm in (one for one in core.algorithms(collective) if not one.many_connections):
        if algorithm.name != "nested":
            found.append(algorithm.name)
            continue
        known = {p.name: p for p in algorithm.parameters}
        outer = [f"outer={value}" for value in range(known["outer"].min, known["outer"].max + 1)]
        lanes = [f",lanes={n}" for n in LEADERS if n <= per_node] if "lanes" in known else [""]
        found += ["nested:" + "".join(parts) for parts in itertools.product(outer, lanes)]
    return found


def predicted(cell: Cell) -> Row:
    """Returns the library's time, the best flat and the best nested way, and the bound."""
    cluster, name, size, nodes, per_node = cell
    spec = spec_of(cell)
    machine = model.ModelledMachine(spec.ranks, per_node, profile.text_of(spec, "typical"), spec.rate_bits_per_s)
    bound = bounds.bound_of(name, size, spec, spec.ranks)
    least_s = bound.seconds if bound else 0.0
    library = model.predict_library(name, [size], machine, LIBRARY)[size]
    row: Row = {"cluster": cluster, "collective": name, "bytes": size, "nodes": nodes, "ranks_per_node": per_node}
    row |= {"library_s": library.seconds and max(library.seconds, least_s), "library": list(library.algorithms)}
    ways = model.predict(name, [size], machine, choices=choices_of(name, per_node)).sizes[size]
    for kind, nests in (("flat", False), ("nested", True)):
        way = next((one for one in ways if (one.algorithm == "nested") is nests), None)
        row |= {f"{kind}_s": max(way.seconds, least_s), f"{kind}": way.choice} if way else {f"{kind}_s": None}
    return row | {"limit_s": least_s or None, "binds": bound.binds if bound else None}


def simulated(cell: Cell, smpirun: Path) -> Row:
    """Returns a part's predictions with SMPI's times of the same schedules."""
    row = predicted(cell)
    spec = spec_of(cell)
    for kind in ("flat", "nested"):
        if row[f"{kind}_s"] is None:
            continue
        try:
            plan = plan_on(spec, row["collective"], row[kind], row["bytes"])
            row[f"{kind}_smpi_s"] = smpi.run(smpirun, plan, spec, spec.ranks_per_node, TIMEOUT_S).seconds
        except (AntiphonError, core.CoreError) as error:
            print(f"{cell}: {error}", file=sys.stderr)
    return row


def key_of(row: Row) -> Cell:
    return row["cluster"], row["collective"], row["bytes"], row["nodes"], row["ranks_per_node"]


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in packed.read_text(path).splitlines()]


def fill(args: argparse.Namespace, wanted: Iterable[Cell], work: Callable[[Cell], Row]) -> None:
    """Computes the cells that the file lacks."""
    known = {key_of(row) for row in read(args.output)} if args.output.exists() else set()
    left = [cell for cell in wanted if cell not in known]
    with args.output.open("a", encoding="utf-8") as file, ProcessPoolExecutor(args.jobs) as pool:
        for count, row in enumerate(pool.map(work, left), 1):
            print(json.dumps(row), file=file, flush=True)
            print(f"\r{count} of {len(left)}", end="", file=sys.stderr)
    print(file=sys.stderr)


def compute(args: argparse.Namespace) -> None:
    fill(args, cells(), predicted)


def simulate(args: argparse.Namespace) -> None:
    found = shutil.which("smpirun")
    if found is None:
        raise SystemExit("smpirun is missing: apt-get install libsimgrid-dev")
    fill(args, parts(), functools.partial(simulated, smpirun=Path(found)))


def gains_text(row: Row | None) -> str:
    """Returns how many times faster than the library the flat and the nested way are."""
    if row is None or row["library_s"] is None:
        return "–"
    own = [row[f"{kind}_s"] for kind in ("flat", "nested")]
    return ", ".join(f"{row['library_s'] / seconds:.2f}" if seconds else "–" for seconds in own)


def table(args: argparse.Namespace) -> None:
    rows = read(args.file)
    known = {key_of(row): row for row in rows}
    for size in sorted(SIZES):
        names = [name for name in (*OF_MESSAGE, *OF_BLOCK) if any((c, name, size, *s) in known for c, *s in SHAPES)]
        print(f"{bytes_text(size)}\n\n| | " + " | ".join(names) + " |\n|---" + "|---:" * len(names) + "|")
        for cluster, nodes, per_node in SHAPES:
            gains = [gains_text(known.get((cluster, name, size, nodes, per_node))) for name in names]
            print(f"| {cluster}, {nodes:,} × {per_node} | " + " | ".join(gains) + " |")
        print()
    ratios: dict[tuple[str, str], list[float]] = {}
    for row, kind in itertools.product(rows, ("flat", "nested")):
        if row.get(f"{kind}_smpi_s"):
            ratios.setdefault((row["collective"], kind), []).append(row[f"{kind}_s"] / row[f"{kind}_smpi_s"])
    print("| part | model over SMPI: median | least | most | cells |\n|---|---:|---:|---:|---:|")
    for (name, kind), found in sorted(ratios.items()):
        print(f"| {name}, {kind} | {statistics.median(found):.2f} | {min(found):.2f} | {max(found):.2f} "
              f"| {len(found)} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True)
    for name, action in (("compute", compute), ("simulate", simulate)):
        one = actions.add_parser(name)
        one.add_argument("-o", "--output", type=Path, required=True)
        one.add_argument("--jobs", type=int, default=1, help="processes at once")
        one.set_defaults(run=action)
    shown = actions.add_parser("table", help="show gains, and the model over SMPI")
    shown.add_argument("file", type=Path)
    shown.set_defaults(run=table)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
