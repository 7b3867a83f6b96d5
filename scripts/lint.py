#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the formatters, linters and structural checks of the project, and reports all that fail.

The tools come from PyPI, pinned by the `lint` extra of pyproject.toml, into .venv/lint.
`make lint` checks everything but clang-tidy, `make format` rewrites, `make tidy` runs clang-tidy on the core.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tool_environment
import tracked

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".venv" / "lint"
TIDY_BUILD = ROOT / "build" / "tidy"
PYTHON_TREES = ("python", "scripts", "tests", "bench", "mpi")
#: clang-tidy's own options do not name the instruction sets that these files are compiled for.
NOT_TIDIED = re.compile(r"/kernels/(avx2|avx512)\.cpp$")
#: clang-tidy finds unused aliases only in the file it is called for, so a file that has one is read alone as well.
NAMESPACE_ALIAS = re.compile(r"^\s*namespace \w+ = ", re.MULTILINE)


def sources(*patterns: str) -> list[str]:
    """Returns files that git tracks, without generated and third-party ones."""
    names = [name for name in tracked.files(*patterns) if (ROOT / name).is_file()]
    return [name for name in names if "third_party" not in name and ".gen." not in name]


def tool(name: str) -> str:
    """Returns the path of an installed tool."""
    return str(TOOLS / "bin" / name)


def checks() -> dict[str, list[str]]:
    """Returns every check by its name, with the command that makes it."""
    c_sources = sources("*.c", "*.h", "*.cpp", "*.hpp")
    return {
        "clang-format": [tool("clang-format"), "--dry-run", "-Werror", *c_sources],
        "ruff format": [tool("ruff"), "format", "--check", "--quiet", *PYTHON_TREES],
        "ruff check": [tool("ruff"), "check", "--quiet", *PYTHON_TREES],
        "mypy": [tool("mypy"), "python/antiphon"],
        "sizes": [tool("python"), "scripts/check_sizes.py"],
        "rooms": [tool("python"), "scripts/check_rooms.py"],
        "conflict markers": ["sh", "-c", "! git grep -nE '^(<<<<<<<|>>>>>>>) '"],
    }


def run(name: str, command: Sequence[str]) -> bool:
    """Runs one check and shows its output if it fails."""
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return True
    print(f"==> {name} fails\n{(result.stdout + result.stderr).strip()}", file=sys.stderr, flush=True)
    return False


def rewrite() -> int:
    """Runs `make format`."""
    steps = [
        [tool("clang-format"), "-i", *sources("*.c", "*.h", "*.cpp", "*.hpp")],
        [tool("ruff"), "format", "--quiet", *PYTHON_TREES],
        [tool("ruff"), "check", "--quiet", "--fix", *PYTHON_TREES],
    ]
    return max(subprocess.run(step, cwd=ROOT, check=False).returncode for step in steps)


def compilations(unity: bool) -> list[str]:
    """Configures a build of the core, and returns the files that it compiles."""
    options = [
        "-DANTIPHON_BUILD_MPI=OFF",
        "-DANTIPHON_BUILD_TESTS=OFF",
        f"-DANTIPHON_UNITY={'ON' if unity else 'OFF'}",
        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
    ]
    subprocess.run(["cmake", "-S", ROOT, "-B", TIDY_BUILD, *options], stdout=subprocess.DEVNULL, check=True)
    compiled = json.loads((TIDY_BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    names = dict.fromkeys(command["file"] for command in compiled)
    return [name for name in names if Path(name).is_relative_to(ROOT / "src") or "/Unity/" in name]


def allow_includes(together: str) -> None:
    """Marks the includes of a file that CMake made, which are meant to be of sources."""
    text = Path(together).read_text(encoding="utf-8")
    meant = re.sub(r'(#include ".*\.cpp")$', r"\1  // NOLINT(bugprone-suspicious-include)", text, flags=re.MULTILINE)
    Path(together).write_text(meant, encoding="utf-8")


def tidy(files: Sequence[str]) -> int:
    """Runs clang-tidy on files of the core, or on all of it, where the files of a folder are read together."""
    whole = compilations(unity=not files)
    chosen = [name for name in files or whole if not NOT_TIDIED.search(name)]
    together = [name for name in chosen if name.endswith(".cxx")]
    for name in together:
        allow_includes(name)
    with_alias = [name for name in sources("src/*.cpp") if NAMESPACE_ALIAS.search((ROOT / name).read_text("utf-8"))]
    alone = [name for name in chosen if name.endswith(".cpp")] + (with_alias if together else [])
    batches = [[name] for name in together] + [alone[i : i + 8] for i in range(0, len(alone), 8)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        done = pool.map(
            lambda batch: run("clang-tidy", [tool("clang-tidy"), "-p", str(TIDY_BUILD), "--quiet", *batch]), batches
        )
        return 0 if all(list(done)) else 1


def main() -> int:
    """Runs what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--fix", action="store_true", help="rewrite instead of check: clang-format, ruff")
    parser.add_argument("--tidy", action="store_true", help="run clang-tidy on the core, or on FILES of it")
    parser.add_argument("--only", metavar="CHECK", help="run one check: " + ", ".join(checks()))
    parser.add_argument("files", nargs="*", metavar="FILES")
    args = parser.parse_args()
    tool_environment.install("lint")
    if args.fix:
        return rewrite()
    if args.tidy:
        return tidy(args.files)
    chosen = {name: command for name, command in checks().items() if args.only in (None, name)}
    if not chosen:
        parser.error(f"there is no check {args.only!r}")
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        passed = list(pool.map(run, chosen, chosen.values()))
    print(f"lint: {passed.count(True)} passed, {passed.count(False)} failed", file=sys.stderr)
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
