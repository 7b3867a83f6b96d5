# SPDX-License-Identifier: Apache-2.0
"""Loads the module files of `antiphon module` with a real Tcl or Lua, and with Environment Modules where it is. With
these, an installation of its own goes the way of an administrator (docs/guides/admin.md).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from antiphon import __version__, cli
from antiphon.mpi import Mpi
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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installs Antiphon under another prefix, as /opt/antiphon: a virtual environment with a copy of the package."""
    prefix = tmp_path_factory.mktemp("opt") / "antiphon"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True, timeout=60)
    (packages,) = prefix.glob("lib/python*/site-packages")
    shutil.copytree(Path(cli.__file__).resolve().parent, packages / "antiphon")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")  # rich and others: the copy goes first
    command = prefix / "bin" / "antiphon"
    command.write_text(f"#!{prefix}/bin/python\nimport sys\nfrom antiphon.cli import main\nsys.exit(main())\n")
    command.chmod(0o755)
    return prefix


#: What a user does: a program runs while the module is loaded, and once more after it is unloaded.
USER = """
state() {{
  printf '%s\\n' "$1 $PATH|${{LD_PRELOAD-}}|${{CMAKE_PREFIX_PATH-}}|${{PKG_CONFIG_PATH-}}|$(env | grep -c ^ANTIPHON)"
}}
module() {{ eval "$(tclsh {modules} sh "$@")"; }}
state before
module load fast && state loaded
{start} -n 2 {program}
mv run.json accelerated.json
module unload fast && state unloaded
{launcher} -n 2 {program}
"""


def write_module(installed: Path, folder: Path, *options: str) -> None:
    """Writes a module by the installed command, which switches every algorithm on and keeps a summary."""
    for setting in ("ANTIPHON_FORCE=*:on", f"ANTIPHON_SUMMARY={folder}/run.json", f"ANTIPHON_STORE=:{folder}/known"):
        options += ("--set", setting)
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON")}
    command = [installed / "bin" / "antiphon", "module", "-o", folder / "modulefiles", "--name", "fast", *options]
    subprocess.run(command, env=env, check=True, timeout=60)


def states_of(mpi: Mpi, start: str, program: Path, folder: Path) -> dict[str, str]:
    """Returns what the module changes in the user's shell, before, with and after it."""
    launcher = f"{mpi.launcher} --oversubscribe" if mpi.family == "openmpi" else str(mpi.launcher)
    script = USER.format(modules=MODULES, start=start or launcher, launcher=launcher, program=program)
    env = {"PATH": f"{mpi.launcher.parent}:/usr/bin:/bin", "LD_LIBRARY_PATH": str(mpi.libmpi.parent),
           "MODULEPATH": str(folder / "modulefiles"), "HOME": str(folder), "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
    command = ["sh", "-ec", script]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout.count("ranks 2 sum 2") == 2, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if "|" in line)


@pytest.mark.skipif(MODULES is None, reason="no Environment Modules")
@pytest.mark.parametrize("way", ["command", "switched on"])
def test_an_administrators_way(way: str, mpi: Mpi, program: Path, installed: Path, tmp_path: Path) -> None:
    """GIVEN an installation and its module THEN a program is accelerated while it is loaded, and nothing remains."""
    on = way == "switched on"
    write_module(installed, tmp_path, *(["--switch-on", mpi.abi] if on else []))
    states = states_of(mpi, "" if on else "antiphon run", program, tmp_path)
    (preloaded,) = installed.glob(f"lib/python*/site-packages/antiphon/lib/libantiphon-{mpi.abi}.so")
    path, preload, *_ = states["loaded"].split("|")
    assert path.startswith(f"{tmp_path}/modulefiles/fast/.{__version__}/bin:")
    assert preload == (str(preloaded) if on else "")
    rows = json.loads((tmp_path / "accelerated.json").read_text())["collectives"]
    assert [row["algorithm"] for row in rows if row["collective"] == "allreduce"] not in ([], ["library"])
    assert states["unloaded"] == states["before"] and states["before"].endswith("||||0")
    assert not (tmp_path / "run.json").exists(), "a run without the module has nothing of it"


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
