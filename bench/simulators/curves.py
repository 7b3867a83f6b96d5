#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What collectives take on described clusters and on parts of them of the same shape, by the model and by SMPI.

    bench/simulators/curves.py compute --clusters 25gbe-1024x32-3levels-4to1 --nodes 2,8,64,1024 -o curves.jsonl
    bench/simulators/curves.py table curves.jsonl
    bench/simulators/curves.py draw curves.jsonl --cluster 25gbe-1024x32-3levels-4to1 -o curves.svg

`compute` writes a line for each part, collective and size: the libraries' own algorithms, Antiphon's best that serves
ranks one by one (flat) or a node's together (nested), and the limit. Schedules of few ranks are replayed by SimGrid's
SMPI, too, where it is installed. What the file has already stays, so a run can be ended and go on later.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from antiphon import core, model, packed
from antiphon.cluster import bounds, files
from antiphon.cluster.estimate import Estimator, Way
from antiphon.cluster.spec import ClusterSpec
from antiphon.draw import curves as drawing
from antiphon.errors import AntiphonError
from antiphon.output.tables import bytes_text, time_text
from antiphon.simulate import smpi

LIBRARIES = ("openmpi-5.0", "mpich-5")
#: Of these a rank has a block for each other rank: long blocks of 32,768 ranks fill no memory that there is.
OF_BLOCKS = ("allgather", "alltoall", "reduce_scatter_block", "scatter", "gather")
COLLECTIVES = ("allreduce", "bcast", "alltoall", "allgather", "reduce", *OF_BLOCKS[2:], "barrier", "scan")
#: Less is no gain.
CLEARLY = 1.05

Row = dict[str, Any]


def sizes_of(collective: str) -> tuple[int, ...]:
    """Returns the sizes, the most telling first."""
    if collective == "barrier":
        return (0,)
    return (1024, 16384, 64) if collective in OF_BLOCKS else (1 << 20, 65536, 1024)


def key_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("cluster", "nodes", "collective", "bytes"))


def simulated_s(part: ClusterSpec, collective: str, size: int, choice: str, args: argparse.Namespace) -> float | None:
    """Returns SMPI's time of the schedule; nothing with many ranks, or where it takes too long."""
    if args.smpirun is None or part.ranks > args.simulated_ranks:
        return None
    element = model.element_bytes(collective, size)
    case = core.Case(
        collective, choice, part.ranks, size, element_bytes=element, ranks_per_node=part.ranks_per_node
    )  # fmt: skip
    try:
        return smpi.run(args.smpirun, core.build(case), part, part.ranks_per_node, args.timeout).seconds
    except AntiphonError as error:
        print(f"{part.name} {part.nodes} {collective} {size} {choice}: {error}", file=sys.stderr)
        return None


def of_library(estimator: Estimator, collective: str, size: int, library: str, args: argparse.Namespace) -> Row:
    """Returns the time of a library's own algorithm; one of several parts is not replayed."""
    found = model.predict_library(collective, [size], estimator.machine(), library)[size]
    kind, _, choice = found.algorithms[0].partition(":") if len(found.algorithms) == 1 else ("", "", "")
    replayed = simulated_s(estimator.spec, collective, size, choice, args) if kind == collective else None
    return {"algorithms": list(found.algorithms), "model_s": found.seconds, "smpi_s": replayed}


def of_ways(estimator: Estimator, collective: str, size: int, args: argparse.Namespace) -> Row:
    """Returns the best flat and the best nested algorithm."""
    ways = estimator.ways(collective, size, "library")
    row: Row = {}
    for name in ("flat", "nested"):
        own = [way for way in ways if way.choice.startswith("nested") is (name == "nested")]
        best: Way | None = min(own, key=lambda way: way.seconds, default=None)
        row[name] = best and {
            "choice": best.choice,
            "model_s": best.seconds,
            "smpi_s": simulated_s(estimator.spec, collective, size, best.choice, args),
        }
    return row


def cells(args: argparse.Namespace) -> Iterator[tuple[str, int, str, int]]:
    """Yields what is to be computed: the most telling size of everything first."""
    collectives = args.collectives.split(",") if args.collectives else COLLECTIVES
    for place in range(3):
        for cluster in args.clusters.split(","):
            for nodes in map(int, args.nodes.split(",")):
                for collective in collectives:
                    yield from ((cluster, nodes, collective, size) for size in sizes_of(collective)[place : place + 1])


def compute(args: argparse.Namespace) -> None:
    found = shutil.which("smpirun")
    args.smpirun = Path(found) if found else None
    known = {key_of(row) for row in read([args.output])} if args.output.exists() else set()
    estimators: dict[tuple[str, int], Estimator] = {}
    with args.output.open("a", encoding="utf-8") as file:
        for cluster, nodes, collective, size in cells(args):
            if (cluster, nodes, collective, size) in known:
                continue
            spec = files.load(cluster)
            part = spec if nodes == spec.nodes else spec.thinned(nodes)
            one = estimators.setdefault((cluster, nodes), Estimator(part, part.ranks, LIBRARIES[0]))
            bound = bounds.bound_of(collective, size, part, part.ranks)
            row = {
                "cluster": cluster, "nodes": nodes, "ranks": part.ranks, "collective": collective, "bytes": size,
                "limit_s": bound and bound.seconds, "binds": bound and bound.binds,
                "libraries": {name: of_library(one, collective, size, name, args) for name in LIBRARIES},
            }  # fmt: skip
            print(json.dumps(row | of_ways(one, collective, size, args)), file=file, flush=True)


