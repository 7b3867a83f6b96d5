# SPDX-License-Identifier: Apache-2.0
"""Checks that a measured run ends with its time, whatever its processes do, and with the command that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from antiphon.bench import running
from antiphon.mpi.launch import Launch

#: Runs a launcher that says who it is.
COMMAND = """
from antiphon.bench import running
from antiphon.mpi.launch import Launch
running.run(Launch(["sh", "-c", "echo $$; exec sleep 300"]), print, 300)
"""


def is_running(pid: int) -> bool:
    status = Path("/proc", str(pid), "status")
    return status.exists() and "\nState:\tZ" not in status.read_text()


def is_gone(pid: int) -> bool:
    """Gives the system a moment to end what was killed."""
    deadline = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


@pytest.mark.parametrize("deaf", ["", "trap '' TERM;"], ids=["", "ignores SIGTERM"])
def test_the_time_limit_ends_all_processes(deaf: str) -> None:
    """GIVEN a launcher and a process of its own that has its output THEN both end, and what they wrote is there."""
    lines: list[str] = []
    script = f"{deaf} sleep 300 & echo $!; echo why >&2; wait; sleep 300"
    _, stderr, timed_out = running.run(Launch(["sh", "-c", script]), lines.append, 0.5)
    assert timed_out
    assert stderr == "why\n"
    assert is_gone(int(lines[0]))


def test_a_process_that_stays_behind_is_not_waited_for() -> None:
    lines: list[str] = []
    assert running.run(Launch(["sh", "-c", "sleep 300 & echo $!; exit 4"]), lines.append, 60) == (4, "", False)
    assert is_gone(int(lines[0]))


def test_the_run_ends_with_its_command() -> None:
    """GIVEN SIGTERM, as a batch system sends it THEN no launcher stays behind."""
    with subprocess.Popen([sys.executable, "-u", "-c", COMMAND], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        launcher = int(command.stdout.readline())
        os.kill(command.pid, signal.SIGTERM)
        assert command.wait(30) == 128 + signal.SIGTERM
    assert is_gone(launcher)
