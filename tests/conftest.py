# SPDX-License-Identifier: Apache-2.0
"""Gives each test a user's cache of its own: what runs keep of nodes must not decide other tests."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import itertools
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from control_group import control_group

from antiphon.mpi import launch

# Open MPI looks for these networks, which test machines lack, for a second at each start.
os.environ.setdefault("OMPI_MCA_btl", "^ofi")
os.environ.setdefault("OMPI_MCA_mtl", "^ofi,psm,psm2")

#: Waiting ranks give their core away, since tests run beside one another.
WAITING = launch.YIELDING["openmpi"] | launch.YIELDING["mpich"]


def pytest_collection_finish() -> None:
    """Keeps thousands of collected tests out of every garbage collection."""
    gc.freeze()


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Returns new paths for caches; a run makes the folder when it keeps something."""
    root = tmp_path_factory.mktemp("caches")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(scope="session", autouse=True)
def _cache_of_fixtures(caches: Iterator[Path]) -> Iterator[None]:
    """Serves fixtures of modules and sessions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(next(caches)))
        yield


@pytest.fixture(autouse=True)
def _cache(caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(next(caches)))


@pytest.fixture(autouse=True)
def _waiting_ranks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves ranks alone where a test measures them."""
    if request.node.get_closest_marker("measures") is None:
        for name, value in WAITING.items():
            monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """Takes back what a command in the test's process sets: `antiphon trace` hands variables on to its ranks."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys() - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]


@contextlib.contextmanager
def _closed(folder: Path) -> Iterator[None]:
    mode, is_root = folder.stat().st_mode, os.geteuid() == 0
    folder.chmod(0)
    if is_root:
        os.setresuid(59211, 59211, 0)
    try:
        yield
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
        folder.chmod(mode)


@pytest.fixture
def closed() -> Callable[[Path], contextlib.AbstractContextManager[None]]:
    """Returns what makes a folder one that nobody may enter. Root may, and so it is another user meanwhile."""
    return _closed


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder for what all workers of a run need, and one of them makes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def made_once(shared_folder: Path) -> Callable[[str, Callable[[Path], object]], Path]:
    """Fills a new folder of this name, once for all workers of a run, and returns it."""

    def made(name: str, fill: Callable[[Path], object]) -> Path:
        folder, whole = shared_folder / name, shared_folder / f"{name}.whole"
        with (shared_folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not whole.exists():
                folder.mkdir(exist_ok=True)
                fill(folder)
                whole.touch()
        return folder

    return made


@pytest.fixture
def limited_group() -> Iterator[Callable[[float], Path]]:
    """Makes a control group that may use so many cores, for the test's time; skips where none can be made."""
    with contextlib.ExitStack() as groups:

        def made(cores: float) -> Path:
            try:
                return groups.enter_context(control_group(cores))
            except OSError as error:
                pytest.skip(f"no control group with a limit can be made here: {error.strerror}")

        yield made


@pytest.fixture(scope="session")
def one_core() -> list[str]:
    """Returns what keeps a command on one core, another one in each worker. More ranks than cores need a fraction of
    the time there, because a core that is given away then goes to a rank that has something to do.
    """
    cores = sorted(os.sched_getaffinity(0))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return ["taskset", "--cpu-list", str(cores[worker % len(cores)])]


#: Shared memory of Open MPI and MPICH. It stays where ranks are killed, or start without a launcher of their own.
SEGMENT = re.compile(r"sm_segment\..+|mpich_shm_\w+")
SHARED_MEMORY = Path("/dev/shm")
BEGAN_S = pytest.StashKey[float]()


def mapped_files() -> set[str]:
    """Returns what the processes of this machine have mapped of the shared memory."""
    found: set[str] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            found.update(re.findall(rf"{SHARED_MEMORY}/(\S+)", maps.read_text(errors="replace")))
        except OSError:
            continue  # The process has ended, or is another user's.
    return found


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[BEGAN_S] = time.time()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Removes the segments that killed ranks of these tests left, and that no process uses."""
    if hasattr(session.config, "workerinput") or not SHARED_MEMORY.is_dir():
        return
    # Files first, then who uses them: a segment that is made meanwhile is not among these.
    segments = [file for file in SHARED_MEMORY.iterdir() if SEGMENT.fullmatch(file.name)]
    used = mapped_files()
    for file in segments:
        with contextlib.suppress(FileNotFoundError):
            facts = file.stat()
            of_these_tests = facts.st_uid == os.getuid() and facts.st_mtime >= session.config.stash[BEGAN_S]
            if of_these_tests and file.name not in used:
                file.unlink()
