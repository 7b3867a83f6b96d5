# SPDX-License-Identifier: Apache-2.0
"""The contenders of a cell: the library, the rules' choice and its neighbours, and what a model expects within reach
of the best.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from antiphon import core
from antiphon.tune.grid import UNSIZED, Point

#: An algorithm is worth measuring if its prediction is within this factor of the best one.
REACH = 1.5
#: The same for short calls, where models know little of what counts, and measuring costs next to nothing.
REACH_WHEN_SHORT = 4.0
_SHORT_BYTES = 4096
#: The most sets of parameters of one algorithm: they differ less than algorithms do.
_VARIANTS = 3
_VARIANTS_WHEN_SHORT = 5
#: Parameters that cut messages, and the values worth trying; short messages make most of them alike.
_CUTS = ("segment_bytes", "piece_bytes", "block_bytes")
_CUT_BYTES = (2048, 4096, 8192, 16384, 32768)
_WINDOWS = (1, 2, 4, 8, 16)
_WINDOWS_WHEN_LONG = (1, 4, 16)
_LONG_BYTES = 65536
_RADIX = (0, 1, 2, 3, 4, 8, 16)
#: Radixes down a tree where its messages are longer one way than the other.
_DOWN_RADIX = (0, 4)

#: Predicts the seconds of choices at a point; it leaves out the choices that it knows nothing of, and says infinity for
#: those that must not take part.
Predictor = Callable[[Point, Sequence[str]], Mapping[str, float]]


@dataclass(frozen=True)
class TunedMachine:
    """The machine that is tuned, as far as rules may look at it."""

    nodes: int
    ranks_per_node: int
    link_bits_per_s: int
    mpi: str

    def question(self, point: Point) -> core.Question:
        unknown = point.collective in UNSIZED
        element = 8 if point.bytes % 8 == 0 and _is_reduction(point.collective) else 1
        return core.Question(
            point.collective,
            point.ranks,
            max(1, point.ranks // self.ranks_per_node),
            self.ranks_per_node,
            None if unknown else point.bytes,
            element,
            True,
            self.link_bits_per_s,
            True,
            self.mpi,
        )


def _is_reduction(collective: str) -> bool:
    return next(c.is_reduction for c in core.collectives() if c.name == collective)


def choices(point: Point, machine: TunedMachine, predictor: Predictor, most: int) -> list[str]:
    """Up to `most` of Antiphon's choices: the rules' own first, then by prediction, each in its full form.

    Unsized collectives have the same contenders at every size: one of them must serve all.
    """
    at = Point(point.collective, 65536, point.ranks) if point.collective in UNSIZED else point
    question = machine.question(at)
    own = core.choose(question, own=True)
    first = [own.choice] if own.algorithm else []
    candidates = list(dict.fromkeys([*first, *_candidates(at, question)]))
    predicted = predictor(at, candidates)
    possible = {choice: time for choice, time in predicted.items() if math.isfinite(time)}
    ranked = [(time, choice) for choice, time in sorted(possible.items(), key=_by_time)]
    best = ranked[0][0] if ranked else 0.0
    reach = REACH if at.bytes > _SHORT_BYTES else REACH_WHEN_SHORT
    near = _varied([choice for time, choice in ranked if time <= reach * best], most, at.bytes <= _SHORT_BYTES)
    # A multicast has a prediction only where a profile says that multicast works.
    multicasts = {algorithm.name for algorithm in core.algorithms(at.collective) if algorithm.multicasts}
    unknown = [c for c in candidates if c not in predicted and c.partition(":")[0] not in multicasts]
    return list(dict.fromkeys([*first, *near, *unknown]))[:most]


def _by_time(item: tuple[str, float]) -> tuple[int, int, str]:
    """Shortest first; among equals (within 1 %) those with more pieces ahead: a late answer is not in the model."""
    choice, seconds = item
    window = re.search(r"\bwindow=(\d+)", choice)
    return round(100 * math.log(max(seconds, 1e-9))), -int(window[1]) if window else 0, choice


def _varied(ranked: Sequence[str], most: int, short: bool) -> list[str]:
    """In order, but every algorithm's best before any algorithm's second and third: a model is more often wrong
    about an algorithm than about its parameters."""
    by_algorithm: dict[str, list[str]] = {}
    for choice in ranked:
        by_algorithm.setdefault(choice.partition(":")[0], []).append(choice)
    return [
        own[i]
        for i in range(_VARIANTS_WHEN_SHORT if short else _VARIANTS)
        for own in by_algorithm.values()
        if i < len(own)
    ][:most]


def _candidates(point: Point, question: core.Question) -> Iterator[str]:
    """Every algorithm that can do it, with every sensible value of its parameters, in full form and without repeats."""
    supported = core.supported(question)
    seen = set()
    for algorithm in core.algorithms(point.collective):
        if algorithm.name not in supported:
            continue
        for values in _grid(algorithm, point):
            text = algorithm.name + (":" + ",".join(f"{k}={v}" for k, v in values.items()) if values else "")
            if text not in seen:
                seen.add(text)
                yield text


def _or_none(values: list[int]) -> list[int | None]:
    """The values, or a single None where there are none."""
    return [*values] or [None]


def _grid(algorithm: core.Algorithm, point: Point) -> Iterator[dict[str, int]]:
    """Values of the parameters worth trying; a cut that leaves the message whole is tried once, with one window."""
    defaults = {p.name: p.default for p in algorithm.parameters}
    cut = next((name for name in _CUTS if name in defaults), None)
    radixes = _or_none(_within(algorithm, "radix", _RADIX))
    for radix, down in itertools.product(radixes, _or_none(_within(algorithm, "down_radix", _DOWN_RADIX))):
        if down is not None and radix == down:
            continue
        base = defaults | {k: v for k, v in (("radix", radix), ("down_radix", down)) if v is not None}
        if cut is None:
            yield base
            continue
        sizes = [size for size in _within(algorithm, cut, _CUT_BYTES) if size < point.bytes]
        if not sizes:
            yield base
        for size in sizes:
            windows = _WINDOWS if point.bytes <= _LONG_BYTES else _WINDOWS_WHEN_LONG
            for window in _or_none(_within(algorithm, "window", windows)):
                # More than 64 KiB ahead overruns the port of a switch; see docs/concepts/findings.md.
                if window is None or size * window <= 65536:
                    yield base | {cut: size} | ({} if window is None else {"window": window})


def _within(algorithm: core.Algorithm, name: str, values: Iterable[int]) -> list[int]:
    parameter = next((p for p in algorithm.parameters if p.name == name), None)
    return [v for v in values if parameter and parameter.min <= v <= parameter.max]
