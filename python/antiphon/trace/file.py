# SPDX-License-Identifier: Apache-2.0
"""Reads the trace of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.documents import parse_json
from antiphon.trace.calls import RankTrace
from antiphon.trace.reader import MAX_RANKS, Reader, TraceError
from antiphon.trace.streams import read_stream

MAGIC = b"\x89ATR\r\n\x1a\n"
VERSION = 1


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
        if not isinstance(nodes, list) or len(nodes) != self.size:
            return list(range(self.size))
        known = all(type(node) is int and 0 <= node < self.size for node in nodes)
        return nodes if known else list(range(self.size))

    @property
    def switch_of_node(self) -> list[int] | None:
        """Returns each node's switch; None where the run knew of no switches."""
        switches = self.header.get("switches")
        found = switches.get("of_node") if isinstance(switches, dict) else None
        count = max(self.nodes, default=-1) + 1
        if not isinstance(found, list) or len(found) != count or not all(type(one) is int for one in found):
            return None
        return found

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
            ranks[number - 1] = read_stream(Reader(data, reader.at, stop), number - 1, size, functions)
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
