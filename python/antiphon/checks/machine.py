# SPDX-License-Identifier: Apache-2.0
"""Checks the machine for the emulated cluster and the accelerator: namespaces, traffic control, CPU."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from antiphon import core
from antiphon.checks import Check, check, tried
from antiphon.lab.network import CONTAINER_HINT

TIMEOUT_S = 30
NAMESPACES_HINT = (
    "an ordinary user needs sysctl kernel.unprivileged_userns_clone=1 and, on Ubuntu, "
    f"kernel.apparmor_restrict_unprivileged_userns=0; {CONTAINER_HINT}"
)

#: This enters new namespaces (of the kinds that the cluster uses) and runs the rest of the command line there.
IN_NAMESPACES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
user, uid, gid = int(sys.argv[1]), os.getuid(), os.getgid()
if libc.unshare((0x10000000 if user else 0) | 0x40000000 | 0x20000 | 0x4000000 | 0x8000000):
    sys.exit("refused: " + os.strerror(ctypes.get_errno()))
if user:
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
os.execvp(sys.argv[2], sys.argv[2:])
"""

PAIR = "ip link add name end1 type veth peer name end2"
LINKS = f"{PAIR} && ip link add name switch type bridge mcast_snooping 1 && ip link set end1 master switch"
SHAPING = f"{PAIR} && tc qdisc add dev end1 root tbf rate 100mbit burst 8kb limit 128kb"
LOSS = "nft add table inet t && nft add chain inet t i '{ type filter hook input priority 0; }' && " \
       "nft add rule inet t i udp dport 9 numgen random mod 100 '<' 5 drop"  # fmt: skip


def checks() -> Iterator[Check]:
    """Yields all lines about the machine."""
    user = namespaces_need_user()
    yield namespaces(user)
    if user is not None:
        yield from traffic_control(user)
    yield cpu()
    yield scheduling()


def _for_lab(name: str, works: bool, detail: str, hint: str) -> Check:
    """Makes a line that says nothing of a real cluster."""
    return check("lab", name, works, detail, f"only `antiphon lab` needs it: {hint}")


def _inside(user: bool, script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", IN_NAMESPACES, str(int(user)), "/bin/sh", "-c", script]
    env = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"}
    return tried(command, TIMEOUT_S, env=env)


def namespaces_need_user() -> bool | None:
    """Returns whether namespaces work directly (False), only with a user namespace (True), or not at all (None)."""
    for user in (False, True):
        if _inside(user, "exit 0").returncode == 0:
            return user
    return None


def namespaces(user: bool | None) -> Check:
    """Checks network, mount, hostname and IPC namespaces: the nodes of the emulated cluster."""
    if user is None:
        reason = _inside(True, "exit 0").stderr.strip().splitlines()
        return _for_lab("namespaces", False, reason[-1] if reason else "refused", NAMESPACES_HINT)
    return _for_lab("namespaces", True, "in a user namespace" if user else "as root", "")


def traffic_control(user: bool) -> Iterator[Check]:
    """Checks the links: bridges, rates and losses, tried inside a namespace of their own."""
    trials = (
        ("links", ("ip",), LINKS, "bridge and veth", "iproute2"),
        ("link rates", ("ip", "tc"), SHAPING, "tc tbf", "iproute2"),
        ("packet loss", ("nft",), LOSS, "nft numgen", "nftables"),
    )
    path = f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"
    for name, tools, script, what, package in trials:
        missing = [tool for tool in tools if not shutil.which(tool, path=path)]
        if missing:
            yield _for_lab(name, False, f"{', '.join(missing)} not found", f"apt-get install {package}")
            continue
        result = _inside(user, script)
        reason = result.stderr.strip().splitlines()[:1]
        yield _for_lab(name, result.returncode == 0, what if result.returncode == 0 else "".join(reason),
                       f"the kernel lacks what {what} needs, or it may not be loaded here: try `modprobe`")  # fmt: skip


def cpu() -> Check:
    """Checks vector instructions, which reductions and codecs use, and says what limits the processor time."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    line = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    flags = set(line.partition(":")[2].split())
    known = {"avx2": "AVX2", "avx512f": "AVX-512", "asimd": "NEON", "sve": "SVE"}
    found = [name for flag, name in known.items() if flag in flags]
    cores = len(os.sched_getaffinity(0))
    vectors = ", ".join(found) or "no wide vectors (the portable code is used)"
    quota = core.processor_quota()
    limit = "" if quota is None else f", processor time of {quota:.2g} cores by a control group"
    return check("CPU", platform.machine(), True, f"{cores} core{'s' * (cores != 1)}{limit}, {vectors}")


def scheduling() -> Check:
    """Checks round-robin real-time scheduling: with it, many ranks on few cores take turns quickly."""
    code = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    command = [sys.executable, "-I", "-S", "-c", code]
    result = tried(command, TIMEOUT_S)
    slice_file = Path("/proc/sys/kernel/sched_rr_timeslice_ms")
    slice_ms = slice_file.read_text().strip() if slice_file.exists() else "?"
    allowed = result.returncode == 0
    detail = f"round-robin allowed, time slice {slice_ms} ms" if allowed else "round-robin refused"
    return _for_lab("scheduling", allowed, detail, "root may, and users with `rtprio 1` in "
                    "/etc/security/limits.conf; without, the emulated cluster uses short time slices")  # fmt: skip
