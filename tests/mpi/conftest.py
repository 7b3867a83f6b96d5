# SPDX-License-Identifier: Apache-2.0
"""Compiles programs with each MPI of this machine, and runs them with and without the preload objects."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from antiphon.mpi import ABIS, Mpi, discover, launch

HERE = Path(__file__).resolve().parent
CHECK = HERE.parents[1] / "bench" / "check"
EXAMPLES = HERE.parents[1] / "examples"
PROGRAMS = HERE / "programs"
LIMIT_S = 150
SCHEMA = HERE.parents[1] / "python/antiphon/schemas/summary.schema.json"
SUMMARY = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-O1", "-g", "-pthread"]


@dataclass(frozen=True)
class Result:
    """The output of a run of ranks."""

    returncode: int
    text: str
    summary: dict[str, Any]

    def calls(self, collective: str) -> list[dict[str, Any]]:
        """Returns the summary's rows for a collective."""
        return [row for row in self.summary.get("collectives", []) if row["collective"] == collective]

    def used(self, collective: str) -> dict[str, int]:
        """Returns how many of a collective's calls each algorithm, or "library", did."""
        counts: dict[str, int] = {}
        for row in self.calls(collective):
            name = re.match("[a-z_]+", row["algorithm"])[0]  # type: ignore[index]
            counts[name] = counts.get(name, 0) + row["calls"]
        return counts

    def reasons(self, collective: str) -> set[str]:
        """Returns why the library did calls of a collective."""
        return {row["reason"] for row in self.calls(collective) if row["algorithm"] == "library"}

    def fact(self, name: str) -> dict[str, Any] | None:
        """Returns what the summary knows of something, once, or None."""
        found = [fact for fact in self.summary.get("facts", []) if fact["name"] == name]
        assert len(found) <= 1, found
        return found[0] if found else None

    def pairs(self, line: str) -> dict[str, str]:
        """Returns what the line with this beginning prints as names, each with its value behind it."""
        (found,) = self.lines(line)
        words = found.split()
        return dict(zip(words[::2], words[1::2], strict=True))

    def lines(self, start: str) -> list[str]:
        """Returns the lines with this beginning, sorted, because ranks print in any order."""
        return sorted(line for line in self.text.splitlines() if line.startswith(start))


def is_from_wheel(mpi: Mpi) -> bool:
    """Returns whether the library came with the development environment."""
    return "site-packages" in str(mpi.prefix) or mpi.prefix.parent.name == "mpi"


MPIS = discover()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`mpi` is each library of this machine, `wheel` each one from PyPI, by each of its ABIs, `system` each other one.
    `native` is for what no ABI can change: each library from PyPI once, by the ABI of its own. `foreign` is the rest.
    """
    wheels = [mpi for mpi in MPIS if is_from_wheel(mpi)]
    native = [mpi for mpi in wheels if mpi.abi == mpi.family]
    choices = {
        "mpi": MPIS,
        "wheel": wheels,
        "native": native,
        "foreign": [mpi for mpi in MPIS if mpi not in native],
        "system": [mpi for mpi in MPIS if not is_from_wheel(mpi)],
    }
    for name, chosen in choices.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, chosen, ids=[f"{m.abi}-{m.version}" for m in chosen])
    if "abi" in metafunc.fixturenames:
        metafunc.parametrize("abi", ABIS)


@pytest.fixture(autouse=True, scope="session")
def built() -> None:
    """Skips these tests if the build has not made what they need."""
    missing = [abi for abi in ABIS if not (launch.lib_dir() / f"libantiphon-{abi}.so").is_file()]
    if missing:
        pytest.skip(f"no preload object for {', '.join(missing)} in {launch.lib_dir()}: `make setup` builds them")


def wrapper(mpi: Mpi, language: str = "c") -> str:
    """Returns the compiler wrapper of an MPI."""
    base = {"c": "mpicc", "fortran": "mpifort"}[language]
    names = [f"{base}_abi"] if mpi.abi == "mpiabi" else [f"{base}.{mpi.family}", base]
    for name in names:
        if found := shutil.which(name, path=str(mpi.prefix / "bin")):
            return found
    return pytest.skip(f"{mpi.label} has no {names[-1]}")


Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compiled(made_once: Callable[..., Path]) -> Compile:
    """Compiles sources with an MPI's wrapper, once each."""

    def compile_with(mpi: Mpi, sources: Sequence[Path], *options: str) -> Path:
        def fill(folder: Path) -> None:
            fortran = sources[0].suffix.lower() == ".f90"
            flags = ["-ffree-line-length-none", f"-J{folder}"] if fortran else WARNINGS
            program = folder / sources[0].stem
            command = [wrapper(mpi, "fortran" if fortran else "c"), *flags, *sources, "-o", program, *options]
            result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
            assert result.returncode == 0, result.stderr

        key = hashlib.sha1(repr((mpi.libmpi, *sources, *options)).encode()).hexdigest()[:12]
        return made_once(key, fill) / sources[0].stem

    return compile_with


Run = Callable[..., Result]


