# SPDX-License-Identifier: Apache-2.0
"""Reads the stream of one rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.trace.calls import Call, Communicator, RankTrace, Shape
from antiphon.trace.reader import MAX_RANKS, Reader, TraceError

OUTSIDE_WORLD = 2**32 - 1
END, COMMUNICATOR, SHAPE, RANK_END, RANK_BEGIN, FIRST_CALL = 0, 1, 2, 3, 4, 16
#: The fields of a shape by their kind: name, and how the value is stored.
FIELDS = {
    1: ("root", "signed"),
    2: ("peer", "signed"),
    3: ("tag", "signed"),
    4: ("send_count", "number"),
    5: ("send_size", "number"),
    6: ("receive_count", "number"),
    7: ("receive_size", "number"),
    8: ("send_counts", "list"),
    9: ("receive_counts", "list"),
    10: ("flags", "number"),
    11: ("source", "signed"),
    12: ("source_tag", "signed"),
    13: ("requests", "number"),
    14: ("bytes_to", "list"),
    15: ("bytes_from", "list"),
}


def read_stream(reader: Reader, rank: int, size: int, functions: Sequence[str]) -> RankTrace:
    """Reads the stream of a rank of `size` to its end or where it was cut off; leaves the reader behind the last whole
    entry."""
    result = RankTrace(rank)
    start = 0
    while not reader.at_end():
        entry = reader.at
        try:
            key = reader.varint()
            if key == END:
                reader.at = entry
                break
            if key == COMMUNICATOR:
                result.communicators.append(_read_communicator(reader, result, size))
            elif key == SHAPE:
                result.shapes.append(_read_shape(reader, result, functions))
            elif key == RANK_END:
                result.ended_ns, result.dropped = reader.varint(), reader.varint()
            elif key == RANK_BEGIN:
                result.began_at_ns = reader.varint()
            elif FIRST_CALL <= key < FIRST_CALL + len(result.shapes):
                delta, duration = reader.varint(), reader.varint()
                start += delta
                result.calls.append(Call(result.shapes[key - FIRST_CALL], start, duration))
            else:
                raise TraceError(f"byte {entry}: an entry with the unknown key {key}")
        except TraceError:
            if reader.stop == len(reader.data) and reader.at_end():
                reader.at = entry
                break  # The stream is cut off within an entry because the process died.
            raise
    return result


def _read_communicator(reader: Reader, rank: RankTrace, ranks: int) -> Communicator:
    number, name, flags = reader.varint(), reader.text(), reader.varint()
    if number != len(rank.communicators) + 1:
        raise TraceError(f"byte {reader.at}: communicator {number} after {len(rank.communicators)} others")
    size, form = reader.varint(), reader.varint()
    if size > MAX_RANKS or form > 1:
        raise TraceError(f"byte {reader.at}: a communicator of {size} ranks in the form {form}")
    if form == 1:
        first, stride = reader.varint(), reader.signed()
        members: Iterable[int] = (first + i * stride for i in range(size))
    else:
        if size > reader.stop - reader.at:
            raise TraceError(f"byte {reader.at}: {size} members do not fit")
        members = [reader.varint() for _ in range(size)]
    named = tuple(None if m == OUTSIDE_WORLD else m for m in members)
    found = Communicator(number, name, named, bool(flags & 1))
    _check_members(found, rank.rank, ranks, f"byte {reader.at}: communicator {number}")
    return found


def _check_members(comm: Communicator, rank: int, ranks: int, where: str) -> None:
    """Refuses ranks that the run did not have, and a communicator of others alone: a rank names those that it is in."""
    known = [member for member in comm.members if member is not None]
    if known and not 0 <= min(known) <= max(known) < ranks:
        raise TraceError(f"{where} has ranks from {min(known)} to {max(known)}, and the run had {ranks} ranks")
    if not comm.intercommunicator and rank not in known:
        raise TraceError(f"{where} is one of rank {rank}, which is not in it")


def _read_shape(reader: Reader, rank: RankTrace, functions: Sequence[str]) -> Shape:
    number, function, comm, count = reader.varint(), reader.varint(), reader.varint(), reader.varint()
    if number != len(rank.shapes) or function >= len(functions) or comm > len(rank.communicators):
        raise TraceError(f"byte {reader.at}: shape {number} of function {function} on communicator {comm}")
    values: dict[str, Any] = {}
    for _ in range(count):
        kind = reader.varint()
        if kind not in FIELDS:
            raise TraceError(f"byte {reader.at}: a field of the unknown kind {kind}")
        name, how = FIELDS[kind]
        if name in values:
            raise TraceError(f"byte {reader.at}: a second {name} in shape {number}")
        values[name] = {"signed": reader.signed, "number": reader.varint, "list": reader.list}[how]()
    shape = Shape(functions[function], rank.communicators[comm - 1] if comm else None, **values)
    _check_lists(shape, f"byte {reader.at}: shape {number}")
    return shape


def _check_lists(shape: Shape, where: str) -> None:
    """Refuses lists that have no entry for each rank of the communicator; of another group only the run knew how many
    it has."""
    comm = shape.comm
    if comm is None or comm.intercommunicator:
        return
    for values in (shape.send_counts, shape.receive_counts, shape.bytes_to, shape.bytes_from):
        if values is not None and len(values) != comm.size:
            raise TraceError(f"{where}: a list of {len(values)} for a communicator of {comm.size} ranks")
