# SPDX-License-Identifier: Apache-2.0
"""Holds small network programs that tests run on nodes, and what starts them."""

from __future__ import annotations

import statistics
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from antiphon.lab import Lab, RunResult

# This prints bits per second of payload that arrive from `senders` connections, of each window of time by itself.
TCP_RECEIVER = """
import select, socket, sys, time
senders, windows, window_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
listener = socket.create_server(("0.0.0.0", 5001), backlog=64)
listener.settimeout(10)
peers = [listener.accept()[0] for _ in range(senders)]
for peer in peers: peer.sendall(b"g")
time.sleep(0.3)   # past the queues' filling
for peer in peers:
    peer.setblocking(False)
def drain(until):
    total = 0
    while time.monotonic() < until:
        for peer in select.select(peers, [], [], 0.05)[0]:
            try: total += len(peer.recv(1 << 20))
            except BlockingIOError: pass
    return total
drain(time.monotonic() + 0.3)
for _ in range(windows):
    start = time.monotonic()
    total = drain(start + window_s)
    print(total * 8 / (time.monotonic() - start))
"""

TCP_SENDER = """
import socket, sys, time
for _ in range(200):
    try:
        peer = socket.create_connection((sys.argv[1], 5001), timeout=10); break
    except OSError: time.sleep(0.02)
peer.recv(1)
data = bytes(65536)
try:
    while True: peer.sendall(data)
except OSError: pass
"""

UDP_RECEIVER = """
import socket, struct, sys
group, wait = sys.argv[1], float(sys.argv[2])
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
sock.bind(("", 5002))
if group != "-":
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton("0.0.0.0"))
print("ready", flush=True)
sock.settimeout(wait)
count = 0
try:
    while sock.recv(2048) != b"end": count += 1
except TimeoutError: pass
print(count)
"""

UDP_SENDER = """
import socket, sys, time
target, number = sys.argv[1], int(sys.argv[2])
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(number):
    sock.sendto(bytes(200), (target, 5002)); time.sleep(0.0003)
for _ in range(20): sock.sendto(b"end", (target, 5002)); time.sleep(0.005)
"""

READ_OFFLOADS = """
import ctypes, fcntl, socket, struct
for command in (0x1E, 0x23, 0x2B):  # ETHTOOL_GTSO, GGSO, GGRO
    value = ctypes.create_string_buffer(struct.pack("=II", command, 9), 8)
    request = struct.pack("16sP16x", b"eth0", ctypes.addressof(value))
    fcntl.ioctl(socket.socket(), 0x8946, request)
    print(struct.unpack("=II", value.raw)[1])
"""


def python(text: str, *arguments: object) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", text, *map(str, arguments)]


class Throughput(NamedTuple):
    """What a node receives, in bits per second."""

    #: Over all the time: never more than the link carries.
    mean: float
    #: The upper quartile of windows of time: what the link carries while the machine does nothing else.
    undisturbed: float


def throughput_bits_per_s(
    lab: Lab, receiver: int, senders: list[int], *, windows: int = 50, window_s: float = 0.02
) -> Throughput:
    """Measures what a node receives when others send to it as fast as they can."""
    with ThreadPoolExecutor(len(senders) + 1) as pool:
        command = python(TCP_RECEIVER, len(senders), windows, window_s)
        result = pool.submit(lab.execute, receiver, command, timeout_s=20)
        others = [
            pool.submit(lab.execute, sender, python(TCP_SENDER, lab.spec.node_name(receiver)), timeout_s=20)
            for sender in senders
        ]
        rates = [float(line) for line in result.result().check().stdout.split()]
        for other in others:
            other.result()
    return Throughput(statistics.fmean(rates), statistics.quantiles(rates, n=4)[2])


def receive_datagrams(lab: Lab, target: str, receivers: list[int], sender: int, number: int) -> list[int]:
    """Returns how many of `number` datagrams, sent to a node or a multicast group, each receiver gets."""
    group = target if target.startswith("2") else "-"
    with ThreadPoolExecutor(len(receivers)) as pool:
        ready: list[str] = []
        futures: list[Future[RunResult]] = [
            pool.submit(lab.execute, node, python(UDP_RECEIVER, group, 3), on_stdout=ready.append, timeout_s=20)
            for node in receivers
        ]
        while len(ready) < len(receivers) and not any(future.done() for future in futures):
            time.sleep(0.01)
        lab.execute(sender, python(UDP_SENDER, target, number), timeout_s=20).check()
        return [int(future.result().check().stdout.split()[-1]) for future in futures]


def running(lab: Lab, node: int) -> list[str]:
    """Returns the names of all programs that run on a node, the shell that asks included. Small systems have no ps."""
    names = 'for file in /proc/[0-9]*/comm; do read -r name < "$file" && echo "$name"; done'
    return lab.execute(node, ["sh", "-c", names]).check().stdout.split()
