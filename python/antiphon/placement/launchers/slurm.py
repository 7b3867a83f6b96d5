# SPDX-License-Identifier: Apache-2.0
"""Writes a list of nodes for Slurm in the order of tasks, for the distribution `arbitrary`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from antiphon.placement.document import Placement
from antiphon.placement.launchers import Written

SUMMARY = "Slurm: SLURM_HOSTFILE, for --distribution=arbitrary"


def write(placement: Placement) -> Written:
    """Writes one node per line; srun takes as many lines as there are tasks."""
    left_out = []
    if len(set(placement.core_of_rank)) > 1:
        left_out.append("which core of its node a task is on: Slurm binds tasks of all nodes alike")
    return of_hosts(placement.hosts, left_out)


def of_hosts(hosts: Iterable[str], left_out: Sequence[str] = ()) -> Written:
    """Writes the node of each task."""
    return Written(
        "".join(f"{host}\n" for host in hosts),
        ["--distribution=arbitrary"],
        {"SLURM_HOSTFILE": "FILE"},
        command="srun",
        left_out=left_out,
    )
