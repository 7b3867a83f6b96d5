# SPDX-License-Identifier: Apache-2.0
"""Checks what the scripts of `make` say where they cannot do their work."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

import pytest
import setup
import tool_environment
import tracked


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_reason_of_git_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a git that refuses, or none THEN the error says why, and what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="git is not installed\nhint: "):
        tracked.files()
    program(tmp_path / "git", "echo 'fatal: detected dubious ownership' >&2; exit 128")
    with pytest.raises(SystemExit, match="dubious ownership\nhint: "):
        tracked.files("*.py")


def test_another_python_than_that_of_the_environment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a .venv of Python 3.9 THEN another Python does not install into it, as its stamps would say."""
    program(tmp_path / "python", "echo 3.9")
    monkeypatch.setattr(setup, "PYTHON", tmp_path / "python")
    with pytest.raises(SystemExit, match=rf"of Python 3.9, and this is {setup.VERSION}\nhint: .*PYTHON3=python3.9"):
        setup.make_venv()


@pytest.mark.parametrize("name", ["my clone", "a:b"])
def test_a_source_tree_that_cannot_be_preloaded_from_is_not_built(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "ROOT", Path("/home/user") / name)
    monkeypatch.setattr("sys.argv", ["setup.py"])
    monkeypatch.setattr(setup, "check_python_and_compiler", lambda: pytest.fail("went on"))
    with pytest.raises(SystemExit, match="LD_PRELOAD"):
        setup.main()


def test_tools_are_installed_once_for_each_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN tools that Python 3.10 installed WHEN 3.14 asks for them THEN it installs its own, as wheels differ."""
    installed: list[str] = []
    monkeypatch.setattr(tool_environment, "ROOT", tmp_path)
    monkeypatch.setattr(tool_environment, "requirements", lambda _: ["numpy==1; python_version < '3.11'"])
    monkeypatch.setattr(venv, "create", lambda place, **_: place.mkdir(parents=True, exist_ok=True))
    monkeypatch.setattr(subprocess, "run", lambda command, **_: installed.extend(command[5:]))
    for version in ("3.10", "3.10", "3.14"):
        monkeypatch.setattr(tool_environment, "VERSION", version)
        tool_environment.install("lint")
    assert installed == ["numpy==1; python_version < '3.11'"] * 2
