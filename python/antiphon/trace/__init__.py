# SPDX-License-Identifier: Apache-2.0
"""Reads traces of runs (docs/reference/trace.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from antiphon.documents import parse_json
from antiphon.errors import AntiphonError

MAGIC = b"\x89ATR\r\n\x1a\n"
VERSION = 1
OUTSIDE_WORLD = 2**32 - 1
MAX_RANKS = MAX_LIST = 1 << 20
MAX_TEXT = 1 << 24
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
#: Calls with one block for each rank, all of the same size.
EQUAL_BLOCKS = {
    "send": ("MPI_Alltoall", "MPI_Scatter"),
    "receive": ("MPI_Alltoall", "MPI_Allgather", "MPI_Gather"),
}
IN_PLACE, AS_SCHEDULE, FAILED, RECEIVE_GAPS, SEND_GAPS = 1, 2, 4, 8, 16


class TraceError(AntiphonError):
    """The error for a file that is no trace, or a damaged one."""


@dataclass(frozen=True)
class Communicator:
    """A communicator as one rank sees it; members are ranks of MPI_COMM_WORLD, None outside it."""

    number: int
    name: str
    members: tuple[int | None, ...]
    intercommunicator: bool = False

    @property
    def size(self) -> int:
        """Returns the number of ranks (of an intercommunicator: the local ones)."""
        return len(self.members)


@dataclass(frozen=True)
class Shape:
    """A call without its times. Fields that a call does not have are None."""

    function: str
    comm: Communicator | None
    root: int | None = None
    peer: int | None = None
    tag: int | None = None
    send_count: int | None = None
    send_size: int | None = None
    receive_count: int | None = None
    receive_size: int | None = None
    send_counts: tuple[int, ...] | None = None
    receive_counts: tuple[int, ...] | None = None
    flags: int = 0
    source: int | None = None
    source_tag: int | None = None
    requests: int | None = None
    bytes_to: tuple[int, ...] | None = None
    bytes_from: tuple[int, ...] | None = None

    @property
    def in_place(self) -> bool:
        """Returns whether MPI_IN_PLACE was given."""
        return bool(self.flags & IN_PLACE)

    def send_bytes(self) -> list[int] | None:
        """Returns the bytes of the block for each rank of the communicator, where the call has one for each."""
        return self._blocks(self.bytes_to, self.send_counts, self.send_count, self.send_size, "send")

    def receive_bytes(self) -> list[int] | None:
        """Returns the bytes of the block from each rank of the communicator, where the call has one for each."""
        return self._blocks(self.bytes_from, self.receive_counts, self.receive_count, self.receive_size, "receive")

    def _blocks(self, given: Sequence[int] | None, counts: Sequence[int] | None, count: int | None, size: int | None,
                side: str) -> list[int] | None:  # fmt: skip
        if given is not None:
            return list(given)
        if counts is not None and size is not None:
            return [n * size for n in counts]
        if self.function in EQUAL_BLOCKS[side] and count is not None and size is not None and self.comm is not None:
            return [count * size] * self.comm.size
        return None


@dataclass(frozen=True)
class Call:
    """One call of a rank."""

    shape: Shape
    start_ns: int
    duration_ns: int

    @property
    def function(self) -> str:
        """Returns the MPI function's name."""
        return self.shape.function

    @property
    def comm(self) -> Communicator | None:
        """Returns the communicator, if the call has one."""
        return self.shape.comm


@dataclass
class RankTrace:
    """The record of one rank."""

    rank: int
    communicators: list[Communicator] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    began_at_ns: int | None = None  #: wall clock of time 0
    ended_ns: int | None = None  #: time of MPI_Finalize; None: the rank did not get there
    dropped: int = 0  #: calls that were not recorded


