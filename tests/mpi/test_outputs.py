# SPDX-License-Identifier: Apache-2.0
"""Checks what becomes of summaries, traces and captured messages that cannot be written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.codec import messages
from antiphon.mpi import Mpi

HALO = Path(__file__).resolve().parent / "programs" / "halo.c"
ANTIPHON = [sys.executable, "-m", "antiphon"]
LIMIT_S = 120


@pytest.fixture
def command(native: Mpi, compiled: Callable[..., Path], tmp_path: Path) -> Callable[..., Any]:
    """Runs an Antiphon command with a program of two ranks; `before` are the words of a command that starts it."""
    program = compiled(native, [HALO])
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")}

    def run(*words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        line = [*before, *ANTIPHON, words[0], "--mpi", str(native.prefix), "-n", "2", *words[1:], str(program), "2"]
        return subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    return run


def test_a_summary_that_cannot_be_written_is_a_failure(command, tmp_path: Path) -> None:
    """GIVEN a full device THEN the run fails and says why; GIVEN no directory THEN it does not begin."""
    full = command("run", "--summary=/dev/full")
    assert full.returncode != 0 and "checksum" in full.stdout
    assert "cannot write the summary to /dev/full: No space left on device" in full.stderr
    missing = command("run", f"--summary={tmp_path}/no/x.json")
    assert missing.returncode == 2 and missing.stdout == ""
    assert f"error: --summary={tmp_path}/no/x.json cannot be written: No such file or directory" in missing.stderr


def test_a_link_to_the_summary_stays(command, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "x.json").symlink_to("real/y")
    result = command("run", "--summary=x.json")
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "real" / "y").read_text())["ranks"] == 2
    assert (tmp_path / "x.json").is_symlink() and sorted(os.listdir(tmp_path / "real")) == ["y"]


def test_a_full_disk(command, tmp_path: Path) -> None:
    """GIVEN a file system without room THEN there is no file, or the old one, and the exit code says so."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=64k none {disk}"
    fill = f"printf old >{disk}/s.json; head -c 99999 /dev/zero >{disk}/most 2>/dev/null"
    look = f"code=$?; ls {disk}; cat {disk}/s.json; exit $code"
    before = ("unshare", "-rm", "sh", "-c", f'{mount} || exit 1; {fill}; "$@"; {look}', "sh")
    if shutil.which("unshare") is None or subprocess.run([*before[:4], mount], check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    summary = command("run", f"--summary={disk}/s.json", before=before)
    assert summary.returncode != 0 and "No space left on device" in summary.stderr, summary.stderr
    assert summary.stdout.split()[-3:] == ["most", "s.json", "old"], summary.stdout
    trace = command("trace", "-o", f"{disk}/t", before=before)
    assert trace.returncode != 0 and "No space left on device" in trace.stderr, trace.stderr
    assert "0 bytes" not in trace.stderr and "t" not in trace.stdout.split(), trace.stdout


def test_a_program_that_forks_has_each_message_once(native: Mpi, verified: Callable[..., Any], tmp_path: Path) -> None:
    """GIVEN a child that ends between two messages THEN the captured file holds these two."""
    verified(native, 2, "forks.c", ANTIPHON_CAPTURE=str(tmp_path))
    sent = list(messages.read(tmp_path / "rank-0.msgs"))
    assert [(message.tag, len(message.payload)) for message in sent] == [(0, 2048), (1, 2048)]
