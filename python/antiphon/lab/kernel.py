# SPDX-License-Identifier: Apache-2.0
"""System calls that Python's library has no function for."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
import socket
import struct
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
MS_REC = 16384
MS_SLAVE = 1 << 19

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_SYS_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274, "ppc64le": 355, "s390x": 345}
_SIOCETHTOOL = 0x8946
_ETHTOOL_OFFLOADS = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}  # ETHTOOL_STSO, SGSO, SGRO

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    _check(_libc.setns(fd, kind), "setns")


def mount(source: str, target: str, kind: str | None, flags: int = 0, data: str | None = None) -> None:
    def text(value: str | None) -> bytes | None:
        return None if value is None else os.fsencode(value)

    result = _libc.mount(text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data))
    _check(result, f"mount {target}")


def system_call(number: int, *arguments: object) -> int:
    """Returns the result of a system call that the C library has no function for."""
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def die_with_parent(number: signal.Signals) -> None:
    """Ask the kernel for a signal when the parent process ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(number), 0, 0, 0), "prctl")


def set_process_name(name: str) -> None:
    """Set the name that `ps` and `top` show for this process (15 bytes)."""
    _libc.prctl(_PR_SET_NAME, name.encode()[:15] + b"\0", 0, 0, 0)


def set_time_slice(slice_ns: int) -> bool:
    """Ask for a short slice under the normal policy (Linux 6.12 on); False where the kernel does not know it."""
    number = _SYS_SCHED_SETATTR.get(platform.machine())
    if number is None:
        return False
    # The fields of struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period.
    attributes = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, 0, 0, slice_ns, 0, 0)
    return bool(_libc.syscall(number, 0, attributes, 0) == 0)


def set_offloads(interface: str, enabled: bool) -> None:
    """Do what `ethtool -K INTERFACE tso X gso X gro X` does, on machines without ethtool."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for feature, command in _ETHTOOL_OFFLOADS.items():
            value = ctypes.create_string_buffer(struct.pack("=II", command, int(enabled)))
            request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(sock, _SIOCETHTOOL, request)
            except OSError as error:
                raise OSError(error.errno, f"{interface}: cannot switch {feature}: {error.strerror}") from None


def is_refusal(error: OSError) -> bool:
    """Returns whether the kernel refused a request, as opposed to something being broken."""
    return error.errno in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS, errno.EINVAL, errno.ENOSYS)


def network_namespace(pid: int) -> str:
    """Returns the path of a process's network namespace, also where /proc counts processes as an outer namespace does.

    Newer versions of `ip` look a number up in /proc, and there it is another process's, or nobody's.
    """
    descriptor = os.pidfd_open(pid)
    try:
        facts = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
    finally:
        os.close(descriptor)
    numbers = dict(line.split(":", 1) for line in facts.splitlines())
    return f"/proc/{numbers['Pid'].strip()}/ns/net"


def process_start_time(pid: int) -> int | None:
    """Returns the clock ticks from boot to the start of a process. With the pid, they identify a process for good."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
