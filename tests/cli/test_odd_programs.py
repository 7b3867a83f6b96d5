# SPDX-License-Identifier: Apache-2.0
"""Gives odd programs and wrong inputs: each ends within 5 s, and two lines say what is wrong and what to do."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon import cli, core, mpi
from antiphon.mpi import preloadable

TRUE = Path(shutil.which("true") or "/bin/true").resolve()
PROFILE = Path(__file__).resolve().parents[1] / "data" / "ethernet-16.openmpi.json"
#: Places in an ELF header, and values there.
TYPE, MACHINE, OBJECT, EXECUTABLE, CORE, AARCH64, MIPS = 16, 18, 1, 2, 4, 183, 8
INTERPRETER_SEGMENT, NO_SEGMENT = 3, 0


def elf(**fields: int) -> bytes:
    """Returns a real program with some of its header changed."""
    raw = bytearray(TRUE.read_bytes())
    for name, value in fields.items():
        struct.pack_into("<H", raw, {"type": TYPE, "machine": MACHINE}[name], value)
    return bytes(raw)


def static() -> bytes:
    """Returns a program that names no dynamic linker."""
    raw = bytearray(elf(type=EXECUTABLE))
    (table,) = struct.unpack_from("<Q", raw, 32)
    size, count = struct.unpack_from("<HH", raw, 54)
    for at in range(table, table + size * count, size):
        if struct.unpack_from("<I", raw, at)[0] == INTERPRETER_SEGMENT:
            struct.pack_into("<I", raw, at, NO_SEGMENT)
    return bytes(raw)


def narrow() -> bytes:
    """Returns a header of a program of 32 bits."""
    ident = b"\x7fELF\x01\x01\x01" + bytes(9)
    return ident + struct.pack("<HHIIIIIHHHHHH", EXECUTABLE, 3, 1, 0, 52, 0, 0, 52, 32, 0, 40, 0, 0) + bytes(200)


PROGRAMS: dict[str, Callable[[], bytes]] = {
    "aarch64": lambda: elf(machine=AARCH64),
    "mips": lambda: elf(machine=MIPS),
    "32-bit": narrow,
    "object.o": lambda: elf(type=OBJECT),
    "core.1": lambda: elf(type=CORE),
    "static": static,
    "library.so": core.LIBRARY.read_bytes,
    "empty": bytes,
    "text": lambda: b"./solver\n",
    "windows.exe": lambda: b"MZ\x90\x00" + bytes(200),
    "archive.jar": lambda: b"PK\x03\x04" + bytes(200),
    "cut": lambda: TRUE.read_bytes()[:50],
    "no-interpreter": lambda: b"#!/no/such/interpreter\n",
    "empty-interpreter": lambda: b"#!\n",
    "env-interpreter": lambda: b"#!/usr/bin/env no-such-python\n",
    "script": lambda: b"#!/bin/sh\n$SOLVER input.dat\n",
    "latin-1": lambda: b"#!/bin/sh\necho caf\xe9\n",
}
RUN = ["run", "--dry-run", "-n", "2"]
#: What is wrong, the command line, and what the answer says.
CASES = {
    "another processor": ([*RUN, "./aarch64"], "is a program for aarch64"),
    "a rare processor": ([*RUN, "./mips"], "is a program for mips"),
    "32 bits": ([*RUN, "./32-bit"], "is a program for x86, and"),
    "an object file": ([*RUN, "./object.o"], "is an object file, not a program"),
    "a core dump": ([*RUN, "./core.1"], "is a core dump, not a program"),
    "a static program": ([*RUN, "./static"], "is statically linked: nothing can be preloaded"),
    "a library": ([*RUN, "./library.so"], "is a shared library, not a program"),
    "a library with --mpi": ([*RUN, "--mpi", "mpich", "./library.so"], "is a shared library, not a program"),
    "an empty file": ([*RUN, "./empty"], "is neither a program nor a script"),
    "a text": ([*RUN, "./text"], "is neither a program nor a script"),
    "a program of Windows": ([*RUN, "./windows.exe"], "is neither a program nor a script"),
    "a program of Java": ([*RUN, "./archive.jar"], "is neither a program nor a script"),
    "half a program": ([*RUN, "./cut"], "is a damaged program"),
    "an interpreter that is gone": ([*RUN, "./no-interpreter"], "its interpreter '/no/such/interpreter' was not found"),
    "no interpreter": ([*RUN, "./empty-interpreter"], "its interpreter '' was not found"),
    "env of nothing": ([*RUN, "./env-interpreter"], "its interpreter 'no-such-python' was not found"),
    "a shell with a script": ([*RUN, "sh", "./script"], "sh: is not linked to an MPI library"),
    "a shell with a command": ([*RUN, "sh", "-c", "./solver"], "sh: is not linked to an MPI library"),
    "a shell alone": ([*RUN, "sh"], "sh: is not linked to an MPI library"),
    "env with a name": ([*RUN, "env", "A=1", "no-such-solver"], "env: is not linked to an MPI library"),
    "a pipe": ([*RUN, "./pipe"], "is no regular file"),
    "a socket": ([*RUN, "./socket"], "is no regular file"),
    "a device": ([*RUN, "/dev/null"], "/dev/null"),
    "a directory": ([*RUN, "./folder"], "is a directory, not a program"),
    "a link to nothing": ([*RUN, "./dangling"], "no such file"),
    "a link to itself": ([*RUN, "./circle"], "no such file"),
    "no right to execute": ([*RUN, "./plain.py"], "is not executable"),
    "a program here, not on the PATH": ([*RUN, "aarch64"], "no such program on the PATH"),
    "a name that is too long": ([*RUN, "x" * 5000], "(5000 characters): File name too long"),
    "a name with a newline": ([*RUN, "./a\nb"], "no such file"),
    "a hostfile that is a directory": ([*RUN, "--hostfile", "folder", "--mpi", "mpich", "sh"], "--hostfile folder"),
    "a hostfile without hosts": ([*RUN, "--hostfile", "empty", "--mpi", "mpich", "sh"], "names no host"),
    "a profile that is a program": ([*RUN, "--profile", str(TRUE), "--mpi", "mpich", "sh"], "not valid JSON"),
    "a plan that is a profile": ([*RUN, "--plan", str(PROFILE), "--mpi", "mpich", "sh"], "--plan"),
    "an MPI that is a text": ([*RUN, "--mpi", "./text", "sh"], "--mpi text"),
    "an MPI that is a directory": ([*RUN, "--mpi", "./folder", "sh"], "--mpi ./folder"),
    "a trace of a static program": (["trace", "-o", "x.trace", "./static"], "is statically linked"),
    "the environment of a library": (["env", "./library.so"], "is a shared library"),
    "a report of a program": (["report", str(TRUE)], "is not a whole JSON document"),
    "a report into a missing folder": (["report", str(PROFILE), "-o", "no/where.html"], "no/where.html"),
    "a summary that is a trace": (["report", str(PROFILE), "--trace", "text"], "--trace is for the summary of a run"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provides a directory with all programs, where nothing may be started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execvpe", lambda *command: pytest.fail(f"{command[:2]} would be started"))
    for name, content in PROGRAMS.items():
        (tmp_path / name).write_bytes(content())
        (tmp_path / name).chmod(0o755)
    (tmp_path / "plain.py").write_text("print()")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe", 0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    (tmp_path / "socket").chmod(0o755)
    return tmp_path


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Runs a command in this process; any exception but an exit fails the test."""
    try:
        code = cli.main(words)
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 1
    return code, capsys.readouterr().err


