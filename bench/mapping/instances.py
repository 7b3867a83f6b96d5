# SPDX-License-Identifier: Apache-2.0
"""Traffic for mapping: stencils, collectives as libraries send them, irregular graphs, and mixtures."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from machines import MACHINES, Machine

Pattern = Callable[["Traffic"], None]


@dataclass
class Traffic:
    """Messages and bytes between ranks, as entries that add up."""

    ranks: int
    entries: list[np.ndarray] = field(default_factory=list)

    def add(self, source: Any, target: Any, size: Any, count: Any) -> None:
        """Add `count` messages of `size` bytes from each source to its target."""
        rows = np.broadcast_arrays(
            *(np.asarray(x, dtype=float) for x in (source, target, count, np.multiply(size, count)))
        )
        self.entries.append(np.stack([r.ravel() for r in rows], axis=1))

    def write(self, path: Path) -> None:
        """Write the binary form of docs/reference/mapping-files.md."""
        rows = np.concatenate(self.entries) if self.entries else np.zeros((0, 4))
        rows = rows[rows[:, 0] != rows[:, 1]]
        keys, inverse = np.unique(
            rows[:, 0].astype(np.int64) * self.ranks + rows[:, 1].astype(np.int64), return_inverse=True
        )
        messages = np.bincount(inverse, rows[:, 2], len(keys))
        volume = np.bincount(inverse, rows[:, 3], len(keys))
        first = np.searchsorted(keys, np.arange(self.ranks + 1) * self.ranks).astype(np.int64)
        with path.open("wb") as out:
            out.write(b"APTRAFF1")
            for part in (
                np.array([self.ranks, len(keys)], np.int64),
                first,
                messages,
                volume,
                (keys % self.ranks).astype(np.int32),
            ):
                out.write(part.tobytes())


def grid_of(ranks: int, dimensions: int) -> tuple[int, ...]:
    """Return the factors of `ranks` that are nearest to a cube, in ascending order."""
    if dimensions == 1:
        return (ranks,)
    side = max(d for d in range(1, int(round(ranks ** (1 / dimensions) + 1e-9)) + 1) if ranks % d == 0)
    return (side, *grid_of(ranks // side, dimensions - 1))


def stencil(t: Traffic, dims: tuple[int, ...], sizes: tuple[float, ...], count: int = 100, corners: float = 0) -> None:
    """Halos with the neighbours of a grid that does not wrap around."""
    index = np.arange(t.ranks).reshape(dims)
    for axis, size in enumerate(sizes):
        low = np.moveaxis(index, axis, 0)[:-1].ravel()
        high = np.moveaxis(index, axis, 0)[1:].ravel()
        t.add(low, high, size, count)
        t.add(high, low, size, count)
    if corners and len(dims) == 2:
        for one, other in ((index[:-1, :-1], index[1:, 1:]), (index[:-1, 1:], index[1:, :-1])):
            t.add(one, other, corners, count)
            t.add(other, one, corners, count)


def doubling(t: Traffic, ranks: np.ndarray, size: Callable[[int], float], count: int) -> None:
    """Rank r exchanges with r xor 2^k; ranks beyond the largest power of two go through one partner."""
    n = len(ranks)
    power = 1 << (n.bit_length() - 1)
    if n > power:
        t.add(ranks[power:], ranks[: n - power], size(0), count)
        t.add(ranks[: n - power], ranks[power:], size(0), count)
    mask = 1
    while mask < power:
        t.add(ranks[:power], ranks[np.arange(power) ^ mask], size(mask), count)
        mask *= 2


def bruck(t: Traffic, block: float, count: int) -> None:
    """Paper 2's Figure 2."""
    mask = 1
    ranks = np.arange(t.ranks)
    while mask < t.ranks:
        blocks = int(np.count_nonzero(np.arange(t.ranks) & mask))
        t.add(ranks, (ranks + mask) % t.ranks, blocks * block, count)
        mask *= 2


def binomial(t: Traffic, size: float, count: int) -> None:
    """A broadcast from rank 0."""
    mask = 1
    while mask < t.ranks:
        sources = np.arange(0, t.ranks - mask, 2 * mask)
        t.add(sources, sources + mask, size, count)
        mask *= 2


