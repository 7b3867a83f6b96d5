# SPDX-License-Identifier: Apache-2.0
"""Finds the command lines of Antiphon's in the pages: for the test that parses them, and the script that runs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
#: Ends a command: a comment, a description after a gap, or what the shell does next.
END = re.compile(r"\s{2,}\S|\s#\s|\s(?:&&|\|\|?|>>?|2>)\s|;|\)")


@dataclass(frozen=True)
class Line:
    """A command of a page, without what a shell does with it."""

    page: Path
    number: int
    text: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)

    @property
    def is_form(self) -> bool:
        """Whether it is the form of a command, with parts left out."""
        return "…" in self.text or "..." in self.text or "[" in self.text.partition("'")[0]


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines of code of a page with their numbers; one that goes on is joined."""
    fenced = False
    joined = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            joined += line.strip()
            if joined.endswith("\\"):
                joined = joined[:-1].rstrip() + " "
            else:
                yield number, joined
                joined = ""


def command(line: str) -> str | None:
    """Returns the command of Antiphon's in a line of a shell, or None."""
    found = re.search(r"(?:^|[\s(\"'])antiphon ([a-z].*)$", line)
    if found is None or line.startswith(("#", "antiphon:")):
        return None
    before, rest = line[: found.start(1)], found[1]
    if not re.fullmatch(r"(?:\S+=\S*\s+|.*[(\"']|\w[\w-]* run \S+ |\w+ exec \S+ |)antiphon ", before):
        return None
    quoted = re.sub(r"'[^']*'|\"[^\"]*\"", lambda m: "q" * len(m[0]), rest)
    end = END.search(quoted)
    return f"antiphon {rest[: end.start()] if end else rest}".strip()


def lines() -> list[Line]:
    """Returns all commands of all pages."""
    found = []
    for page in PAGES:
        for number, line in code_lines(page.read_text(encoding="utf-8")):
            text = command(line)
            if text is not None:
                found.append(Line(page, number, text))
    return found
