# SPDX-License-Identifier: Apache-2.0
"""Checks every way in which a job can start: it ends, and it is accelerated or one line says why not.

ANTIPHON_SLOW=1 takes all languages in all of them.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi, discover, launch

PROGRAMS = Path(__file__).resolve().parent / "programs"
SLOW = bool(os.environ.get("ANTIPHON_SLOW"))
MPIS = discover()
IDS = {id(m): f"{m.abi}-{m.version}" for m in MPIS}
#: Objects that do not fit, by the library's ABI.
FOREIGN = {"openmpi": "mpich", "mpich": "openmpi", "mpiabi": "mpich"}
LANGUAGES = ("c", "fortran", "mpi4py")
#: Each rank starts in the way that its number has in the table; the last way holds for all that follow.
BY_RANK = """#!/bin/sh
case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in
%s
esac
exec "$@"
"""
#: Collectives in Python: the same as in the Fortran program.
IN_PYTHON = """
import array
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
mine, sums = array.array("d", [rank + i for i in range(3000)]), array.array("d", bytes(24000))
comm.Allreduce(mine, sums)
right = list(sums) == [ranks * i + ranks * (ranks - 1) / 2 for i in range(3000)]
comm.Bcast(mine, root=ranks - 1)
right = comm.allreduce(right and mine[0] == ranks - 1, op=MPI.LAND)
comm.Barrier()
if rank == 0 and right: print("verified")
"""


Compile = Callable[..., Path]
Run = Callable[..., Any]


@dataclass(frozen=True)
class Start:
    """What each rank loads, and what is to come of it."""

    name: str
    #: own, foreign, other (another version) or none, by rank.
    loads: tuple[str, ...]
    #: A part of the line that says why the job is not accelerated; None if it is.
    line: str | None = None
    #: What the C program does.
    mode: str = "init"
    #: The libraries that can do it.
    can: Callable[[Mpi], bool] = lambda _: True
    languages: tuple[str, ...] = LANGUAGES
    #: Variables of the last rank alone.
    last: dict[str, str] = field(default_factory=dict)


def has_sessions(mpi: Mpi) -> bool:
    """Returns whether the library has MPI 4's sessions, and they work: MPICH's first ones do not on several ranks."""
    return mpi.version.split(".")[0] == "5"


def can_spawn(mpi: Mpi) -> bool:
    """Returns whether processes can be started by processes: those of Debian's MPICH cannot."""
    return mpi.version != "4.0.2"


STARTS = [
    Start("right", ("own", "own")),
    Start("wrong", ("foreign", "foreign"), r"libantiphon-\w+.so does not fit .*libmpi"),
    Start("first-without", ("none", "own", "own"), "rank 0 does not load libantiphon"),
    Start("one-without", ("own", "none", "own", "own"), "rank 1 does not load libantiphon"),
    Start("one-wrong", ("own", "own", "foreign"), "rank 2 does not load libantiphon"),
    Start("versions", ("own", "other", "own"), r"rank 1 loads Antiphon [\d.]+ for \w+ \(build 0{20}\), this rank"),
    Start("settings", ("own", "own"), "rank 1 has ANTIPHON_FORCE=bcast:chain, unlike rank 0",
          last={"ANTIPHON_FORCE": "bcast:chain"}),
    Start("one-off", ("own", "own"), "rank 1 has ANTIPHON=off, unlike rank 0", last={"ANTIPHON": "off"}),
    Start("threads", ("own", "own"), mode="threads", languages=("c",)),
    Start("sessions", ("own", "own"), "starts MPI by MPI_Session_init", "sessions", has_sessions, ("c",)),
    Start("spawn", ("own", "own"), None, "spawn", can_spawn, ("c",)),
]  # fmt: skip
#: Without ANTIPHON_SLOW, C takes all starts, the others those that depend on the language.
BRIEF = {("fortran", "wrong"), ("mpi4py", "right"), ("mpi4py", "wrong"), ("fortran", "one-without")}
#: Without ANTIPHON_SLOW, the MPI ABI takes these alone: its library is MPICH's own, and so is the rest of its object.
BY_THE_ABI = {"right", "wrong", "one-without", "sessions"}


def is_taken(mpi: Mpi, language: str, start: Start) -> bool:
    """Returns whether the matrix has this row."""
    if language not in start.languages or not start.can(mpi):
        return False
    brief = language == "c" or (language, start.name) in BRIEF
    return SLOW or (brief and (mpi.abi != "mpiabi" or start.name in BY_THE_ABI))


MATRIX = [
    pytest.param(mpi, language, start, id=f"{IDS[id(mpi)]}-{language}-{start.name}")
    for mpi, language, start in itertools.product(MPIS, LANGUAGES, STARTS)
    if is_taken(mpi, language, start)
]


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mpi, str], str]:
    """Returns what a rank preloads; another version is a copy with another build id."""
    folder = tmp_path_factory.mktemp("objects")

    def find(mpi: Mpi, load: str) -> str:
        own = launch.preload_object(mpi.abi)
        if load == "other":
            other = folder / own.name
            # A note of the linker's: the lengths of name and id, its kind, its name.
            note = rb"(\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0).{20}"
            changed, count = re.subn(note, lambda found: found[1] + bytes(20), own.read_bytes(), flags=re.DOTALL)
            assert count == 1
            other.write_bytes(changed)
            return str(other)
        return {"own": str(own), "foreign": str(launch.preload_object(FOREIGN[mpi.abi])), "none": ""}[load]

    return find