def halving(t: Traffic, ranks: np.ndarray, size: float, count: int) -> None:
    """Rabenseifner's allreduce: half of the data with the nearest rank, then a quarter, …, and back."""
    doubling(t, ranks, lambda mask: size / (2 * max(mask, 1)), 2 * count)


def sparse(t: Traffic, degree: int = 6, seed: int = 1) -> None:
    """Random partners; message sizes span more than three decades."""
    random = np.random.default_rng(seed)
    source = np.repeat(np.arange(t.ranks), degree)
    target = random.integers(0, t.ranks, len(source))
    size = 10 ** random.uniform(2, 5.5, len(source))
    count = random.integers(1, 50, len(source))
    t.add(source, target, size, count)
    t.add(target, source, size, count)


def mesh(t: Traffic, seed: int = 2) -> None:
    """An unstructured mesh in random order: points in a cube with about 13 near neighbours each."""
    random = np.random.default_rng(seed)
    points = random.random((t.ranks, 3))
    reach = (13 * 3 / (4 * math.pi * t.ranks)) ** (1 / 3)
    for first in range(0, t.ranks, 256):
        apart = np.linalg.norm(points[first : first + 256, None] - points[None], axis=2)
        source, target = np.nonzero((apart < reach) & (apart > 0))
        t.add(source + first, target, 60000 * np.exp(-2 * apart[source, target] / reach) + 200, 100)


def everywhere(t: Traffic, ranks: np.ndarray, size: float, count: int) -> None:
    """All-to-all with one message per pair."""
    source, target = np.meshgrid(ranks, ranks)
    t.add(source, target, size, count)


def nas_cg(t: Traffic, n: int = 150000, count: int = 19) -> None:
    """Sums along the rows of a grid of processes, then exchanges with the transposed process."""
    rows, across = grid_of(t.ranks, 2)
    index = np.arange(t.ranks).reshape(rows, across)
    for row in index:
        doubling(t, row, lambda mask: n / rows * 8 + 24, count)
    t.add(np.arange(t.ranks), index.T.ravel(), n / across * 8, count)


def nas_lu(t: Traffic, n: int = 408, count: int = 25) -> None:
    """A pipelined sweep: many small messages to four neighbours."""
    dims = grid_of(t.ranks, 2)
    side = n / dims[0]
    stencil(t, dims, (40 * side + 16 * side * n / (n - 1),) * 2, count * (n - 1))


