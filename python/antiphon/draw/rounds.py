# SPDX-License-Identifier: Apache-2.0
"""Draws rounds in the terminal: one row per rank, one column per round, each cell with the rank's partner."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.core import RoundTraffic, Transfer
from antiphon.output.tables import bytes_text

if TYPE_CHECKING:
    from rich.text import Text

LEGEND = "→ sends to   ← receives from   ↔ both with   ∘ token to   + and more   · nothing"

#: Rows and columns beyond these numbers are left out in the middle.
MAX_ROWS = 20
MAX_BANDS = 2
GAP = -1

#: Maps rank and round to the text and style of what happens there.
Cells = dict[tuple[int, int], tuple[str, str]]


@dataclass(frozen=True)
class RoundsLayout:
    """The layout that fits: widths in characters, and the rounds of each band (GAP marks rounds that are left out)."""

    label: int
    cell: int
    bands: tuple[Sequence[int], ...]
    #: True if rounds or ranks are left out.
    is_elided: bool

    @classmethod
    def of(cls, cells: Cells, ranks: int, rounds: int, width: int) -> RoundsLayout:
        label = max(len(str(ranks - 1)), len("rank"))
        cell = max([len(text) for text, _ in cells.values()] + [len(str(rounds))]) + 1
        fitting = max((width - label) // cell, 3)
        shown = _elided(rounds, fitting * (MAX_BANDS if ranks <= MAX_ROWS else 1), tail=1)
        count = -(-len(shown) // fitting)
        columns = -(-len(shown) // max(count, 1))
        bands = tuple(shown[band * columns : (band + 1) * columns] for band in range(count))
        return cls(label, cell, bands, ranks > MAX_ROWS or len(shown) < rounds)


def grid(transfers: Sequence[Transfer], ranks: int, rounds: int, width: int = 80) -> tuple[list[Text], bool]:
    """Returns lines of at most `width` columns, and whether something is left out.

    Long schedules continue in a second band; still longer ones leave out the middle rounds.
    """
    cells = _cells(transfers)
    layout = RoundsLayout.of(cells, ranks, rounds, width)
    lines = [_line("".rjust(layout.label), [(" round", "dim")])]
    for band in layout.bands:
        lines += [] if band is layout.bands[0] else [_line("", [])]
        lines += _band(cells, _elided(ranks, MAX_ROWS, tail=3), band, layout)
    return lines, layout.is_elided


def summary(rounds: Sequence[RoundTraffic]) -> Iterator[str]:
    """Returns one line for each run of rounds with equal messages."""
    first = 1
    for traffic, run in itertools.groupby(rounds):
        last = first + len(list(run)) - 1
        name = f"round {first}" if first == last else f"rounds {first}–{last}"
        parts = [f"{traffic.messages} messages, {bytes_text(traffic.bytes)}"] if traffic.messages else []
        parts += [f"{traffic.tokens} tokens"] if traffic.tokens else []
        yield f"{name}: {' and '.join(parts) or 'nothing'}{' each' if first != last else ''}"
        first = last + 1


def _band(cells: Cells, rows: Sequence[int], columns: Sequence[int], layout: RoundsLayout) -> Iterator[Text]:
    headings = [("…" if c == GAP else str(c + 1), "bold") for c in columns]
    yield _line("rank".rjust(layout.label), [(text.rjust(layout.cell), style) for text, style in headings], "bold")
    for row in rows:
        if row == GAP:
            yield _line("⋮".rjust(layout.label), [])
            continue
        texts = [("…", "dim") if c == GAP else cells.get((row, c), ("·", "dim")) for c in columns]
        yield _line(str(row).rjust(layout.label), [(text.rjust(layout.cell), style) for text, style in texts])


def _line(label: str, parts: Sequence[tuple[str, str]], style: str = "") -> Text:
    from rich.text import Text

    return Text.assemble((label, style), *parts)


def _elided(count: int, room: int, tail: int) -> list[int]:
    """Returns 0…count−1, or as many as there is room for with a gap before the last few."""
    if count <= room:
        return list(range(count))
    return [*range(room - tail - 1), GAP, *range(count - tail, count)]


def _cells(transfers: Sequence[Transfer]) -> Cells:
    """Returns the text and style of each (rank, round) in which something happens."""
    sends: dict[tuple[int, int], list[Transfer]] = defaultdict(list)
    receives: dict[tuple[int, int], list[Transfer]] = defaultdict(list)
    for t in transfers:
        sends[t.source, t.begin].append(t)
        receives[t.target, t.begin].append(t)
    return {key: _cell(sends.get(key, []), receives.get(key, [])) for key in {**sends, **receives}}


def _cell(sends: Sequence[Transfer], receives: Sequence[Transfer]) -> tuple[str, str]:
    # Messages with bytes come before tokens, and sent ones before received ones.
    data = next((t for t in sends if t.bytes), None)
    received = next((t for t in receives if t.bytes), None)
    more = "+" if sends and not data and not received and len(sends) > 1 else ""
    if data and received and received.source == data.target:
        return f"↔{data.target}", "cyan"
    if data:
        return f"→{data.target}", "cyan"
    if received:
        return f"←{received.source}", "green"
    if sends:
        return f"∘{sends[0].target}{more}", "yellow"
    return f"←{receives[0].source}", "yellow"
