# SPDX-License-Identifier: Apache-2.0
"""Instances that were not used for tuning: `run.py --generator bench/mapping/held_out.py`.

They have numbers of ranks that are no powers of two, other patterns, and other machines.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from instances import Pattern, Traffic, binomial, both, doubling, everywhere, grid_of, stencil
from machines import Machine, fat, flat, level, measured, noisy, racks, torus


def index_of(t: Traffic, dimensions: int) -> np.ndarray:
    return np.arange(t.ranks).reshape(grid_of(t.ranks, dimensions))


def box(t: Traffic, dimensions: int, sizes: tuple[float, ...], count: int) -> None:
    """Halos with all neighbours of a grid that wraps around: over faces, edges, corners."""
    index = index_of(t, dimensions)
    for way in itertools.product((-1, 0, 1), repeat=dimensions):
        distance = sum(abs(w) for w in way)
        if distance:
            t.add(index, np.roll(index, way, tuple(range(dimensions))), sizes[distance - 1], count)


def wide(t: Traffic, size: float, count: int) -> None:
    """Each rank sends to two neighbours on each side, half as much to the second."""
    index = index_of(t, 2)
    for axis in (0, 1):
        for far in (1, 2):
            low = np.moveaxis(index, axis, 0)[:-far].ravel()
            high = np.moveaxis(index, axis, 0)[far:].ravel()
            t.add(low, high, size / far, count)
            t.add(high, low, size / far, count)


def shuffled(t: Traffic, pattern: Pattern, seed: int) -> None:
    """The same pattern with randomly numbered ranks."""
    part = Traffic(t.ranks)
    pattern(part)
    number = np.random.default_rng(seed).permutation(t.ranks)
    t.add(*(number[np.concatenate([e[:, k] for e in part.entries]).astype(int)] for k in (0, 1)), *_of(part))


def _of(part: Traffic) -> tuple[np.ndarray, np.ndarray]:
    rows = np.concatenate(part.entries)
    return rows[:, 3] / rows[:, 2], rows[:, 2]


def clustered(t: Traffic, seed: int, ordered: bool) -> None:
    """A mesh in the plane with finer regions, numbered at random or along stripes as fast partitioners do."""
    random = np.random.default_rng(seed)
    centres = random.random((5, 2))
    points = centres[random.integers(0, 5, t.ranks)] + random.normal(0, 0.12, (t.ranks, 2))
    if ordered:
        points = points[np.lexsort((points[:, 1], np.floor(points[:, 0] * np.sqrt(t.ranks) / 2)))]
    for rank in range(t.ranks):
        apart = np.linalg.norm(points - points[rank], axis=1)
        near = np.argsort(apart)[1:7]
        size = 40000 / (1 + 4 * np.arange(6))
        t.add(rank, near, size, 50)
        t.add(near, rank, size, 50)


def hubs(t: Traffic, seed: int) -> None:
    """Each rank exchanges with four earlier ones and prefers those that have many partners."""
    random = np.random.default_rng(seed)
    ends: list[int] = [0]
    for rank in range(1, t.ranks):
        partners = {ends[random.integers(0, len(ends))] for _ in range(4)}
        for partner in partners:
            size, count = 10 ** random.uniform(2.5, 5), random.integers(1, 40)
            t.add(rank, partner, size, count)
            t.add(partner, rank, size / 3, count)
        ends += [*partners, rank, rank]


def communities(t: Traffic, seed: int) -> None:
    """Groups of uneven size, numbered at random: much traffic within, some between."""
    random = np.random.default_rng(seed)
    group = random.integers(0, max(2, t.ranks // 18), t.ranks) ** 2 % max(2, t.ranks // 18)
    for rank in range(t.ranks):
        own = np.flatnonzero(group == group[rank])
        t.add(rank, random.choice(own, min(6, len(own)), replace=False), random.uniform(1e3, 5e4), 30)
        t.add(rank, random.integers(0, t.ranks, 2), random.uniform(1e2, 1e4), 10)


def quadtree(t: Traffic, seed: int) -> None:
    """Cells of a repeatedly refined quadtree in depth-first order; neighbours share edges."""
    random = np.random.default_rng(seed)
    cells = [(0.0, 0.0, 1.0)]
    focus = random.random(2)
    while len(cells) + 3 <= t.ranks:
        key = [c[2] / (0.05 + np.hypot(c[0] + c[2] / 2 - focus[0], c[1] + c[2] / 2 - focus[1])) for c in cells]
        x, y, h = cells.pop(k := int(np.argmax(key)))
        cells[k:k] = [(x + a * h / 2, y + b * h / 2, h / 2) for a in (0, 1) for b in (0, 1)]
    x, y, h = np.array(cells).T
    for rank in range(len(cells)):
        across = np.minimum(x + h, x[rank] + h[rank]) - np.maximum(x, x[rank])
        along = np.minimum(y + h, y[rank] + h[rank]) - np.maximum(y, y[rank])
        near = np.flatnonzero((np.abs(across) < 1e-9) & (along > 1e-9) | (np.abs(along) < 1e-9) & (across > 1e-9))
        t.add(rank, near, 30000 * np.maximum(across, along)[near] / h[rank], 60)


def rings(t: Traffic, width: int, stages: int) -> None:
    """Parallel training: sums around rings of `width`, from stage to stage, and around ranks with the same part."""
    width = max(w for w in range(1, width + 1) if t.ranks % w == 0)
    stages = max(s for s in range(1, stages + 1) if t.ranks // width % s == 0)
    index = np.arange(t.ranks).reshape(-1, stages, width)
    t.add(index, np.roll(index, -1, 2), 6e6 / width, 40 * (width - 1))
    for low, high in ((index[:, :-1], index[:, 1:]), (index[:, 1:], index[:, :-1])):
        t.add(low, high, 500000, 16)
    copies = len(index)
    t.add(index, np.roll(index, -1, 0), 3e7 / copies, 2 * (copies - 1))


def pencils(t: Traffic) -> None:
    """A three-dimensional transform: all-to-all in the rows and columns of an uneven grid, and a small halo."""
    rows = max(d for d in range(1, int(t.ranks**0.4) + 1) if t.ranks % d == 0)
    index = np.arange(t.ranks).reshape(rows, -1)
    for lines in (index, index.T):
        for ranks in lines:
            everywhere(t, ranks, 4e8 / t.ranks / len(ranks), 3)
    t.add(index, np.roll(index, 1, 1), 5000, 30)


def workers(t: Traffic) -> None:
    """Masters of 24 workers each; the masters exchange with the first one."""
    ranks = np.arange(t.ranks)
    master = ranks // 24 * 24
    for source, target in ((ranks, master), (master, ranks)):
        t.add(source, target, 3000, 100)
    heads = ranks[::24]
    t.add(heads, 0, 200000, 20)
    t.add(0, heads, 20000, 20)


def three(t: Traffic) -> None:
    """Three models on a half, a third and the rest of the ranks: halos, and exchanges between equal positions."""
    cuts = [0, t.ranks // 2, t.ranks // 2 + t.ranks // 3, t.ranks]
    parts = [np.arange(a, b) for a, b in itertools.pairwise(cuts)]
    for ranks, dimensions in zip(parts, (3, 2, 2), strict=True):
        part = Traffic(len(ranks))
        stencil(part, grid_of(len(ranks), dimensions), (24000,) * dimensions, 80)
        doubling(part, np.arange(len(ranks)), lambda mask: 16, 150)
        t.entries += [e + [ranks[0], ranks[0], 0, 0] for e in part.entries]
    for one, other in itertools.pairwise(parts):
        partner = other[np.arange(len(one)) * len(other) // len(one)]
        t.add(one, partner, 50000, 25)
        t.add(partner, one, 10000, 25)


def sweeps(t: Traffic) -> None:
    """Wave fronts from all corners of a grid, and cyclic reduction along its columns."""
    stencil(t, grid_of(t.ranks, 2), (2400, 7200), 800)
    index = index_of(t, 2)
    step = 1
    while step < len(index):
        t.add(index[step::step], index[:-step:step], 30000, 10)
        t.add(index[:-step:step], index[step::step], 30000, 10)
        step *= 2


def trees(t: Traffic) -> None:
    """Broadcasts from four roots."""
    for root in range(4):
        part = Traffic(t.ranks)
        binomial(part, 20000 * (root + 1), 25)
        for e in part.entries:
            e[:, :2] = (e[:, :2] + root * t.ranks // 4) % t.ranks
        t.entries += part.entries


def halo(t: Traffic) -> None:
    stencil(t, grid_of(t.ranks, 3), (50000, 20000, 45000), 70)


def traffic_of(random: Callable[..., None], *rest: Any) -> Pattern:
    return lambda t: random(t, *rest)


PATTERNS: dict[str, Pattern] = {
    "box3d": lambda t: box(t, 3, (48000, 1600, 64), 90),
    "box2d": lambda t: box(t, 2, (20000, 200), 120),
    "wide2d": lambda t: wide(t, 36000, 60),
    "halo3d-shuffled": lambda t: shuffled(t, halo, 5),
    "halo-sums": both(halo, lambda t: doubling(t, np.arange(t.ranks), lambda mask: 3000, 60)),
    "mesh2d": traffic_of(clustered, 11, False),
    "mesh2d-striped": traffic_of(clustered, 12, True),
    "hubs": traffic_of(hubs, 13),
    "communities": traffic_of(communities, 14),
    "quadtree": traffic_of(quadtree, 15),
    "rings": lambda t: rings(t, 8, 4),
    "pencils": pencils,
    "workers": workers,
    "three-models": three,
    "sweeps": sweeps,
    "trees": trees,
}


def islands(nodes: int, cores: int, island: int, seed: int) -> Machine:
    """Groups of nodes with links of different length between them, as measured."""
    random = np.random.default_rng(seed)
    groups = nodes // island
    long = random.uniform(1, 2.5, (groups, groups))
    long = (long + long.T) / 2

    def distance(a: int, b: int) -> tuple[float, float]:
        far = 0.4 if a // island == b // island else long[a // island, b // island]
        return 5e-6 * (1 + far), 9e8 / (1 + far)

    return Machine(
        {
            "nodes": nodes, "cores_per_node": cores, "levels": [{"width": cores, **level(0.4, 6000)}],
            "between_nodes": measured(distance, nodes, 0.2, seed),
        },
        [island, groups],
    )  # fmt: skip


def mixed(ranks: int, sizes: tuple[int, ...], per_rack: int) -> Machine:
    """Racks of nodes of different sizes, in turn."""
    switches = [{"name": "core", **level(20, 150)}]
    nodes: list[dict[str, Any]] = []
    size: Iterator[int] = itertools.cycle(sizes)
    while sum(n["cores"] for n in nodes) < ranks:
        if len(nodes) % per_rack == 0:
            switches.append({"name": f"rack{len(switches) - 1}", "parent": "core", **level(9, 700)})
        nodes.append({"name": f"n{len(nodes)}", "switch": switches[-1]["name"], "cores": next(size)})
    inside = [{"width": 4, **level(0.3, 9000)}, {"width": max(sizes), **level(0.6, 4000)}]
    return Machine({"switches": switches, "nodes": nodes, "levels": inside})


MACHINES: dict[int, dict[str, Callable[[], Machine]]] = {
    48: {
        "switch": lambda: flat(48, 6),
        "racks": lambda: racks(48, 4, 3),
        "torus": lambda: torus((2, 3, 2), 4),
        "islands": lambda: islands(12, 4, 3, 21),
        "mixed": lambda: mixed(48, (4, 8, 12), 2),
        "spare": lambda: fat(48, 20),
    },
    100: {
        "switch": lambda: flat(100, 20),
        "racks": lambda: noisy(racks(100, 5, 4), 22),
        "torus": lambda: torus((5, 5), 4),
        "islands": lambda: islands(25, 4, 5, 23),
        "mixed": lambda: mixed(100, (10, 6, 24), 3),
        "spare": lambda: racks(100, 8, 5),
    },
    384: {
        "switch": lambda: fat(384, 24),
        "racks": lambda: racks(384, 8, 6),
        "torus": lambda: noisy(torus((4, 4, 3), 8), 24),
        "islands": lambda: islands(32, 12, 8, 25),
        "mixed": lambda: mixed(384, (12, 32, 20), 4),
        "spare": lambda: flat(384, 36),
    },
    1000: {
        "switch": lambda: flat(1000, 40),
        "racks": lambda: racks(1000, 20, 10),
        "torus": lambda: torus((5, 5, 5), 8),
        "islands": lambda: islands(100, 10, 10, 26),
        "mixed": lambda: mixed(1000, (24, 48, 64), 5),
        "spare": lambda: racks(1000, 32, 6),
    },
    3000: {
        "switch": lambda: fat(3000, 60),
        "racks": lambda: noisy(racks(3000, 30, 10), 27),
        "torus": lambda: torus((6, 5, 5, 5), 4),
        "islands": lambda: islands(125, 24, 25, 28),
        "mixed": lambda: mixed(3000, (48, 96, 64, 128), 6),
        "spare": lambda: fat(3000, 64),
    },
    # These cases were added after all cases above had been examined.
    60: {
        "switch": lambda: flat(60, 10),
        "racks": lambda: racks(60, 5, 4),
        "torus": lambda: torus((3, 5), 4),
        "islands": lambda: islands(15, 4, 5, 31),
        "mixed": lambda: mixed(60, (8, 12, 6), 2),
        "spare": lambda: fat(60, 16),
    },
    120: {
        "switch": lambda: flat(120, 12),
        "racks": lambda: noisy(racks(120, 6, 5), 32),
        "torus": lambda: torus((5, 3, 2), 4),
        "islands": lambda: islands(20, 6, 5, 33),
        "mixed": lambda: mixed(120, (16, 8, 20), 3),
        "spare": lambda: racks(120, 10, 4),
    },
    360: {
        "switch": lambda: fat(360, 24),
        "racks": lambda: racks(360, 12, 6),
        "torus": lambda: noisy(torus((6, 5, 3), 4), 34),
        "islands": lambda: islands(30, 12, 6, 35),
        "mixed": lambda: mixed(360, (20, 12, 28), 4),
        "spare": lambda: flat(360, 32),
    },
}