def nas_mg(t: Traffic, n: int = 1024, count: int = 20) -> None:
    """Halos on ever coarser grids, shared by ever fewer ranks; the grids wrap around."""
    dims = grid_of(t.ranks, 3)
    level = n
    while level > 1:
        steps = tuple(slice(None, None, max(1, d // level)) for d in dims)
        active = np.arange(t.ranks).reshape(dims)[steps]
        local = [max(1.0, level / d) + 2 for d in dims]
        for axis in range(3):
            area = 8 * math.prod(local) / local[axis]
            for way in (-1, 1):
                t.add(active, np.roll(active, way, axis), area, count * (4 if level < n else 3))
        level //= 2


def nas_ft(t: Traffic, n: int = 1024, count: int = 20) -> None:
    """All-to-all within rows, then within columns."""
    index = np.arange(t.ranks).reshape(grid_of(t.ranks, 2))
    for lines in (index, index.T):
        for ranks in lines:
            everywhere(t, ranks, 16.0 * n**3 / t.ranks / len(ranks) / t.ranks, count)


def columns(t: Traffic) -> Iterator[np.ndarray]:
    """Yield the columns of the two-dimensional grid."""
    yield from np.arange(t.ranks).reshape(grid_of(t.ranks, 2)).T


def coupled(t: Traffic) -> None:
    """Two models on half of the ranks each: exchanges with transposed partners, and small allreduces."""
    half = t.ranks // 2
    dims = grid_of(half, 2)
    index = np.arange(half).reshape(dims)
    for base in (0, half):
        part = Traffic(half)
        stencil(part, dims, (20000, 20000))
        t.entries += [e + [base, base, 0, 0] for e in part.entries]
        doubling(t, base + np.arange(half), lambda mask: 8, 200)
    partner = half + np.argsort(index.T.ravel())
    t.add(np.arange(half), partner, 120000, 20)
    t.add(partner, np.arange(half), 60000, 20)


def everyone(t: Traffic) -> np.ndarray:
    return np.arange(t.ranks)


def both(*parts: Pattern) -> Pattern:
    def pattern(t: Traffic) -> None:
        for part in parts:
            part(t)

    return pattern


PATTERNS: dict[str, Pattern] = {
    "halo3d": lambda t: stencil(t, grid_of(t.ranks, 3), (65536,) * 3),
    "halo3d-long": lambda t: stencil(t, grid_of(t.ranks, 3), (131072, 32768, 8192)),
    "halo2d": lambda t: stencil(t, grid_of(t.ranks, 2), (32768, 32768), corners=64),
    "allreduce-doubling": lambda t: doubling(t, everyone(t), lambda mask: 1024, 1000),
    "allreduce-halving": lambda t: halving(t, everyone(t), 1 << 20, 20),
    "allgather-doubling": lambda t: doubling(t, everyone(t), lambda mask: max(mask, 1) * 458752 / t.ranks, 100),
    "alltoall-bruck": lambda t: bruck(t, 64, 100),
    "bcast": lambda t: binomial(t, 8192, 100),
    "ring": lambda t: t.add(everyone(t), np.roll(everyone(t), -1), 16384, 10 * (t.ranks - 1)),
    "sparse": sparse,
    "mesh": mesh,
    "columns": lambda t: both(
        lambda x: stencil(x, grid_of(x.ranks, 2), (32768, 32768)),
        lambda x: [halving(x, c, 4 << 20, 10) for c in columns(x)],
    )(t),
    "halo-allreduce": both(
        lambda t: stencil(t, grid_of(t.ranks, 3), (65536,) * 3),
        lambda t: doubling(t, everyone(t), lambda mask: 16, 300),
    ),
    "halo-allgather": both(
        lambda t: stencil(t, grid_of(t.ranks, 3), (16384,) * 3),
        lambda t: doubling(t, everyone(t), lambda mask: max(mask, 1) * 458752 / t.ranks, 20),
    ),
    "coupled": coupled,
    "nas-cg": nas_cg,
    "nas-lu": nas_lu,
    "nas-mg": nas_mg,
    "nas-ft": nas_ft,
}

#: Random patterns that take a seed: `mesh.7`.
SEEDED: dict[str, Callable[[Traffic, int], None]] = {
    "sparse": lambda t, seed: sparse(t, seed=seed),
    "mesh": lambda t, seed: mesh(t, seed),
}


@dataclass
class Generator:
    """Patterns and the machines to map them to."""

    patterns: dict[str, Pattern]
    machines: dict[int, dict[str, Callable[[], Machine]]]

    def pattern(self, name: str) -> Pattern:
        """Return the named pattern, or a random one with its seed; raise KeyError if there is none."""
        kind, dot, seed = name.partition(".")
        if dot and kind in SEEDED and seed.isdigit():
            return lambda t: SEEDED[kind](t, int(seed))
        return self.patterns[name]


OWN = Generator(PATTERNS, MACHINES)


def generator(file: Path) -> Generator:
    """Load a generator from a Python file.

    It has `PATTERNS` as here, or `CTGS`: functions by name that take a number of ranks and return an object with
    `arrays()` (senders, receivers, bytes, messages). It may have `MACHINES` as here; those here are the default.
    """
    found = runpy.run_path(str(file))
    patterns = found.get("PATTERNS") or {name: _of_arrays(function) for name, function in found["CTGS"].items()}
    return Generator(patterns, found.get("MACHINES", MACHINES))


def _of_arrays(function: Callable[[int], Any]) -> Pattern:
    def add(t: Traffic) -> None:
        source, target, volume, messages = function(t.ranks).arrays()
        t.add(source, target, volume / messages, messages)

    return add
