# SPDX-License-Identifier: Apache-2.0
"""Writes a host file in the order of ranks for Hydra, the launcher of MPICH, MVAPICH and Intel MPI."""

from __future__ import annotations

from antiphon.placement.document import Placement
from antiphon.placement.launchers import Written

SUMMARY = "MPICH, MVAPICH, Intel MPI (Hydra): a host file in the order of ranks"


def write(placement: Placement) -> Written:
    """Writes consecutive ranks on one node as one line, `node02:3`. Nodes come again as often as needed."""
    lines: list[str] = []
    run = 0
    hosts = placement.hosts
    for rank, host in enumerate(hosts):
        run += 1
        if rank + 1 == len(hosts) or hosts[rank + 1] != host:
            lines.append(f"{host}:{run}\n")
            run = 0
    left_out = []
    if len(set(placement.core_of_rank)) > 1 and any(node.cores > 1 for node in placement.used()):
        left_out.append("which core of its node a rank is on: Hydra binds all nodes alike")
    return Written("".join(lines), ["-f", "FILE"], command="mpiexec", left_out=left_out)
