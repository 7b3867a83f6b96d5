# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI libraries of this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from antiphon.errors import AntiphonError
from antiphon.mpi import elf
from antiphon.mpi.library import ABIS, SONAMES, Mpi, abi_of, identify, is_libmpi, launcher_family

#: File names to look for in a library directory; the first of a family is its usual one.
LIBRARY_FILES = ("libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1")
#: Set by environment modules (Lmod, EasyBuild, Intel, Cray) to the prefix of the MPI that is loaded.
PREFIX_VARIABLES = (
    "MPI_HOME", "MPI_ROOT", "MPI_DIR", "OPENMPI_ROOT", "OPENMPI_HOME", "OPAL_PREFIX", "MPICH_HOME", "MPICH_DIR",
    "MPICH_ROOT", "I_MPI_ROOT", "CRAY_MPICH_DIR", "EBROOTOPENMPI", "EBROOTMPICH", "EBROOTIMPI", "EBROOTMVAPICH2",
)  # fmt: skip


def libraries_in(prefix: Path) -> Iterator[Path]:
    """The MPI libraries of a prefix, or of a library directory itself."""
    folders = [prefix / "lib", prefix / "lib64", prefix / "lib" / "release", *sorted(prefix.glob("lib/*-linux-gnu"))]
    for folder in [*folders, prefix]:
        for name in LIBRARY_FILES:
            if (folder / name).is_file():
                yield folder / name
        yield from sorted(file for file in folder.glob("libmpi_*.so.12") if SONAMES["mpich"].match(file.name))


def candidates(env: Mapping[str, str]) -> Iterator[Path]:
    """All MPI libraries that can be found, best first; the same file may come several times."""
    own = Path(sys.prefix)
    prefixes = [*sorted(own.glob("mpi/*")), own]
    prefixes += [Path(env[name]) for name in PREFIX_VARIABLES if env.get(name)]
    for folder in filter(None, env.get("PATH", "").split(":")):
        if any(os.path.isfile(Path(folder, name)) for name in ("mpirun", "mpiexec", "mpiexec.hydra")):
            prefixes += [Path(os.path.abspath(folder)).parent, Path(folder).resolve().parent]
    system = sorted(Path("/usr/lib").glob("*-linux-gnu"))
    prefixes += [base / name for base in [*system, Path("/usr/lib64")] for name in ("openmpi", "mpich")]
    prefixes += [Path("/usr"), Path("/usr/local")]
    for prefix in dict.fromkeys(prefixes):
        with contextlib.suppress(PermissionError):  # PATH may lead through another user's home, as in containers.
            yield from libraries_in(prefix)
    for name, paths in elf.linker_cache().items():
        if abi_of(name):
            yield from paths


def with_soname(soname: str, env: Mapping[str, str]) -> Mpi | None:
    """The best library of this name; others are not asked who they are, which takes a process for each."""
    for path in candidates(env):
        file = elf.read(path)
        if file is not None and file.soname == soname:
            with contextlib.suppress(AntiphonError):
                return identify(path)
    return None


def discover(env: Mapping[str, str] | None = None, most: int | None = None) -> list[Mpi]:
    """All MPI libraries of this machine that Antiphon can work with, or the `most` first of them, best first."""
    found: dict[Path, Mpi] = {}
    for path in candidates(os.environ if env is None else env):
        real = path.resolve()
        if real in found:
            continue
        with contextlib.suppress(AntiphonError):
            found[real] = identify(path)
        if len(found) == most:
            break
    return list(found.values())


def chosen(*names: str | None) -> list[Mpi]:
    """The libraries that `--mpi` names, or the first of this machine; where there is none, that is an error."""
    named = list(filter(None, names))
    found = [by_name(name) for name in named] if named else discover(most=1)
    if not found:
        raise AntiphonError("no MPI library was found",
                            hint="`antiphon doctor` says what was looked for; or give --mpi PATH")  # fmt: skip
    return found


def by_name(name: str, env: Mapping[str, str] | None = None, soname: str | None = None) -> Mpi:
    """The library that `--mpi NAME` means: "openmpi", "mpich", "mpiabi", or the path of a prefix, bin, launcher or
    libmpi. `soname` is what the program is linked to, where that is known: the prefix of MPICH has two libraries."""
    env = os.environ if env is None else env
    matching = (mpi for mpi in _named(name, env) if soname in (None, mpi.soname))
    chosen = next(matching, None)
    if chosen is not None:
        return chosen
    others = next(iter(_named(name, env)), None)
    if others is None:
        raise AntiphonError(
            f"no MPI library found for --mpi {name}",
            hint="`antiphon doctor` lists the libraries found; or give the path of a prefix, an mpirun or a libmpi",
        )
    raise AntiphonError(
        f"the program is linked to {soname}, but --mpi {name} is {others.label} ({others.soname})",
        hint="leave --mpi away, or name a library with the ABI that the program was built for",
    )


def _named(name: str, env: Mapping[str, str]) -> Iterator[Mpi]:
    if name in ABIS:
        for path in candidates(env):
            if abi_of(path.name) in (name, "mpiabi"):  # the standard's ABI may be of either family
                mpi = identify(path)
                if name in (mpi.abi, mpi.family):
                    yield mpi
        return
    try:
        path = Path(name).expanduser()
    except RuntimeError as error:  # no such user, or nobody knows this user's home
        raise AntiphonError(f"--mpi {name}: {error}", hint="write the path without ~") from None
    on_path = shutil.which(name) if "/" not in name else None
    if on_path and not path.exists():
        path = Path(on_path)
    if not path.exists():
        raise AntiphonError(f"--mpi {name}: no such file or directory, nor one of {', '.join(ABIS)}",
                            hint="`antiphon doctor` lists the libraries found")  # fmt: skip
    yield from _at(path)


def _at(path: Path) -> Iterator[Mpi]:
    file = elf.read(path) if path.is_file() else None
    if file is not None and is_libmpi(file.soname):
        yield identify(path)
        return
    family, launcher = None, None
    if path.is_file():
        launcher, family = Path(os.path.abspath(path)), launcher_family(path)
        if family is None:
            raise AntiphonError(f"--mpi {path}: is neither an MPI library nor an mpirun or mpiexec",
                                hint="`antiphon doctor` lists the libraries found")  # fmt: skip
        path = launcher.parent
    roots = [path.parent, path.resolve().parent] if path.name == "bin" else [path]
    for root in roots:
        for library in libraries_in(Path(os.path.abspath(root))):
            mpi = identify(library)
            if family in (None, mpi.family):
                yield replace(mpi, launcher=launcher) if launcher else mpi
