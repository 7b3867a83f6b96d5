# SPDX-License-Identifier: Apache-2.0
"""Reads numbers, texts and lists of a trace from bytes."""

from __future__ import annotations

from itertools import chain, repeat

from antiphon.errors import AntiphonError

MAX_RANKS = MAX_LIST = 1 << 20
MAX_TEXT = 1 << 24


class TraceError(AntiphonError):
    """The error for a file that is no trace, or a damaged one."""


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
