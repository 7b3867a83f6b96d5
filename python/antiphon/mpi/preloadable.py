# SPDX-License-Identifier: Apache-2.0
"""Whether the dynamic linker loads a preload object into a program, and what prevents it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from antiphon.errors import AntiphonError
from antiphon.mpi import elf

#: Processors by their names in ELF files, as people call them.
PROCESSORS = {"EM_X86_64": "x86-64", "EM_AARCH64": "aarch64", "EM_386": "x86", "EM_ARM": "arm", "EM_PPC64": "ppc64",
              "EM_RISCV": "riscv", "EM_S390": "s390"}  # fmt: skip


def check(file: Path) -> None:
    """Raises an error for a program into which nothing can be preloaded, whatever it does."""
    found = elf.read(file)
    if found is None:
        return
    if found.kind in ("object", "core", "library"):
        what = {"object": "an object file", "core": "a core dump", "library": "a shared library"}[found.kind]
        raise AntiphonError(f"{file} is {what}, not a program", hint="name the program that is made of it")
    here = elf.read(Path(sys.executable).resolve())
    if here is not None and here.machine != found.machine:
        raise AntiphonError(
            f"{file} is a program for {processor(found.machine)}, and this Antiphon is for {processor(here.machine)}",
            hint="build the program for this machine, or install Antiphon on one of that kind",
        )
    if gains_rights(file):
        raise AntiphonError(
            f"{file} gains rights when it starts (setuid, setgid or capabilities): the system preloads nothing into it",
            hint="install it without them, or start it by mpirun as it is, without Antiphon",
        )


def is_static(file: Path) -> bool:
    """Returns whether a program is linked statically, so that the dynamic linker never sees it."""
    found = elf.read(file)
    return found is not None and found.kind == "static"


def gains_rights(file: Path) -> bool:
    """Returns whether the program runs with other rights than its caller, which makes the dynamic linker careful."""
    status = file.stat()
    if os.statvfs(file).f_flag & os.ST_NOSUID:
        return False
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return True
    if status.st_mode & stat.S_ISGID and status.st_mode & stat.S_IXGRP and status.st_gid != os.getgid():
        return True
    try:
        return os.getuid() != 0 and bool(os.getxattr(file, "security.capability"))
    except OSError:
        return False


def processor(machine: str) -> str:
    """Returns an ELF file's processor in words: "64/EM_X86_64" is x86-64."""
    bits, _, name = machine.partition("/")
    known = PROCESSORS.get(name, name.removeprefix("EM_").lower())
    return f"{known} ({bits} bits)" if name not in PROCESSORS or (bits == "32" and name == "EM_X86_64") else known
