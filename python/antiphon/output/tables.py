# SPDX-License-Identifier: Apache-2.0
"""Prints tables for people to read, and formats the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from antiphon import output
from antiphon.output.fitting import fit

if TYPE_CHECKING:
    from rich.table import Table

#: The width of a pipe.
_UNBOUNDED = 100_000


def time_text(seconds: float | None) -> str:
    """Formats three digits and a unit: 0.0822 → "82.2 ms"."""
    if seconds is None:
        return "–"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 0.9995:
            return f"{_three_digits(seconds * factor)} {unit}"
    return f"{_three_digits(seconds * 1e9)} ns"


def bytes_text(count: int) -> str:
    """Formats powers of two as KiB and MiB: 65536 → "64 KiB"."""
    for size, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"


def ratio_text(ratio: float | None) -> str:
    """Formats a ratio with its sign: 1.7 → "1.70×"."""
    return "–" if ratio is None else f"{ratio:.2f}×"


def share_text(share: float | None) -> str:
    """Formats a part of a whole: 0.667 → "66.7 %"."""
    return "–" if share is None else f"{100 * share:.1f} %"


def _three_digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def new_table(title: str | None = None) -> Table:
    """Returns a table that is readable without colour and in a log file."""
    from rich import box
    from rich.table import Table

    return Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, title_style="bold")


def print_wide(table: Table, droppable: Sequence[str] = ()) -> None:
    """Prints to stdout: whole into a file or a pipe, which have no width; fitted into a terminal.

    `droppable` names the columns that a narrow terminal may lack, the least important first.
    """
    from rich.text import Text

    console = output.stdout()
    title, table.title = table.title, None
    if title:
        console.print(Text(str(title), style="bold"), soft_wrap=not console.is_terminal)
    if not console.is_terminal:
        console.width = _UNBOUNDED
        console.print(table)
        return
    gone = fit(table, console, droppable)
    console.print(table)
    if gone:
        console.print(f"not shown at this width: {', '.join(gone)} (a wider terminal, a pipe and --json have them)")
