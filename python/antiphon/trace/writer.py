# SPDX-License-Identifier: Apache-2.0
"""Writes traces: for tests, and to join the parts that the ranks of a broken run left."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from antiphon.output import files
from antiphon.trace import streams
from antiphon.trace.calls import Communicator, RankTrace, Shape
from antiphon.trace.file import MAGIC, VERSION, Trace, read_preamble
from antiphon.trace.reader import Reader, TraceError

#: Clocks of nodes differ by less, and so do the times at which a run's ranks start.
SAME_RUN_S = 60


def varint(value: int) -> bytes:
    """Encodes a number in the trace's streams."""
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    """Encodes a number that may be negative."""
    return varint(2 * value if value >= 0 else -2 * value - 1)


def text(value: str) -> bytes:
    """Encodes a text."""
    data = value.encode()
    return varint(len(data)) + data


def numbers(values: Sequence[int]) -> bytes:
    """Encodes a list, with equal neighbours taken together."""
    out = varint(len(values))
    i = 0
    while i < len(values):
        same = 1
        while i + same < len(values) and values[i + same] == values[i]:
            same += 1
        out += varint(values[i]) + varint(same)
        i += same
    return out


def encode(trace: Trace) -> bytes:
    """Returns the file's content for a trace."""
    header = trace.header | {"ranks": trace.size, "functions": list(trace.functions)}
    out = [MAGIC, varint(VERSION), text(json.dumps(header))]
    for rank in trace.ranks:
        stream = _stream(rank, trace.functions)
        out += [varint(1 + rank.rank), varint(len(stream)), stream]
    return b"".join([*out, varint(0)])


def _stream(rank: RankTrace, functions: Sequence[str]) -> bytes:
    out = [varint(streams.RANK_BEGIN) + varint(rank.began_at_ns)] if rank.began_at_ns is not None else []
    out += [_communicator(c) for c in rank.communicators]
    shapes: dict[Shape, int] = {}
    start = 0
    for call in rank.calls:
        if call.shape not in shapes:
            shapes[call.shape] = len(shapes)
            out.append(_shape(call.shape, shapes[call.shape], functions))
        key = varint(streams.FIRST_CALL + shapes[call.shape])
        out.append(key + varint(max(0, call.start_ns - start)) + varint(call.duration_ns))
        start = max(start, call.start_ns)
    if rank.ended_ns is not None:
        out.append(varint(streams.RANK_END) + varint(rank.ended_ns) + varint(rank.dropped))
    return b"".join([*out, varint(streams.END)])


def _communicator(comm: Communicator) -> bytes:
    members = b"".join(varint(streams.OUTSIDE_WORLD if m is None else m) for m in comm.members)
    head = varint(streams.COMMUNICATOR) + varint(comm.number) + text(comm.name) + varint(int(comm.intercommunicator))
    return head + varint(comm.size) + varint(0) + members


_WRITERS: dict[str, Callable[[Any], bytes]] = {"signed": signed, "number": varint, "list": numbers}


def _shape(shape: Shape, number: int, functions: Sequence[str]) -> bytes:
    fields = []
    for kind, (name, how) in streams.FIELDS.items():
        value = getattr(shape, name)
        if value is None or (name == "flags" and value == 0):
            continue
        fields.append(varint(kind) + _WRITERS[how](value))
    comm = shape.comm.number if shape.comm else 0
    head = (streams.SHAPE, number, functions.index(shape.function), comm, len(fields))
    return b"".join([*map(varint, head), *fields])


def parts_of(path: Path) -> list[Path]:
    """Returns the parts that ranks left beside a trace that was never written, by rank."""
    found = path.parent.glob(f"{path.name}.rank*")
    numbered = [p for p in found if p.name.removeprefix(f"{path.name}.rank").isdigit()]
    return sorted(numbered, key=lambda p: int(p.name.removeprefix(f"{path.name}.rank")))


def _of_newest_run(headers: dict[Path, dict[str, Any]]) -> list[Path]:
    """Returns the parts of the run that started last; an earlier one of more ranks may have left some beside them."""
    started = {part: _started_s(header.pop("started", None)) for part, header in headers.items()}
    newest = max(headers, key=lambda part: started[part])
    return [
        part for part in headers
        if headers[part] == headers[newest] and started[newest] - started[part] <= SAME_RUN_S
    ]  # fmt: skip


def _started_s(text: object) -> float:
    try:
        return datetime.strptime(f"{text}+0000", "%Y-%m-%dT%H:%M:%SZ%z").timestamp()
    except ValueError:
        return 0.0


@contextlib.contextmanager
def _reading(part: Path, unreadable: dict[Path, str]) -> Iterator[None]:
    """Notes a part that cannot be read, such as one of a node that died before its disk had it."""
    try:
        yield
    except (TraceError, OSError) as error:
        unreadable[part] = (error.strerror if isinstance(error, OSError) else None) or str(error)


def join_parts(path: Path, unreadable: dict[Path, str] | None = None) -> tuple[int, int]:
    """Writes `path` from the parts of its newest run, and removes them; those of others stay where they are, and so do
    those that cannot be read, which go to `unreadable` with the reason.

    Returns how many ranks are in it, and how many the run had.
    """
    parts = parts_of(path)
    if not parts:
        hint = "parts lie where the run was told to write the trace"
        raise TraceError(f"{path}.rank*: there are no parts of a trace", hint=hint)
    unreadable = {} if unreadable is None else unreadable
    headers: dict[Path, dict[str, Any]] = {}
    for part in parts:
        with _reading(part, unreadable):
            headers[part] = read_preamble(part.read_bytes())[0]
    blocks: dict[int, bytes] = {}
    preamble, size, newest = b"", 0, _of_newest_run(headers) if headers else []
    for part in newest:
        with _reading(part, unreadable):
            found = _block(part)
            if found is not None:
                preamble, size, rank, blocks[rank] = found
    if not blocks:
        why = "".join(f"; {part.name}: {reason}" for part, reason in list(unreadable.items())[:1])
        raise TraceError(f"{path}.rank*: the parts are empty{' or cannot be read' if why else ''}{why}")
    written = [varint(1 + rank) + varint(len(stream)) + stream for rank, stream in sorted(blocks.items())]
    files.write(path, b"".join([preamble, *written, varint(0)]))
    for part in newest:
        if part not in unreadable:
            part.unlink()
    return len(blocks), size


def _block(part: Path) -> tuple[bytes, int, int, bytes] | None:
    """Returns a part's preamble, its run's number of ranks, its own rank and what that recorded; None if nothing."""
    data = part.read_bytes()
    header, functions, at = read_preamble(data)
    reader = Reader(data, at)
    number = 0 if reader.at_end() else reader.varint()
    if number == 0:
        return None
    rank, size = number - 1, header["ranks"]
    if rank >= size:
        raise TraceError(f"rank {rank} does not exist")
    reader.varint()
    begin = reader.at
    # A rank that was killed may have left part of an entry; what was never written reads as zeros, which mean the end.
    streams.read_stream(reader, rank, size, functions)
    return data[:at], size, rank, data[begin : reader.at] + varint(streams.END)
