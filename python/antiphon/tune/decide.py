# SPDX-License-Identifier: Apache-2.0
"""From measurements to rules: which choice wins a cell beyond noise, and for which sizes and ranks that holds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.bench import stats
from antiphon.bench.collectives import CollectiveMeasurement
from antiphon.output.tables import bytes_text
from antiphon.tune.grid import UNSIZED

LIBRARY = "library"
#: Stands for what is used without a tuning: there is no rule.
KEPT = "kept"
#: What is used without a tuning, as a contender: it may do another thing at each call.
AUTO = "auto"
_AUTO_LABEL = "antiphon"
#: How the reason of a rule begins that no measurement supports.
BY_THE_MODEL = "by the model"
#: A choice must be this much faster than the library in one mode at least …
GAIN = 1.03
#: … or this much, where there are so few samples that an interval says little …
GAIN_OF_FEW = 1.1
FEW_SAMPLES = 6
#: … and in none slower than this.
LEAST = 0.985
#: A choice that gains this much in every mode stands. Others are measured again: of many, a lucky one looks best.
CLEAR = 1.1
#: How many of a cell's best are measured again.
DOUBTED = 3
#: Choices within this factor of the best count as equal: fewer rules, and less fitted to noise.
EQUAL = 1.03
#: The same where their intervals meet in every mode.
EQUAL_WHEN_NOISY = 1.15

Key = tuple[str, int, int]


@dataclass(frozen=True)
class Verdict:
    """The judgement of one cell."""

    collective: str
    bytes: int
    ranks: int
    #: The choices as good as the best, best first; the library alone where nothing beats it beyond noise.
    good: Sequence[str]
    #: How many times faster than the library, by choice and mode.
    faster: Mapping[str, Mapping[str, float]]
    #: What the rules would use without tuning, if it is among the good.
    usual: str | None = None


@dataclass
class MeasuredCell:
    """One cell's medians by choice and mode."""

    by_choice: dict[str, dict[str, stats.Summary]] = field(default_factory=lambda: defaultdict(dict))


def cells_of(measurements: Iterable[CollectiveMeasurement]) -> dict[Key, MeasuredCell]:
    """Groups measurements; of Antiphon's contenders the full form of what really ran is the name, but of AUTO."""
    cells: dict[Key, MeasuredCell] = defaultdict(MeasuredCell)
    for m in measurements:
        own = AUTO if is_auto(m) else m.chosen
        name = m.contender if m.contender.partition(":")[0] == LIBRARY else own
        cells[m.collective, m.bytes, m.ranks].by_choice[name][m.mode] = m.summary
    return cells


def is_auto(measurement: CollectiveMeasurement) -> bool:
    """Whether this measured what is used without a tuning."""
    return measurement.contender == _AUTO_LABEL


def doubted(found: Verdict) -> list[str]:
    """The best choices that must be measured again, alone with the library."""
    if found.good[0] == LIBRARY or not all(found.faster[name] for name in found.good):
        return []
    return [name for name in found.good[:DOUBTED] if min(found.faster[name].values()) < CLEAR]


def verdict(
    key: Key, cell: MeasuredCell, again: MeasuredCell | None = None, usual: str | None = None
) -> Verdict | None:
    """Judges one cell; None without the library's own time. Where doubted choices were measured `again`, that counts
    for them: the first time they were chosen for being fast in it. `usual` is the rules' own choice, if they have one.
    """
    library = cell.by_choice.get(LIBRARY)
    if not library:
        return None
    faster = {name: _ratios(library, modes) for name, modes in cell.by_choice.items() if name != LIBRARY}
    scores = {}
    for name in faster:
        judged = again if again is not None and name in again.by_choice else cell
        ratios = faster[name] = _ratios(judged.by_choice[LIBRARY], judged.by_choice[name])
        # A contender that left a mode early, because it could not win there, is no choice, as AUTO is none.
        if (
            name == AUTO
            or set(ratios) != set(library)
            or not _beats(judged.by_choice[LIBRARY], judged.by_choice[name], ratios)
        ):
            continue
        if again is None or judged is again or min(ratios.values()) >= CLEAR:
            scores[name] = stats.geometric_mean(ratios.values()) or 0.0
    if not scores:
        return Verdict(*key, [LIBRARY], faster)
    best = max(scores, key=lambda name: scores[name])
    equal = [
        name
        for name, score in scores.items()
        if score * EQUAL >= scores[best]
        or score * EQUAL_WHEN_NOISY >= scores[best]
        and _overlap(cell.by_choice[name], cell.by_choice[best])
    ]
    # A library may be at the wire or half as long again, by the run: who gains from the one should not lose to the
    # other.
    equal = [name for name in equal if _stands(library, cell.by_choice[name])] or equal
    # The rules' own choice has proven itself elsewhere: among equals it is taken.
    good = sorted(equal, key=lambda name: (name != usual, -scores[name]))
    return Verdict(*key, good, faster, usual if usual in good else None)


