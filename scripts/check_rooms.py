#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the rooms of mpi/ depend on each other in one direction only.

A room is a directory of mpi/, a module is a header with its source. A module may include modules of its own room and of
lower rooms, and modules never include each other in a circle.

    python scripts/check_rooms.py                       the includes
    python scripts/check_rooms.py --compile build/dev   also: each header compiles alone (with the flags of that build)
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

#: The floors go from the lowest to the highest. Rooms on the same floor may not include each other.
FLOORS = (
    ("job",),
    ("start", "call"),
    ("observe",),
    ("topology",),
    ("multicast", "compress"),
    ("run",),
    ("entry",),
    ("capi", "bindings"),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"/]+)/([^"]+)"')


class Include(NamedTuple):
    """One include of a file of mpi/ by another."""

    file: Path  #: relative to mpi/
    line: int
    target: Path  #: relative to mpi/


def includes(mpi: Path) -> Iterator[Include]:
    for file in sorted([*mpi.glob("*/*.hpp"), *mpi.glob("*/*.cpp")]):
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            match = INCLUDE.match(line)
            if match and match[1] in FLOOR_OF:
                yield Include(file.relative_to(mpi), number, Path(match[1], match[2]))


def wrong_direction(include: Include) -> str | None:
    """Returns what is wrong with an include that leaves its room upwards or sideways, and what to do."""
    room, other = include.file.parts[0], include.target.parts[0]
    if room == other or FLOOR_OF.get(room, len(FLOORS)) > FLOOR_OF[other]:
        return None
    where = "the same floor" if FLOOR_OF[room] == FLOOR_OF[other] else "a higher floor"
    return (
        f"mpi/{include.file}:{include.line}: {room}/ includes {include.target}, but {other}/ is on {where}; "
        f"move what both need to a lower room, or let {other}/ register itself (as entry/ does in job/progress.hpp)"
    )


def module_of(file: Path) -> Path:
    """Returns a file's module: `entry/pass.gen.hpp` and `entry/pass.cpp` belong to modules without the endings."""
    return file.with_suffix("")


def circles(found: list[Include]) -> list[list[Path]]:
    """Returns groups of modules in which each module includes every other one, directly or indirectly."""
    graph: dict[Path, set[Path]] = {}
    for include in found:
        graph.setdefault(module_of(include.file), set()).add(module_of(include.target))

    def reached_from(module: Path) -> set[Path]:
        seen: set[Path] = set()
        todo = [module]
        while todo:
            fresh = graph.get(todo.pop(), set()) - seen
            seen |= fresh
            todo += fresh
        return seen

    reach = {module: reached_from(module) - {module} for module in graph}
    groups = {tuple(sorted([module, *(m for m in reach[module] if module in reach.get(m, ()))])) for module in reach}
    return [list(group) for group in sorted(groups) if len(group) > 1]


def check_includes(mpi: Path) -> list[str]:
    """Returns all complaints about the includes of the sources in `mpi`."""
    found = list(includes(mpi))
    complaints = [text for include in found if (text := wrong_direction(include))]
    complaints += [
        f"mpi/{include.file}:{include.line}: there is no mpi/{include.target}; correct the path"
        for include in found
        if not (mpi / include.target).exists()
    ]
    complaints += [
        f"mpi/: these modules include each other: {', '.join(map(str, group))}; "
        "give what two of them need a file of its own"
        for group in circles(found)
    ]
    return complaints


def compile_command(build: Path, abi: str) -> list[str]:
    """Returns the compiler and its flags for sources of one preload object, without input and output."""
    entries = json.loads((build / "compile_commands.json").read_text())
    target = f"antiphon-{abi}.dir/"
    of_room = ("/call/", "unity_call_")  # a file of a room, or all of them together
    commands = (e["command"] for e in entries if target in e["command"] and any(part in e["file"] for part in of_room))
    command = next(commands, None)
    if command is None:
        raise SystemExit(f"{build} does not build antiphon-{abi} (hint: cmake -DANTIPHON_BUILD_MPI=ON)")
    words = shlex.split(command)
    words = words[: words.index("-o")]
    # Precompiled headers would stand in for what a header forgets to include.
    pairs = zip(words, [*words[1:], ""], strict=True)
    forced = {i for i, (word, value) in enumerate(pairs) if word == "-include" and "cmake_pch" in value}
    return [word for i, word in enumerate(words) if i not in forced and i - 1 not in forced and word != "-Winvalid-pch"]


def check_headers(mpi: Path, build: Path, abi: str) -> list[str]:
    """Returns complaints about headers that do not compile as the only include of a source."""
    command = compile_command(build, abi)

    def compile_alone(header: Path) -> str | None:
        arguments = [*command, "-fsyntax-only", "-x", "c++", "-"]
        source = f'#include "{header.relative_to(mpi)}"\n'
        done = subprocess.run(arguments, cwd=build, input=source, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return None
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
        return f"mpi/{header.relative_to(mpi)}: does not compile alone: {first}; include what it uses"

    with ThreadPoolExecutor(2) as pool:
        return [text for text in pool.map(compile_alone, sorted(mpi.glob("*/*.hpp"))) if text]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--mpi", type=Path, default=ROOT / "mpi", metavar="DIRECTORY", help="the sources (default: mpi/)"
    )
    parser.add_argument(
        "--compile", type=Path, metavar="BUILD", help="compile each header alone, as this CMake build does"
    )
    parser.add_argument(
        "--abi", default="mpich", help="the preload object whose flags --compile takes (default: mpich)"
    )
    args = parser.parse_args()
    complaints = check_includes(args.mpi)
    if args.compile is not None:
        complaints += check_headers(args.mpi, args.compile, args.abi)
    for text in complaints:
        print(text, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
