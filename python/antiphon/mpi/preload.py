# SPDX-License-Identifier: Apache-2.0
"""LD_PRELOAD: what shares a rank with Antiphon, and in which order.

A tool of MPI's profiling interface (Darshan, mpiP, Score-P) is called first and goes on by PMPI_X, which Antiphon
answers. So Antiphon stands behind all tools and before the MPI library; then a tool sees every call of the program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.mpi import elf
from antiphon.mpi.library import is_libmpi

OURS = re.compile(r"libantiphon-\w+\.so$")


@dataclass(frozen=True)
class Entry:
    """An object in LD_PRELOAD, and how it deals with MPI calls."""

    path: Path
    #: The object is Antiphon's own.
    ours: bool
    #: The object is an MPI library.
    library: bool
    #: How many MPI functions it takes over.
    wraps: int = 0
    #: It calls PMPI_X as the linker binds it; otherwise it looks for the library behind itself.
    calls_profiling_names: bool = True


def entries(value: str) -> Iterator[Entry]:
    """Yields what LD_PRELOAD names."""
    for name in re.split(r"[:\s]+", value.strip()):
        if not name:
            continue
        path = Path(name)
        file = elf.read(path) if path.is_file() else None
        defined, wanted = elf.dynamic_symbols(path) if file else (frozenset[str](), frozenset[str]())
        wrapped = {symbol for symbol in defined if symbol.startswith("MPI_")}
        yield Entry(
            path=path,
            ours=OURS.search(path.name) is not None,
            library=is_libmpi(file.soname if file else path.name),
            wraps=len(wrapped),
            calls_profiling_names=not wrapped or any(f"P{symbol}" in wanted for symbol in wrapped),
        )


def line(own: Sequence[str], inherited: str, sanitizer: Path | None = None) -> str:
    """Returns LD_PRELOAD with the objects in `own` behind those inherited, but before an inherited MPI library. The
    program's address sanitizer is before all.
    """
    first = [str(sanitizer)] if sanitizer else []
    others = [entry for entry in entries(inherited) if not entry.ours and str(entry.path) not in (*first, *own)]
    tools = [*first, *(str(entry.path) for entry in others if not entry.library)]
    return ":".join([*tools, *own, *(str(entry.path) for entry in others if entry.library)])


def of_environment(env: Mapping[str, str] | None = None) -> list[Entry]:
    """Returns what this process's LD_PRELOAD names."""
    return list(entries((os.environ if env is None else env).get("LD_PRELOAD", "")))
