# SPDX-License-Identifier: Apache-2.0
"""Checks that what the package installs loads on old systems, and that it carries the licences of what is inside."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from antiphon.mpi import elf, launch

ROOT = Path(__file__).resolve().parents[2]
#: RHEL 8 and its kin have this one; Ubuntu 20.04 and Debian 11 have newer ones.
OLDEST_GLIBC = (2, 28)
#: From this one on, strtol and its kin are other functions. Packages for others are built on Debian 12, which has 2.36.
GLIBC_OF_ITS_OWN = (2, 38)
#: The C++ runtime is linked statically, because RHEL 8's own lacks what C++20 needs.
HAVE_GLIBC = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-[\w-]+)\.so\.\d")
HAVE_MPI = re.compile(r"libmpi(_abi)?\.so\.\d+")


def shipped() -> list[Path]:
    """Returns the compiled files of the installed package."""
    return sorted(path for path in launch.lib_dir().iterdir() if elf.is_elf(path))


def versions(path: Path) -> set[str]:
    """Returns the versions of symbols that a file needs, as GLIBC_2.17 or GLIBCXX_3.4."""
    with path.open("rb") as file:
        sections = [s for s in ELFFile(file).iter_sections() if isinstance(s, GNUVerNeedSection)]
        return {entry.name for section in sections for _, entries in section.iter_versions() for entry in entries}


def numbers(text: str) -> tuple[int, ...]:
    """Returns 2 and 36 of "glibc 2.36" or "GLIBC_2.36"."""
    return tuple(int(part) for part in re.findall(r"\d+", text))


def test_glibc_is_old_enough() -> None:
    """GIVEN the installed package THEN no object or program of it needs a glibc newer than RHEL 8's."""
    if numbers(os.confstr("CS_GNU_LIBC_VERSION") or "") >= GLIBC_OF_ITS_OWN:
        pytest.skip("what is compiled on so new a system is for such systems")
    assert len(shipped()) > 3, f"make setup: nothing is compiled in {launch.lib_dir()}"
    newer = {
        f"{path.name}: {name}"
        for path in shipped()
        for name in versions(path)
        if not re.fullmatch(r"GLIBC_[\d.]+", name) or numbers(name) > OLDEST_GLIBC
    }
    assert not newer, "see src/glibc/oldest.c; `objdump -T FILE` shows the functions"


@pytest.mark.parametrize(("compiler", "version", "is_taken"), [
    ("GNU", "10.2.1", False), ("GNU", "11.3.0", True), ("Clang", "13.0.1", False), ("Clang", "14.0.6", True),
    ("IntelLLVM", "2023.0", True),
])  # fmt: skip
def test_compilers_that_are_too_old_are_refused(compiler: str, version: str, is_taken: bool) -> None:
    """GIVEN a compiler THEN one that lacks what the core needs ends the build with what to do."""
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if cmake is None:
        pytest.skip("no CMake")
    told = [f"-DCMAKE_CXX_COMPILER_ID={compiler}", f"-DCMAKE_CXX_COMPILER_VERSION={version}"]
    command = [cmake, *told, "-P", str(ROOT / "cmake" / "compiler.cmake")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode == 0) == is_taken
    assert is_taken or f"{compiler} {version}" in done.stderr and "hint: load a newer one" in done.stderr


def test_the_build_looks_at_its_compiler() -> None:
    assert "\ninclude(cmake/compiler.cmake)\n" in (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")


def test_runtimes_are_inside() -> None:
    """GIVEN the installed package THEN it needs no shared library but glibc's and, for programs, MPI."""
    for path in shipped():
        file = elf.read(path)
        assert file is not None
        strange = [name for name in file.needed if not HAVE_GLIBC.match(name) and not HAVE_MPI.match(name)]
        assert not strange, path.name


@pytest.mark.parametrize("library", sorted(p.name for p in (ROOT / "third_party").iterdir()))
def test_licences_are_in_tree_and_wheel(library: str) -> None:
    """GIVEN a library in third_party THEN its licence is beside it and in the installed package."""
    licence = ROOT / "third_party" / library / "LICENSE"
    text = licence.read_text(encoding="utf-8")
    assert "Permission is hereby granted" in text or "Apache License" in text
    installed = importlib.metadata.files("antiphon") or []
    carried = [
        file.read_text(encoding="utf-8") for file in installed if file.name == "LICENSE" and library in str(file)
    ]
    assert carried == [text]
