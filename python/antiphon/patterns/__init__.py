# SPDX-License-Identifier: Apache-2.0
"""Patterns of messages: how much each rank sends to each other. It also has the benchmark's generators."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.units import parse_size

VERSION = 1
SEED = 20240229


@dataclass(frozen=True)
class Pattern:
    """Messages between ranks; the form of docs/reference/plan-format.md."""

    name: str
    size: int
    #: (from, to, bytes), each pair once.
    messages: tuple[tuple[int, int, int], ...]

    @property
    def bytes(self) -> int:
        return sum(bytes_ for _, _, bytes_ in self.messages)

    def document(self) -> dict[str, Any]:
        """Returns the pattern as a file holds it."""
        return {"version": VERSION, "size": self.size, "messages": [list(m) for m in self.messages]}

    def value(self) -> dict[str, Any]:
        """Returns the pattern as requests to the core hold it."""
        return {"size": self.size, "messages": [list(m) for m in self.messages]}

    @classmethod
    def load(cls, path: Path) -> Pattern:
        """Reads a file. The core checks its content when it is used."""
        try:
            document = parse_json(path.read_text(encoding="utf-8"))
            messages = tuple((int(a), int(b), int(c)) for a, b, c in document["messages"])
            return cls(path.stem, int(document["size"]), messages)
        except OSError as error:
            raise AntiphonError(f"cannot read the pattern {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise AntiphonError(
                f"{path}: not a pattern ({type(error).__name__}: {error})",
                hint='form: {"version": 1, "size": 4, "messages": [[FROM, TO, BYTES]]}',
            ) from None


Draw = Iterable[tuple[int, int, int]]


def _pairs(size: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(size) for b in range(size) if a != b]


def random_of_paper(size: int, _block: int, seed: int) -> Draw:
    """Draws Paper 1, Table 3: of all pairs of 16 nodes, 160 exchange 64 KB, 20 16 KB, 60 100 B; else in proportion."""
    pairs = _pairs(size)
    random.Random(seed).shuffle(pairs)
    long, middle = len(pairs) * 160 // 240, len(pairs) * 20 // 240
    for i, (a, b) in enumerate(
        sorted(pairs[:long]) + sorted(pairs[long : long + middle]) + sorted(pairs[long + middle :])
    ):
        yield a, b, 65536 if i < long else 16384 if i < long + middle else 100


def uniform(size: int, block: int, _seed: int) -> Draw:
    """Draws an all-to-all with equal blocks."""
    return ((a, b, block) for a, b in _pairs(size))


def hot_spot(size: int, block: int, _seed: int) -> Draw:
    """Draws a pattern in which every node sends a block to two nodes."""
    return ((a, b, block) for a, b in _pairs(size) if b < 2)


def power_law(size: int, block: int, seed: int) -> Draw:
    """Draws sizes by a power law (Pareto, exponent 1.2) around the block, at most 16 blocks; few pairs carry most."""
    draw = random.Random(seed)
    for a, b in _pairs(size):
        yield a, b, min(int(block / 6 * draw.paretovariate(1.2)), 16 * block)


def banded(size: int, block: int, _seed: int) -> Draw:
    """Draws blocks for neighbours up to distance 3 that shrink with the distance, as a halo of a matrix band."""
    for a, b in _pairs(size):
        distance = min((a - b) % size, (b - a) % size)
        if distance <= 3:
            yield a, b, block // distance


@dataclass(frozen=True)
class Generator:
    """Describes a kind of pattern that `--pattern KIND[:BYTES]` names."""

    draw: Callable[[int, int, int], Draw]
    block: int


GENERATORS = {
    "random": Generator(random_of_paper, 65536),
    "uniform": Generator(uniform, 65536),
    "hot-spot": Generator(hot_spot, 262144),
    "power-law": Generator(power_law, 65536),
    "banded": Generator(banded, 262144),
}


def named(text: str, size: int, seed: int = SEED) -> Pattern:
    """Returns a pattern for `size` ranks from KIND[:BYTES], or from a file."""
    kind, _, block = text.partition(":")
    generator = GENERATORS.get(kind)
    if generator is None:
        if Path(text).exists():
            return Pattern.load(Path(text))
        raise AntiphonError(
            f"no pattern or file named {text!r}",
            hint=f"patterns: {', '.join(GENERATORS)}, each with :BYTES for its block",
        )
    try:
        bytes_ = parse_size(block) if block else generator.block
    except ValueError as error:
        raise AntiphonError(f"pattern {text}: {error}") from None
    messages = tuple((a, b, c) for a, b, c in generator.draw(size, bytes_, seed) if c > 0)
    return Pattern(text, size, messages)


def node_bytes(pattern: Pattern, node_of_rank: Sequence[int]) -> int:
    """Returns the most bytes into or out of one node."""
    loads: dict[tuple[str, int], int] = {}
    for a, b, bytes_ in pattern.messages:
        if node_of_rank[a] != node_of_rank[b]:
            for key in (("out", node_of_rank[a]), ("in", node_of_rank[b])):
                loads[key] = loads.get(key, 0) + bytes_
    return max(loads.values(), default=0)
