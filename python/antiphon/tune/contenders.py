# SPDX-License-Identifier: Apache-2.0
"""The contenders of a cell: the library, what was found before, the rules' choice, and what a model expects within
reach of the best.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from antiphon import core
from antiphon.model import switches
from antiphon.tune.grid import UNSIZED, Point

#: An algorithm is worth measuring if its prediction is within this factor of the best one.
REACH = 1.5
#: The same for short calls, where models know little of what counts, and measuring costs next to nothing.
REACH_WHEN_SHORT = 4.0
_SHORT_BYTES = 4096
#: The most sets of parameters of one algorithm: they differ less than algorithms do.
_VARIANTS = 3
_VARIANTS_WHEN_SHORT = 5
#: A variation of a parameter that neither cuts messages nor shapes a tree must be predicted to gain this much.
_VARIATION_GAIN = 1.01
#: Messages of at least this size have the concurrency that a probe measures.
_CONCURRENCY_BYTES = 16384
#: Values worth trying of parameters that cut messages; short messages make most of them alike.
_CUT_BYTES = (2048, 4096, 8192, 16384, 32768)
_WINDOWS = (1, 2, 4, 8, 16)
_WINDOWS_WHEN_LONG = (1, 4, 16)
_LONG_BYTES = 65536
_RADIX = (0, 1, 2, 3, 4, 8, 16)
#: Radixes down a tree where its messages are longer one way than the other.
_DOWN_RADIX = (0, 4)
#: Children of a rank in the tree within a node.
_INNER = (1, 2, 8)

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
    #: Each node's ranks follow one another.
    blocked: bool = True

    def question(self, point: Point) -> core.Question:
        unknown = point.collective in UNSIZED
        element = 8 if point.bytes % 8 == 0 and _is_reduction(point.collective) else 1
        return core.Question(
            point.collective,
            point.ranks,
            -(-point.ranks // self.ranks_per_node),
            self.ranks_per_node,
            None if unknown else point.bytes,
            element,
            link_bits_per_s=self.link_bits_per_s,
            blocked=self.blocked,
            mpi=self.mpi,
        )


def _is_reduction(collective: str) -> bool:
    return next(c.is_reduction for c in core.collectives() if c.name == collective)


def choices(
    point: Point,
    machine: TunedMachine,
    predictor: Predictor,
    most: int,
    known: Sequence[str] = (),
    profile: str | None = None,
) -> list[str]:
    """Up to `most` of Antiphon's choices: those `known` to be good, the rules' own, then by prediction, each in
    its full form. The `profile`'s text says what messages at once gain.

    Unsized collectives have the same contenders at every size: one of them must serve all.
    """
    at = _asked(point)
    question = machine.question(at)
    usual = own_choice(point, machine)
    held = switches.of_profile(profile, at.ranks, machine.ranks_per_node)
    first = [*(choice for choice in known if choice != "library"), *([usual] if usual else [])]
    ways = _candidates(at, question, _measured_concurrency(at, profile), held, _connections_bind(profile))
    candidates = list(dict.fromkeys([*first, *ways]))
    predicted = dict(predictor(at, candidates))
    predicted |= _better_variations(at, machine, predictor, predicted, profile)
    possible = {choice: time for choice, time in predicted.items() if math.isfinite(time)}
    ranked = [(time, choice) for choice, time in sorted(possible.items(), key=_by_time)]
    best = ranked[0][0] if ranked else 0.0
    near = _varied([choice for time, choice in ranked if time <= _reach(at) * best], most, at.bytes <= _SHORT_BYTES)
    # A multicast has a prediction only where a profile says that multicast works.
    multicasts = {algorithm.name for algorithm in core.algorithms(at.collective) if algorithm.multicasts}
    unknown = [c for c in candidates if c not in predicted and c.partition(":")[0] not in multicasts]
    return list(dict.fromkeys([*first, *near, *unknown]))[:most]


def _asked(point: Point) -> Point:
    """What the rules and the model are asked about: one size for all, where not all ranks know it."""
    return Point(point.collective, 65536, point.ranks) if point.collective in UNSIZED else point


def own_choice(point: Point, machine: TunedMachine) -> str | None:
    """The algorithm that the built-in rules use, in full form; None where they leave the call to the library."""
    own = core.choose(machine.question(_asked(point)), own=True)
    return own.choice if own.algorithm else None


def _reach(point: Point) -> float:
    return REACH if point.bytes > _SHORT_BYTES else REACH_WHEN_SHORT


def _measured_concurrency(point: Point, profile: str | None) -> int | None:
    """How many messages at once were seen to pay, if a probe has measured it: it judges long messages only."""
    if point.bytes < _CONCURRENCY_BYTES:
        return None
    measured = json.loads(profile).get("concurrency", {}) if profile else {}
    return int(measured["index"]) if measured.get("two_destinations_ratio") else None


def _connections_bind(profile: str | None) -> bool:
    """Whether one connection was seen to carry less than a port."""
    links = json.loads(profile).get("link_classes", []) if profile else []
    return any(link.get(f"connection{way}_bytes_per_s") for link in links for way in ("", "_way"))


def _better_variations(
    point: Point, machine: TunedMachine, predictor: Predictor, predicted: Mapping[str, float], profile: str | None
) -> dict[str, float]:
    """Each algorithm's best choice with another way, border or number of ranks at once, where that gains."""
    best: dict[str, str] = {}
    for choice in sorted(predicted, key=predicted.__getitem__):
        if predicted[choice] <= _reach(point) * min(predicted.values()) < math.inf:
            best.setdefault(choice.partition(":")[0], choice)
    better: dict[str, float] = {}
    for choice in best.values():
        varied = predictor(point, _variations(point, machine, choice, profile))
        better |= {c: s for c, s in varied.items() if s * _VARIATION_GAIN < predicted[choice]}
    return better


