# SPDX-License-Identifier: Apache-2.0
"""Checks which MPI a program uses, on real programs and with the MPI libraries of this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi, by_name, discover, elf, search
from antiphon.mpi import program as programs
from antiphon.mpi.library import identify
from antiphon.mpi.program import find_mpi, uses

needs_mpi4py = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")


def message(error: pytest.ExceptionInfo[AntiphonError]) -> str:
    assert error.value.exit_code == 2
    return error.value.message


def test_the_machine_has_an_mpi():
    assert discover(), "tests need an MPI: `make setup` brings two"


def test_discovered_libraries_are_described(mpi):
    assert mpi.version and mpi.name in mpi.label
    assert mpi.libmpi.is_file() and mpi.launcher is not None and os.access(mpi.launcher, os.X_OK)
    assert mpi.to_json()["libmpi"] == str(mpi.libmpi)


def test_a_compiled_program_names_its_own_library(mpi, program):
    found = find_mpi(str(program))
    assert (found.libmpi.resolve(), found.abi) == (mpi.libmpi.resolve(), mpi.abi)
    assert found.launcher == mpi.launcher
    assert not found.late and not found.redirect


def test_the_search_agrees_with_the_dynamic_linker(mpi, program):
    """Asks the linker itself for comparison (LD_TRACE_LOADED_OBJECTS loads, but does not run the program)."""
    env = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    result = subprocess.run([program], capture_output=True, text=True, env=env, timeout=30, check=True)
    loaded = {line.split()[0]: line.split()[2] for line in result.stdout.splitlines() if " => /" in line}
    assert loaded[mpi.soname]
    for soname, path in loaded.items():
        found = elf.find_dependency(program, lambda name, wanted=soname: name == wanted, os.environ)
        assert found is not None and found.path is not None, soname
        assert found.path.resolve() == Path(path).resolve()


def test_library_path_goes_before_runpath(mpi, program, tmp_path):
    shutil.copy(mpi.libmpi.resolve(), tmp_path / mpi.soname)
    found = elf.find_dependency(program, lambda name: name == mpi.soname, {"LD_LIBRARY_PATH": str(tmp_path)})
    assert found.path == tmp_path / mpi.soname


def test_a_library_in_between_is_followed(mpi, tmp_path):
    """Tests program → libbetween.so → libmpi, with a path relative to the program's place."""
    source = tmp_path / "between.c"
    source.write_text("int MPI_Finalize(void); int between(void) { return MPI_Finalize(); }")
    library = ["cc", "-shared", "-fPIC", source, "-o", tmp_path / "libbetween.so", mpi.libmpi]
    subprocess.run([*library, f"-Wl,-rpath,{mpi.libmpi.parent}"], check=True, timeout=60)
    (tmp_path / "main.c").write_text("int between(void); int main(void) { return between(); }")
    command = ["cc", tmp_path / "main.c", "-o", tmp_path / "main", f"-L{tmp_path}", "-lbetween", "-Wl,-rpath,$ORIGIN",
               "-Wl,--allow-shlib-undefined"]  # fmt: skip
    subprocess.run(command, check=True, timeout=60)
    used = uses(tmp_path / "main", {})
    assert used.soname == mpi.soname and used.libmpi.resolve() == mpi.libmpi.resolve()


@pytest.mark.parametrize("form", ["name", "prefix", "bin", "launcher", "libmpi"])
def test_mpi_option_takes_names_and_paths(mpi, form):
    names = {"name": mpi.abi, "prefix": mpi.prefix, "bin": mpi.prefix / "bin", "launcher": mpi.launcher,
             "libmpi": mpi.libmpi}  # fmt: skip
    found = by_name(str(names[form]), soname=mpi.soname if form != "libmpi" else None)
    assert (found.abi, found.soname) == (mpi.abi, mpi.soname)
    if form == "libmpi":
        assert found.libmpi == mpi.libmpi
    if form == "launcher":
        assert found.launcher == mpi.launcher


def test_mpi_of_another_abi_is_refused(mpi, program):
    other = next(iter({"openmpi", "mpich"} - {mpi.family}))
    with pytest.raises(AntiphonError) as error:
        find_mpi(str(program), other)
    assert mpi.soname in message(error) and other in message(error)


