# SPDX-License-Identifier: Apache-2.0
"""Makes a page of each kind of report, of documents that do not change: for what a browser shows of them."""

from __future__ import annotations

import json
from pathlib import Path

from antiphon import report
from antiphon.cluster import files as clusters
from antiphon.cluster.bounds import Bound
from antiphon.cluster.estimate import Estimate, Range, Way
from antiphon.report import cluster_page, html
from antiphon.trace import AS_SCHEDULE, Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode

DATA = Path(__file__).parent.parent / "data"


def trace_of(path: Path, ranks: int = 40) -> Path:
    """Writes the trace of a run with two collectives and messages, of more ranks than lanes."""
    world = Communicator(1, "MPI_COMM_WORLD", tuple(range(ranks)))
    shapes = [
        Shape("MPI_Alltoall", world, send_count=64, send_size=8, receive_count=64, receive_size=8, flags=AS_SCHEDULE),
        Shape("MPI_Allreduce", world, send_count=1, send_size=8),
        Shape("MPI_Isend", world, peer=0, tag=1, send_count=10, send_size=8),
    ]
    traces = []
    for r in range(ranks):
        calls = [Call(shapes[i % 3], 10_000_000 * i + 100_000 * r, 7_000_000 - 90_000 * r) for i in range(30)]
        traces.append(RankTrace(r, [world], shapes, calls, 10**18, 310_000_000, 0))
    names = ("MPI_Alltoall", "MPI_Allreduce", "MPI_Isend")
    header = {
        "ranks": ranks,
        "functions": list(names),
        "nodes": [r // 4 for r in range(ranks)],
        "program": "/bin/solver",
    }
    path.write_bytes(encode(Trace(ranks, names, header, traces)))
    return path


def summary_of(path: Path, ranks: int = 40) -> Path:
    """Writes the summary of the same run."""
    row = {"least_bytes": 512, "most_bytes": 512, "calls": 10, "rank_calls": 10 * ranks, "bytes": 1 << 20,
           "time_s": 0.06, "max_time_s": 0.07, "share": 0.2, "waiting_s": 0.05, "moving_s": 0.01, "compared_calls": 80,
           "reason": None, "least_ranks": ranks, "most_ranks": ranks}  # fmt: skip
    rows = [{**row, "collective": "alltoall", "algorithm": "rotated:piece_bytes=16384,window=2"},
            {**row, "collective": "allreduce", "algorithm": "library", "reason": "short: latency decides, and the "
             "library's trees are good at that"}]  # fmt: skip
    facts = [{"name": "link", "value": "100 Mb/s", "source": "measured at the start", "text": "100 Mb/s (measured)"}]
    tried = {"collective": "alltoall", "ranks": ranks, "nodes": 10, "least_bytes": 257, "most_bytes": 512, "calls": 10,
             "in_use": "rotated", "in_use_s": 0.002, "tried": "library", "tried_s": 0.004, "pairs": 24, "decided": True,
             "lost": 0.01}  # fmt: skip
    about = {"mpi": "MPICH 5.0.2", "program": "/bin/solver", "started": "2026-01-31T12:00:00Z", "run_s": 0.31}
    document = {
        "version": 2,
        "ranks": ranks,
        "nodes": 10,
        **about,
        "network": {"link_bits_per_s": 100_000_000},
        "collectives": rows,
        "facts": facts,
        "tried": [tried],
    }
    path.write_text(json.dumps(document))
    return path


def bench_of(path: Path) -> Path:
    row = {"collective": "bcast", "ranks": 4, "nodes": 4, "mpi": "MPICH 5", "transport": "ofi", "mode": "sync"}
    rows = [{**row, "bytes": 4**i, "contender": c, "median_s": 1e-5 * 3**i, "limit_s": 1e-6 * 4**i, "samples": [1e-3]}
            for i in range(11) for c in ("library", "chain", "multicast")]  # fmt: skip
    path.write_text(json.dumps({"results": rows}))
    return path


def tuned_of(path: Path) -> Path:
    """Writes a profile with decisions, and what they were taken from."""
    profile = json.loads((DATA / "gigabit-8.openmpi.json").read_text())
    rule = {"collective": "bcast", "bytes": [4096, 1 << 20], "use": "chain", "parameters": {"segment_bytes": 4096},
            "why": "measured: 2.9 times the library"}  # fmt: skip
    cells = [{"collective": "bcast", "bytes": 4**i, "ranks": 8, "mode": "sync", "contender": name,
              "median_s": 1e-5 * 3**i * (1 if name == "library" else 0.4)}
             for i in range(6, 11) for name in ("library", "antiphon:chain:segment_bytes=4096")]  # fmt: skip
    profile["decisions"] = {"version": 1, "rules": [rule]}
    profile["measurements"]["tune"] = [{"library": "Open MPI 5.0.11", "ranks": 8, "purpose": "sync", "cells": cells}]
    path.write_text(json.dumps(profile))
    return path


def estimates(ranks: int) -> list[Estimate]:
    """Returns estimates that no model made."""
    found = []
    for shift in range(10, 23, 2):
        limit_s = (1 << shift) / 1e9 + 2e-5
        library, own = (Range(limit_s * a, limit_s * b, limit_s * c) for a, b, c in ((2, 3, 4), (1.1, 1.3, 1.6)))
        found.append(Estimate("bcast", 1 << shift, ranks, library, ("binomial",), "chain", "chain:window=4", own,
                              Bound(limit_s, "wire"), Way("chain", own.typical_s)))  # fmt: skip
    return found


def make(folder: Path) -> dict[str, str]:
    """Returns a page of each kind."""
    trace = trace_of(folder / "solver.trace")
    machine = DATA / "two-switches.openmpi.json"
    bench = bench_of(folder / "bench.json")
    cluster = clusters.load("10gbe-12")
    made = {
        "run": report.page_of(summary_of(folder / "run.json"), trace=trace),
        "traffic": report.page_of(trace, machine),
        "placement": report.page_of(trace_of(folder / "grid.trace", 16), None, DATA / "grid.plan"),
        "profile": report.page_of(machine),
        "tuned": report.page_of(tuned_of(folder / "tuned.json")),
        "bench": report.page_of(bench),
        "plan": report.page_of(DATA / "grid.plan"),
        "cluster": cluster_page.page(cluster, "Open MPI 5", estimates(12)[::3], [*estimates(12), *estimates(3)], {}),
    }
    return {name: html.render(page) for name, page in made.items()}
