# SPDX-License-Identifier: Apache-2.0
"""Run on a node of a lab, as root: hears Antiphon's multicast packets pass, then sends forgeries to their group:
junk, damaged, cut, lengthened, and the very packets again. Prints how many were sent.

  forger.py COUNT [SEED]
"""

from __future__ import annotations

import random
import socket
import sys
import time
from collections.abc import Iterator

ETH_P_IP = 0x0800
UDP = 17
PATIENCE_S = 30.0


def overheard(most: int) -> list[tuple[str, int, bytes]]:
    """Yields group, port and payload of multicast packets that pass on this node."""
    found = []
    deadline = time.monotonic() + PATIENCE_S
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP)) as wire:
        wire.bind(("eth0", ETH_P_IP))
        wire.settimeout(0.2)
        while len(found) < most and time.monotonic() < deadline:
            try:
                packet = wire.recv(2048)
            except TimeoutError:
                if found:
                    break
                continue
            header = 4 * (packet[0] & 15)
            group = socket.inet_ntoa(packet[16:20])
            if packet[9] == UDP and group.startswith("239."):
                found.append((group, int.from_bytes(packet[header + 2 : header + 4], "big"), packet[header + 8 :]))
    if not found:
        raise SystemExit(f"no multicast packet within {PATIENCE_S:g} s")
    return found


def forgeries(genuine: bytes, chance: random.Random) -> Iterator[bytes]:
    """Yields what an attacker who has heard a packet, but lacks the key, can make of it."""
    yield genuine
    for _ in range(4):
        damaged = bytearray(genuine)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        yield bytes(damaged)
    yield genuine[:-8] + chance.randbytes(8)
    yield genuine[:16] + chance.randbytes(max(len(genuine) - 16, 8))
    yield genuine[: chance.randrange(len(genuine))]
    yield genuine + chance.randbytes(chance.randrange(1, 40))
    yield chance.randbytes(chance.randrange(1, 200))


def main() -> None:
    count = int(sys.argv[1])
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    heard = overheard(12)
    # Packets are short: discarding a long one takes no longer, but sending it takes longer.
    forged = [(packet, (group, port)) for group, port, genuine in heard for packet in forgeries(genuine[:300], chance)]
    forged += [(genuine, (group, port)) for group, port, genuine in heard]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        for i in range(count):
            packet, to = forged[i % len(forged)]
            out.sendto(packet, to)
    print(count)


if __name__ == "__main__":
    main()