def test_unknown_mpi_option():
    with pytest.raises(AntiphonError) as error:
        by_name("/nowhere/mpi")
    assert "/nowhere/mpi" in message(error) and error.value.hint


def test_a_missing_library_is_searched_among_the_known_ones(mpi, tmp_path):
    """A program that was built elsewhere does not find its libraries where it expects them."""
    bare = tmp_path / "bare"
    source = tmp_path / "bare.c"
    source.write_text("int MPI_Finalize(void); int main(void) { return MPI_Finalize(); }")
    subprocess.run(["cc", source, "-o", bare, mpi.libmpi, "-Wl,--allow-shlib-undefined"], check=True, timeout=60)
    found = find_mpi(str(bare))
    assert found.soname == mpi.soname
    where_it_looks = elf.find_dependency(bare, lambda name: name == mpi.soname, os.environ)
    assert found.redirect is (where_it_looks.path is None)


def test_programs_that_cannot_be_run(tmp_path):
    source = tmp_path / "prog.c"
    source.write_text("int main;")
    for name, text in (("no-such-program", "no such program on the PATH"), ("./no/such", "no such file"),
                       (str(tmp_path), "is a directory"), (str(source), "is not executable")):  # fmt: skip
        with pytest.raises(AntiphonError) as error:
            find_mpi(name)
        assert name in message(error) and text in message(error)


def test_a_program_without_mpi(tmp_path):
    with pytest.raises(AntiphonError) as error:
        find_mpi("/bin/true")
    assert message(error) == "/bin/true: is not linked to an MPI library"
    assert "--mpi" in error.value.hint


def test_a_statically_linked_mpi(tmp_path):
    (tmp_path / "static.c").write_text("int MPI_Init(void) { return 0; } int main(void) { return MPI_Init(); }")
    subprocess.run(["cc", tmp_path / "static.c", "-o", tmp_path / "static"], check=True, timeout=60)
    with pytest.raises(AntiphonError) as error:
        find_mpi(str(tmp_path / "static"))
    assert "statically" in message(error)


def test_an_mpi_too_old(tmp_path):
    """Open MPI 2 and 3 have libmpi.so.20."""
    (tmp_path / "lib.c").write_text("int MPI_Init(void) { return 0; }")
    library = ["cc", "-shared", "-fPIC", tmp_path / "lib.c", "-o", tmp_path / "libmpi.so.20"]
    subprocess.run([*library, "-Wl,-soname,libmpi.so.20"], check=True, timeout=60)
    (tmp_path / "main.c").write_text("int MPI_Init(void); int main(void) { return MPI_Init(); }")
    command = ["cc", tmp_path / "main.c", "-o", tmp_path / "main", tmp_path / "libmpi.so.20"]
    subprocess.run(command, check=True, timeout=60)
    with pytest.raises(AntiphonError) as error:
        find_mpi(str(tmp_path / "main"))
    assert "libmpi.so.20" in message(error)


def script(folder: Path, interpreter: str) -> str:
    file = folder / "script"
    file.write_text(f"#!{interpreter}\n")
    file.chmod(0o755)
    return str(file)


def test_a_shell_script_is_taken_to_use_the_launcher_on_the_path(mpi, tmp_path):
    name = script(tmp_path, "/bin/sh -e")
    found = find_mpi(name, env={"PATH": str(mpi.launcher.parent)})
    assert found.libmpi.resolve().parent == mpi.libmpi.resolve().parent and found.redirect and not found.late
    assert found.launcher.parent == mpi.launcher.parent and "does not tell its MPI" in found.note


@pytest.mark.parametrize("launcher", [None, "/bin/true"], ids=["none", "of no MPI"])
def test_a_shell_script_needs_the_option_without_a_launcher(mpi, tmp_path, launcher):
    name = script(tmp_path, "/bin/sh -e")
    if launcher:
        (tmp_path / "mpirun").symlink_to(launcher)
    with pytest.raises(AntiphonError) as error:
        find_mpi(name, env={"PATH": str(tmp_path)})
    assert "script of sh" in message(error) and "--mpi" in error.value.hint
    found = find_mpi(name, str(mpi.libmpi))
    assert found.libmpi == mpi.libmpi and found.redirect and not found.late


