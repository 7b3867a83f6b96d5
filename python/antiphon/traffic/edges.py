# SPDX-License-Identifier: Apache-2.0
"""Messages between ranks as parallel arrays, pairs that send nothing left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Edges:
    """Messages and bytes (payload) from `source` to `target`; each pair once, in the order of sources, then targets."""

    source: Array
    target: Array
    messages: Array
    bytes: Array

    @classmethod
    def empty(cls) -> Edges:
        """No messages."""
        return cls(*(np.empty(0, dtype) for dtype in (np.int32, np.int32, np.int64, np.int64)))

    @classmethod
    def summed(cls, source: Array, target: Array, messages: Array, size: Array) -> Edges:
        """From lists in any order in which pairs may come again; a rank's messages to itself are left out."""
        apart = source != target
        source, target = source[apart].astype(np.int64), target[apart].astype(np.int64)
        key = (source << 32) | target
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1]))) if len(key) else np.empty(0, np.int64)

        def total(values: Array) -> Array:
            return (
                np.add.reduceat(values[apart].astype(np.int64)[order], first) if len(first) else np.empty(0, np.int64)
            )

        pair = key[first]
        low = np.int64(0xFFFFFFFF)
        return cls((pair >> 32).astype(np.int32), (pair & low).astype(np.int32), total(messages), total(size))

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Edges:
        """From (source, target, messages, bytes)."""
        table = np.array(list(rows), np.int64).reshape(-1, 4)
        return cls.summed(*table.T)

    @classmethod
    def merge(cls, many: Sequence[Edges]) -> Edges:
        """The sum of several."""
        if len(many) == 1:
            return many[0]
        if not many:
            return cls.empty()
        columns = (np.concatenate([getattr(e, name) for e in many]) for name in cls.columns())
        return cls.summed(*columns)

    @staticmethod
    def columns() -> tuple[str, ...]:
        """The arrays' names."""
        return ("source", "target", "messages", "bytes")

    def times(self, calls: int) -> Edges:
        """The same messages, repeated."""
        return self if calls == 1 else Edges(self.source, self.target, self.messages * calls, self.bytes * calls)

    def mapped(self, members: Array) -> Edges:
        """Rank i becomes members[i]."""
        return Edges.summed(members[self.source], members[self.target], self.messages, self.bytes)

    def __len__(self) -> int:
        return len(self.source)

    def total_bytes(self) -> int:
        """All payload."""
        return int(self.bytes.sum())

    def total_messages(self) -> int:
        """All messages."""
        return int(self.messages.sum())


@dataclass(frozen=True)
class Uniform:
    """Every member of a group sends every other the same: as many edges as the square of its ranks, never listed."""

    members: Array
    messages: int
    bytes: int

    def pairs(self) -> int:
        """The number of edges that the group stands for."""
        return len(self.members) * (len(self.members) - 1)

    def spread_out(self, partners: int) -> Edges:
        """Far fewer edges with the same volume: each member and `partners` others, at distances all over the group."""
        n = len(self.members)
        # Multiples of an odd share of the group near the golden ratio: evenly spread, and no distance twice.
        step = max(1, round(n * 0.6180339887)) | 1
        while np.gcd(step, n) != 1:
            step += 2
        distances = np.sort(np.arange(1, partners + 1, dtype=np.int64) * step % n)
        source = np.repeat(np.arange(n), partners)
        target = (source + np.tile(distances, n)) % n
        scale = (n - 1) / partners
        ones = np.ones(n * partners)
        messages, size = ones * self.messages * scale, ones * self.bytes * scale
        return Edges.summed(self.members[source], self.members[target], messages.round(), size.round())

    def edges(self) -> Edges:
        """Its edges, listed."""
        n = len(self.members)
        source = np.repeat(np.arange(n), n)
        target = np.tile(np.arange(n), n)
        ones = np.ones(n * n, np.int64)
        return Edges.summed(self.members[source], self.members[target], ones * self.messages, ones * self.bytes)