def test_there_are_forty() -> None:
    assert len(CASES) >= 40


@pytest.mark.timeout(5)
@pytest.mark.parametrize("name", CASES)
def test_it_is_said_what_is_wrong(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, said = CASES[name]
    code, err = answer(words, capsys)
    lines = err.replace("a\nb", "a b").splitlines()
    assert code == 2, err
    assert len(lines) == 2 and lines[0].startswith("error: ") and lines[1].startswith("hint: "), err
    assert said in lines[0]


@pytest.mark.parametrize("name", ["script", "latin-1"])
def test_a_script_runs_with_the_launcher_on_the_path(
    name: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a script with variables, or in latin-1 THEN its MPI is the launcher's, which is said."""
    launcher = mpi.discover()[0].launcher
    assert launcher is not None
    monkeypatch.setenv("PATH", str(launcher.parent), prepend=":")
    code, err = answer([*RUN, f"./{name}"], capsys)
    assert code == 0
    assert f"./{name} does not tell its MPI: with that of {launcher.parent}/mpirun" in err
    monkeypatch.setenv("PATH", str(here))
    code, err = answer([*RUN, f"./{name}"], capsys)
    assert code == 2 and "a script of sh; its MPI cannot be told" in err


def test_a_static_starter_with_mpi_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN --mpi for a program into which nothing can be preloaded THEN it may start others, which is said."""
    found = mpi.discover()[0]
    code, err = answer([*RUN, "--mpi", str(found.libmpi), "./static"], capsys)
    assert code == 0
    assert err == "hint: ./static is statically linked: Antiphon acts only in the programs that it starts\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a program of another user")
@pytest.mark.parametrize("bit", [0o4755, 0o2755])
def test_a_program_that_gains_rights(bit: int, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a setuid or setgid program THEN it is refused, for the dynamic linker indeed preloads nothing into it."""
    program = here / "rights"
    shutil.copy(shutil.which("env") or "/usr/bin/env", program)
    plain = {**os.environ, "LD_PRELOAD": str(core.LIBRARY)}
    maps = [str(program), "cat", "/proc/self/maps"]

    def run() -> str:
        return subprocess.run(maps, env=plain, capture_output=True, text=True, timeout=30, check=True).stdout

    assert str(core.LIBRARY) in run()
    os.chown(program, 1, 1)
    program.chmod(bit)
    if preloadable.gains_rights(program):  # Not where the file system is mounted without setuid.
        assert str(core.LIBRARY) not in run()
        code, err = answer([*RUN, "--mpi", "mpich", "./rights"], capsys)
        assert code == 2 and "gains rights when it starts" in err and "\nhint: " in err
