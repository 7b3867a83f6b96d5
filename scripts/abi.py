#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the C API with the one that programs of this minor version were built against: packaging/abi/X.Y*.

abi.py          says what has gone or changed in the headers since (exit code 1), and what is new
abi.py --check  does so, and compares the functions and types of the built libraries by abidiff, too
abi.py --write  writes the files: for a new minor version, or when something was added

A line of X.Y.txt is a function with its type, a function of the preload object that a header looks up, a structure, or
a constant. abidw writes X.Y-LIBRARY.abi from a library's debug information. `make setup` builds the codecs' library
with it, Debian's package (`--built DIR`) the preload objects as well. Exit code 2: there is nothing to compare.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ("antiphon.h", "antiphon_codec.h")
#: These change with each version.
VERSION = "ANTIPHON_VERSION_"
INLINE = r"(?:(?:static inline|ANTIPHON_INLINE) )?"
FUNCTION = re.compile(rf"^{INLINE}([\w ]+?[ *]+)(antiphon_\w+)\(([^;{{]*)\)\s*[;{{]", re.MULTILINE)
LOOKED_UP = re.compile(r'([\w *]+)\(\*function\)\(([^;]*)\);.*?antiphon_find\("(\w+)"\)', re.DOTALL)
STRUCTURE = re.compile(r"typedef struct( \w+)? \{(.*?)\} (\w+);", re.DOTALL)
OPAQUE = re.compile(r"typedef struct \w+\*? \w+;")
ENUMERATOR = re.compile(r"\b(ANTIPHON_\w+) = (\w+)")
DEFINED = re.compile(r"^#define (ANTIPHON_(?!INLINE)\w+) (.+)$", re.MULTILINE)
#: Lists libraries below the folder of a build. The preload object of one ABI stands for all: the sources are the same.
LIBRARIES = (Path("libantiphon_core.so"), Path("mpi", "libantiphon-mpich.so"))
#: What a program sees of a library. All else is of MPI, or between the core and its Python package. The first line
#: keeps symbols, the second functions.
SEEN = """[suppress_function]
  symbol_name_not_regexp = ^antiphon_(codec|impl)_
  name_not_regexp = ^antiphon_(codec|impl)_
  drop = yes
"""
#: What differs from machine to machine, and from version to version, is no part of the interface.
PLAIN = ("--no-corpus-path", "--no-comp-dir-path", "--short-locs", "--no-elf-needed", "--no-architecture",
         "--no-parameter-names", "--drop-undefined-syms", "--exported-interfaces-only")  # fmt: skip


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


def kept_types(library: Path) -> Path:
    """Returns the file with a library's functions and types."""
    return kept().with_name(f"{minor_version()}-{library.stem}.abi")


def with_types(built: Path) -> list[Path]:
    """Returns the libraries of a build that have debug information."""
    found = [built / name for name in LIBRARIES if (built / name).is_file()]
    return [path for path in found if b"\0.debug_info\0" in path.read_bytes()]


def abigail(tool: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a tool of libabigail on what a program sees of a library."""
    with tempfile.NamedTemporaryFile("w", suffix=".suppr") as file:
        file.write(SEEN)
        file.flush()
        command = [tool, "--suppressions", file.name, "--drop-private-types", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def write_types(library: Path) -> None:
    """Writes the file with a library's functions and types."""
    said = abigail("abidw", "--headers-dir", ROOT / "include", *PLAIN, "--out-file", kept_types(library), library)
    if said.returncode != 0:
        sys.exit(f"error: abidw failed on {library}\nhint: {said.stderr.strip()}")


def differing_types(library: Path) -> str:
    """Returns what abidiff says has gone or changed."""
    options = ["--headers-dir2", ROOT / "include", "--no-architecture", "--no-added-syms", "--no-unreferenced-symbols"]
    said = abigail("abidiff", *options, "--exported-interfaces-only", kept_types(library), library)
    return f"{library.name}:\n{said.stdout}{said.stderr}" if said.returncode else ""


def check_types(built: Path) -> int:
    """Compares the libraries of a build, and returns an exit code."""
    libraries = with_types(built)
    if shutil.which("abidiff") is None or not libraries:
        print(f"error: abidiff is missing, or {built} has no library with debug information\n"
              "hint: apt-get install abigail-tools, make setup", file=sys.stderr)  # fmt: skip
        return 2
    differing = [text for text in map(differing_types, libraries) if text]
    print("".join(differing) or f"unchanged: {', '.join(path.name for path in libraries)}")
    return int(bool(differing))


def main() -> int:
    """Compares, or writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the files")
    parser.add_argument("--check", action="store_true", help="compare the built libraries, too")
    parser.add_argument("--built", type=Path, default=ROOT / "build" / "wheel", metavar="DIR", help="a build's folder")
    args = parser.parse_args()
    if args.write:
        kept().parent.mkdir(exist_ok=True)
        kept().write_text("\n".join(sorted(now())) + "\n", encoding="utf-8")
        for library in with_types(args.built) if shutil.which("abidw") else []:
            write_types(library)
        return 0
    if not kept().is_file():
        print(f"error: {kept()} is missing\nhint: scripts/abi.py --write", file=sys.stderr)
        return 2
    before = set(kept().read_text(encoding="utf-8").splitlines())
    for mark, lines in (("gone or changed", before - now()), ("new", now() - before)):
        for line in sorted(lines):
            print(f"{mark}: {line}")
    return max(int(bool(before - now())), check_types(args.built) if args.check else 0)


if __name__ == "__main__":
    sys.exit(main())
