# SPDX-License-Identifier: Apache-2.0
"""Checks what makes packages: the version in its one place, headers, layouts, and wheels that lack something."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from antiphon import __version__

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import packages

    return packages


def test_headers_and_the_last_changes_have_the_version() -> None:
    header = (ROOT / "include" / "antiphon.h").read_text(encoding="utf-8")
    parts = [re.search(rf"#define ANTIPHON_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert ".".join(parts) == __version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## ([\d.]+)", changes, re.MULTILINE)[1] == __version__


def cmake(*words: object, **more: str) -> str:
    """Returns what CMake says."""
    program = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip("no CMake")
    env = {**os.environ, **more}
    return subprocess.run([program, *words], env=env, capture_output=True, text=True, timeout=60, check=True).stdout


def configure_layout(folder: Path, *options: str) -> None:
    """Configures a project that has nothing but the layout for distributions."""
    lines = ["cmake_minimum_required(VERSION 3.22)", "project(layout NONE)", f"include({ROOT}/cmake/layout.cmake)"]
    (folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
    for name in ("python", "lab", "share"):
        (folder / name).symlink_to(ROOT / name)
    cmake("-S", folder, "-B", folder / "build", "-DANTIPHON_LAYOUT=system", *options)


def test_a_distributions_layout(tmp_path: Path) -> None:
    """GIVEN the layout for distributions THEN the package finds its compiled parts, and the command starts it."""
    configure_layout(tmp_path, "-DCMAKE_INSTALL_PREFIX=/usr", "-DCMAKE_INSTALL_LIBDIR=lib64")
    cmake("--install", tmp_path / "build", DESTDIR=str(tmp_path / "root"))
    package = tmp_path / "root" / "usr" / "lib" / "python3" / "dist-packages" / "antiphon"
    assert (package / "cli.py").is_file() and list((package / "lab" / "clusters").glob("*.toml"))
    assert os.path.normpath(package / os.readlink(package / "lib")) == str(tmp_path / "root" / "usr/lib64/antiphon")
    command = tmp_path / "root" / "usr" / "bin" / "antiphon"
    env = {**os.environ, "PYTHONPATH": str(package.parent)}
    said = subprocess.run(
        [sys.executable, command, "--help"], env=env, capture_output=True, text=True, timeout=60, check=True
    )
    assert "usage: antiphon COMMAND" in said.stdout and os.access(command, os.X_OK)


def test_the_command_moves_with_its_prefix(tmp_path: Path) -> None:
    """GIVEN an installation below another prefix than was configured THEN the command starts the package beside it."""
    configure_layout(tmp_path, "-DCMAKE_INSTALL_PREFIX=/opt/before", "-DANTIPHON_PYTHON_DIR=lib/antiphon/python")
    place = tmp_path / "after"
    cmake("--install", tmp_path / "build", "--prefix", place)
    assert "/opt/before" not in (place / "bin" / "antiphon").read_text()
    (tmp_path / "link").symlink_to(place / "bin" / "antiphon")
    command = [sys.executable, tmp_path / "link", "prefix"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True).stdout
    assert said == f"{place}/lib/antiphon/python/antiphon\n"


def test_a_machine_without_a_static_library_of_cpp_builds(tmp_path: Path) -> None:
    """GIVEN a compiler that cannot link libstdc++ statically, as Fedora's THEN it is linked dynamically, as is said."""
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-static-libstdc++*) exit 1; esac\nexec c++ "$@"\n')
    compiler.chmod(0o755)
    lines = ["cmake_minimum_required(VERSION 3.22)", "project(runtime CXX)", f"include({ROOT}/cmake/runtime.cmake)"]
    (tmp_path / "CMakeLists.txt").write_text("\n".join([*lines, "add_executable(program program.cpp)"]) + "\n")
    (tmp_path / "program.cpp").write_text("int main() {}\n")
    said = cmake("-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_CXX_COMPILER={compiler}")
    assert "libstdc++ is linked dynamically" in said
    cmake("--build", tmp_path / "build")


def test_wrong_packages_are_named(packages: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["packages.py", "wheels"])
    with pytest.raises(SystemExit, match="no package is called wheels\nhint: there are sdist, wheel"):
        packages.main()


def test_a_wheel_that_lacks_an_object_is_refused(packages: ModuleType, tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "antiphon-1-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("antiphon/lib/libantiphon-openmpi.so", b"")
    with pytest.raises(SystemExit, match="lacks the preload object for mpich"):
        packages.checked(path, "x86_64")
    older = path.rename(tmp_path / "antiphon-1-py3-none-manylinux_2_27_aarch64.whl")
    with pytest.raises(SystemExit, match="lacks the preload object for mpich"):
        packages.checked(older, "aarch64")
    newer = older.rename(tmp_path / "antiphon-1-py3-none-manylinux_2_34_x86_64.whl")
    for processor in ("aarch64", "x86_64"):
        with pytest.raises(SystemExit, match="has another tag"):
            packages.checked(newer, processor)


def test_site_headers_are_taken(packages: ModuleType, tmp_path: Path) -> None:
    """GIVEN a site's headers with a licence THEN both come into the source package."""
    for name in ("openmpi", "mpich"):
        (tmp_path / "site" / name / "include").mkdir(parents=True)
        (tmp_path / "site" / name / "include" / "mpi.h").write_text(f"/* {name} */\n")
        (tmp_path / "site" / name / "LICENSE").write_text("free\n")
    packages.copy_headers(packages.mpi_headers(tmp_path / "site"), tmp_path / "tree")
    assert (tmp_path / "tree" / "mpich" / "include" / "mpi.h").read_text() == "/* mpich */\n"
    assert (tmp_path / "tree" / "openmpi" / "LICENSE").is_file()
