# SPDX-License-Identifier: Apache-2.0
"""The bar that shows how far a command is, on a terminal alone."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from antiphon import output

if TYPE_CHECKING:
    from rich.console import Console


def hidden(console: Console) -> bool:
    """Returns whether a bar would only leave lines behind: in a log, or on a terminal that cannot draw a line again."""
    return not console.is_terminal or console.is_dumb_terminal


@contextlib.contextmanager
def bar(text: str, total: float | None, *, seconds: bool = False) -> Iterator[Callable[..., None]]:
    """Shows a bar of `total` steps, or of so many seconds, on a terminal, and nothing in a log.

    What it gives moves the bar: `move(description=…, completed=…, total=…, advance=…)`, each where it changes.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = output.stderr()
    end = (
        (TimeElapsedColumn(), TextColumn(f"of {total:.0f} s"))
        if seconds
        else (MofNCompleteColumn(), TimeElapsedColumn())
    )
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *end)
    with Progress(*columns, console=console, transient=True, disable=hidden(console)) as shown:
        yield functools.partial(shown.update, shown.add_task(text, total=total))
