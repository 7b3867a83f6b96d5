# SPDX-License-Identifier: Apache-2.0
"""Writes a trace as JSON trace events, which Perfetto's and Chrome's viewers and Speedscope read.

A node is a process there, a rank a thread; each MPI call is a slice with what is known of it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from antiphon.output import files
from antiphon.trace import AS_SCHEDULE, FAILED, Call, Shape, Trace
from antiphon.trace.summary import sent_bytes

#: Fields of a shape that are shown as they are.
SHOWN = ("root", "peer", "tag", "send_count", "send_size", "receive_count", "receive_size", "requests")


def write(trace: Trace, path: Path) -> int:
    """Writes the file, compressed if its name ends with .gz; returns the number of calls in it."""
    lines = [json.dumps(event, separators=(",", ":")) for event in events(trace)]
    head = {"program": str(trace.header.get("program", "")), "mpi": str(trace.header.get("mpi", ""))}
    text = f'{{"displayTimeUnit":"ns","otherData":{json.dumps(head)},"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n"
    files.write(path, gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text)
    return sum(len(rank.calls) for rank in trace.ranks)


def events(trace: Trace) -> Iterator[dict[str, Any]]:
    """Yields the names of nodes and ranks, then the calls of each rank."""
    hosts = trace.header.get("hosts")
    nodes = trace.nodes
    for node in sorted({nodes[rank.rank] for rank in trace.ranks}):
        name = hosts[node] if isinstance(hosts, list) and node < len(hosts) else f"node {node}"
        yield {"ph": "M", "name": "process_name", "pid": node, "args": {"name": str(name)}}
    known: dict[int, tuple[str, dict[str, Any]]] = {}
    for rank in trace.ranks:
        place = {"pid": nodes[rank.rank], "tid": rank.rank}
        yield {"ph": "M", "name": "thread_name", **place, "args": {"name": f"rank {rank.rank}"}}
        for call in rank.calls:
            yield {**_slice(call, known), **place}
        if rank.dropped:
            yield {"ph": "i", "s": "t", "name": f"{rank.dropped} calls were not recorded", "ts": 0, **place}


def _slice(call: Call, known: dict[int, tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Returns a call as an event; times are in microseconds, with their nanoseconds."""
    if id(call.shape) not in known:
        known[id(call.shape)] = _described(call.shape)
    category, arguments = known[id(call.shape)]
    times = {"ts": call.start_ns / 1000, "dur": call.duration_ns / 1000}
    return {"ph": "X", "name": call.function, "cat": category, **times, "args": arguments}


def _described(shape: Shape) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"bytes": sent_bytes(shape)}
    if shape.comm is not None:
        arguments |= {"communicator": shape.comm.name or f"#{shape.comm.number}", "ranks": shape.comm.size}
    arguments |= {name: value for name in SHOWN if (value := getattr(shape, name)) is not None}
    if shape.flags & FAILED:
        arguments["failed"] = True
    if shape.flags & AS_SCHEDULE:
        return "antiphon", arguments
    return "library", arguments
