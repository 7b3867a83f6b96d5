# SPDX-License-Identifier: Apache-2.0
"""Defines the parts of a page. They are data only: antiphon.report.html turns them into HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Series:
    """A line of a chart. With `marks_only` its points are not joined."""

    name: str
    points: Sequence[tuple[float, float]]
    marks_only: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines over a common axis. Axes: "bytes", "seconds", "rate" (bytes per second) or "number"."""

    title: str
    series: Sequence[Series]
    x: str = "bytes"
    y: str = "seconds"
    x_label: str = ""
    y_label: str = ""
    log_x: bool = True
    log_y: bool = True
    kind: str = "chart"


@dataclass(frozen=True)
class HeatMap:
    """A matrix; None where nothing is known. `texts` appear when one points at a cell."""

    title: str
    values: Sequence[Sequence[float | None]]
    labels: Sequence[str]
    texts: Sequence[Sequence[str]]
    legend: tuple[str, str]
    kind: str = "heat"


@dataclass(frozen=True)
class Table:
    """Rows of text; numbers are aligned to the right. The first cell of a row names the row."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    kind: str = "table"

    def __post_init__(self) -> None:
        for cell in (cell for row in self.rows for cell in row):
            if not isinstance(cell, str):  # a document's field of another type than its kind expects
                raise TypeError(f"{cell!r} is no text")


@dataclass(frozen=True)
class Bar:
    """A row of bars: its parts lie end to end, and `texts` are their values in words."""

    name: str
    parts: Sequence[float]
    texts: Sequence[str]


@dataclass(frozen=True)
class Bars:
    """Quantities of one kind to compare by their lengths. `parts` names what each bar is made of."""

    title: str
    heading: str
    parts: Sequence[str]
    bars: Sequence[Bar]
    kind: str = "bars"

    @property
    def whole(self) -> float:
        """Returns what a bar over the full width stands for."""
        return max((sum(bar.parts) for bar in self.bars), default=0.0) or 1.0


@dataclass(frozen=True)
class Timeline:
    """What each row (a rank) was busy with. shares[row][slice][series] is a part of the slice's time."""

    title: str
    end_s: float
    rows: Sequence[str]
    series: Sequence[str]
    shares: Sequence[Sequence[Sequence[float]]]
    kind: str = "timeline"


@dataclass(frozen=True)
class Drawing:
    """A finished SVG element, and what it shows in words."""

    title: str
    svg: str
    words: str
    kind: str = "drawing"


@dataclass(frozen=True)
class Text:
    """A paragraph, or a list if there are several."""

    lines: Sequence[str]
    kind: str = "text"


Block = Chart | HeatMap | Table | Bars | Timeline | Drawing | Text


@dataclass
class Section:
    """A heading, what one sees below it, and the blocks."""

    title: str
    intro: str = ""
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Page:
    """A whole report."""

    title: str
    subtitle: str
    sections: list[Section]