@dataclass
class Trace:
    """A run; `ranks` holds the ranks with a recorded stream."""

    size: int
    functions: tuple[str, ...]
    header: dict[str, Any]
    ranks: list[RankTrace]
    complete: bool = True  #: the file has its end, and every rank its own

    @property
    def nodes(self) -> list[int]:
        """Returns the node of each rank; where the trace does not say, each rank has its own node."""
        nodes = self.header.get("nodes")
        return nodes if isinstance(nodes, list) and len(nodes) == self.size else list(range(self.size))

    @classmethod
    def load(cls, path: Path | str) -> Trace:
        """Reads a trace file."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror}", hint="record a run with `antiphon trace`") from error
        try:
            return cls.decode(data)
        except TraceError as error:
            raise TraceError(f"{path}: {error}", hint=error.hint) from None

    @classmethod
    def decode(cls, data: bytes) -> Trace:
        """Reads a trace from memory. Raises TraceError and nothing else, whatever the bytes are."""
        header, functions, at = read_preamble(data)
        size = header["ranks"]
        reader = Reader(data, at)
        ranks: dict[int, RankTrace] = {}
        ended = False
        while not reader.at_end() and not ended:
            number = reader.varint()
            if number == 0:
                ended = True
                break
            if number > size or number - 1 in ranks:
                raise TraceError(f"byte {reader.at}: rank {number - 1} does not exist, or has a block already")
            length = reader.varint()
            open_end = length == 0
            stop = len(data) if open_end else min(len(data), reader.at + length)
            ranks[number - 1] = read_stream(Reader(data, reader.at, stop), number - 1, functions)
            if open_end:
                break
            reader.at = stop
        found = [ranks[r] for r in sorted(ranks)]
        whole = ended and len(found) == size and all(r.ended_ns is not None for r in found)
        return cls(size, functions, header, found, whole)


def read_preamble(data: bytes) -> tuple[dict[str, Any], tuple[str, ...], int]:
    if not data.startswith(MAGIC):
        raise TraceError("this is not a trace", hint="traces are written by `antiphon trace`")
    reader = Reader(data, len(MAGIC))
    version = reader.varint()
    if version != VERSION:
        raise TraceError(f"a trace of version {version}; this Antiphon reads version {VERSION}")
    try:
        header = parse_json(reader.text())
        functions = header["functions"]
        ranks = header["ranks"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TraceError(f"the header cannot be read: {error}") from error
    if not isinstance(functions, list) or not all(isinstance(name, str) for name in functions):
        raise TraceError("the header's functions are not a list of names")
    if not isinstance(ranks, int) or isinstance(ranks, bool) or not 0 < ranks <= MAX_RANKS:
        raise TraceError(f"the header's number of ranks is {ranks!r}")
    return header, tuple(functions), reader.at


class Reader:
    """Reads numbers from bytes, checked against their end."""

    def __init__(self, data: bytes, at: int = 0, stop: int | None = None) -> None:
        self.data = data
        self.at = at
        self.stop = len(data) if stop is None else stop

    def at_end(self) -> bool:
        return self.at >= self.stop

    def varint(self) -> int:
        value = shift = 0
        while True:
            if self.at >= self.stop:
                raise TraceError(f"byte {self.at}: the data ends within a number")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            if shift > 63:
                raise TraceError(f"byte {self.at}: a number of more than 10 bytes")
        if value >= 1 << 64:
            raise TraceError(f"byte {self.at}: a number above 64 bits")
        return value

    def signed(self) -> int:
        value = self.varint()
        return value // 2 if value % 2 == 0 else -(value // 2) - 1

    def text(self) -> str:
        length = self.varint()
        if length > min(MAX_TEXT, self.stop - self.at):
            raise TraceError(f"byte {self.at}: a text of {length} bytes does not fit")
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", errors="replace")

    def list(self) -> tuple[int, ...]:
        length = self.varint()
        if length > MAX_LIST:
            raise TraceError(f"byte {self.at}: a list of {length}")
        runs = []
        left = length
        while left > 0:
            value, times = self.varint(), self.varint()
            if not 0 < times <= left:
                raise TraceError(f"byte {self.at}: {times} repetitions in a list of which {left} are left")
            runs.append(repeat(value, times))
            left -= times
        return tuple(chain.from_iterable(runs))


def read_stream(reader: Reader, rank: int, functions: Sequence[str]) -> RankTrace:
    """Reads a rank's stream to its end or where it was cut off; leaves the reader behind the last whole entry."""
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
                result.communicators.append(_read_communicator(reader, len(result.communicators)))
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


def _read_communicator(reader: Reader, known: int) -> Communicator:
    number, name, flags = reader.varint(), reader.text(), reader.varint()
    if number != known + 1:
        raise TraceError(f"byte {reader.at}: communicator {number} after {known} others")
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
    return Communicator(number, name, named, bool(flags & 1))


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
    return Shape(functions[function], rank.communicators[comm - 1] if comm else None, **values)
