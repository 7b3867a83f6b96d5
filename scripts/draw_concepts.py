#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/concepts by the commands that stand below them (scripts/draw_concepts.py).

A page shows `../pictures/NAME.svg`, and the next command, `antiphon explain … --svg NAME.svg`, draws it.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path

from antiphon import cli

ROOT = Path(__file__).resolve().parent.parent
CONCEPTS = ROOT / "docs" / "concepts"
PICTURES = ROOT / "docs" / "pictures"
SHOWN = re.compile(r"^!\[(?P<text>[^\]]+)\]\(\.\./pictures/(?P<name>[\w-]+)\.svg\)", re.MULTILINE)
COMMAND = re.compile(r"^ {4}antiphon (?P<words>explain .*--svg (?P<name>[\w-]+)\.svg)$", re.MULTILINE)


def shown() -> set[str]:
    """Returns the names of all pictures that the pages show."""
    return {found["name"] for page in CONCEPTS.glob("*.md") for found in SHOWN.finditer(page.read_text("utf-8"))}


def commands() -> dict[str, list[str]]:
    """Returns the words of each picture's command, without its file."""
    texts = [page.read_text(encoding="utf-8") for page in sorted(CONCEPTS.glob("*.md"))]
    return {found["name"]: shlex.split(found["words"])[:-1] for text in texts for found in COMMAND.finditer(text)}


def drawn(words: list[str]) -> str:
    """Returns the picture that a command draws."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        picture = Path(folder) / "picture.svg"
        code = cli.main([*words, str(picture)])
        if code != 0:
            raise SystemExit(code)
        return picture.read_text(encoding="utf-8")


def main() -> int:
    """Draws them all."""
    for name, words in commands().items():
        (PICTURES / f"{name}.svg").write_text(drawn(words), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
