# SPDX-License-Identifier: Apache-2.0
"""Checks that Ctrl-C ends what the core takes long for."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

#: Minutes of predictions, with a context that must be left.
LONG = """
import contextlib
from antiphon import cli, core
from antiphon.model import ModelledMachine

def dispatch(argv):
    with contextlib.ExitStack() as stack:
        stack.callback(print, "left", flush=True)
        print("asking", flush=True)
        core.query("predict", collective="allgather", bytes=[1 << 20] * 99, **ModelledMachine(64, 4).fields())

cli.dispatch = dispatch
raise SystemExit(cli.main([]))
"""


def test_ctrl_c_does_not_wait_for_the_core() -> None:
    """GIVEN a request that takes minutes WHEN it is interrupted THEN the command ends at once, and tidies up."""
    process = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "asking\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (130, "left\n", "")
