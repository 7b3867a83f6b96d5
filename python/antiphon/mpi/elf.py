# SPDX-License-Identifier: Apache-2.0
"""Which shared libraries a program would load: the dynamic linker's search, done without running the program."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Marks a program that can be loaded anywhere, which otherwise looks like a library.
DF_1_PIE = 0x08000000
DEFAULT_DIRS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


@dataclass(frozen=True)
class ElfFile:
    """The part of an ELF file that the dynamic linker reads."""

    path: Path
    machine: str
    soname: str
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    #: "program", "static" (a program without a dynamic linker), "library", "object" or "core".
    kind: str = "program"


@dataclass(frozen=True)
class Dependency:
    """A library that a program needs; `path` is None where the dynamic linker would not find it."""

    soname: str
    path: Path | None


def is_elf(path: Path) -> bool:
    """True for an ELF file (program or library)."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


@functools.lru_cache(maxsize=256)
def read(path: Path) -> ElfFile | None:
    """The dynamic section of an ELF file; None if it is not one, or damaged."""
    if not is_elf(path):
        return None
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            tags = _dynamic_strings(elf)
            machine = f"{elf.elfclass}/{elf['e_machine']}"
            kind = _kind(elf)
    except Exception:  # noqa: BLE001 (pyelftools meets damage with errors of any kind)
        return None
    origin = os.path.dirname(os.path.abspath(path))
    return ElfFile(
        path=path,
        machine=machine,
        soname=(tags["DT_SONAME"] or [path.name])[0],
        needed=tuple(tags["DT_NEEDED"]),
        rpath=_expand(tags["DT_RPATH"], origin),
        runpath=_expand(tags["DT_RUNPATH"], origin),
        kind=kind,
    )


def _kind(elf: object) -> str:
    named = {"ET_REL": "object", "ET_CORE": "core"}.get(elf["e_type"])  # type: ignore[index]
    if named is not None:
        return named
    if any(True for _ in elf.iter_segments("PT_INTERP")):  # type: ignore[attr-defined]
        return "program"
    if elf["e_type"] == "ET_EXEC":  # type: ignore[index]
        return "static"
    flags = [tag.entry.d_val for segment in elf.iter_segments("PT_DYNAMIC")  # type: ignore[attr-defined]
             for tag in segment.iter_tags() if tag.entry.d_tag == "DT_FLAGS_1"]  # fmt: skip
    return "static" if any(flag & DF_1_PIE for flag in flags) else "library"


def _dynamic_strings(elf: object) -> dict[str, list[str]]:
    tags: dict[str, list[str]] = {"DT_SONAME": [], "DT_NEEDED": [], "DT_RPATH": [], "DT_RUNPATH": []}
    attributes = {"DT_SONAME": "soname", "DT_NEEDED": "needed", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
    for segment in elf.iter_segments("PT_DYNAMIC"):  # type: ignore[attr-defined]
        for tag in segment.iter_tags():
            if tag.entry.d_tag in tags:
                tags[tag.entry.d_tag].append(getattr(tag, attributes[tag.entry.d_tag]))
    return tags


def _expand(entries: list[str], origin: str) -> tuple[str, ...]:
    paths = []
    for entry in ":".join(entries).split(":"):
        for name, value in (("ORIGIN", origin), ("LIB", "lib"), ("PLATFORM", os.uname().machine)):
            entry = entry.replace(f"${{{name}}}", value).replace(f"${name}", value)
        if entry:
            paths.append(entry)
    return tuple(paths)


@functools.lru_cache(maxsize=1)
def linker_cache() -> dict[str, list[Path]]:
    """The dynamic linker's cache: library name to the files that have it."""
    ldconfig = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    if ldconfig is None:
        return {}
    try:
        result = subprocess.run([ldconfig, "-p"], capture_output=True, errors="replace", timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    cache: dict[str, list[Path]] = {}
    for line in result.stdout.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow:
            cache.setdefault(name.split(" ")[0], []).append(Path(path))
    return cache


def library_path(env: Mapping[str, str]) -> tuple[str, ...]:
    """The directories of LD_LIBRARY_PATH (an empty entry means the current directory)."""
    value = env.get("LD_LIBRARY_PATH", "")
    return tuple(entry or "." for entry in value.split(":")) if value else ()


def find_dependency(program: Path, wanted: Callable[[str], bool], env: Mapping[str, str]) -> Dependency | None:
    """The first library, breadth first as the dynamic linker loads them, whose name is `wanted`."""
    root = read(program.resolve())
    if root is None:
        return None
    search = library_path(env)
    seen: set[str] = set()
    queue: deque[tuple[ElfFile, tuple[str, ...]]] = deque([(root, ())])
    while queue:
        elf, inherited = queue.popleft()
        rpaths = () if elf.runpath else elf.rpath + inherited
        for name in elf.needed:
            if name in seen:
                continue
            seen.add(name)
            found = _search(name, elf.machine, (*rpaths, *search, *elf.runpath))
            if wanted(name):
                return Dependency(name, found.path if found else None)
            if found:
                queue.append((found, rpaths))
    return None


def _search(name: str, machine: str, folders: tuple[str, ...]) -> ElfFile | None:
    if "/" in name:
        candidates = [Path(name)]
    else:
        candidates = [Path(folder, name) for folder in folders]
        candidates += linker_cache().get(name, []) + [Path(folder, name) for folder in DEFAULT_DIRS]
    for path in candidates:
        elf = read(path)
        if elf is not None and elf.machine == machine:
            return elf
    return None


def defines(path: Path, symbol: str) -> bool:
    """True if the file's symbol table defines `symbol`: tells a statically linked MPI."""
    if not is_elf(path):
        return False
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        with path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            symbols = (table.get_symbol_by_name(symbol) if isinstance(table, SymbolTableSection) else None) or []
            return any(entry["st_shndx"] != "SHN_UNDEF" for entry in symbols)
    except Exception:  # noqa: BLE001 (as in read())
        return False


@functools.lru_cache(maxsize=64)
def dynamic_symbols(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The names that an object defines for others, and those that it wants of others; none if it cannot be read."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        with path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            symbols = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
    except Exception:  # noqa: BLE001 (as in read())
        return frozenset(), frozenset()
    wanted = frozenset(entry.name for entry in symbols if entry["st_shndx"] == "SHN_UNDEF")
    return frozenset(entry.name for entry in symbols) - wanted, wanted


def made_by(path: Path) -> dict[str, str]:
    """The compiler that made a file and its build id; empty where the file does not say."""
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            comment, note = (elf.get_section_by_name(name) for name in (".comment", ".note.gnu.build-id"))
            texts = (
                sorted({text.decode("utf-8", "replace") for text in comment.data().split(b"\0")}) if comment else [""]
            )
            build = next((entry["n_desc"] for entry in note.iter_notes()), "") if note else ""
    except Exception:  # noqa: BLE001 (as in read())
        return {"compiler": "", "build": ""}
    return {"compiler": next((text for text in reversed(texts) if text), ""), "build": str(build)}
