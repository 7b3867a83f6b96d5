# SPDX-License-Identifier: Apache-2.0
"""Runs ns-3 on a plan and a cluster: every packet, TCP, and switches whose ports have finite buffers.

The replaying program is compiled once for each version of ns-3 and kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from antiphon.cluster.spec import ClusterSpec
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.profile import store
from antiphon.simulate import smpi, trace
from antiphon.simulate.replay import Simulated, replay

SOURCE = Path(__file__).with_name("data") / "ns3_replay.cpp"
_HEADERS = Path("/usr/include/ns3/core-module.h")
_LIBRARIES = ("internet", "point-to-point", "traffic-control", "network", "core")
#: Every packet is simulated, so only small clusters end within minutes.
MOST_NODES = 64
#: The first round finds connections cold; the last one is the answer.
ROUNDS = 3


def find() -> Path:
    """Returns the replaying program, compiled if need be, or says what to install."""
    compiler = shutil.which("g++")
    if compiler is None or not _HEADERS.is_file():
        raise AntiphonError("ns-3 or g++ is not installed", hint="as root: apt-get install libns3-dev g++")
    text = SOURCE.read_bytes() + str(_HEADERS.stat().st_mtime_ns).encode()
    cache = store.cache()
    if cache is None:
        raise AntiphonError(f"there is no directory to keep the program for ns-3 in ({store.NOWHERE})",
                            hint="set XDG_CACHE_HOME to a directory that can be written")  # fmt: skip
    program = cache / f"ns3-replay-{hashlib.sha256(text).hexdigest()[:16]}"
    if not _may_be_run(program):
        cache.mkdir(parents=True, exist_ok=True)
        _compile(compiler, program)
    return program


def _may_be_run(program: Path) -> bool:
    """Tells whether it is there and no other user can have written it: the cache may be where others write, too."""
    try:
        found = program.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _compile(compiler: str, program: Path) -> None:
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        made = Path(folder) / "replay"
        command = [compiler, "-std=c++17", "-O2", "-o", str(made), str(SOURCE), "-Wl,--allow-shlib-undefined"]
        ended = subprocess.run(
            [*command, *(f"-lns3-{name}" for name in _LIBRARIES)], capture_output=True, text=True, check=False
        )
        if ended.returncode:
            lines = [line for line in ended.stderr.splitlines() if "error" in line] or ["no reason given"]
            raise AntiphonError(
                f"the program for ns-3 does not compile: {lines[0]}",
                hint="ns-3 3.37 is known to work (Debian 12)",
                exit_code=EXIT_FAILURE,
            )
        # The user's umask may let a group write, and such a program would not be run (_may_be_run).
        made.chmod(0o755)
        made.replace(program)


def run(program: Path, plan: Mapping[str, Any], spec: ClusterSpec, ranks_per_node: int, timeout_s: float) -> Simulated:
    """Replays the plan's schedules, one rank a node."""
    if ranks_per_node > 1 or plan["size"] > MOST_NODES:
        raise AntiphonError(
            f"ns-3 is for one rank a node, and at most {MOST_NODES} of them",
            hint="ask for --ranks-per-node 1 and fewer --ranks, or leave --simulator away",
        )
    listed = trace.actions(plan, trace.Work(smpi.COPY_NS, smpi.REDUCE_NS))
    text = "\n".join([*_settings(spec), *_platform(spec, len(listed)), *(line for one in listed for line in one)])
    ended = replay([str(program)], timeout_s, text + "\n")
    rounds = ended.stdout.split()
    if ended.exit_code or len(rounds) != ROUNDS:
        said = (ended.stderr.splitlines() or ["without a word"])[-1]
        raise AntiphonError(f"ns-3 ended with {ended.exit_code}: {said}", exit_code=EXIT_FAILURE)
    return Simulated(float(rounds[-1]), ended.took_s)


def _settings(spec: ClusterSpec) -> Iterator[str]:
    host = spec.hosts.host()
    values = {
        "send_s": host.send_us * 1e-6,
        "receive_s": host.receive_us * 1e-6,
        "delay_s": host.latency_us * 1e-6,
        "rate_bps": spec.rate_bits_per_s,
        "eager_bytes": spec.hosts.eager_bytes,
        "buffer_bytes": spec.port_buffer_bytes,
        "rounds": ROUNDS,
    }
    yield from (f"set {name} {value:.10g}" for name, value in values.items())


def _platform(spec: ClusterSpec, ranks: int) -> Iterator[str]:
    yield from (
        f"switch {switch.parent} {switch.uplink_bits_per_s} {switch.uplink_buffer_bytes}" for switch in spec.switches
    )
    placed = [index for index, switch in enumerate(spec.switches) for _ in range(switch.nodes)]
    yield from (f"node {index}" for index in placed[:ranks])
