# SPDX-License-Identifier: Apache-2.0
"""Streams of another job between nodes of a lab: they take their share of links and buffers while programs run."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import NoReturn

from antiphon.lab import kernel, network
from antiphon.lab.spec import ClusterSpec

#: Stream i of the cluster file goes to this port and i more.
FIRST_PORT = 7001
_CHUNK_BYTES = 1 << 16
_SO_MAX_PACING_RATE = 47
#: Nodes of a large lab are up a while after one another.
_RETRY_S = 0.05


def start(spec: ClusterSpec, number: int) -> None:
    """Starts a process for each end of a stream on node `number`; they end with the node."""
    for index, stream in enumerate(spec.traffic):
        if number not in (stream.source, stream.target) or os.fork():
            continue
        try:
            # What another job does must not depend on who polls here.
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            kernel.set_process_name("lab-traffic")
            if number == stream.target:
                _receive(FIRST_PORT + index)
            _send(network.address(stream.target), FIRST_PORT + index, stream.bits_per_s)
        finally:
            os._exit(1)


def _receive(port: int) -> NoReturn:
    """Drops what comes, connection after connection."""
    with socket.create_server(("0.0.0.0", port)) as listener:
        while True:
            peer = listener.accept()[0]
            with peer, contextlib.suppress(OSError):
                while peer.recv(_CHUNK_BYTES):
                    pass


def _send(address: str, port: int, bits_per_s: int) -> NoReturn:
    """Sends without end, at most at this rate."""
    data = bytes(_CHUNK_BYTES)
    while True:
        with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=10) as peer:
            peer.settimeout(None)
            if bits_per_s:
                peer.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, bits_per_s // 8)
            while True:
                peer.sendall(data)
        time.sleep(_RETRY_S)
