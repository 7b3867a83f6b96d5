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
    """Rows of text; numbers are aligned to the right."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    kind: str = "table"

    def __post_init__(self) -> None:
        for cell in (cell for row in self.rows for cell in row):
            if not isinstance(cell, str):  # a document's field of another type than its kind expects
                raise TypeError(f"{cell!r} is no text")


@dataclass(frozen=True)
class Drawing:
    """A finished SVG element."""

    title: str
    svg: str
    kind: str = "drawing"


@dataclass(frozen=True)
class Text:
    """A paragraph, or a list if there are several."""

    lines: Sequence[str]
    kind: str = "text"


Block = Chart | HeatMap | Table | Drawing | Text


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
