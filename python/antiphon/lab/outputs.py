# SPDX-License-Identifier: Apache-2.0
"""Reads the output of a command on a node, and watches it until it ends."""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from typing import IO, Protocol

TIMEOUT_EXIT_CODE = 124  # coreutils' timeout uses the same code.
#: What a command gets to end by itself before it is killed.
GRACE_S = 2.0
_DRAIN_S = 0.5


class Command(Protocol):
    """A running command: its descriptor becomes readable when it has ended."""

    def fileno(self) -> int: ...
    def wait(self) -> int | None: ...
    def signal(self, number: int) -> None: ...


class Outputs:
    """Pipes for a command's output, or this process's own descriptors."""

    def __init__(self, capture: bool, on_stdout: Callable[[str], None] | None) -> None:
        self._capture = capture
        self._on_stdout = on_stdout
        self._far: list[int] = []
        self._near: list[IO[bytes]] = []
        self._parts: dict[IO[bytes], bytearray] = {}
        self._line = bytearray()

    def descriptors(self, stdin: IO[bytes]) -> list[int]:
        """Returns stdin, stdout and stderr for the command; `stdin` is for one whose output is captured."""
        if not self._capture:
            sys.stdout.flush()
            return [0, 1, 2]
        for _ in range(2):
            read_end, write_end = os.pipe()
            self._far.append(write_end)
            stream = os.fdopen(read_end, "rb", buffering=0)
            self._near.append(stream)
            self._parts[stream] = bytearray()
        return [stdin.fileno(), *self._far]

    def close_far_ends(self) -> None:
        while self._far:
            os.close(self._far.pop())

    def streams(self) -> list[IO[bytes]]:
        return list(self._near)

    def take(self, stream: IO[bytes]) -> bool:
        """Read what is there; returns False at the end."""
        data = os.read(stream.fileno(), 65536)
        self._parts[stream] += data
        if self._on_stdout is not None and stream is self._near[0]:
            self._line += data
            while b"\n" in self._line:
                line, _, self._line = self._line.partition(b"\n")
                self._on_stdout(line.decode(errors="replace"))
            if not data and self._line:
                self._on_stdout(self._line.decode(errors="replace"))
                self._line.clear()
        return bool(data)

    def texts(self) -> tuple[str, str]:
        if not self._parts:
            return "", ""
        stdout, stderr = (bytes(part).decode(errors="replace") for part in self._parts.values())
        return stdout, stderr

    def close(self) -> None:
        self.close_far_ends()
        for stream in self._near:
            stream.close()


def supervise(command: Command, outputs: Outputs, deadline: float | None) -> tuple[int, bool]:
    """Pump output until the command has ended. After the deadline, ask it to end before killing it."""
    timed_out = False
    kill_at: float | None = None
    drain_until: float | None = None
    with selectors.DefaultSelector() as selector:
        open_streams = set(outputs.streams())
        for stream in open_streams:
            selector.register(stream, selectors.EVENT_READ)
        selector.register(command, selectors.EVENT_READ)
        code: int | None = None
        while code is None or open_streams:
            now = time.monotonic()
            limits = [limit - now for limit in (deadline, kill_at, drain_until) if limit is not None]
            for key, _ in selector.select(max(0.0, min(limits)) if limits else None):
                if key.fileobj is command:
                    code = command.wait()
                    selector.unregister(command)
                    # A detached daemon may hold the pipes open, but the output of the command itself has arrived by
                    # now.
                    deadline, kill_at, drain_until = None, None, time.monotonic() + _DRAIN_S
                elif not outputs.take(key.fileobj):  # type: ignore[arg-type]
                    selector.unregister(key.fileobj)
                    open_streams.discard(key.fileobj)
            now = time.monotonic()
            if drain_until is not None and now >= drain_until:
                break
            if deadline is not None and now >= deadline:
                command.signal(signal.SIGTERM)
                timed_out, deadline, kill_at = True, None, now + GRACE_S
            elif kill_at is not None and now >= kill_at:
                command.signal(signal.SIGKILL)
                kill_at = None
    assert code is not None
    return (TIMEOUT_EXIT_CODE if timed_out else code), timed_out
