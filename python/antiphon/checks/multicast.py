# SPDX-License-Identifier: Apache-2.0
"""Checks whether multicast works on this machine and, where a profile says so, between nodes; if not, why not."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from antiphon import profile as profiles
from antiphon.checks import WARN, Check, check

GROUP = "multicast"
_UP, _LOOPBACK, _MULTICAST = 0x1, 0x8, 0x1000
#: The buffer that groups ask for (include/antiphon/multicast.hpp), and what a window of 64 KiB takes with all overhead.
ASKED_BYTES, ENOUGH_BYTES = 4 << 20, 256 << 10
INTERFACES = Path("/sys/class/net")


def checks() -> Iterator[Check]:
    """Yields all lines about multicast on this machine."""
    yield round_trip("loopback", "127.0.0.1")
    address = outgoing_address()
    if address:
        yield round_trip("network interface", address)
    yield from interfaces()
    yield receive_buffer()


def outgoing_address() -> str | None:
    """Returns the address of the interface by which traffic to other machines would leave (nothing is sent)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])


def round_trip(name: str, address: str) -> Check:
    """Sends a datagram to a group on the interface and receives it. Time to live 0 keeps it on this machine."""
    group, text = "239.255.77.77", os.urandom(16)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, \
             socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:  # fmt: skip
            receiver.bind((group, 0))
            membership = socket.inet_aton(group) + socket.inet_aton(address)
            receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
            receiver.settimeout(1.0)
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
            sender.sendto(text, (group, receiver.getsockname()[1]))
            received = receiver.recv(64) == text
        return check(GROUP, name, received, f"{address}, group {group}", "another program sends to this group")
    except OSError as error:
        return Check(GROUP, name, WARN, f"{address}: {error}",
                     "a firewall drops it, or the interface has none: `ip link set DEV multicast on`")  # fmt: skip


def interfaces(folder: Path = INTERFACES) -> Iterator[Check]:
    """Reports obstacles on this machine's own interfaces and bridges, if there are any."""
    for interface in sorted(folder.iterdir()) if folder.is_dir() else ():
        flags = int(_read(interface / "flags") or "0", 16)
        if flags & _UP and not flags & (_LOOPBACK | _MULTICAST):
            yield Check(GROUP, interface.name, WARN, "the interface is up and takes no multicast",
                        f"`ip link set {interface.name} multicast on`")  # fmt: skip
        bridge = interface / "bridge"
        if _read(bridge / "multicast_snooping") == "1" and _read(bridge / "multicast_querier") == "0":
            yield Check(GROUP, interface.name, WARN, "the bridge snoops IGMP and asks nobody itself: without another "
                        "querier it forgets groups after some minutes",
                        f"`ip link set {interface.name} type bridge mcast_querier 1`")  # fmt: skip


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return None


def receive_buffer() -> Check:
    """Reports the buffer that a socket gets of what groups ask for: it bounds the packets under way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ASKED_BYTES)
        granted = receiver.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    return check(GROUP, "receive buffer", granted >= ENOUGH_BYTES, f"{granted >> 10} KiB a socket",
                 f"`sysctl net.core.rmem_max={ASKED_BYTES}`: long messages wait for small buffers")  # fmt: skip


def between_nodes(profile: Path) -> Check:
    """Reports the probe's findings about multicast between the nodes."""
    found = profiles.load(profile).get("multicast")
    if found is None:
        return Check(GROUP, "between nodes", WARN, "the profile does not say: one node, or an older probe",
                     "`antiphon probe --hostfile …` finds out")  # fmt: skip
    if not found["works"]:
        return Check(GROUP, "between nodes", WARN, found.get("why_not", "they do not hear each other"),
                     "switches that snoop need an IGMP querier, storm control limits multicast, clouds and many "
                     "virtual networks drop it; other algorithms are used")  # fmt: skip
    rate = f", {found['bytes_per_s'] / 1e6:.4g} MB/s" if "bytes_per_s" in found else ""
    return check(GROUP, "between nodes", True, f"all {found.get('nodes', '')} nodes hear each other{rate}")
