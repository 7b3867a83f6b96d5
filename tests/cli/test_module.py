# SPDX-License-Identifier: Apache-2.0
"""Loads the module files of `antiphon module` with a real Tcl or Lua, and with Environment Modules where it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from antiphon import __version__, cli
from antiphon.mpi.launch import preload_object

#: The commands of a module file, which write down what they are told.
TCL = """
foreach name {prepend-path append-path setenv conflict module-whatis} {
  proc $name {args} "puts \\[join \\[linsert \\$args 0 $name\\] |\\]"
}
source [lindex $argv 0]
ModulesHelp
"""
LUA = """
for _, name in ipairs({"prepend_path", "append_path", "setenv", "conflict", "whatis", "help"}) do
  _G[name] = function(...) print(table.concat({(name:gsub("_", "-")), ...}, "|")) end
end
dofile(arg[1])
"""
MODULES = next((path for path in ("/usr/lib/x86_64-linux-gnu/modulecmd.tcl", "/usr/share/modules/libexec/modulecmd.tcl")
                if Path(path).is_file()), None)  # fmt: skip
LUA_PROGRAM = next(filter(None, map(shutil.which, ("lua", "lua5.4", "lua5.3", "lua5.1", "texlua", "luajit"))), None)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Writes a module with every part, whose values have what Tcl and Lua would take for their own."""
    words = [
        "module",
        "-o",
        str(tmp_path),
        "--name",
        "fast",
        "--switch-on",
        "mpich",
        "--set",
        "ANTIPHON_SUMMARY=/tmp/$a [b].txt",
    ]
    assert cli.main(words) == 0
    return tmp_path / "fast"


def expected(folder: Path) -> set[str]:
    package = Path(cli.__file__).resolve().parent
    return {f"prepend-path|PATH|{folder}/.{__version__}/bin", f"prepend-path|CMAKE_PREFIX_PATH|{package}",
            f"prepend-path|PKG_CONFIG_PATH|{package}/share/pkgconfig", "conflict|fast",
            f"append-path|LD_PRELOAD|{preload_object('mpich')}", "setenv|ANTIPHON_SUMMARY|/tmp/$a [b].txt"}  # fmt: skip


@pytest.mark.skipif(shutil.which("tclsh") is None, reason="no tclsh")
def test_tcl_reads_it(written: Path, tmp_path: Path) -> None:
    (tmp_path / "reader.tcl").write_text(TCL)
    command = ["tclsh", tmp_path / "reader.tcl", written / __version__]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert expected(written) <= set(result.stdout.splitlines())
    assert "antiphon run ./program" in result.stderr and "libantiphon-mpich.so is preloaded" in result.stderr


@pytest.mark.skipif(LUA_PROGRAM is None, reason="no Lua")
def test_lua_reads_it(written: Path, tmp_path: Path) -> None:
    (tmp_path / "reader.lua").write_text(LUA)
    command = [str(LUA_PROGRAM), tmp_path / "reader.lua", written / f"{__version__}.lua"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert expected(written) <= set(result.stdout.splitlines())


@pytest.mark.skipif(MODULES is None, reason="no Environment Modules")
def test_environment_modules_load_it(written: Path) -> None:
    """GIVEN the real modulecmd THEN loading changes the shell's environment, and the command is found alone."""
    env = {"PATH": "/usr/bin:/bin", "MODULEPATH": str(written.parent), "HOME": "/"}
    command = ["tclsh", str(MODULES), "sh", "load", f"fast/{__version__}"]
    result = subprocess.run(command, capture_output=True, text=True, env=env, timeout=30, check=True)
    shown = ["sh", "-c", f'{result.stdout}\necho "$PATH|$ANTIPHON_SUMMARY|$LD_PRELOAD"']
    loaded = subprocess.run(shown, capture_output=True, text=True, env=env, timeout=30, check=True).stdout
    path, summary, preload = loaded.strip().split("|")
    assert path.split(":")[0] == f"{written}/.{__version__}/bin"
    assert (summary, preload) == ("/tmp/$a [b].txt", str(preload_object("mpich")))


def test_the_command_is_there_alone(written: Path) -> None:
    alone = written / f".{__version__}" / "bin"
    assert os.listdir(alone) == ["antiphon"]
    result = subprocess.run([alone / "antiphon", "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.startswith("antiphon ")


@pytest.mark.parametrize(("words", "said"), [
    (["--name", "../x"], "is not a module's name"),
    (["--set", "PATH=/tmp"], "is no setting of Antiphon"),
    (["--set", "ANTIPHON_SUMARY=1"], "ANTIPHON_SUMARY"),
    (["--switch-on", "lam"], "invalid choice"),
])  # fmt: skip
def test_mistakes(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(["module", "-o", str(tmp_path / "new"), *words])
    except SystemExit as exit:
        code = exit.code
    err = capsys.readouterr().err
    assert code == 2 and said in err and "\nhint: " in err
    assert not list(tmp_path.glob("new/*/*.lua"))


def test_nothing_is_replaced_unasked(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["module", "-o", str(written.parent), "--name", "fast"]
    assert cli.main(words) == 2 and "--overwrite" in capsys.readouterr().err
    assert cli.main([*words, "--overwrite", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert "LD_PRELOAD" not in Path(files[0]).read_text()
