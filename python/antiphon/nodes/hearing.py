# SPDX-License-Identifier: Apache-2.0
"""Which nodes hear each other's multicast: each sends its name again and again, and notes the names that it hears."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from typing import Any

_INTERVAL_S = 0.1
#: A node that has heard all goes on for so long, for those that came later.
_LINGER_S = 1.0
#: Nodes start at different times.
_MOST_S = 6.0
#: Packets stay in the nodes' own network.
_HOPS = 1


def request(nodes: int) -> dict[str, Any]:
    """Returns what agents are told: a group that nobody else uses, and how many will send."""
    a, b = secrets.randbelow(256), secrets.randbelow(254) + 1
    return {"group": f"239.255.{a}.{b}", "port": 20000 + secrets.randbelow(20000), "nodes": nodes}


def listen(address: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns the names of the nodes that were heard on the interface with `address`, or why none could be."""
    group, port, nodes = str(wanted["group"]), int(wanted["port"]), int(wanted["nodes"])
    try:
        with _receiver(group, port, address) as receiver, _sender(address) as sender:
            return {"heard": sorted(_exchange(receiver, sender, (group, port), nodes))}
    except OSError as error:
        return {"heard": [], "why": error.strerror or str(error)}


def _receiver(group: str, port: int, address: str) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((group, port))
    made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(address))
    made.settimeout(_INTERVAL_S)
    return made


def _sender(address: str) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
    made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, _HOPS)
    return made


def _exchange(receiver: socket.socket, sender: socket.socket, group: tuple[str, int], nodes: int) -> set[str]:
    heard: set[str] = set()
    end = time.monotonic() + _MOST_S
    next_send = complete_at = 0.0
    while (now := time.monotonic()) < end:
        if now >= next_send:
            sender.sendto(socket.gethostname().encode(), group)
            next_send = now + _INTERVAL_S
        with contextlib.suppress(TimeoutError):
            heard.add(receiver.recv(256).decode("utf-8", "replace"))
        if len(heard) >= nodes:
            complete_at = complete_at or now
            if now - complete_at > _LINGER_S:
                break
    return heard
