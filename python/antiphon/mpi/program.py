# SPDX-License-Identifier: Apache-2.0
"""Which MPI library a program uses: compiled programs by their ELF file, Python programs by asking their Python."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from antiphon.errors import AntiphonError
from antiphon.mpi import elf, indirect, preloadable, search
from antiphon.mpi.library import Mpi, abi_of, identify, is_libmpi, unsupported

CHOOSE = "name the MPI with --mpi openmpi, --mpi mpich or --mpi PATH"
#: The address sanitizer of gcc, and of clang with -shared-libasan. It ends programs where another object is before it.
SANITIZER = re.compile(r"(libasan|libclang_rt\.asan[\w-]*)\.so")
#: Names of interpreters: python3.13t is free-threaded, python3.11d for debugging.
PYTHON = re.compile(r"(python|pypy)[\d.]*t?d?$")
#: How long a Python may take to import mpi4py.
PYTHON_LIMIT_S = 60

#: Run by the program's Python: imports mpi4py as the program will, but without MPI_Init, and tells what got loaded.
ASK_MPI4PY = """
import sys
sys.path[:] = [path for path in sys.path if path]  # Modules in the current directory may be anybody's.
try:
    import mpi4py
except ImportError:
    sys.exit(3)
mpi4py.rc.initialize = mpi4py.rc.finalize = False
try:
    from mpi4py import MPI
except Exception as error:
    sys.exit(str(error).splitlines()[-1] if str(error) else type(error).__name__)
with open("/proc/self/maps") as maps:
    print("\\n".join(sorted({line.split(None, 5)[5].rstrip("\\n") for line in maps if "/" in line})))
"""


@dataclass(frozen=True)
class Uses:
    """The libmpi of a program: `soname`, and the file where it is found; `late`: the program opens it at run time."""

    soname: str
    libmpi: Path | None
    late: bool = False
    sanitizer: Path | None = None


def locate(program: str) -> Path:
    """The file of PROGRAM, found as a shell finds it; an error that says what is wrong with it otherwise."""
    try:
        return _located(program)
    except OSError as error:
        short = program if len(program) <= 80 else f"{program[:60]}… ({len(program)} characters)"
        raise AntiphonError(f"{short}: {error.strerror}", hint="check the name of the program") from None


def _located(program: str) -> Path:
    found = shutil.which(program)
    if found and not Path(found).is_file():
        raise AntiphonError(f"{program} is no regular file", hint="name a program, not a pipe, socket or device")
    if found:
        return Path(os.path.abspath(found))
    path = Path(program)
    if path.is_dir():
        raise AntiphonError(f"{program} is a directory, not a program", hint="name a program in it")
    if path.is_file() and "/" in program:
        hint = f"python3 {program}" if path.suffix == ".py" else f"chmod +x {program}"
        raise AntiphonError(f"{program} is not executable", hint=f"try `{hint}`")
    if path.is_file():
        raise AntiphonError(f"{program}: no such program on the PATH", hint=f"for the file here, write ./{program}")
    where = "no such file" if "/" in program else "no such program on the PATH"
    raise AntiphonError(f"{program}: {where}", hint="check the name; options of antiphon go before the program")


def uses(file: Path, env: Mapping[str, str], preload: Path | None = None) -> Uses | None:
    """The MPI library of a program file, or None if that cannot be told. `preload`: a libmpi that will be preloaded."""
    python = python_of(file)
    if python is not None:
        return _uses_of_python(python, env, preload)
    file = interpreter_of(file)
    if not os.access(file, os.R_OK):
        raise AntiphonError(f"{file} may not be read, which would tell its MPI", hint=CHOOSE)
    if elf.is_elf(file) and elf.read(file) is None:
        raise AntiphonError(f"{file} is a damaged program (an ELF file that cannot be read)", hint="build it again")
    found = elf.find_dependency(file, is_libmpi, env)
    if found is None and elf.defines(file, "MPI_Init"):
        raise AntiphonError(
            f"{file} has MPI linked in statically: there is nothing to preload under",
            hint="link it to the MPI library dynamically (leave -static and libmpi.a away)",
        )
    return Uses(found.soname, found.path, sanitizer=_sanitizer(file, env)) if found else None


def _sanitizer(file: Path, env: Mapping[str, str]) -> Path | None:
    program = elf.read(file.resolve())
    if program is None or not any(map(SANITIZER.match, program.needed)):
        return None
    found = elf.find_dependency(file, lambda name: SANITIZER.match(name) is not None, env)
    return found.path if found else None


def interpreter_of(file: Path) -> Path:
    """The program that runs `file`: what its `#!` line names, or the file itself."""
    try:
        with file.open("rb") as stream:
            line = stream.readline(512)
    except PermissionError:
        return file
    if not line.startswith(b"#!"):
        return file
    words = line[2:].decode("utf-8", "replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    found = shutil.which(words[0]) if words else None
    if not found:
        raise AntiphonError(f"{file}: its interpreter {words[0] if words else ''!r} was not found",
                            hint="correct its first line (#!)")  # fmt: skip
    return Path(os.path.abspath(found))


def python_of(file: Path) -> Path | None:
    """The Python that runs `file`, if one does. A shell script named python is a version manager's, and is asked."""
    return next((path for path in (file, interpreter_of(file)) if PYTHON.match(path.name)), None)


