# SPDX-License-Identifier: Apache-2.0
"""Machines to map traffic to: switches, racks, toruses and uneven nodes, as described and as measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass
class Machine:
    """A document of docs/reference/mapping-files.md, and facts for tools that know only trees."""

    document: dict[str, Any]
    #: Branches of the tree above the nodes, from below; empty if nodes differ.
    groups: list[int] = field(default_factory=list)
    #: Nodes in the tree's order, if that differs from theirs.
    order: np.ndarray | None = None


def level(latency_us: float, mb_per_s: float) -> dict[str, float]:
    return {"latency_s": latency_us * 1e-6, "bytes_per_s": mb_per_s * 1e6}


def flat(ranks: int, cores: int) -> Machine:
    """One switch, nodes of two sockets; paper 2's cluster."""
    inside = [{"width": cores // 2, **level(0.5, 4000)}, {"width": cores, **level(0.8, 2500)}]
    nodes = -(-ranks // cores)
    return Machine({"nodes": nodes, "cores_per_node": cores, "levels": inside, **level(5, 800)}, [nodes])


def fat(ranks: int, cores: int) -> Machine:
    """One switch, large nodes of four sockets."""
    inside = [{"width": cores // 4, **level(0.3, 8000)}, {"width": cores, **level(0.6, 5000)}]
    nodes = -(-ranks // cores)
    return Machine({"nodes": nodes, "cores_per_node": cores, "levels": inside, **level(2, 500)}, [nodes])


def racks(ranks: int, cores: int, leaf: int) -> Machine:
    """Nodes on leaf switches below a spine."""
    leaves = -(-ranks // (cores * leaf))
    switches = [{"name": "spine", **level(18, 200)}]
    switches += [{"name": f"leaf{i}", "parent": "spine", **level(12, 600)} for i in range(leaves)]
    nodes = [{"name": f"leaf{i}-", "switch": f"leaf{i}", "count": leaf, "cores": cores} for i in range(leaves)]
    return Machine(
        {"switches": switches, "nodes": nodes, "levels": [{"width": cores, **level(0.5, 5000)}]}, [leaf, leaves]
    )


def torus(dims: tuple[int, ...], cores: int) -> Machine:
    """Distances by hops; nothing else says that it is a torus. As a tree: boxes of boxes, each axis cut in parts."""
    places = np.stack(np.unravel_index(np.arange(math.prod(dims)), dims), axis=1)
    hops = np.zeros((len(places), len(places)))
    for axis, length in enumerate(dims):
        apart = np.abs(places[:, None, axis] - places[None, :, axis])
        hops += np.minimum(apart, length - apart)
    latency = (1.5 + 0.15 * hops) * 1e-6
    rate = 1e9 / (0.5 + 0.5 * hops)
    document = {
        "nodes": len(places),
        "cores_per_node": cores,
        "levels": [{"width": cores, **level(0.5, 5000)}],
        "between_nodes": {"latency_s": latency.tolist(), "bytes_per_s": rate.tolist()},
    }
    return Machine(document, *_boxes(places, dims))


def _boxes(places: np.ndarray, dims: tuple[int, ...]) -> tuple[list[int], np.ndarray]:
    """Return how many boxes make the next larger one, and the nodes in that order."""
    groups, keys, left, at = [], [], list(dims), places.copy()
    while any(n > 1 for n in left):
        parts = [min((p for p in range(2, n + 1) if n % p == 0), default=1) for n in left]
        groups.append(math.prod(parts))
        keys += [at[:, axis] % parts[axis] for axis in reversed(range(len(dims)))]
        at //= parts
        left = [n // p for n, p in zip(left, parts, strict=True)]
    return groups, np.lexsort(keys)


def measured(
    distance: Callable[[int, int], tuple[float, float]], nodes: int, noise: float, seed: int
) -> dict[str, Any]:
    """Return what a probe of every pair of nodes would measure, with independent noise in each."""
    random = np.random.default_rng(seed)
    values = np.array([[distance(a, b) for b in range(nodes)] for a in range(nodes)])
    for quantity in range(2):
        upper = np.triu(np.exp(noise * random.standard_normal((nodes, nodes))), 1)
        values[:, :, quantity] *= upper + upper.T + np.eye(nodes)
    return {"latency_s": values[:, :, 0].tolist(), "bytes_per_s": values[:, :, 1].tolist()}


def noisy(machine: Machine, seed: int = 1) -> Machine:
    """Racks, or a torus, as measured."""
    document = machine.document
    if "between_nodes" in document:
        clean = document["between_nodes"]
        nodes = document["nodes"]
        between = measured(lambda a, b: (clean["latency_s"][a][b], clean["bytes_per_s"][a][b]), nodes, 0.1, seed)
        return replace(machine, document={**document, "between_nodes": between})
    near, far = (12e-6, 600e6), (18e-6, 200e6)
    leaf, nodes = machine.groups[0], math.prod(machine.groups)
    between = measured(lambda a, b: near if a // leaf == b // leaf else far, nodes, 0.1, seed)
    listed = [{k: n[k] for k in ("count", "cores")} for n in document["nodes"]]
    return replace(machine, document={"nodes": listed, "levels": document["levels"], "between_nodes": between})


def uneven(ranks: int) -> Machine:
    """Racks with old nodes of 6 cores and newer ones of 16."""
    switches = [{"name": "spine", **level(18, 200)}]
    nodes: list[dict[str, Any]] = []
    total = 0
    while total < ranks:
        rack = f"rack{len(switches) - 1}"
        switches.append({"name": rack, "parent": "spine", **level(12, 600)})
        for cores in (6, 6, 16) if len(switches) % 2 else (16, 6):
            nodes.append({"name": f"{rack}-{len(nodes)}", "switch": rack, "cores": cores})
            total += cores
    inside = [{"width": 2, **level(0.3, 8000)}, {"width": 16, **level(0.5, 5000)}]
    return Machine({"switches": switches, "nodes": nodes, "levels": inside})


#: By number of ranks.
MACHINES: dict[int, dict[str, Callable[[], Machine]]] = {
    64: {
        "flat": lambda: flat(64, 4),
        "racks": lambda: racks(64, 4, 4),
        "torus": lambda: torus((4, 2, 2), 4),
        "racks-measured": lambda: noisy(racks(64, 4, 4)),
        "fat": lambda: fat(64, 16),
        "uneven": lambda: uneven(64),
    },
    96: {
        "flat": lambda: flat(96, 12),
        "racks": lambda: racks(96, 4, 6),
        "torus": lambda: torus((4, 3, 2), 4),
        "uneven": lambda: uneven(96),
    },
    512: {
        "flat": lambda: flat(512, 64),
        "racks": lambda: racks(512, 16, 4),
        "torus": lambda: torus((8, 4, 4), 4),
        "torus-measured": lambda: noisy(torus((8, 4, 4), 4)),
        "racks-measured": lambda: noisy(racks(512, 16, 4)),
        "fat": lambda: fat(512, 64),
        "uneven": lambda: uneven(512),
    },
    600: {
        "flat": lambda: flat(600, 24),
        "racks": lambda: racks(600, 20, 5),
        "torus": lambda: torus((6, 5, 5), 4),
        "uneven": lambda: uneven(600),
    },
    4096: {
        "flat": lambda: flat(4096, 64),
        "fat": lambda: fat(4096, 64),
        "racks": lambda: racks(4096, 64, 8),
        "torus": lambda: torus((8, 8, 8), 8),
    },
}
