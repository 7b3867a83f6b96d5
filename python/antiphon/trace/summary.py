# SPDX-License-Identifier: Apache-2.0
"""The summary of a trace as a table: calls, bytes and time of each function."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.output import tables
from antiphon.trace.calls import Call, Communicator, RankTrace, Shape
from antiphon.trace.file import Trace


def sent_bytes(shape: Shape) -> int:
    """Returns the bytes that the rank sends or, where it sends none, receives."""
    for blocks in (shape.send_bytes(), shape.receive_bytes()):
        if blocks is not None:
            return sum(blocks)
    for count, size in ((shape.send_count, shape.send_size), (shape.receive_count, shape.receive_size)):
        if count is not None and size is not None:
            return count * size
    return 0


def summarise(path: Path) -> dict[str, Any]:
    """Returns the trace as data for printing."""
    trace = Trace.load(path)
    begun = [r.calls[0].start_ns for r in trace.ranks if r.calls]
    ends = [r.ended_ns if r.ended_ns is not None else _last_ns(r) for r in trace.ranks]
    return {
        "file": str(path),
        "program": trace.header.get("program", ""),
        "mpi": " ".join(str(trace.header.get("mpi", "")).split()),
        "ranks": trace.size,
        "ranks_recorded": len(trace.ranks),
        "nodes": len(set(trace.nodes)),
        "switches": len(set(trace.switch_of_node)) if trace.switch_of_node else None,
        "complete": trace.complete,
        "calls": sum(len(r.calls) for r in trace.ranks),
        "dropped": sum(r.dropped for r in trace.ranks),
        "duration_s": (max(ends) if ends else 0) / 1e9,
        "first_call_s": (min(begun) if begun else 0) / 1e9,
        "functions": functions(trace),
        "communicators": _communicators(trace),
    }


def _last_ns(rank: RankTrace) -> int:
    return max((c.start_ns + c.duration_ns for c in rank.calls), default=0)


def functions(trace: Trace) -> list[dict[str, Any]]:
    """Makes one row per function: most calls of any rank, all bytes, mean and greatest time of a rank."""
    per_rank: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    shapes: dict[str, set[Any]] = defaultdict(set)
    size_of: dict[int, int] = {}
    for rank in trace.ranks:
        rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for call in rank.calls:
            _count(rows[call.function], call, size_of)
        for shape in rank.shapes:
            shapes[shape.function].add((rank.rank, shape))
        for function, (calls, total, time_ns) in rows.items():
            per_rank[function].append((calls, total, time_ns))
    count = max(1, len(trace.ranks))
    table = [
        {
            "function": function,
            "calls": max(c for c, _, _ in ranks),
            "calls_in_all": sum(c for c, _, _ in ranks),
            "bytes": sum(b for _, b, _ in ranks),
            "time_s": sum(t for _, _, t in ranks) / count / 1e9,
            "max_time_s": max(t for _, _, t in ranks) / 1e9,
            "shapes": max((sum(1 for r, _ in shapes[function] if r == rank.rank) for rank in trace.ranks), default=0),
        }
        for function, ranks in per_rank.items()
    ]
    return sorted(table, key=lambda row: -row["time_s"])


def _count(row: list[int], call: Call, size_of: dict[int, int]) -> None:
    key = id(call.shape)
    if key not in size_of:
        size_of[key] = sent_bytes(call.shape)
    row[0] += 1
    row[1] += size_of[key]
    row[2] += call.duration_ns


def _communicators(trace: Trace) -> list[dict[str, Any]]:
    """Makes one row for each set of members under one name."""
    found: dict[tuple[str, tuple[int | None, ...]], Communicator] = {}
    for rank in trace.ranks:
        for comm in rank.communicators:
            found.setdefault((comm.name, comm.members), comm)
    return [{"name": c.name, "size": c.size, "intercommunicator": c.intercommunicator} for c in found.values()]


def print_summary(data: dict[str, Any]) -> None:
    """Returns the table for people."""
    console = output.stdout()
    whole = "" if data["complete"] else f", not complete: {data['ranks_recorded']} of {data['ranks']} ranks are in it"
    dropped = f", {data['dropped']} not recorded for lack of memory" if data["dropped"] else ""
    switches = f" on {data['switches']} switches" if data["switches"] else ""
    where = f"{data['ranks']} ranks on {data['nodes']} nodes{switches}, {data['mpi']}{whole}"
    console.print(f"{data['program']}: {where}", soft_wrap=True)
    what = f"{data['calls']} calls in {data['duration_s']:.3f} s{dropped}; {len(data['communicators'])} communicators"
    console.print(what, soft_wrap=True)
    table = tables.new_table()
    for name in ("function", "calls a rank", "kinds of call", "bytes in all", "time, s", "longest rank, s"):
        table.add_column(name, justify="left" if name == "function" else "right")
    for row in data["functions"]:
        numbers = (str(row[name]) for name in ("calls", "shapes", "bytes"))
        table.add_row(row["function"], *numbers, f"{row['time_s']:.4f}", f"{row['max_time_s']:.4f}")
    tables.print_wide(table, ("longest rank, s", "kinds of call"))