def _uses_of_python(python: Path, env: Mapping[str, str], preload: Path | None) -> Uses | None:
    asked = {**env, "LD_PRELOAD": str(preload)} if preload else dict(env)
    command = [str(python), "-c", ASK_MPI4PY]
    try:
        result = subprocess.run(
            command, capture_output=True, errors="replace", env=asked, timeout=PYTHON_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise AntiphonError(f"importing mpi4py takes {python} longer than {PYTHON_LIMIT_S:g} s",
                            hint=f"look why it hangs: {python} -c 'import mpi4py.MPI'") from None  # fmt: skip
    if result.returncode == 3:
        return None
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
        raise AntiphonError(
            f"mpi4py of {python} cannot load an MPI library: {reason}",
            hint=f"{CHOOSE}, or set LD_LIBRARY_PATH to the library's directory",
        )
    # A library that is preloaded is in memory in any case: what counts is one that the extension module needs.
    loaded = [Path(line) for line in result.stdout.splitlines()]
    extension = next((path for path in loaded if path.parent.name == "mpi4py" and path.name.startswith("MPI.")), None)
    needed = elf.find_dependency(extension, is_libmpi, env) if extension else None
    for path in loaded:
        file = elf.read(path) if "libmpi" in path.name else None
        if file and is_libmpi(file.soname) and (needed is None or needed.soname == file.soname):
            named = path.parent / file.soname
            return Uses(file.soname, named if named.exists() else path, late=True)
    return None


def find_mpi(program: str, choice: str | None = None, env: Mapping[str, str] | None = None,
             args: Sequence[str] = ()) -> Mpi:  # fmt: skip
    """The MPI that `program` is to be run with: its own, or the one that `choice` (`--mpi`) names.

    A program without MPI may start one that has it: `args` and scripts are searched for its name. Where a script names
    none, it is taken to use the MPI of the launcher on the PATH.
    """
    env = os.environ if env is None else env
    file = locate(program)
    runs = interpreter_of(file)
    preloadable.check(runs)
    if choice is not None:
        chosen = _chosen(file, choice, env)
        only = f"{program} is statically linked: Antiphon acts only in the programs that it starts"
        return replace(chosen, note=only) if preloadable.is_static(runs) else chosen
    try:
        used = uses(file, env)
    except AntiphonError as error:
        return _any_for_python(file, env, error)
    if used is not None:
        return _of_uses(program, used, env)
    started = _of_started(file, args, env)
    if started is not None:
        return replace(started[1], note=f"{program} starts {started[0]}: with its MPI, {started[1].label}")
    if (launching := _of_path(file, env)) is not None:
        with_that = f"with that of {launching.launcher}, {launching.label} (--mpi names another)"
        return replace(launching, note=f"{program} does not tell its MPI: {with_that}")
    raise AntiphonError(f"{program}: {_no_mpi(file)}", hint=_no_mpi_hint(file))


def _of_uses(program: str, used: Uses, env: Mapping[str, str]) -> Mpi:
    if abi_of(used.soname) is None:
        raise unsupported(used.soname, program)
    if used.libmpi is not None:
        return replace(identify(used.libmpi), late=used.late, sanitizer=used.sanitizer)
    if (found := search.with_soname(used.soname, env)) is not None:
        return replace(found, redirect=True, late=used.late, sanitizer=used.sanitizer)
    raise AntiphonError(
        f"{program} needs {used.soname}, which is not found on this machine",
        hint="load the MPI's environment module, set LD_LIBRARY_PATH, or give its prefix with --mpi PATH",
    )


def _of_started(file: Path, args: Sequence[str], env: Mapping[str, str]) -> tuple[Path, Mpi] | None:
    """The program with MPI that `file` starts, and its MPI; None if none is named. Several MPIs are an error."""
    found: dict[Path, tuple[Path, Mpi]] = {}
    for candidate in indirect.started_by(file, args):
        with contextlib.suppress(AntiphonError):
            used = uses(candidate, env)
            if used is not None:
                preloadable.check(interpreter_of(candidate))
                its = _of_uses(str(candidate), used, env)
                found.setdefault(its.libmpi.resolve(), (candidate, its))
    if len(found) > 1:
        names = " and ".join(f"{path} ({its.label})" for path, its in found.values())
        raise AntiphonError(f"{file.name} names programs of several MPI libraries: {names}", hint=CHOOSE)
    return next(iter(found.values()), None)


def _of_path(file: Path, env: Mapping[str, str]) -> Mpi | None:
    """The MPI whose launcher the user would type, for a script, which may start or load anything; None if none is."""
    is_script = python_of(file) is not None or interpreter_of(file) != file
    launchers = (shutil.which(name, path=env.get("PATH", "")) for name in ("mpirun", "mpiexec"))
    for launcher in filter(None, launchers if is_script else ()):
        with contextlib.suppress(AntiphonError):
            return _chosen(file, launcher, env)
    return None


def _any_for_python(file: Path, env: Mapping[str, str], error: AntiphonError) -> Mpi:
    """mpi4py found no library by itself: the first one that works with it when preloaded."""
    for candidate in search.discover(env) if python_of(file) else []:
        with contextlib.suppress(AntiphonError):
            used = uses(file, env, preload=candidate.libmpi)
            if used and used.soname == candidate.soname:
                return replace(candidate, late=True, redirect=True)
    raise error


def _chosen(file: Path, choice: str, env: Mapping[str, str]) -> Mpi:
    python = python_of(file)
    if python is not None:
        chosen = search.by_name(choice, env)
        used = uses(file, env, preload=chosen.libmpi)
        if used and used.soname != chosen.soname:
            raise AntiphonError(
                f"mpi4py of {python} is built for {used.soname}, but --mpi {choice} is {chosen.label} "
                f"({chosen.soname})",
                hint="choose an MPI with that ABI, or install mpi4py for the other (PyPI's wheel works with both)",
            )
        return replace(chosen, late=True, redirect=True)
    used = uses(file, env) if os.access(interpreter_of(file), os.R_OK) else None
    chosen = search.by_name(choice, env, soname=used.soname if used else None)
    other = used is None or used.libmpi is None or used.libmpi.resolve() != chosen.libmpi.resolve()
    # Where the library cannot be told, none is preloaded: it would stand before the one that the program is linked to.
    return replace(chosen, redirect=other, sanitizer=used.sanitizer if used else None)


def _no_mpi(file: Path) -> str:
    python, interpreter = python_of(file), interpreter_of(file)
    if python is not None:
        return f"{python} has no mpi4py"
    if interpreter != file:
        return f"a script of {interpreter.name}; its MPI cannot be told from the script"
    if not elf.is_elf(file):
        return "is neither a program nor a script (it does not begin with #!)"
    if preloadable.is_static(file):
        return "is statically linked: nothing can be preloaded into it"
    return "is not linked to an MPI library"


def _no_mpi_hint(file: Path) -> str:
    if interpreter_of(file) == file and not elf.is_elf(file):
        return "name a program, or begin the script with a line such as #!/bin/sh"
    if preloadable.is_static(file):
        return f"link it dynamically (leave -static away); if it only starts the MPI program, {CHOOSE}"
    return f"if it does use MPI (opened at run time, or by a program that it starts), {CHOOSE}"
