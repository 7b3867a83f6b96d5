# SPDX-License-Identifier: Apache-2.0
"""A rate for each TCP connection of a lab, as where one connection's cores bind before the wire.

The kernel paces a socket's stream itself (SO_MAX_PACING_RATE). A program of a few instructions, attached to a control
group that all processes of the lab are in, sets the rate when a connection is made, so no program has to know of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from pathlib import Path

from antiphon.errors import AntiphonError
from antiphon.lab import kernel

_SYS_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "ppc64le": 361, "s390x": 351}
_PROG_LOAD, _PROG_ATTACH = 5, 8
_PROG_TYPE_SOCK_OPS, _ATTACH_SOCK_OPS, _ALLOW_MULTI = 13, 3, 2
#: What the program is told: a connection was made, from here or to here.
_ACTIVE_ESTABLISHED, _PASSIVE_ESTABLISHED = 4, 5
_SOL_SOCKET, _SO_MAX_PACING_RATE, _CALL_SETSOCKOPT = 1, 47, 49
_NAME = "antiphon-lab-"


def _instructions(bytes_per_s: int) -> bytes:
    """Returns: if a connection was made, set its rate; let it go on."""
    rows = [
        (0xBF, 6, 1, 0, 0),  # r6 = the event
        (0x61, 2, 6, 0, 0),  # r2 = what it is
        (0x15, 2, 0, 1, _ACTIVE_ESTABLISHED),
        (0x55, 2, 0, 8, _PASSIVE_ESTABLISHED),  # anything else: to the end
        (0x62, 10, 0, -4, bytes_per_s),  # on the stack
        (0xBF, 1, 6, 0, 0),
        (0xB7, 2, 0, 0, _SOL_SOCKET),
        (0xB7, 3, 0, 0, _SO_MAX_PACING_RATE),
        (0xBF, 4, 10, 0, 0),
        (0x07, 4, 0, 0, -4),
        (0xB7, 5, 0, 0, 4),
        (0x85, 0, 0, 0, _CALL_SETSOCKOPT),
        (0xB7, 0, 0, 0, 1),
        (0x95, 0, 0, 0, 0),
    ]
    return b"".join(
        struct.pack("=BBhi", code, target | source << 4, offset, value) for code, target, source, offset, value in rows
    )


def _bpf(command: int, attributes: bytes) -> int:
    number = _SYS_BPF.get(platform.machine())
    if number is None:
        raise OSError(38, f"no number of bpf() is known for {platform.machine()}")
    return kernel.system_call(number, command, ctypes.create_string_buffer(attributes), len(attributes))


def _load(bytes_per_s: int) -> int:
    program = _instructions(bytes_per_s)
    code, licence = ctypes.create_string_buffer(program), ctypes.create_string_buffer(b"Apache-2.0")
    attributes = struct.pack(
        "=IIQQIIQII16s", _PROG_TYPE_SOCK_OPS, len(program) // 8, ctypes.addressof(code), ctypes.addressof(licence),
        0, 0, 0, 0, 0, b"antiphon_pace",
    )  # fmt: skip
    return _bpf(_PROG_LOAD, attributes)


def own_group() -> Path:
    """Returns the directory of this process' control group (version 2)."""
    fields = (line.split() for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
    mounts = [Path(one[4]) for one in fields if one[one.index("-") + 1] == "cgroup2"]
    names = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    own = next((line[3:] for line in names if line.startswith("0::")), None)
    if not mounts or own is None:
        raise FileNotFoundError(2, "no control groups of version 2 are mounted")
    return mounts[0] / own.lstrip("/")


def _sweep(parent: Path) -> None:
    """Removes the groups of labs that were killed."""
    for left in parent.glob(f"{_NAME}*"):
        if not Path("/proc", left.name.removeprefix(_NAME)).exists():
            with contextlib.suppress(OSError):
                left.rmdir()


@contextlib.contextmanager
def paced(bits_per_s: int) -> Iterator[None]:
    """Gives each connection of this process and of those that it starts this rate each way; 0: none."""
    if not bits_per_s:
        yield
        return
    try:
        parent = own_group()
        _sweep(parent)
        group = parent / f"{_NAME}{os.getpid()}"
        group.mkdir()
        _join(group, bits_per_s // 8)
    except OSError as error:
        raise AntiphonError(
            f"the kernel does not limit the rate of connections here ({error.strerror or error})",
            hint="this needs root, control groups of version 2 and a kernel with CONFIG_CGROUP_BPF",
        ) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            (parent / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
            group.rmdir()


def _join(group: Path, bytes_per_s: int) -> None:
    program = _load(bytes_per_s)
    directory = os.open(group, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _bpf(_PROG_ATTACH, struct.pack("=IIII", directory, program, _ATTACH_SOCK_OPS, _ALLOW_MULTI))
    finally:
        os.close(directory)
        os.close(program)
    (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
