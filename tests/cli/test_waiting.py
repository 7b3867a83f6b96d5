# SPDX-License-Identifier: Apache-2.0
"""Checks that commands which start a launcher wait for its end, whatever signals come, and hand them on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: Stands in for a launcher that needs a while to end its ranks.
LAUNCHER = """#!/bin/sh
[ "$1" != --version ] || exit 0
trap 'sleep 0.7; echo tidy > {folder}/ended; exit 3' INT TERM HUP
echo started
while :; do sleep 0.05; done
"""


@pytest.mark.parametrize("name", ["trace", "plan"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_lets_the_launcher_end(name: str, number: signal.Signals, tmp_path: Path) -> None:
    """GIVEN Ctrl-C, which all processes of the terminal get, or a signal for the command alone."""
    launcher, program = tmp_path / "start", tmp_path / "solver"
    launcher.write_text(LAUNCHER.format(folder=tmp_path))
    program.write_text("#!/bin/sh\n")
    for script in (launcher, program):
        script.chmod(0o755)
    options = ["--link-rate", "1gbit"] if name == "plan" else []
    command = [sys.executable, "-m", "antiphon", name, "-n", "1", *options, "--launcher", launcher, program]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **streams) as process:
        try:
            assert "started\n" in iter(process.stdout.readline, "")
            os.kill(-process.pid if number == signal.SIGINT else process.pid, number)
            said, _ = process.communicate(timeout=30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert (tmp_path / "ended").exists(), said
    assert process.returncode == (3 if name == "trace" else 1)
    assert ("no trace was written" if name == "trace" else "ended with exit code 3") in said
    assert "Traceback" not in said
