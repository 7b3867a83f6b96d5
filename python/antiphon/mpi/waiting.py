# SPDX-License-Identifier: Apache-2.0
"""Starts a launcher and waits until it has ended, whatever signals come meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from antiphon.mpi.launch import Launch


def run(start: Launch, stdout: int | None = None) -> int:
    """Returns the launcher's exit code, or 128 + N where signal N ended it.

    Ctrl-C reaches the launcher from the terminal. What else asks this process to end is handed on to it.
    """
    launcher: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def hand_on(number: int, _frame: Any) -> None:
        if launcher is None:
            early.append(number)
        else:
            launcher.send_signal(number)

    with handling({signal.SIGINT: lambda *_: None, signal.SIGTERM: hand_on, signal.SIGHUP: hand_on}):
        launcher = subprocess.Popen(start.command, env={**os.environ, **start.env}, stdout=stdout)
        for number in early:
            launcher.send_signal(number)
        code = launcher.wait()
    return 128 - code if code < 0 else code


@contextlib.contextmanager
def handling(handlers: Mapping[signal.Signals, Callable[[int, Any], Any]]) -> Iterator[None]:
    """Handles these signals for a while; those that are ignored, as under nohup, stay so. Beside the main thread, which
    alone gets signals, it does nothing."""
    alone = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in handlers} if alone else {}
    before = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, handlers[number])
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