def read(paths: Sequence[Path]) -> list[Row]:
    return [json.loads(line) for path in paths for line in packed.read_text(path).splitlines()]


def best_of(row: Row) -> float | None:
    return min((row[name]["model_s"] for name in ("flat", "nested") if row[name]), default=None)


def gain_text(row: Row, library: str) -> str:
    """Returns how many times as fast Antiphon is; the library stays where that is no gain."""
    own, other = best_of(row), row["libraries"][library]["model_s"]
    if own is None or other is None:
        return "–"
    return f"**{other / own:.2g}×**" if other / own >= CLEARLY else "none"


def table(args: argparse.Namespace) -> None:
    rows = [row for row in read(args.files) if not args.cluster or row["cluster"] == args.cluster]
    for cluster in dict.fromkeys(row["cluster"] for row in rows):
        largest = max(row["nodes"] for row in rows if row["cluster"] == cluster)
        print(f"\n**{cluster}**, {largest} nodes\n")
        print("| | bytes | limit | Open MPI 5 | MPICH 5 | flat | nested | gain | |\n|---|" + "---:|" * 8)
        for row in rows:
            if row["cluster"] == cluster and row["nodes"] == largest:
                times = [row["limit_s"], *(row["libraries"][name]["model_s"] for name in LIBRARIES)]
                times += [row[name] and row[name]["model_s"] for name in ("flat", "nested")]
                size = bytes_text(row["bytes"]) if row["bytes"] else ""
                said = [row["collective"], size, *map(time_text, times), *(gain_text(row, one) for one in LIBRARIES)]
                print(f"| {' | '.join(said)} |")
    print()
    print_agreement(rows)


def print_agreement(rows: Sequence[Row]) -> None:
    """Prints how far the model is from SMPI, and how often both have the same order of a cell's ways."""
    print("| ranks | schedules | model / SMPI: median | 10 % … 90 % | same order |\n|---|" + "---:|" * 4)
    for ranks in sorted({row["ranks"] for row in rows}):
        ratios: list[float] = []
        alike = pairs = 0
        for row in rows:
            ways = [*row["libraries"].values(), row["flat"], row["nested"]]
            both = [(way["model_s"], way["smpi_s"]) for way in ways if way and way["smpi_s"] and way["model_s"]]
            if row["ranks"] != ranks:
                continue
            ratios += [ours / theirs for ours, theirs in both]
            for number, (a, b) in enumerate(both):
                apart = [(c, d) for c, d in both[:number] if max(b, d) > 1.1 * min(b, d)]
                pairs += len(apart)
                alike += sum((a < c) == (b < d) for c, d in apart)
        if len(ratios) > 1:
            tenths = statistics.quantiles(ratios, n=10)
            order = f"{alike} of {pairs}"
            print(f"| {ranks} | {len(ratios)} | {statistics.median(ratios):.2f} "
                  f"| {tenths[0]:.2f} … {tenths[-1]:.2f} | {order} |")  # fmt: skip


def draw(args: argparse.Namespace) -> None:
    rows = [row for row in read([args.file]) if row["cluster"] == args.cluster]
    charts = []
    for name in COLLECTIVES:
        own = sorted((row for row in rows if row["collective"] == name and row["bytes"] == sizes_of(name)[0]),
                     key=lambda row: int(row["ranks"]))  # fmt: skip
        if len(own) < 2:
            continue
        ways = {one: [row["libraries"][one] for row in own] for one in LIBRARIES}
        ways |= {f"Antiphon, {one}": [row[one] for row in own] for one in ("flat", "nested")}
        lines, points = (
            {label: [(row["ranks"], way[key]) for row, way in zip(own, of, strict=True) if way and way[key]]
             for label, of in ways.items()}
            for key in ("model_s", "smpi_s")
        )  # fmt: skip
        title = f"{name}, {bytes_text(own[0]['bytes'])}" if own[0]["bytes"] else name
        charts.append(drawing.CurveChart(title, lines, x_label="ranks", points=points))
    drawing.panels_svg(charts, args.output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True)
    one = actions.add_parser("compute", help="predict, and replay what has few ranks")
    one.add_argument("--clusters", required=True, help="names or files, with commas")
    one.add_argument("--nodes", default="2,8,64,1024", help="parts of so many nodes (default: %(default)s)")
    one.add_argument("--collectives", help="only these, with commas")
    one.add_argument("--simulated-ranks", type=int, default=256, help="most ranks to replay (default: %(default)s)")
    one.add_argument("--timeout", type=float, default=120, help="seconds for each replay")
    one.add_argument("-o", "--output", type=Path, required=True)
    one.set_defaults(run=compute)
    shown = actions.add_parser("table", help="show times, gains, and how far model and SMPI are apart")
    shown.add_argument("files", type=Path, nargs="+")
    shown.add_argument("--cluster", help="only this one")
    shown.set_defaults(run=table)
    drawn = actions.add_parser("draw", help="draw one cluster's lines over ranks")
    drawn.add_argument("file", type=Path)
    drawn.add_argument("--cluster", required=True)
    drawn.add_argument("-o", "--output", type=Path, required=True)
    drawn.set_defaults(run=draw)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
