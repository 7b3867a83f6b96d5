# SPDX-License-Identifier: Apache-2.0
"""Fits tables into a terminal: headings break first, then texts, then the least important columns go.

A number and its unit are one cell of a column that is aligned to the right; such a cell is never broken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleRenderable, RichCast
    from rich.table import Column, Table
    from rich.text import Text

#: A text column is not made narrower than this, unless its longest word is shorter.
LEAST_TEXT = 12
#: Texts break after blanks, and within "ring:window=2,sync=1" after its signs, but not between a number and its unit.
WORD = re.compile(r"(?:[\d.]+ )?[^ ,:;/]*[ ,:;/]*")
#: Where that does not do, they break within names as well.
PART = re.compile(r"(?:[\d.]+ )?[^ ,:;/=_-]*[ ,:;/=_-]*")


def fit(table: Table, console: Console, droppable: Sequence[str]) -> list[str]:
    """Makes the table fit the console where it can; returns the headings of columns that had to go.

    `droppable` names columns that may go, the least important first.
    """
    gone: list[str] = []
    if _excess(table, console) > 0:
        table.padding = (0, 1, 0, 0)  # Two blanks between columns instead of three.
        for column in table.columns:
            _break_heading(column)
    while (excess := _excess(table, console)) > 0:
        if _narrow_texts(table, excess):
            break
        heading = next((name for name in droppable if name in map(_heading, table.columns)), None)
        if heading is None:
            _narrow_texts(table, excess, PART, as_far_as_possible=True)
            break
        table.columns = [column for column in table.columns if _heading(column) != heading]
        gone.append(heading)
    for column in table.columns:
        column.overflow, column.no_wrap = "fold", False  # What fits nowhere goes on in the next line; nothing is cut.
    return gone


def _heading(column: Column) -> str:
    """Returns a heading as its author wrote it."""
    return str(column.header).replace("\n", " ")


def _excess(table: Table, console: Console) -> int:
    """Returns by how many columns of characters the table is too wide."""
    from rich.measure import Measurement

    wide = console.options.update(max_width=100_000)
    return Measurement.get(console, wide, table).maximum - console.width


def _cells(column: Column) -> list[Text]:
    from rich.text import Text

    return [cell if isinstance(cell, Text) else Text(str(cell)) for cell in column.cells]


def _width(text: str) -> int:
    from rich.cells import cell_len

    return max((cell_len(line) for line in text.split("\n")), default=0)


def _break_heading(column: Column) -> None:
    """Breaks a heading that is wider than all cells, at its blanks."""
    widest = max((_width(cell.plain) for cell in _cells(column)), default=0)
    if " " in str(column.header) and _width(str(column.header)) > widest:
        column.header = str(column.header).replace(" ", "\n")


def _narrow_texts(table: Table, excess: int, word: re.Pattern[str] = WORD, *, as_far_as_possible: bool = False) -> bool:
    """Narrows the widest texts by `excess`; where that is not possible, returns False and leaves them as they are."""
    texts = [column for column in table.columns if column.justify == "left"]
    widths = [_column_width(column) for column in texts]
    least = [_least_width(column, word) for column in texts]
    for _ in range(excess):
        at = max(range(len(texts)), key=lambda i: (widths[i] - least[i] > 0, widths[i]), default=None)
        if at is None or widths[at] <= least[at]:
            if as_far_as_possible:
                break
            return False
        widths[at] -= 1
    for column, width in zip(texts, widths, strict=True):
        if width < _column_width(column):
            _wrap(column, width, word)
    return True


def _column_width(column: Column) -> int:
    return max(_width(str(column.header)), *(_width(cell.plain) for cell in _cells(column)), 0)


def _least_width(column: Column, word: re.Pattern[str]) -> int:
    words = [one for cell in _cells(column) for one in word.findall(cell.plain)]
    longest = max((_width(one.rstrip()) for one in words), default=0)
    return max(longest, min(LEAST_TEXT, _column_width(column)), _width(str(column.header)))


def _wrap(column: Column, width: int, word: re.Pattern[str]) -> None:
    """Breaks the column's cells into lines of this width."""
    from rich.text import Text

    cells: list[ConsoleRenderable | RichCast | str] = []
    for cell in _cells(column):
        lines = [""]
        for one in word.findall(cell.plain):
            if lines[-1] and _width(lines[-1] + one.rstrip()) > width:
                lines.append("")
            lines[-1] += one
        style = cell.spans[0].style if cell.spans else cell.style
        cells.append(Text("\n".join(line.rstrip() for line in lines), style=style))
    column._cells = cells  # noqa: SLF001: rich has no other way to change a cell
    column.no_wrap = False