@functools.cache
def has_variables(mpi: Mpi) -> bool:
    """Returns whether the library knows by which variables its waiting ranks give their cores away."""
    if mpi.family != "mpich":
        return True
    library = mpi.libmpi.read_bytes()
    return all(name.encode() in library for name in launch.yielding(mpi))


def with_antiphon(mpi: Mpi, compiled: Compile, before: Sequence[Path], behind: Sequence[Path]) -> list[Path]:
    """Returns the preload object among others. Where it would be alone, and the library has no variable for it, another
    one makes waiting ranks give their cores away.
    """
    if not before and not behind and not has_variables(mpi):
        behind = [compiled(mpi, [PROGRAMS / "yields_in_ucx.c"], "-shared", "-fPIC")]
    return [*before, launch.preload_object(mpi.abi), *behind]


@pytest.fixture
def start_ranks(tmp_path: Path, one_core: list[str], compiled: Compile) -> Run:
    """Starts a program as `run_ranks` does."""

    def run(
        mpi: Mpi,
        n: int,
        argv: Sequence[object],
        *,
        preload: bool = True,
        before: Sequence[Path] = (),
        behind: Sequence[Path] = (),
        limit_s: int = LIMIT_S,
        **variables: str,
    ) -> Result:
        summary = tmp_path / "summary.json"
        summary.unlink(missing_ok=True)
        hidden = ("LD_PRELOAD", "LD_LIBRARY_PATH")
        env = {key: value for key, value in os.environ.items() if key not in hidden and not key.startswith("ANTIPHON")}
        objects = with_antiphon(mpi, compiled, before, behind) if preload else [*before, *behind]
        if objects:
            variables["LD_PRELOAD"] = ":".join(map(str, objects))
        if preload:
            variables.setdefault("ANTIPHON_SUMMARY", str(summary))
        variables = launch.yielding(mpi) | variables  # those that measure, too
        command = launch.launch_command(mpi, n, [str(a) for a in argv], variables, oversubscribe=True, as_root=True)
        where = one_core if n > len(os.sched_getaffinity(0)) else []
        # The launcher is asked to end, so that it ends the ranks.
        command = ["timeout", "--kill-after=10", str(limit_s), *where, *command]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=env, cwd=tmp_path, check=False
        )
        data = json.loads(summary.read_text()) if summary.is_file() else {}
        if data:
            SUMMARY.validate(data)
        return Result(done.returncode, done.stdout + done.stderr, data)

    return run


HAS_FAILED = pytest.StashKey[bool]()
#: So long may a program take without Antiphon, once it has failed with it.
ALONE_LIMIT_S = 15


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = (yield).get_result()  # type: ignore[misc]
    if report.when == "call":
        item.stash[HAS_FAILED] = report.failed


@pytest.fixture
def run_ranks(request: pytest.FixtureRequest, start_ranks: Run) -> Iterator[Run]:
    """Starts a program on n ranks with the preload object or, with preload=False, without it.

    Other objects can be preloaded before it and behind it. Only as many ranks as there are cores run in parallel. Where
    a test fails, it says how its last program ends without Antiphon, and so whose fault that is.
    """
    alone: list[Callable[[], Result]] = []

    def run(mpi: Mpi, n: int, argv: Sequence[object], *, preload: bool = True, **options: Any) -> Result:
        limited = options | {"limit_s": ALONE_LIMIT_S}
        alone[:] = [functools.partial(start_ranks, mpi, n, argv, preload=False, **limited)] if preload else []
        return start_ranks(mpi, n, argv, preload=preload, **options)

    yield run
    if alone and request.node.stash.get(HAS_FAILED, False):
        result = alone[0]()
        print(f"without Antiphon, the last program ends with {result.returncode}:\n{result.text}")


Check = Callable[..., Result]


@pytest.fixture
def check(compiled: Compile, run_ranks: Run) -> Check:
    """Runs check_collectives; fails with its output if it finds anything wrong.

    With nonblocking=True every collective is nonblocking.
    """

    def run(mpi: Mpi, n: int, *arguments: str, nonblocking: bool = False, **options: Any) -> Result:
        program = compiled(mpi, sorted(CHECK.glob("*.c")), *(["-DNONBLOCKING"] if nonblocking else []))
        result = run_ranks(mpi, n, [program, *arguments], **options)
        assert result.returncode == 0, result.text
        assert len(re.findall(r"\b[1-9]\d* passed, 0 failed\n", result.text)) == 1, result.text
        return result

    return run


Verified = Callable[..., Result]


@pytest.fixture
def verified(compiled: Compile, run_ranks: Run) -> Verified:
    """Compiles one of the programs that verify themselves, and runs it as `run_ranks` does.

    Fails with the program's output unless it ends well, and all that is printed is one "verified".
    """

    def run(
        mpi: Mpi, n: int, source: str, *arguments: object, options: Sequence[str] = (), **run_options: Any
    ) -> Result:
        program = compiled(mpi, [PROGRAMS / source], *options)
        result = run_ranks(mpi, n, [program, *arguments], **run_options)
        assert result.returncode == 0, result.text
        assert result.text.split() == ["verified"], result.text
        return result

    return run
