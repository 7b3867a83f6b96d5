#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the sizes that the house rules set: files of 400 lines, functions of 40, lines of 120 characters.

Generated files and third-party files are not checked. EXCEPTIONS holds what may be longer, each with its reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import lizard
import tracked

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".py"}
FILE_LINES = 400
FUNCTION_LINES = 40
LINE_CHARACTERS = 120
#: Maps "path" or "path:function" to the reason why it may be longer. There are at most ten entries.
EXCEPTIONS: dict[str, str] = {}
MOST_EXCEPTIONS = 10


def checked_files() -> list[Path]:
    """Returns the sources that git tracks, without generated and third-party ones."""
    paths = [ROOT / name for name in tracked.files()]
    return [
        p
        for p in paths
        if p.suffix in SUFFIXES and ".gen." not in p.name and "third_party" not in p.parts and p.is_file()
    ]


def too_long(path: Path) -> Iterator[tuple[str, str]]:
    """Yields what exceeds the rules in a file: the name under which it may be excepted, and a message."""
    name = str(path.relative_to(ROOT))
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > FILE_LINES:
        yield name, f"{name}: {len(lines)} lines: split the file (at most {FILE_LINES})"
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_CHARACTERS:
            yield name, f"{name}:{number}: {len(line)} characters: break the line (at most {LINE_CHARACTERS})"
    for function in lizard.analyze_file(str(path)).function_list:
        if function.length > FUNCTION_LINES:
            key = f"{name}:{function.name}"
            where = f"{name}:{function.start_line}"
            yield key, f"{where}: {function.name} has {function.length} lines: split it (at most {FUNCTION_LINES})"


def main() -> int:
    """Prints every violation, and every exception that is not needed."""
    found = [pair for path in checked_files() for pair in too_long(path)]
    complaints = [message for key, message in found if key not in EXCEPTIONS]
    unused = EXCEPTIONS.keys() - {key for key, _ in found}
    complaints += [f"scripts/check_sizes.py: the exception {key} is not needed: remove it" for key in sorted(unused)]
    if len(EXCEPTIONS) > MOST_EXCEPTIONS:
        complaints.append(f"scripts/check_sizes.py: {len(EXCEPTIONS)} exceptions (at most {MOST_EXCEPTIONS})")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
