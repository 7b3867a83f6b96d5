# SPDX-License-Identifier: Apache-2.0
"""Fetches MPICH's test suite from Debian's source package, and builds it against one MPI library."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from libraries import Library
from work import BUILD, DOWNLOADS, LOGS, step

from antiphon.errors import AntiphonError

#: These parts of the suite test what Antiphon replaces or must not disturb.
FOLDERS = (
    *("coll", "topo", "datatype", "comm", "attr", "pt2pt"),
    *("errors/coll", "errors/pt2pt", "threads/comm", "threads/pt2pt"),
)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SOURCES = f"deb-src [signed-by={KEYRING}] http://deb.debian.org/debian bookworm main\n"


@dataclass(frozen=True)
class Test:
    """A line of a test list."""

    folder: str
    program: str
    ranks: int
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    limit_s: float = 0
    #: The program must end with an error code.
    aborts: bool = False

    @property
    def name(self) -> str:
        """Returns a name that is unique within the suite."""
        return " ".join([f"{self.folder}/{self.program} {self.ranks}", *self.args, *(f"{k}={v}" for k, v in self.env)])


def archive() -> Path:
    """Downloads the source package with lists of its own, so that the machine's apt settings stay as they are."""
    found = sorted(DOWNLOADS.glob("mpich_*.orig.tar.*"))
    if found:
        return found[-1]
    if shutil.which("apt-get") is None or not Path(KEYRING).exists():
        raise AntiphonError(
            "MPICH's tests come from Debian's source package, and there is no apt-get with Debian's keys",
            hint=f"put mpich_4.0.2.orig.tar.xz into {DOWNLOADS}",
        )
    apt = BUILD / "apt"
    (apt / "lists/partial").mkdir(parents=True, exist_ok=True)
    (apt / "archives/partial").mkdir(parents=True, exist_ok=True)
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    (apt / "sources.list").write_text(SOURCES, encoding="utf-8")
    options = {
        "Dir::Etc::SourceList": apt / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": apt / "lists",
        "Dir::Cache": apt,
        "APT::Sandbox::User": "root",
    }
    get = ["apt-get", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
    step([*get, "update"], log=LOGS / "apt-update.log", what="mpich: list of source packages")
    step(
        [*get, "source", "--download-only", "mpich"],
        cwd=DOWNLOADS,
        log=LOGS / "apt-source.log",
        what="mpich: source package",
    )
    return sorted(DOWNLOADS.glob("mpich_*.orig.tar.*"))[-1]


def build(library: Library) -> Path:
    """Returns the directory of the built suite, and builds what is missing."""
    tree = BUILD / f"mpich-{library.name}"
    ready = tree / "ready"
    env = {"PATH": f"{library.bin}:{os.environ['PATH']}", "CC": str(library.compiler), "MPICC": str(library.compiler)}
    if not ready.exists():
        shutil.rmtree(tree, ignore_errors=True)
        _extract(archive(), tree)
        _configure(library, tree, env)
        ready.touch()
    built = ready.read_text(encoding="utf-8").split()
    # Single programs may fail to build, because they use what this library lacks.
    for folder in (f for f in FOLDERS if f not in built):
        make = ["sh", "-c", 'make -k -j2 -C "$0" || true', folder]
        _step(make, library, tree, env, folder)
        with ready.open("a", encoding="utf-8") as out:
            out.write(f"{folder}\n")
    return tree


def _configure(library: Library, tree: Path, env: dict[str, str]) -> None:
    """Builds what all folders need."""
    configure = [
        "./configure",
        f"--with-mpi={library.mpi.prefix}",
        f"CC={library.compiler}",
        "--disable-fortran",
        "--disable-cxx",
        "--enable-strictmpi",
        "--disable-perftest",
        "--disable-ft-tests",
        "--disable-dependency-tracking",
    ]
    _step(configure, library, tree, env, "configure")
    # MPI 3 removed these two.
    custom = tree / "dtpools/src/dtpools_custom.c"
    text = custom.read_text(encoding="utf-8")
    custom.write_text(re.sub(r"MPI_Type_(hvector|hindexed)\(", r"MPI_Type_create_\1(", text), encoding="utf-8")
    for folder in ("dtpools", "util"):
        _step(["make", "-k", "-C", folder], library, tree, env, folder)


def _step(command: Sequence[str], library: Library, tree: Path, env: dict[str, str], what: str) -> None:
    log = LOGS / f"mpich-{library.name}-{what.replace('/', '-')}.log"
    step(command, cwd=tree, env=env, log=log, what=f"mpich, {library.label}: {what}")


def _extract(source: Path, tree: Path) -> None:
    with tarfile.open(source) as tar:
        prefix = f"{tar.getnames()[0].split('/')[0]}/test/mpi/"
        for member in tar:
            if member.name.startswith(prefix):
                member.name = member.name[len(prefix) :]
                tar.extract(member, tree)


def tests(tree: Path, max_ranks: int, wanted: Sequence[str]) -> list[Test]:
    """Returns all tests of the suite, each once, on `max_ranks` ranks at most."""
    found: dict[str, Test] = {}
    for folder in FOLDERS:
        for line in (tree / folder / "testlist").read_text(encoding="utf-8").splitlines():
            for test in _parse(folder, line, max_ranks):
                if not wanted or any(text in test.name for text in wanted):
                    found.setdefault(test.name, test)
    return list(found.values())


def _parse(folder: str, line: str, max_ranks: int) -> Iterator[Test]:
    words = line.partition("#")[0].split()
    if not words:
        return
    pairs = [word.partition("=")[::2] for word in words[2:]]
    options = dict(pairs)
    # Skipped are tests outside the standard (the suite is configured strict), tests that need more memory than a small
    # machine has, and tests that the suite expects to fail: their ranks disagree about sizes, so anything may happen.
    if options.get("strict", "").lower() == "false" or float(options.get("mem", 0)) > 2 or "xfail" in options:
        return
    ranks = min(int(words[1]) if len(words) > 1 else 2, max_ranks)
    env = tuple(value.partition("=")[::2] for key, value in pairs if key == "env")
    yield Test(
        folder,
        words[0],
        ranks,
        tuple(value for key, value in pairs if key == "arg"),
        env,
        float(options.get("timeLimit", 0)),
        options.get("resultTest") in ("TestErrFatal", "TestStatus"),
    )
