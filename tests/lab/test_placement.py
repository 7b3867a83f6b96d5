# SPDX-License-Identifier: Apache-2.0
"""Checks placements on a lab: launchers do what their files say, and a mapped program sends less between nodes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.bench.testbed import program
from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import Mpi, by_name, discover, launch
from antiphon.placement import Node, Placement

LIBRARIES = [mpi for mpi in discover() if mpi.launcher is not None and mpi.abi == mpi.family]
SAY = 'echo "rank ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} on $(hostname)"'


def shuffled(cores: int) -> Placement:
    """Places six ranks on three nodes, with consecutive ranks on the same node only once."""
    nodes = [Node(f"node0{n}", 2, cores) for n in (1, 2, 3)]
    return Placement(nodes, [2, 0, 1, 1, 0, 2], [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("mpi", LIBRARIES, ids=lambda mpi: mpi.label)
def test_launchers_accept_their_files(cluster: Callable[..., ClusterSpec], mpi: Mpi) -> None:
    """GIVEN a placement with, without and with too few processors THEN each rank is where it says."""
    with Lab(cluster(nodes=3, ranks_per_node=2)) as lab:
        for cores in (2, 0, 1) if mpi.family == "openmpi" else (2,):
            wanted = shuffled(cores)
            result = lab.mpirun(mpi, None, ["/bin/sh", "-c", SAY], placement=wanted, timeout_s=60).check()
            found = {int(rank): host for rank, host in re.findall(r"rank (\d+) on (\S+)", result.stdout)}
            assert [found[rank] for rank in range(6)] == wanted.hosts, (cores, result.stdout)


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_the_run_checks_its_placement(cluster: Callable[..., ClusterSpec], family: str, tmp_path: Path) -> None:
    """GIVEN a placement THEN the run finds its ranks there; GIVEN another one THEN it misses them."""
    mpi = by_name(family)
    file = tmp_path / "placement.json"
    shuffled(2).save(file)
    env = {"ANTIPHON_PLACEMENT": str(file), "ANTIPHON_VERBOSE": "1"}
    argv = [str(program("demo-gauss", mpi.abi)), "24"]
    preload = [launch.preload_object(mpi.abi)]
    with Lab(cluster(nodes=3, ranks_per_node=2)) as lab:
        right = lab.mpirun(mpi, 6, argv, env=env, preload=preload, placement=shuffled(2), timeout_s=60).check()
        wrong = lab.mpirun(mpi, 6, argv, env=env, preload=preload, timeout_s=60).check()
    assert "all 6 ranks are where the placement wants them" in right.stderr
    assert "verified" in right.stdout
    assert "not honoured: rank 0 is on node01 instead of node03" in wrong.stderr


def sent(lab: Lab) -> int:
    """Returns the bytes that all nodes have sent so far."""
    total = 0
    for name in lab.spec.node_names():
        shown = lab.execute(name, ["ip", "-s", "-j", "link", "show", "eth0"], timeout_s=20).check().stdout
        total += json.loads(shown)[0]["stats64"]["tx"]["bytes"]
    return total


def antiphon(*arguments: object) -> tuple[str, str]:
    """Returns a command's standard output and standard error."""
    command = [sys.executable, "-m", "antiphon", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env={**os.environ})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def machine_of_two_nodes() -> dict[str, Any]:
    """Returns the machine of the lab below, as `antiphon map` reads it."""
    nodes = [{"name": f"node0{n}", "cores": 4, "port_bytes_per_s": 1.19e7} for n in (1, 2)]
    levels = [{"width": 4, "latency_s": 2e-6, "bytes_per_s": 3e9}]
    return {"name": "two nodes", "nodes": nodes, "latency_s": 8e-5, "bytes_per_s": 1.19e7, "levels": levels}


@pytest.mark.measures
def test_from_a_trace_to_a_mapped_run(cluster: Callable[..., ClusterSpec], tmp_path: Path) -> None:
    """GIVEN neighbours on different nodes THEN the mapped run sends as much less between nodes as was predicted."""
    mpi = by_name("openmpi")
    solver = [str(program("demo-sweep3d", mpi.abi)), "--local", "12", "--steps", "6"]
    (tmp_path / "machine.json").write_text(json.dumps(machine_of_two_nodes()))
    name = f"placement-{os.getpid()}"
    lab = Lab(cluster(nodes=2, ranks_per_node=4), name)
    lab.up(keep=True)
    try:
        start = sent(lab)
        env = launch.rank_environment(mpi, launch.Settings(), {"ANTIPHON_TRACE": str(tmp_path / "run.trace")})
        lab.mpirun(mpi, 8, solver, env=env, timeout_s=60, map_by="node").check()
        before = sent(lab) - start
        shown, _ = antiphon(
            "map", tmp_path / "run.trace", tmp_path / "machine.json", "-o", tmp_path / "p.json", "--json", "--no-bind"
        )
        told = json.loads(shown)
        start = sent(lab)
        where = ("--name", name, "--mpi", mpi.prefix, "--placement", tmp_path / "p.json", "--strict-placement")
        text, beside = antiphon("lab", "run", *where, *solver)
        after = sent(lab) - start
    finally:
        lab.down()
    assert "verified" in text
    assert "not honoured" not in beside
    costs = told["placement"]["predicted"]
    assert told["worth_it"] and told["gain"]["current"] > 1.3
    predicted = costs["current"]["between_nodes_bytes"] / costs["chosen"]["between_nodes_bytes"]
    assert predicted > 1.5
    assert before / after == pytest.approx(predicted, rel=0.15)
