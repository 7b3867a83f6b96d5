# SPDX-License-Identifier: Apache-2.0
"""Runs mpi4py's own test suite: the source distribution's tests against the wheel from PyPI."""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exclusions import excluded
from libraries import Library, Mode, command
from outcome import Comparison, Verdict
from work import BUILD, DOWNLOADS, HERE, LOGS, LOOK_S, RUNS, file_name, run, say, step

from antiphon.errors import EXIT_FAILURE, AntiphonError

PART = "mpi4py"
VENV = BUILD / "mpi4py"
#: A run in which no rank finishes a test for this long has hung.
STALL_S = 300.0
#: A run is continued behind a test in which it hung or died at most this many times.
MOST_CONTINUATIONS = 12
#: Each doubtful test is repeated this many times, in both modes.
REPEATS = 2
#: The last of these outcomes counts if ranks disagree, or a test reports several.
ORDER = ("ok", "skip", "fail", "error")
#: These modules fit into a few minutes: collectives, communicators, threads.
QUICK_MODULES = ("cco_buf", "cco_vec", "cco_obj", "comm.py", "threads", "test_op")


def prepare() -> Path:
    """Downloads and installs what is missing; returns the directory of the tests."""
    python = VENV / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    if not (VENV / "ready").exists():
        step(
            [sys.executable, "-m", "venv", "--clear", str(VENV)],
            log=LOGS / "mpi4py-venv.log",
            what="mpi4py: environment",
        )
        step(
            [*pip, "install", "--only-binary", ":all:", "mpi4py", "numpy"],
            log=LOGS / "mpi4py-install.log",
            what="mpi4py: install",
        )
        (VENV / "ready").touch()
    done = run(
        [str(python), "-c", "import mpi4py; print(mpi4py.__version__)"], log=LOGS / "mpi4py-version.log", timeout_s=60
    )
    version = done.output.strip()
    tests = BUILD / f"mpi4py-{version}" / "test"
    if not tests.is_dir():
        _unpack_source(pip, version)
    return tests


def _unpack_source(pip: list[str], version: str) -> None:
    """Downloads the source distribution unless it is there, and unpacks it."""
    archive = DOWNLOADS / f"mpi4py-{version}.tar.gz"
    if not archive.exists():
        source = ["--no-binary", "mpi4py", "--no-deps", "--dest", str(DOWNLOADS), f"mpi4py=={version}"]
        what = f"mpi4py {version}: source distribution"
        step([*pip, "download", *source], log=LOGS / "mpi4py-download.log", what=what)
    with tarfile.open(archive) as tar:
        tar.extractall(BUILD)


@dataclass
class Progress:
    """Holds the content of the ranks' records up to now."""

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    #: Tests that any rank began and did not end.
    open: set[str] = field(default_factory=set)
    #: Modules that every rank has finished.
    finished: set[str] = field(default_factory=set)
    #: Ranks that ran to the end.
    ended: int = 0


def read_records(folder: Path) -> Progress:
    """Joins the ranks' records: the worst outcome counts."""
    progress = Progress()
    modules: list[tuple[set[str], str]] = []
    for path in sorted(folder.glob("rank-*.jsonl")):
        seen: set[str] = set()
        last = ""
        opened: set[str] = set()
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                test, event, detail = json.loads(line)
            except ValueError:  # The line is cut off because the rank died.
                continue
            if event == "end":
                progress.ended += 1
                last = ""
                continue
            if event == "start":
                opened, last = {test}, test.partition(".")[0]
                seen.add(last)
            _note(progress.verdicts, opened, test, event, detail)
        progress.open |= opened
        modules.append((seen, last))
    if modules:
        progress.finished = set.intersection(*(seen - {last} for seen, last in modules))
    return progress


def _note(verdicts: dict[str, Verdict], opened: set[str], test: str, event: str, detail: str) -> None:
    if event == "start":
        return
    if event == "stop":
        opened.discard(test)
        event = "ok"
    known = verdicts.get(test)
    if known is None or ORDER.index(event) > ORDER.index(known.status):
        verdicts[test] = Verdict(event, detail)


