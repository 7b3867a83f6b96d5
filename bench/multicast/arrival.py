#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long a lab takes to bring a multicast packet to the first and to the last socket.

No rank waits for its turn: one process holds a socket in each node, and the system stamps what arrives.

  arrival.py --cluster paper1-29 --bytes 1024 -o out.json
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import select
import socket
import statistics
import struct
import time
from pathlib import Path

from antiphon.lab import Lab, load_cluster, network

GROUP = ("239.255.77.1", 47474)
SO_TIMESTAMPNS = 35
CLONE_NEWNET = 0x40000000


def socket_in(pid: int, address: str, receives: bool) -> socket.socket:
    """Open a datagram socket in the network of a process; it stays there after this process has left."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net", "rb") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"no way into the network of process {pid}")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setblocking(False)
    if receives:
        s.bind(GROUP)
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        member = socket.inet_aton(GROUP[0]) + socket.inet_aton(address)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    else:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
    return s


def arrived_ns(s: socket.socket) -> int | None:
    """Return when the next packet came in, or None if none came."""
    if not select.select([s], [], [], 0.1)[0]:
        return None
    _data, control, _flags, _from = s.recvmsg(65536, 256)
    seconds, nanoseconds = struct.unpack("qq", next(data for _level, kind, data in control if kind == SO_TIMESTAMPNS))
    return int(seconds) * 10**9 + int(nanoseconds)


def measure(lab: Lab, size_bytes: int, times: int) -> list[tuple[float, float]]:
    """Return the seconds until the packet is in the first and in the last socket, for each repetition."""
    init = int(lab.record()["init"][0])
    pids = [int(p) for p in Path(f"/proc/{init}/task/{init}/children").read_text().split()][: lab.spec.nodes]
    addresses = [network.address(n) for n in range(1, lab.spec.nodes + 1)]
    sender, *receivers = [socket_in(p, a, i > 0) for i, (p, a) in enumerate(zip(pids, addresses, strict=True))]
    time.sleep(1)  # the switches need time to learn the members
    samples = []
    for turn in range(times + 20):
        time.sleep(0.003)
        start_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        sender.sendto(bytes(size_bytes), GROUP)
        arrivals = [arrived_ns(s) for s in receivers]
        there = [a for a in arrivals if a is not None]
        if turn >= 20 and len(there) == len(receivers):
            samples.append(((min(there) - start_ns) * 1e-9, (max(there) - start_ns) * 1e-9))
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", default="paper1-29", help="the lab's cluster, or its file (default: paper1-29)")
    parser.add_argument("--bytes", type=int, default=1024, help="of the packet (default: 1024)")
    parser.add_argument("--times", type=int, default=300, help="packets (default: 300)")
    parser.add_argument("-o", "--output", type=Path, help="all samples, as JSON")
    args = parser.parse_args()
    with Lab(load_cluster(args.cluster)) as lab:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        samples = measure(lab, args.bytes, args.times)
    first, last = (statistics.median(s[i] for s in samples) * 1e6 for i in (0, 1))
    print(f"{lab.spec.nodes} nodes, {args.bytes} B, {len(samples)} times: first {first:.1f} µs, last {last:.1f} µs")
    if args.output:
        document = {"nodes": lab.spec.nodes, "bytes": args.bytes, "samples_s": samples}
        args.output.write_text(json.dumps(document) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
