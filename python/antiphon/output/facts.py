# SPDX-License-Identifier: Apache-2.0
"""Facts with their sources, and labelled lines of text."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

LABEL_WIDTH = 13
#: Texts are not broken into shorter lines than this; a narrower terminal breaks them itself.
LEAST_WIDTH = 20


@dataclass(frozen=True)
class Fact:
    """Something that is known, and where it comes from."""

    name: str
    value: str
    #: Empty: it goes without saying.
    source: str = ""

    def text(self) -> str:
        """Returns value and source, as every command writes them."""
        return f"{self.value} ({self.source})" if self.source else self.value

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def width_of(console: Console) -> int:
    """Returns the width that lines are wrapped to: the terminal's, or 80 in a file."""
    return min(console.width, 120) if console.is_terminal else 80


def print_fact(console: Console, label: str, text: str, width: int, style: str = "") -> None:
    """Prints a labelled line; long texts continue below themselves."""
    from rich.text import Text

    lines = textwrap.wrap(text, max(LEAST_WIDTH, width - LABEL_WIDTH - 2), break_on_hyphens=False) or [""]
    for i, line in enumerate(lines):
        head = (label if i == 0 else "").ljust(LABEL_WIDTH + 1)
        console.print(Text.assemble((head, "dim"), (line, style)), soft_wrap=True)
