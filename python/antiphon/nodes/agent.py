# SPDX-License-Identifier: Apache-2.0
"""What runs on each node: looks at the node and prints what it found as one line, which no launcher cuts."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import resource
import shutil
import socket
import sys
import zlib
from pathlib import Path
from typing import Any

from antiphon import __version__
from antiphon.checks import OK, multicast, tools
from antiphon.errors import AntiphonError
from antiphon.mpi import ABIS, elf, launch
from antiphon.mpi.program import find_mpi
from antiphon.nodes import hearing, interfaces

#: The line begins with this.
MARK = "antiphon-node: "


def main(text: str) -> int:
    """Answers a request, which is JSON: {program, arguments, choice, hosts, hearing}."""
    line = encode(answer(json.loads(text)))
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return 0


def encode(facts: dict[str, Any]) -> str:
    """Returns facts as a line."""
    return MARK + base64.b64encode(zlib.compress(json.dumps(facts).encode(), 9)).decode("ascii")


def decode(line: str) -> dict[str, Any] | None:
    """Returns the facts of a line; None if it is another line."""
    if not line.startswith(MARK):
        return None
    try:
        found = json.loads(zlib.decompress(base64.b64decode(line[len(MARK) :].strip(), validate=True)))
    except (ValueError, zlib.error):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("host"), str) else None


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Returns all facts about this node."""
    address = interfaces.address_towards(request["hosts"])
    wanted = request.get("hearing")
    return {
        "host": socket.gethostname(),
        "address": address,
        "antiphon": {"version": __version__, "builds": builds(), "package": str(Path(__file__).resolve().parents[1])},
        "processor": platform.machine(),
        "kernel": platform.release(),
        "cores": len(os.sched_getaffinity(0)),
        "program": program(request),
        "interface": interfaces.with_address(address) if address else None,
        "rdma": interfaces.rdma_devices(),
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "shared_memory_free_bytes": free_bytes(Path("/dev/shm")),
        "warnings": [line.to_json() for line in (*tools.checks(), multicast.receive_buffer()) if line.status != OK],
        "settings": {k: v for k, v in launch.own_variables(os.environ).items() if k != "ANTIPHON_LIB_DIR"},
        "multicast": hearing.listen(address, wanted) if wanted and address else None,
    }


def builds() -> dict[str, str]:
    """Returns the build id of each preload object."""
    paths = {abi: launch.lib_dir() / f"libantiphon-{abi}.so" for abi in ABIS}
    return {abi: elf.made_by(path)["build"][:12] for abi, path in paths.items() if path.is_file()}


def program(request: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the program's MPI as this node sees it, or why there is none."""
    name = request.get("program")
    if name is None:
        return None
    try:
        mpi = find_mpi(name, request.get("choice"), args=request.get("arguments") or [])
    except AntiphonError as error:
        return {"error": error.message, "hint": error.hint}
    path = Path(shutil.which(name) or name)
    found = {"path": str(path), "mpi": mpi.label, "abi": mpi.abi, "libmpi": str(mpi.libmpi)}
    return found | {"digest": hashlib.sha256(path.read_bytes()).hexdigest()[:12]}


def free_bytes(folder: Path) -> int | None:
    """Returns what is free in a file system."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
