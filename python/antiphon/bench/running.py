# SPDX-License-Identifier: Apache-2.0
"""Runs a launcher on this machine until it ends, or its time does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from antiphon.lab.outputs import GRACE_S, Outputs, supervise
from antiphon.mpi import waiting
from antiphon.mpi.launch import Launch


def run(
    start: Launch, on_line: Callable[[str], None], timeout_s: float | None, stdin: str | os.PathLike[str] = os.devnull
) -> tuple[int, str, bool]:
    """Returns the exit code, the standard error, and whether the time limit, if there is one, ended the run.

    However this process is told to end, the launcher and its ranks end first.
    """
    outputs = Outputs(capture=True, on_stdout=on_line)
    with waiting.handling({signal.SIGTERM: leave, signal.SIGHUP: leave}), contextlib.closing(outputs):
        with open(stdin, "rb") as given:
            launcher = _Launcher(start, outputs.descriptors(given))
        try:
            outputs.close_far_ends()
            code, timed_out = supervise(launcher, outputs, None if timeout_s is None else time.monotonic() + timeout_s)
        finally:
            launcher.end()
    return code, outputs.texts()[1], timed_out


def leave(number: int, _frame: Any) -> NoReturn:
    """Handles a signal that asks this process to end: what is open is closed on the way."""
    sys.exit(128 + number)


class _Launcher:
    """A launcher that leads a session of its own, so that all its processes can be signalled."""

    def __init__(self, start: Launch, descriptors: Sequence[int]) -> None:
        stdin, stdout, stderr = descriptors
        self._process = subprocess.Popen(
            start.command, env={**os.environ, **start.env}, stdin=stdin, stdout=stdout, stderr=stderr,
            start_new_session=True,
        )  # fmt: skip
        self._ended, far = os.pipe()
        threading.Thread(target=self._watch, args=(far,), daemon=True).start()

    def _watch(self, far: int) -> None:
        self._process.wait()
        os.close(far)

    def fileno(self) -> int:
        """Returns what becomes readable when the launcher has ended."""
        return self._ended

    def wait(self) -> int:
        return self._process.wait()

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def end(self) -> None:
        """Ends what is left of the run."""
        if self._process.poll() is None:
            self.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
        self.signal(signal.SIGKILL)
        self._process.wait()
        os.close(self._ended)
