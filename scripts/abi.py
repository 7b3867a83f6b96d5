#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the C API with the one that programs of this minor version were built against: packaging/abi/X.Y.txt.

abi.py          says what has gone or changed since (exit code 1), and what is new
abi.py --write  writes the file: for a new minor version, or when something was added

A line is a function with its type, a function of the preload object that a header looks up, a structure, or a constant.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ("antiphon.h", "antiphon_codec.h")
#: These change with each version.
VERSION = "ANTIPHON_VERSION_"
FUNCTION = re.compile(r"^(?:static inline )?([\w ]+?[ *]+)(antiphon_\w+)\(([^;{]*)\)\s*[;{]", re.MULTILINE)
LOOKED_UP = re.compile(r'([\w *]+)\(\*function\)\(([^;]*)\);.*?antiphon_find\("(\w+)"\)', re.DOTALL)
STRUCTURE = re.compile(r"typedef struct( \w+)? \{(.*?)\} (\w+);", re.DOTALL)
OPAQUE = re.compile(r"typedef struct \w+\*? \w+;")
ENUMERATOR = re.compile(r"\b(ANTIPHON_\w+) = (\w+)")
DEFINED = re.compile(r"^#define (ANTIPHON_\w+) (.+)$", re.MULTILINE)


def described(header: str) -> set[str]:
    """Returns the lines of a header's text."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.DOTALL)
    found = {
        f"function {plain(result)} {name}({plain(arguments)})" for result, name, arguments in FUNCTION.findall(text)
    }
    found |= {
        f"symbol {plain(result.replace('static', ''))} {name}({plain(arguments)})"
        for result, arguments, name in LOOKED_UP.findall(text)
    }
    found |= {f"structure {name} {{ {plain(body)} }}" for _, body, name in STRUCTURE.findall(text)}
    found |= {f"type {plain(line)}" for line in OPAQUE.findall(text)}
    constants = [*ENUMERATOR.findall(text), *DEFINED.findall(text)]
    return found | {f"constant {name} = {plain(value)}" for name, value in constants if not name.startswith(VERSION)}


def plain(text: str) -> str:
    """Returns a text with single blanks."""
    return " ".join(text.split())


def now() -> set[str]:
    """Returns what the headers say."""
    return set().union(*(described((ROOT / "include" / name).read_text(encoding="utf-8")) for name in HEADERS))


def minor_version() -> str:
    """Returns the version as 0.1."""
    text = (ROOT / "python" / "antiphon" / "__init__.py").read_text(encoding="utf-8")
    return ".".join(re.search(r'__version__ = "([\d.]+)"', text)[1].split(".")[:2])  # type: ignore[index]


def kept() -> Path:
    """Returns the file of this minor version."""
    return ROOT / "packaging" / "abi" / f"{minor_version()}.txt"


def main() -> int:
    """Compares, or writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the file")
    if parser.parse_args().write:
        kept().parent.mkdir(exist_ok=True)
        kept().write_text("\n".join(sorted(now())) + "\n", encoding="utf-8")
        return 0
    if not kept().is_file():
        print(f"error: {kept()} is missing\nhint: scripts/abi.py --write", file=sys.stderr)
        return 2
    before = set(kept().read_text(encoding="utf-8").splitlines())
    for mark, lines in (("gone or changed", before - now()), ("new", now() - before)):
        for line in sorted(lines):
            print(f"{mark}: {line}")
    return int(bool(before - now()))


if __name__ == "__main__":
    sys.exit(main())
