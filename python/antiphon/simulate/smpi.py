# SPDX-License-Identifier: Apache-2.0
"""Runs SMPI's replay (SimGrid's smpirun) on a plan and a cluster."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon.cluster.spec import ClusterSpec
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.simulate import platform, trace
from antiphon.simulate.replay import Simulated, replay

#: What copying and reducing a byte cost, in nanoseconds, as in the model's guess.
COPY_NS, REDUCE_NS = 0.25, 0.5
_INSTALL = "install SimGrid, as `apt-get install libsimgrid-dev`, or name its smpirun with --smpirun"


def find(named: Path | None = None) -> Path:
    """Returns smpirun, or says what to install."""
    found = shutil.which(str(named) if named else "smpirun")
    if found is None:
        what = f"{named} is not there, or no program" if named else "SimGrid's smpirun is not installed"
        raise AntiphonError(what, hint=_INSTALL)
    # It runs in a folder of its own.
    return Path(found).absolute()


def run(smpirun: Path, plan: Mapping[str, Any], spec: ClusterSpec, ranks_per_node: int, timeout_s: float) -> Simulated:
    """Replays the plan's schedules, ranks along the nodes."""
    listed = trace.actions(plan, work_of(spec, ranks_per_node))
    with tempfile.TemporaryDirectory(prefix="antiphon-simulate-") as folder:
        files = write(Path(folder), listed, spec, ranks_per_node)
        command = [str(smpirun), "-np", str(len(listed)), "-platform", files["platform"], "-hostfile", files["hosts"]]
        command += [f"--cfg={name}:{value}" for name, value in platform.settings_of(spec).items()]
        command += ["--log=no_loc", "-replay", files["traces"]]
        ended = replay(command, timeout_s, folder=Path(folder))
    said = re.search(r"Simulation time ([0-9.e+-]+)", ended.stdout + ended.stderr)
    if ended.exit_code != 0 or said is None:
        lines = [line for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
        critical = [line for line in lines if "CRITICAL" in line] or lines[-1:]
        raise AntiphonError(
            f"{smpirun} ended with {ended.exit_code}: {' '.join(critical[:1])}",
            hint="SimGrid 3.32 is known to work: `smpirun -version` says what this is",
            exit_code=EXIT_FAILURE,
        )
    return Simulated(float(said[1]), ended.took_s)


def work_of(spec: ClusterSpec, ranks_per_node: int) -> trace.Work:
    """Returns what the cluster's ranks work on messages. SMPI's own settings cannot tell a node's messages apart."""
    host = spec.hosts.host()
    latency_bytes = host.latency_us * 1e-6 * spec.port_bytes_per_s
    return trace.Work(COPY_NS, REDUCE_NS, host.send_us * 1e-6, host.receive_us * 1e-6, ranks_per_node, latency_bytes)


def write(folder: Path, listed: list[list[str]], spec: ClusterSpec, ranks_per_node: int) -> dict[str, str]:
    """Writes platform, host file and traces; returns their paths."""
    names = []
    for rank, lines in enumerate(listed):
        path = folder / f"rank{rank}.trace"
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        names.append(str(path))
    files = {"platform": folder / "platform.xml", "hosts": folder / "hosts", "traces": folder / "traces"}
    files["platform"].write_text(platform.xml_of(spec, ranks_per_node), encoding="utf-8")
    hosts = [platform.host_name(rank // ranks_per_node) for rank in range(len(listed))]
    files["hosts"].write_text("\n".join(hosts) + "\n", encoding="ascii")
    files["traces"].write_text("\n".join(names) + "\n", encoding="utf-8")
    return {name: str(path) for name, path in files.items()}
