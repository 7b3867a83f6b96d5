# SPDX-License-Identifier: Apache-2.0
"""Cables whose packets a process of the lab carries: latency, buffers that ports share, and marks (ECN).

Few kernels have queueing disciplines for these. Both ends of such a cable are tap interfaces, and the program
`antiphon-lab-cables` (lab/cables) takes the packets of one end, keeps them as a port of the switch would, and hands
them to the other end.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon import places
from antiphon.errors import AntiphonError
from antiphon.lab import kernel, network
from antiphon.lab.spec import ClusterSpec, Uplink

PROGRAM = "antiphon-lab-cables"
#: The file of counts in a lab's directory.
COUNTS = "cables"
_DEVICE = "/dev/net/tun"
_TUNSETIFF, _TUNSETOFFLOAD = 0x400454CA, 0x400454D0
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
_TUN_F_CSUM, _TUN_F_TSO4 = 0x01, 0x02


@dataclass(frozen=True)
class Cable:
    """A cable with the names of its ends."""

    ends: tuple[str, str]
    uplink: Uplink | None = None  # None: to a node, whose end is the second
    switches: tuple[int, ...] = ()  # the index of the switch at each end that has one


def carried(spec: ClusterSpec) -> list[Cable]:
    """Returns the cables that the program carries."""
    all_ports = bool(spec.shared_buffer_bytes or spec.ecn_bytes)
    index = {switch.name: number for number, switch in enumerate(spec.switches)}
    cables = [
        Cable(network.uplink_ports(number), uplink, (index[uplink.between[0]], index[uplink.between[1]]))
        for number, uplink in enumerate(spec.uplinks)
        if all_ports or uplink.latency_ns
    ]
    if all_ports or spec.latency_ns:
        cables += [
            Cable((network.port(number), network.far_end(number)), None, (spec.switch_of(number),))
            for number in range(1, spec.nodes + 1)
        ]
    return cables


def check(spec: ClusterSpec) -> None:
    """Say what is missing before anything is made."""
    if not carried(spec):
        return
    if not (places.compiled() / PROGRAM).is_file():
        raise AntiphonError(f"the program {PROGRAM} is not installed", hint="install Antiphon again, or: make setup")
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        raise AntiphonError(
            f"{_DEVICE} cannot be opened: latency, shared buffers and marks need tap interfaces",
            hint="as root: modprobe tun; in a container: --device /dev/net/tun",
        )


@contextlib.contextmanager
def taps(spec: ClusterSpec) -> Iterator[dict[str, int]]:
    """Makes both ends of each cable in this network namespace; yields their descriptors, and closes them at the end."""
    opened: dict[str, int] = {}
    try:
        for cable in carried(spec):
            for name in cable.ends:
                opened[name] = _open(name, spec.offloads)
        yield opened
    finally:
        for descriptor in opened.values():
            os.close(descriptor)


def _open(name: str, offloads: bool) -> int:
    try:
        descriptor = os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        fcntl.ioctl(
            descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR)
        )
        fcntl.ioctl(descriptor, _TUNSETOFFLOAD, _TUN_F_CSUM | _TUN_F_TSO4 if offloads else 0)
    except OSError as error:
        raise AntiphonError(
            f"the kernel makes no tap interface: {error.strerror}", hint="as root: modprobe tun"
        ) from None
    return descriptor


def plan(spec: ClusterSpec, descriptors: Mapping[str, int], counts_file: Path) -> dict[str, Any]:
    """Returns what the program reads: what happens in each direction of each cable."""
    shares = spec.shared_buffer_bytes > 0
    directions = []
    for cable in carried(spec):
        first, second = cable.ends
        here = _direction(first, second, descriptors)
        back = _direction(second, first, descriptors)
        if cable.uplink is None:
            here |= _port(spec, spec.rate_bits_per_s, spec.burst_bytes, spec.port_buffer_bytes, spec.latency_ns)
            back |= {"latency_ns": spec.latency_ns}
            directions += [here | ({"pool": cable.switches[0]} if shares else {}), back]
            continue
        link = cable.uplink
        port = _port(spec, link.rate_bits_per_s, network.uplink_burst(spec, link), link.buffer_bytes, link.latency_ns)
        for one, switch in zip((here, back), cable.switches, strict=True):
            directions.append(one | port | ({"pool": switch} if shares else {}))
    pools = [spec.shared_buffer_bytes] * len(spec.switches) if shares else []
    return {"pools_bytes": pools, "directions": directions, "counts_file": str(counts_file)}


def _direction(source: str, target: str, descriptors: Mapping[str, int]) -> dict[str, Any]:
    return {"name": source, "from": descriptors[source], "to": descriptors[target]}


def _port(spec: ClusterSpec, bits_per_s: int, burst_bytes: int, buffer_bytes: int, latency_ns: int) -> dict[str, Any]:
    return {
        "bits_per_s": bits_per_s,
        "burst_bytes": burst_bytes,
        "buffer_bytes": buffer_bytes,
        "mark_bytes": spec.ecn_bytes,
        "latency_ns": latency_ns,
    }


def start(spec: ClusterSpec, descriptors: Mapping[str, int], state_dir: Path, real_time: bool) -> list[int]:
    """Starts the program, if any cable needs it. Returns its process number."""
    if not descriptors:
        return []

    def before() -> None:
        kernel.die_with_parent(signal.SIGKILL)
        if real_time:
            # A packet must not wait for the ranks that poll for it.
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))

    with open(state_dir / f"{COUNTS}.log", "wb") as log:
        program = subprocess.Popen(
            [str(places.compiled() / PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=list(descriptors.values()),
            preexec_fn=before,
        )
    assert program.stdin is not None
    with program.stdin as pipe:
        pipe.write(json.dumps(plan(spec, descriptors, state_dir / COUNTS)).encode())
    return [program.pid]


@dataclass(frozen=True)
class Counts:
    """What has happened to the packets of a cable's end, in their number, and the longest queue."""

    name: str
    sent: int
    dropped: int
    marked: int
    longest_bytes: int


def counts(state_dir: Path) -> list[Counts]:
    """Returns the counts of a lab's cables, as they were at most a second ago; nothing where it carries none."""
    try:
        lines = (state_dir / COUNTS).read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    return [Counts(name, *map(int, numbers)) for name, *numbers in (line.split() for line in lines)]