def _overlap(one: Mapping[str, stats.Summary], other: Mapping[str, stats.Summary]) -> bool:
    """Whether the intervals of both medians meet in every mode."""
    return all(one[m].ci_low <= other[m].ci_high and other[m].ci_low <= one[m].ci_high for m in one)


def _stands(library: Mapping[str, stats.Summary], own: Mapping[str, stats.Summary]) -> bool:
    """Whether it is no slower than the library at its best, in every mode."""
    return all(own[mode].median * LEAST <= library[mode].min for mode in own if mode in library)


def _ratios(library: Mapping[str, stats.Summary], own: Mapping[str, stats.Summary]) -> dict[str, float]:
    return {
        mode: library[mode].median / summary.median
        for mode, summary in own.items()
        if mode in library and summary.median
    }


def _beats(library: Mapping[str, stats.Summary], own: Mapping[str, stats.Summary], ratios: Mapping[str, float]) -> bool:
    """Faster in one mode beyond noise (intervals apart), and in no mode slower by more than the least difference."""

    def clear_in(mode: str) -> bool:
        few = min(own[mode].count, library[mode].count) < FEW_SAMPLES
        apart = own[mode].ci_high < library[mode].ci_low
        return apart and ratios[mode] >= (GAIN_OF_FEW if few else GAIN)

    clear = any(clear_in(mode) for mode in ratios)
    return clear and min(ratios.values()) >= LEAST


@dataclass(frozen=True)
class Span:
    """Consecutive sizes of one collective on one number of ranks that share a choice."""

    choice: str
    low: int
    #: None: and above.
    high: int | None
    verdicts: Sequence[Verdict]


def spans(verdicts: Sequence[Verdict]) -> list[Span]:
    """One collective's verdicts, sizes ascending, as few spans as the choices that are good allow.

    Between two sizes with different choices the border is their geometric mean. The last span goes on: what wins at the
    largest size wins beyond it, where ever more time is the links'.
    """
    groups: list[tuple[list[Verdict], list[str]]] = []
    for v in verdicts:
        shared = [name for name in groups[-1][1] if name in v.good] if groups else []
        if shared:
            groups[-1] = ([*groups[-1][0], v], shared)
        else:
            groups.append(([v], list(v.good)))
    result = []
    low = 0 if verdicts and verdicts[0].bytes == 0 else 1
    for i, (members, names) in enumerate(groups):
        high = None if i + 1 == len(groups) else math.isqrt(members[-1].bytes * groups[i + 1][0][0].bytes)
        result.append(Span(_most_gained(members, names), low, high, members))
        low = (high or 0) + 1
    return result


def _most_gained(members: Sequence[Verdict], names: Sequence[str]) -> str:
    if LIBRARY in names:
        return LIBRARY
    if len(names) == 1:
        return names[0]
    usual = [name for name in names if all(v.usual == name for v in members)]
    if usual:
        return usual[0]
    return max(names, key=lambda name: math.prod(r for v in members for r in v.faster[name].values()))


def unsized(verdicts: Sequence[Verdict]) -> Span:
    """One choice for all sizes: it must lose at none of them by more than the least difference, neither to the library
    nor to what is used untuned.

    Without such a choice what is used untuned stays, unless the library was measured to be as much better: the built-in
    rules tell sizes apart where all ranks know them, and win at some.
    """
    untuned = {at: ratio for at, ratio in _over_sizes(verdicts, AUTO).items() if ratio}
    totals: dict[str, float] = {}
    for name in {name for v in verdicts for name in v.faster} - {AUTO}:
        ratios = _over_sizes(verdicts, name)
        over_untuned = [ratios[at] / ratio for at, ratio in untuned.items()]
        if _serves(ratios.values()) and (not untuned or _serves(over_untuned)):
            totals[name] = stats.geometric_mean(ratios.values()) or 0.0
    without_gain = LIBRARY if _serves([1 / ratio for ratio in untuned.values()]) else KEPT
    return Span(max(totals, key=lambda name: totals[name], default=without_gain), 0, None, list(verdicts))


