# SPDX-License-Identifier: Apache-2.0
"""This node's network interfaces: the one by which messages leave for other nodes, and RDMA devices."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from antiphon.checks.multicast import outgoing_address

NETWORK = Path("/sys/class/net")
INFINIBAND = Path("/sys/class/infiniband")
_SIOCGIFADDR = 0x8915
#: Of a VLAN on a bond on a port.
_MOST_LEVELS = 4


def address_towards(hosts: Sequence[str]) -> str | None:
    """Returns the address by which traffic to the first of the hosts that is not this one leaves (nothing is sent)."""
    for host in hosts:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((host, 9))
                own, there = probe.getsockname()[0], probe.getpeername()[0]
            except OSError:
                continue
            if own != there:
                return str(own)
    return outgoing_address()


def with_address(address: str, folder: Path = NETWORK) -> dict[str, Any] | None:
    """Returns the interface that has an address: its name, rate (None: not told), frame size and driver."""
    for interface in sorted(folder.iterdir()) if folder.is_dir() else ():
        if _address(interface.name) == address:
            driver = interface / "device" / "driver"
            return {
                "name": interface.name,
                "bits_per_s": rate(interface),
                "mtu_bytes": _number(interface / "mtu"),
                "driver": driver.resolve().name if driver.exists() else None,
            }
    return None


def rate(interface: Path, levels: int = _MOST_LEVELS) -> int | None:
    """Returns an interface's rate in bit/s; None where the system does not tell it.

    A virtual interface reports a nominal speed that means nothing; what counts is the slowest interface below it. That
    of a bond is the sum of its ports'.
    """
    if (interface / "device").is_dir() or (interface / "bonding").is_dir():
        megabits = _number(interface / "speed")
        return megabits * 1_000_000 if megabits and megabits > 0 else None
    ports = [interface.parent / port.name.removeprefix("lower_") for port in interface.glob("lower_*")]
    rates = [rate(port, levels - 1) for port in ports] if levels > 0 else []
    told = [each for each in rates if each is not None]
    return min(told) if told and len(told) == len(rates) else None


def rdma_devices(folder: Path = INFINIBAND) -> list[dict[str, str]]:
    """Returns the ports of RDMA devices that are up: name and link layer (InfiniBand or Ethernet)."""
    found = []
    for port in sorted(folder.glob("*/ports/*")):
        if "ACTIVE" in _text(port / "state"):
            found.append({"device": port.parents[1].name, "layer": _text(port / "link_layer")})
    return found


def _address(name: str) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ask:
        try:
            answer = fcntl.ioctl(ask.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # Reading the rate of an interface that is down is an error.
        return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.lstrip("-").isdigit() else None
