# SPDX-License-Identifier: Apache-2.0
"""Collectives by multicast in an unmodified program, over real links: every byte right, also where packets are lost."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon import launch
from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import Mpi, discover

LIBRARIES = [mpi for mpi in discover() if mpi.prefix.parent.name == "mpi" and mpi.abi == mpi.family]
FORCE = ";".join(
    f"{collective}:multicast"
    for collective in ("bcast", "scatter", "allgather", "allgatherv", "allreduce", "reduce_scatter_block", "barrier")
)


@pytest.fixture(params=LIBRARIES, ids=[mpi.family for mpi in LIBRARIES], scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Mpi, Path]:
    mpi: Mpi = request.param
    mpicc = shutil.which("mpicc", path=str(mpi.launcher.parent))
    if mpicc is None or not launch.preload_object(mpi.abi).is_file():
        pytest.skip(f"{mpi.label} has no mpicc, or there is no preload object for it")
    program = tmp_path_factory.mktemp(mpi.family) / "multicast"
    source = Path(__file__).with_name("multicast.c")
    subprocess.run([mpicc, "-O1", "-o", program, source], check=True, timeout=60)
    return mpi, program


def run(lab: Lab, built: tuple[Mpi, Path], ranks: int, *argv: str, tmp_path: Path, **env: str) -> dict[str, Any]:
    """The summary's multicast part, and what was used; every byte was right."""
    mpi, program = built
    summary = tmp_path / "summary.json"
    env = {"ANTIPHON_SUMMARY": str(summary), **env}
    preload = [launch.preload_object(mpi.abi)]
    result = lab.mpirun(mpi, ranks, [program, *argv], env=env, preload=preload, timeout_s=90).check()
    assert re.search(r"operations \d+ wrong 0 ", result.stdout), result.stdout
    return json.loads(summary.read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize("members", [0, 2])
def test_every_byte_right_with_loss(
    cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path, members: int
) -> None:
    """GIVEN 2 % of the packets thrown away on arrival THEN all collectives are right, by multicast."""
    force = f"{FORCE};scatterv:multicast:members={members}"
    with Lab(cluster(nodes=3)) as lab:
        found = run(
            lab, built, 3, "120", "30000", tmp_path=tmp_path, ANTIPHON_FORCE=force, ANTIPHON_MULTICAST_LOSS="0.02"
        )
    assert found["multicast"]["refused"] == 0
    assert found["multicast"]["data_packets_sent"] > 100
    assert found["multicast"]["repaired_packets"] > 0
    # The program's own reduction of what was wrong has no multicast in it.
    used = {
        row["collective"]: row["algorithm"]
        for row in found["collectives"]
        if row["bytes"] and row["collective"] != "reduce"
    }
    assert {name: text for name, text in used.items() if "multicast" not in text or "without" in text} == {}


def test_several_ranks_of_a_node(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path) -> None:
    """GIVEN two ranks on each node THEN one of them speaks for both, and all bytes are right."""
    with Lab(cluster(nodes=2, ranks_per_node=2)) as lab:
        found = run(
            lab, built, 4, "80", "20000", tmp_path=tmp_path, ANTIPHON_FORCE=f"{FORCE};scatterv:multicast:members=1"
        )
    assert found["multicast"]["opened"] > 0
    # Of scatterv's groups of some ranks, those whose ranks share a node.
    assert found["multicast"].get("refusal", "all ranks are on one node") == "all ranks are on one node"


def test_one_node_or_switched_off(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path) -> None:
    """GIVEN no multicast THEN a forced choice goes by messages to each receiver, and the summary says why."""
    with Lab(cluster(nodes=2)) as lab:
        found = run(lab, built, 2, "40", "5000", tmp_path=tmp_path, ANTIPHON_FORCE=FORCE, ANTIPHON_MULTICAST="off")
    assert "switched off" in found["multicast"]["refusal"]
    bcast = [row["algorithm"] for row in found["collectives"] if row["collective"] == "bcast"]
    assert all("without multicast" in text for text in bcast), bcast
