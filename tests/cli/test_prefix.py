# SPDX-License-Identifier: Apache-2.0
"""Builds other projects against the installed package: by find_package, and by pkg-config."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon import __version__, cli
from antiphon.mpi import discover

USER = Path(__file__).resolve().parents[1] / "data" / "user"


def prefix(capsys: pytest.CaptureFixture[str], *words: str) -> Path:
    assert cli.main(["prefix", *words]) == 0
    return Path(capsys.readouterr().out.strip())


def configure(folder: Path, place: Path, **variables: object) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if shutil.which("cmake", path=path) is None:
        pytest.skip("no CMake")
    options = [f"-D{name}={value}" for name, value in variables.items()]
    command = ["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={place}", *options]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=100, check=False
    )


def run(*words: object, **more: str) -> str:
    env = {**os.environ, **more}
    return subprocess.run(words, capture_output=True, text=True, env=env, timeout=60, check=True).stdout


def test_a_project_of_cmake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a small project WHEN it finds the package THEN its programs build, and run with Antiphon and without."""
    mpi = next((found for found in discover() if (found.prefix / "bin" / "mpicc").exists() and found.launcher), None)
    if mpi is None:
        pytest.skip("no MPI with a compiler")
    shutil.copytree(USER, tmp_path, dirs_exist_ok=True)
    compiler = mpi.prefix / "bin" / "mpicc"
    found = configure(tmp_path, prefix(capsys), CMAKE_C_COMPILER=compiler, ANTIPHON_WANTED=__version__)
    assert found.returncode == 0, found.stdout + found.stderr
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    build = ["cmake", "--build", tmp_path / "build"]
    subprocess.run(build, capture_output=True, env={**os.environ, "PATH": path}, timeout=100, check=True)
    assert run(tmp_path / "build" / "codecs") == "codecs 1\n"
    major, minor, patch = map(int, __version__.split("."))
    with_antiphon = run(sys.executable, "-m", "antiphon", "run", "-n", "1", tmp_path / "build" / "calls")
    assert with_antiphon == f"version {major * 10000 + minor * 100 + patch}\n"
    assert run(mpi.launcher, *["--allow-run-as-root"] * (mpi.family == "openmpi"), "-n", "1",
               tmp_path / "build" / "calls") == "version 0\n"  # fmt: skip


def test_another_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (USER / "CMakeLists.txt").read_text().replace("user C CXX", "user NONE").partition("add_executable")[0]
    (tmp_path / "CMakeLists.txt").write_text(text)
    found = configure(tmp_path, prefix(capsys), ANTIPHON_WANTED="9.0")
    assert found.returncode != 0 and f"version: {__version__}" in found.stderr
    (tmp_path / "CMakeLists.txt").write_text(text.replace(" codec)", " fortran)"))
    found = configure(tmp_path, prefix(capsys), ANTIPHON_WANTED="")
    assert found.returncode != 0 and "no component fortran" in found.stderr


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="no pkg-config")
def test_pkg_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(prefix(capsys, "--pkg-config"))

    def ask(*words: str) -> list[str]:
        return run("pkg-config", *words, PKG_CONFIG_PATH=where).split()

    assert ask("--modversion", "antiphon") == [__version__]
    assert ask("--cflags", "antiphon")
    flags = ask("--cflags", "--libs", "antiphon-codec")
    subprocess.run(["cc", USER / "codecs.c", "-o", tmp_path / "codecs", *flags], timeout=60, check=True)
    assert subprocess.run([tmp_path / "codecs"], capture_output=True, timeout=30, check=True).stdout == b"codecs 1\n"


def test_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["prefix", "--json"]) == 0
    places = json.loads(capsys.readouterr().out)
    assert all(Path(place).is_dir() for place in places.values()), places
    assert (Path(places["include"]) / "antiphon.h").is_file()