def test_a_script_without_its_interpreter(tmp_path):
    with pytest.raises(AntiphonError) as error:
        find_mpi(script(tmp_path, "/usr/bin/env no-such-interpreter"))
    assert "no-such-interpreter" in message(error)


@needs_mpi4py
@pytest.mark.parametrize("how", ["python", "script"])
def test_mpi4py_is_asked(how, tmp_path):
    name = sys.executable if how == "python" else script(tmp_path, sys.executable)
    found = find_mpi(name)
    assert found.late, "mpi4py opens its library at run time"
    ask = "from mpi4py import MPI; print(MPI.Get_library_version())"
    env = {**os.environ}
    if found.redirect:  # Without a redirect, mpi4py finds a library by itself on this machine.
        env |= {"LD_PRELOAD": str(found.libmpi), "LD_LIBRARY_PATH": str(found.libmpi.parent)}
    told = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=env, timeout=60, check=True)
    assert " ".join(told.stdout.split()).startswith(found.vendor[:100])


def test_a_python_without_mpi4py(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True, timeout=60)
    with pytest.raises(AntiphonError) as error:
        find_mpi(str(tmp_path / "bare" / "bin" / "python"), env={"PATH": str(tmp_path)})
    assert "has no mpi4py" in message(error)


def test_a_long_word_in_a_script_is_no_program(mpi, tmp_path):
    """GIVEN a line of encoded data, too long for a path THEN the script's program is found all the same."""
    name = script(tmp_path, "/bin/sh")
    Path(name).write_text(f"#!/bin/sh\necho {'QUJD/' * 1200} > key\n/bin/true\n")
    found = find_mpi(name, args=["QUJD/" * 1200], env={"PATH": str(mpi.launcher.parent)})
    assert found.libmpi.resolve().parent == mpi.libmpi.resolve().parent


@pytest.mark.parametrize("name", ["python3", "python3.13t", "python3.11d", "python3.14td", "pypy3.10"])
def test_interpreters_by_their_names(name, tmp_path):
    (tmp_path / name).symlink_to(sys.executable)
    assert programs.python_of(tmp_path / name) == tmp_path / name


def test_a_python_that_hangs_is_said(tmp_path, monkeypatch):
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    monkeypatch.setattr(programs, "PYTHON_LIMIT_S", 0.2)
    with pytest.raises(AntiphonError, match="importing mpi4py takes .*/python3 longer than 0.2 s"):
        programs.uses(python, os.environ)


def test_a_linker_cache_that_hangs_is_empty(tmp_path, monkeypatch):
    def hang(command, **_):
        raise subprocess.TimeoutExpired(command, 30)

    monkeypatch.setattr(elf.subprocess, "run", hang)
    assert elf.linker_cache.__wrapped__() == {}


def test_only_libraries_of_the_name_are_asked_who_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer takes a process: a program's start waits for one, not for all libraries of the machine."""
    asked: list[Path] = []

    def note(path: Path) -> Mpi:
        asked.append(path)
        return identify(path)

    monkeypatch.setattr(search, "identify", note)
    for soname in {mpi.soname for mpi in discover()}:
        asked.clear()
        found = search.with_soname(soname, os.environ)
        assert found is not None and found.soname == soname
        assert asked == [found.libmpi] or [path.resolve() for path in asked] == [found.libmpi.resolve()]
    assert search.with_soname("libmpi.so.1", os.environ) is None
    asked.clear()
    assert len(discover(most=1)) == len(asked) == 1


def test_a_user_without_a_home_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN no HOME, and a user whom the system does not know THEN ~ is an error with a hint."""
    with pytest.raises(AntiphonError, match="--mpi ~nosuchuser/x: "):
        search.by_name("~nosuchuser/x")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 1 << 30)
    with pytest.raises(AntiphonError, match="--mpi ~/mpi: "):
        search.by_name("~/mpi")
