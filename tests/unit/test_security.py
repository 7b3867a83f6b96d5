# SPDX-License-Identifier: Apache-2.0
"""Checks what SECURITY.md says of the command line: whose files and modules it takes, and whose it refuses."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.errors import AntiphonError
from antiphon.lab import state
from antiphon.output import files
from antiphon.placement import launching
from antiphon.simulate import ns3
from antiphon.tune.state import TuningState

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("words", [["run", "--dry-run", "-n", "1", sys.executable, "x.py"], ["doctor", "--help"]])
def test_modules_of_the_current_directory_are_not_loaded(words: list[str], tmp_path: Path) -> None:
    """GIVEN a directory in which somebody has put modules WHEN the command is called there THEN it loads none."""
    command = shutil.which("antiphon", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("the command is not installed")
    for name in ("mpi4py", "json", "ctypes", "numpy", "antiphon", "sitecustomize", "rich", "elftools"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'taken')!r}, 'w').close()\n")
    subprocess.run([command, *words], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert not (tmp_path / "taken").exists()


def test_a_written_file_replaces_a_link_at_its_temporary_name(tmp_path: Path) -> None:
    """GIVEN links at names that are easy to guess THEN none is followed: temporary names are random, and new."""
    (tmp_path / "victim").write_text("precious")
    for name in (".out.new", "out.new", f"out.{os.getpid()}", ".out"):
        (tmp_path / name).symlink_to("victim")
    files.write(tmp_path / "out", "mine")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "out").read_text() == "mine"


def test_a_tuning_does_not_begin_in_what_a_link_leads_to(tmp_path: Path) -> None:
    """GIVEN a link to an empty file where a tuning keeps its measurements THEN it is removed, and the file stays so."""
    victim, path = tmp_path / "victim", tmp_path / "machine.tuning"
    victim.touch()
    path.symlink_to(victim)
    tuning = TuningState(path, {"library": "MPICH"})
    tuning.open(restart=False)
    tuning.close(complete=False)
    assert victim.read_text() == "" and not path.is_symlink() and path.stat().st_size > 0


@pytest.mark.parametrize("how", ["others may write it", "a link", "somebody else's"])
def test_a_kept_program_of_somebody_else_is_not_run(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a program in the cache that another user can have put there THEN it is compiled anew, and replaced."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(ns3, "_HEADERS", ns3.SOURCE)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    made: list[Path] = []

    def compiled(compiler: str, program: Path) -> None:
        made.append(program)
        program.unlink(missing_ok=True)
        program.write_text("ours")

    monkeypatch.setattr(ns3, "_compile", compiled)
    program = ns3.find()
    assert ns3.find() == program and made == [program]
    if how == "a link":
        program.rename(tmp_path / "theirs")
        program.symlink_to(tmp_path / "theirs")
    elif how == "somebody else's":
        monkeypatch.setattr(os, "geteuid", lambda: program.stat().st_uid + 1)
    else:
        program.chmod(0o777)
    assert ns3.find() == program and made == [program] * 2


def test_an_error_gives_the_terminal_no_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a file whose name changes a terminal's title THEN the message shows the signs."""
    assert cli.main(["report", str(tmp_path / "\x1b]0;title\x07\x9b2J.json")]) == 2
    said = capsys.readouterr().err
    assert "\\x1b]0;title\\x07\\x9b2J.json" in said and not {"\x1b", "\x07", "\x9b"} & set(said)


@pytest.mark.parametrize("kind", ["link", "stranger"])
def test_a_folder_of_somebody_else_is_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN the folder for launchers' files, made by another user or a link THEN nothing is written into it."""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"antiphon-{os.getuid()}"
    if kind == "link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to("elsewhere")
    elif os.getuid() != 0:
        pytest.skip("only root can make a folder of another user")
    else:
        folder.mkdir()
        os.chown(folder, 12345, -1)
    with pytest.raises(AntiphonError, match="somebody else's"):
        launching.keep("0 node01\n")
    assert not list(folder.iterdir())


def test_the_folder_of_labs_is_its_user_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a folder for a user's labs that another user has made THEN it is refused: it would command the lab."""
    user = 900_000 + os.getpid()
    monkeypatch.setattr(os, "geteuid", lambda: user)
    folder = Path(f"/tmp/antiphon-lab-{user}")
    folder.mkdir(mode=0o777)
    try:
        with pytest.raises(AntiphonError, match="belongs to somebody else"):
            state.root_dir()
    finally:
        folder.rmdir()


def test_a_lab_s_folder_is_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "root_dir", lambda: tmp_path)
    assert stat.S_IMODE(state.create("x").stat().st_mode) == 0o700


def test_every_claim_names_a_test_that_exists() -> None:
    """GIVEN SECURITY.md THEN each file of tests that it names is there, and so is each test."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.\w+)(?:::(\w+))?`", text)
    assert len(named) > 8
    for file, test in named:
        assert test in (ROOT / file).read_text(encoding="utf-8"), (file, test)