def _over_sizes(verdicts: Sequence[Verdict], name: str) -> dict[tuple[int, str], float]:
    """A choice's ratios to the library, by size and mode; 0 where it has none."""
    return {
        (v.bytes, mode): v.faster.get(name, {}).get(mode, 0.0)
        for v in verdicts
        for mode in dict.fromkeys(mode for ratios in v.faster.values() for mode in ratios)
    }


def _serves(ratios: Collection[float]) -> bool:
    """Whether a choice with these ratios to another one loses nowhere and gains in the mean."""
    return min(ratios, default=0.0) >= LEAST and (stats.geometric_mean(ratios) or 0.0) >= GAIN


@dataclass(frozen=True)
class RankSpan:
    """A measured number of ranks, and the range of ranks that takes its rules."""

    ranks: int
    low: int
    high: int


def all_spans(verdicts: Iterable[Verdict]) -> Iterator[tuple[RankSpan, Span]]:
    """Every collective's spans of ranks and sizes. Between two numbers of ranks the border is their geometric mean."""
    by_place: dict[tuple[str, int], list[Verdict]] = defaultdict(list)
    for v in verdicts:
        by_place[v.collective, v.ranks].append(v)
    for collective in dict.fromkeys(name for name, _ in by_place):
        counts = sorted(ranks for name, ranks in by_place if name == collective)
        for i, ranks in reversed(list(enumerate(counts))):
            ordered = sorted(by_place[collective, ranks], key=lambda v: v.bytes)
            low = ranks if i == 0 else math.isqrt(counts[i - 1] * ranks) + 1
            high = ranks if i + 1 == len(counts) else math.isqrt(ranks * counts[i + 1])
            for span in [unsized(ordered)] if collective in UNSIZED else spans(ordered):
                yield RankSpan(ranks, low, high), span


def rules(
    verdicts: Iterable[Verdict], family: str, ranks_per_node: int, basis: str = "measured", blocked: bool = True
) -> list[dict[str, Any]]:
    """Rules for all verdicts, for this library and this many ranks on a node, which are `blocked` where they follow one
    another; larger communicators first. `basis`: how they were come by, for people. Spans where another decision is
    kept get no rule."""
    return [
        _rule(span, (place.low, place.high), family, (ranks_per_node, blocked), basis)
        for place, span in all_spans(verdicts)
        if span.choice != KEPT
    ]


def _rule(span: Span, ranks: tuple[int, int], family: str, placement: tuple[int, bool], basis: str) -> dict[str, Any]:
    ranks_per_node, blocked = placement
    first = span.verdicts[0]
    rule: dict[str, Any] = {"collective": first.collective}
    if first.collective != "barrier" and first.collective not in UNSIZED:
        rule["bytes"] = [span.low, span.high]
    rule |= {"ranks": list(ranks), "ranks_per_node": [ranks_per_node, ranks_per_node], "mpi": family}
    if ranks_per_node > 1:
        rule["blocked"] = blocked
    return rule | {"use": span.choice, "why": _why(span, basis)}


def _why(span: Span, basis: str) -> str:
    """For people: what was gained where it was measured."""
    first, last = span.verdicts[0], span.verdicts[-1]
    sizes = bytes_text(first.bytes) if first is last else f"{bytes_text(first.bytes)} to {bytes_text(last.bytes)}"
    where = f"{basis} on {first.ranks} ranks" + ("" if first.collective == "barrier" else f" at {sizes}")
    if span.choice == LIBRARY:
        return f"{where}: nothing beats the library beyond noise"
    ratios = [ratio for v in span.verdicts for ratio in v.faster.get(span.choice, {}).values()]
    low, high = min(ratios), max(ratios)
    gained = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
    return f"{where}: {gained} times the library's speed"