@pytest.fixture
def program(compiled: Compile) -> Callable[[Mpi, str, str], Sequence[object]]:
    """Returns the command of a program in a language."""

    def find(mpi: Mpi, language: str, mode: str) -> Sequence[object]:
        if language == "mpi4py":
            if importlib.util.find_spec("mpi4py") is None or not mpi.soname.startswith("libmpi.so"):
                pytest.skip(f"mpi4py cannot load {mpi.soname} here")
            return [sys.executable, "-c", IN_PYTHON]
        source = {"c": "starts.c", "fortran": "starts.f90"}[language]
        return [compiled(mpi, [PROGRAMS / source]), *([mode] if language == "c" else [])]

    return find


def by_rank(tmp_path: Path, start: Start, preloads: list[str]) -> Path:
    """Writes the script that gives each rank its own environment."""
    lines = []
    for rank, preload in enumerate(preloads):
        variables = {"LD_PRELOAD": preload} if preload else {}
        variables |= start.last if rank == len(preloads) - 1 else {}
        lines.append(f"{rank}) export {' '.join(f'{key}={value}' for key, value in variables.items())} ;;")
    script = tmp_path / "by_rank"
    script.write_text(BY_RANK % "\n".join(lines))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def check_end(start: Start, result: Any) -> None:
    """Checks that the program is right, and was accelerated, or one line says why not."""
    assert (result.returncode, result.text.count("verified")) == (0, 1), result.text
    said = result.lines("antiphon: ")
    if start.line is None:
        assert not said
        assert set(result.used("allreduce")) - {"library"}, result.summary
    else:
        assert len(said) == 1, result.text
        assert re.search(start.line, said[0]), said[0]
        assert not result.summary


@pytest.mark.parametrize(("library", "language", "start"), MATRIX)
def test_a_start_ends_well(
    library: Mpi, language: str, start: Start, program, objects, run_ranks: Run, tmp_path: Path
) -> None:
    """GIVEN ranks that load what they should, or not, THEN the program runs, and Antiphon acts on all or on none."""
    command = program(library, language, start.mode)
    late = f":{library.libmpi}" if language == "mpi4py" else ""
    preloads = [objects(library, load) + late for load in start.loads]
    environment = {"ANTIPHON_FORCE": "*:on", "ANTIPHON_SUMMARY": str(tmp_path / "summary.json")}
    if len(set(preloads)) == 1 and not start.last:
        environment["LD_PRELOAD"] = preloads[0]
    else:
        command = [by_rank(tmp_path, start, preloads), *command]
    check_end(start, run_ranks(library, len(preloads), command, preload=False, limit_s=20, **environment))


@pytest.mark.parametrize("library", [m for m in MPIS if m.family == "openmpi"], ids=lambda m: IDS[id(m)])
def test_a_script_around_another_library(library: Mpi, compiled: Compile, tmp_path: Path) -> None:
    """GIVEN a script WHEN it runs with an MPI that its program is not linked to THEN each process runs, for itself.

    MPICH's own programs end under Open MPI's launcher, also without Antiphon.
    """
    other = next((m for m in MPIS if m.abi == FOREIGN[library.abi]), None)
    if other is None:
        pytest.skip(f"there is no library of the ABI {FOREIGN[library.abi]}")
    script = tmp_path / "wrap.sh"
    script.write_text(f"#!/bin/sh\nexec {compiled(library, [PROGRAMS / 'starts.c'])}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    command = [sys.executable, "-m", "antiphon", "run", "-n", "2", "--mpi", str(other.libmpi), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stdout.count("verified")) == (0, 2), done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("antiphon: ")]
    assert len(said) == 1 and "does not fit" in said[0], done.stderr


def test_signals_interrupt_the_start(native: Mpi, verified: Run) -> None:
    """GIVEN a timer's signals in MPI_Init THEN what ranks tell the launcher is not broken off."""
    verified(native, 4, "signals.c", ANTIPHON_FORCE="*:on", limit_s=40)


def test_a_launcher_that_cannot_be_asked(compiled: Compile, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN ranks that do not know Hydra as Hydra THEN they stay apart unless the user vouches for all of them."""
    library = next((m for m in MPIS if m.abi == "mpich"), None)
    if library is None:
        pytest.skip("there is no MPICH")
    script = tmp_path / "stranger"
    script.write_text('#!/bin/sh\nunset MPI_LOCALNRANKS\nexec "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    command = [script, compiled(library, [PROGRAMS / "starts.c"])]
    for start, variables in (
        (Start("apart", (), "cannot find out whether every rank loads it"), {}),
        (Start("vouched", ()), {"ANTIPHON_ALL_RANKS": "1"}),
    ):
        check_end(start, run_ranks(library, 2, command, limit_s=20, ANTIPHON_FORCE="*:on", **variables))
