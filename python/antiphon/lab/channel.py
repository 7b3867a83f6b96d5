# SPDX-License-Identifier: Apache-2.0
"""Runs a command inside a node for a process outside: a request and three file descriptors over a Unix socket.

No process enters a node's namespaces; the node's first process starts the command itself. So the same code works with
root and without, from the host and from another node. This file uses the standard library only, because agent.py loads
it without the package.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

_HEADER = struct.Struct("!I")
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024


class ChannelError(Exception):
    """The error when a node does not answer, or refuses."""


def send(sock: socket.socket, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
    body = json.dumps(message).encode("utf-8", "surrogateescape")
    if fds:
        socket.send_fds(sock, [_HEADER.pack(len(body))], list(fds))
        sock.sendall(body)
    else:
        sock.sendall(_HEADER.pack(len(body)) + body)


def receive(sock: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Returns the next message and its descriptors; None at the end of the stream."""
    header, fds, _, _ = socket.recv_fds(sock, _HEADER.size, 8, socket.MSG_CMSG_CLOEXEC)
    if not header:
        return None, fds
    header += _read(sock, _HEADER.size - len(header))
    (length,) = _HEADER.unpack(header)
    if length > _MAX_MESSAGE_BYTES:
        raise ChannelError(f"message of {length} bytes")
    return json.loads(_read(sock, length).decode("utf-8", "surrogateescape")), fds


def _read(sock: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = sock.recv(length - len(data))
        if not part:
            raise ChannelError("connection closed in the middle of a message")
        data += part
    return bytes(data)


class Command:
    """A command running in a node. Closing it, or dying, ends the command."""

    def __init__(
        self, path: str, argv: Sequence[str], env: dict[str, str], cwd: str, fds: Sequence[int], run: str
    ) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.exit_code: int | None = None
        try:
            self._sock.connect(path)
            send(self._sock, {"do": "exec", "argv": list(argv), "env": env, "cwd": cwd, "run": run}, fds)
        except OSError as error:
            self._sock.close()
            raise ChannelError(f"node does not answer on {path}: {error}") from None

    def fileno(self) -> int:
        return self._sock.fileno()

    def signal(self, number: int) -> None:
        """Send a signal to the command's process group."""
        with contextlib.suppress(OSError):
            send(self._sock, {"do": "signal", "signal": int(number)})

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Returns the exit code (128 + n after signal n), or None if it takes longer than the timeout."""
        if self.exit_code is not None:
            return self.exit_code
        self._sock.settimeout(timeout_s)
        try:
            message, _ = receive(self._sock)
        except TimeoutError:
            return None
        except OSError as error:
            raise ChannelError(f"connection to the node failed: {error}") from None
        finally:
            self._sock.settimeout(None)
        if message is None:
            raise ChannelError("the node is gone")
        if "error" in message:
            raise ChannelError(message["error"])
        self.exit_code = int(message["exit"])
        return self.exit_code

    def close(self) -> None:
        self._sock.close()


def request(path: str, message: dict[str, Any], timeout_s: float = 10.0) -> dict[str, Any]:
    """Asks one question and returns the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout_s)
        try:
            sock.connect(path)
            send(sock, message)
            answer, _ = receive(sock)
        except OSError as error:
            raise ChannelError(f"node does not answer on {path}: {error}") from None
    if answer is None:
        raise ChannelError("the node is gone")
    return answer