@dataclass
class Suite:
    """Runs the suite with one library on n ranks."""

    tests: Path
    library: Library
    n: int
    include: Sequence[str] = ()

    def run(self, mode: Mode, comparison: Comparison, include: Sequence[str] | None = None) -> dict[str, Verdict]:
        """Returns all tests' outcomes; continues behind tests that hang or kill the program."""
        verdicts: dict[str, Verdict] = {}
        done: set[str] = set()
        bad: list[str] = []
        for attempt in range(MOST_CONTINUATIONS):
            progress, hung = self._once(mode, comparison, include or self.include, done, bad, attempt)
            verdicts |= {test: v for test, v in progress.verdicts.items() if test not in bad}
            if progress.ended == self.n:
                break
            if not progress.verdicts and not progress.open:
                raise AntiphonError(
                    f"mpi4py's tests do not start with {self.library.label} ({mode.name})",
                    hint=f"see {LOGS}",
                    exit_code=EXIT_FAILURE,
                )
            done |= progress.finished
            stuck = sorted(progress.open) or ["(between tests)"]
            say(f"  {'hung' if hung else 'died'} in {', '.join(stuck)}")
            verdicts |= {test: Verdict("hang" if hung else "crash") for test in stuck}
            if not progress.open:
                break
            bad += stuck
        return verdicts

    def _once(
        self,
        mode: Mode,
        comparison: Comparison,
        include: Sequence[str],
        done: set[str],
        bad: Sequence[str],
        attempt: int,
    ) -> tuple[Progress, bool]:
        work = RUNS / file_name(f"mpi4py-{self.library.name}-{self.n}-{mode.name}")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        argv = [str(VENV / "bin/python"), str(HERE / "mpi4py_record.py"), str(self.tests), str(work), "-q"]
        for pattern in include:
            argv += ["-i", pattern]
        for name in [*excluded(PART, "modules", self.library.name), *(rf"\b{m}\.py" for m in sorted(done))]:
            argv += ["-e", name]
        for test in bad:
            argv += ["-x", f"*{test}"]
        env = {"MPI4PY_MPIABI": self.library.mpi.family, "MPI4PY_LIBMPI": str(self.library.mpi.libmpi)}
        mode = Mode(mode.force, work / "summary.json" if mode.force else None)
        start = command(self.library, self.n, argv, mode, python=True, env=env)
        result = run(
            start.argv,
            env=start.env,
            cwd=self.tests.parent,
            log=LOGS / f"{work.name}-{attempt}.log",
            timeout_s=7200,
            stalled=_stalled(work),
        )
        if mode.summary:
            comparison.count(mode.summary)
        return read_records(work), result.hung


def _stalled(folder: Path) -> Callable[[], bool]:
    """This is asked every LOOK_S, and counts calls, because time also passes while this whole machine is stopped."""
    size = unmoved = -1

    def stalled() -> bool:
        nonlocal size, unmoved
        now = sum(path.stat().st_size for path in folder.glob("rank-*.jsonl"))
        unmoved = unmoved + 1 if now == size else 0
        size = now
        return unmoved * LOOK_S > STALL_S

    return stalled


def compare(library: Library, n: int, force: str, include: Sequence[str]) -> Comparison:
    """Runs the suite without and with Antiphon, and repeats what differs."""
    suite = Suite(prepare(), library, n, include)
    result = Comparison(PART, library.label, str(n), force)
    began = time.monotonic()
    say(f"mpi4py, {library.label}, {n} ranks: without Antiphon")
    result.without = suite.run(Mode(), result)
    say(
        f"mpi4py, {library.label}, {n} ranks: with Antiphon ({force}); without it {len(result.without)} tests, "
        f"{sum(v.bad for v in result.without.values())} failed, {time.monotonic() - began:.0f} s"
    )
    result.antiphon = suite.run(Mode(force), result)
    _repeat(suite, result, force)
    result.seconds = time.monotonic() - began
    return result


def _repeat(suite: Suite, result: Comparison, force: str) -> None:
    doubtful = result.candidates()
    if not doubtful:
        return
    modules = sorted({rf"\b{test.partition('.')[0]}\.py" for test in doubtful if test.startswith("test_")})
    again: list[set[str]] = []
    for _ in range(REPEATS if modules else 0):
        say(f"  {len(doubtful)} tests differ; again: {', '.join(modules)}")
        once = Comparison(PART, result.library, result.ranks, force)
        once.without = suite.run(Mode(), once, modules)
        once.antiphon = suite.run(Mode(force), once, modules)
        again.append(set(once.candidates()))
    for test in doubtful:
        steady = all(test in seen for seen in again)
        (result.differences if steady else result.unsteady).append(test)