def _variations(point: Point, machine: TunedMachine, choice: str, profile: str | None) -> list[str]:
    """The choices that differ in one such parameter, as the core knows it."""
    facts = {"profile": profile} if profile else {"link_bits_per_s": machine.link_bits_per_s or 1e9}
    answer = core.query(
        "variations",
        collective=point.collective,
        choice=choice,
        ranks=point.ranks,
        ranks_per_node=min(machine.ranks_per_node, point.ranks),
        bytes=point.bytes,
        **facts,
    )
    return list(answer["choices"])


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


def _candidates(
    point: Point, question: core.Question, at_once: int | None, switch_sizes: Sequence[int], connections_bind: bool
) -> Iterator[str]:
    """Every algorithm that can do it, with every sensible cut, window and tree, in full form and without repeats.
    Those over many connections are for links that one does not fill.

    Algorithms take turns, and each begins with its longest pieces, which are soon predicted: the predictor's time may
    end before the last ones.
    """
    supported = core.supported(question, switch_sizes)
    possible = [
        algorithm
        for algorithm in core.algorithms(point.collective)
        if algorithm.name in supported and (connections_bind or not algorithm.many_connections)
    ]
    in_turn = itertools.zip_longest(*(_grid(algorithm, point, at_once) for algorithm in possible))
    seen = set()
    for turn in in_turn:
        for algorithm, values in zip(possible, turn, strict=True):
            if values is None:
                continue
            text = algorithm.name + (":" + ",".join(f"{k}={v}" for k, v in values.items()) if values else "")
            if text not in seen:
                seen.add(text)
                yield text


def _or_none(values: list[int]) -> list[int | None]:
    """The values, or a single None where there are none."""
    return [*values] or [None]


def _grid(algorithm: core.Algorithm, point: Point, at_once: int | None) -> Iterator[dict[str, int]]:
    """Values of the parameters worth trying; a cut that leaves the message whole is tried once, with one window. As
    many ranks as were seen to pay are served at once."""
    defaults = {p.name: p.default for p in algorithm.parameters}
    if at_once is not None:
        measured = {p.name: min(max(at_once, p.min), p.max) for p in algorithm.parameters if p.role == "at_once"}
        defaults |= measured
    cut = next((p.name for p in algorithm.parameters if p.role == "piece"), None)
    sizes = [size for size in _within(algorithm, cut, _CUT_BYTES) if size < point.bytes] if cut else []
    trees = {"radix": _RADIX, "down_radix": _DOWN_RADIX, "inner": _INNER}
    shapes = [
        {name: width for name, width in zip(trees, widths, strict=True) if width is not None}
        for widths in itertools.product(*(_or_none(_within(algorithm, name, values)) for name, values in trees.items()))
    ]
    bases = [defaults | given for given in shapes if given.get("down_radix", -1) != given.get("radix")]
    if cut is None or not sizes:
        yield from bases
        return
    windows = _or_none(_within(algorithm, "window", _WINDOWS if point.bytes <= _LONG_BYTES else _WINDOWS_WHEN_LONG))
    for size, base, window in itertools.product(sorted(sizes, reverse=True), bases, windows):
        # More than 64 KiB ahead overruns a port: docs/findings/wire/bytes-under-way-not-messages.md.
        if window is None or size * window <= 65536:
            yield base | {cut: size} | ({} if window is None else {"window": window})


def _within(algorithm: core.Algorithm, name: str, values: Iterable[int]) -> list[int]:
    parameter = next((p for p in algorithm.parameters if p.name == name), None)
    return [v for v in values if parameter and parameter.min <= v <= parameter.max]
