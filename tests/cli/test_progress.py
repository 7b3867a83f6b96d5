# SPDX-License-Identifier: Apache-2.0
"""Watches the progress of a command in a terminal: wide, narrow, without colours, and into a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from antiphon.mpi import discover

#: A library that came with this environment, for which there is a benchmark.
WHEELS = [mpi for mpi in discover() if mpi.prefix.is_relative_to(Path(sys.prefix).resolve()) and mpi.launcher]
pytestmark = pytest.mark.skipif(not WHEELS, reason="no MPI library in this environment")
ESCAPE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")
COLOR = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")


def watched(columns: int, folder: Path, **variables: str) -> tuple[str, str]:
    """Runs a short benchmark with its errors in a terminal of so many columns; returns its output and what is drawn."""
    shown, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    words = [
        "bench",
        "bcast",
        "-n",
        2,
        "--bytes",
        "1k,4k",
        "--budget",
        0.05,
        "--mpi",
        WHEELS[0].libmpi,
        "--algorithms",
        "chain",
    ]
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-m", "antiphon", *map(str, words)], cwd=folder, stdout=subprocess.PIPE, stderr=terminal,
        text=True, env={**plain, "TERM": "xterm-256color", **variables},
    ) as process:  # fmt: skip
        os.close(terminal)
        drawn = b""
        while True:
            try:
                part = os.read(shown, 1 << 16)
            except OSError:  # how Linux says that the other end is closed
                break
            if not part:
                break
            drawn += part
        os.close(shown)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, drawn
    return out, drawn.decode("utf-8")


def frames(drawn: str) -> list[str]:
    """Returns each state of the line that is drawn again and again."""
    return [ESCAPE.sub("", frame).strip("\r\n") for frame in drawn.split("\x1b[2K")]


@pytest.mark.parametrize("columns", [40, 100])
def test_progress_fits_the_terminal_and_goes_away(tmp_path: Path, columns: int) -> None:
    """GIVEN a terminal THEN a line says how far the work is, in its width, and is gone at the end."""
    out, drawn = watched(columns, tmp_path)
    assert "chain" in out and not ESCAPE.search(out), "data is plain where it goes into a pipe"
    assert any("0/2" in frame for frame in frames(drawn)) and any("2/2" in frame for frame in frames(drawn))
    assert max(len(frame) for frame in frames(drawn)) <= columns
    assert COLOR.search(drawn) and drawn.endswith("\x1b[2K")


def test_no_color_leaves_the_progress(tmp_path: Path) -> None:
    _, drawn = watched(60, tmp_path, NO_COLOR="1")
    assert any("2/2" in frame for frame in frames(drawn)) and not COLOR.search(drawn)


def test_a_dumb_terminal_shows_none(tmp_path: Path) -> None:
    """GIVEN a terminal that cannot draw a line again THEN nothing is left on it, not even an empty line."""
    _, drawn = watched(60, tmp_path, TERM="dumb")
    assert drawn == ""
