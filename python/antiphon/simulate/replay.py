# SPDX-License-Identifier: Apache-2.0
"""Runs a simulator, which is a program of its own, for as long as it may take."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.errors import EXIT_FAILURE, AntiphonError


@dataclass(frozen=True)
class Simulated:
    """The simulator's answer."""

    seconds: float
    #: What the simulation itself took.
    took_s: float


@dataclass(frozen=True)
class Replay:
    """What a simulator said, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str
    took_s: float


def replay(command: Sequence[str], timeout_s: float, text: str = "", folder: Path | None = None) -> Replay:
    """Runs a simulator on a text, in a folder. Whatever ends this early ends all that the simulator has started."""
    began = time.monotonic()
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                stdout, stderr = process.communicate(text, timeout_s)
            except BaseException:
                # SimGrid's smpirun is a shell script, whose simulator would go on without it.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
    except subprocess.TimeoutExpired:
        raise AntiphonError(
            f"the simulation took longer than {timeout_s:g} s",
            hint="ask for fewer --ranks or less --bytes, or allow more with --timeout",
            exit_code=EXIT_FAILURE,
        ) from None
    return Replay(process.returncode, stdout, stderr, time.monotonic() - began)
