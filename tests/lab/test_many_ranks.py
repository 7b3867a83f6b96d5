# SPDX-License-Identifier: Apache-2.0
"""Checks ten collectives among several ranks a node on a lab.

ANTIPHON_SLOW=1 takes 256 ranks on 16 nodes, too, and 512 ranks of Open MPI on 64 where the machine has memory for them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import by_name

PROGRAM = Path(__file__).resolve().parents[1] / "mpi" / "programs" / "many_ranks.c"
SHAPES = [(3, 5), (16, 16), (64, 8)] if os.environ.get("ANTIPHON_SLOW") else [(3, 5)]
#: Measured with 512 ranks: what a rank takes of the machine, its connections and what it shares with others included.
RANK_MIB = 45
#: Two cores start 512 ranks and run them in four minutes.
LIMIT_S = 540
NESTED = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter_block", "gather", "scatter")
WAYS = {"by-default": "", "nested": ";".join(f"{collective}:nested" for collective in NESTED)}


def available_mib() -> int:
    """Returns the memory that programs can still have."""
    found = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) >> 10


@pytest.fixture(params=SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def lab(request: pytest.FixtureRequest, cluster: Callable[..., ClusterSpec]) -> Iterator[tuple[str, int]]:
    """Makes a lab with links of 1 Gb/s, and gives its name and its number of ranks."""
    nodes, ranks_per_node = request.param
    if nodes * ranks_per_node * RANK_MIB > available_mib():
        pytest.skip(f"{nodes * ranks_per_node} ranks need {RANK_MIB} MiB each, and {available_mib()} MiB are available")
    name = f"many-ranks-{os.getpid()}"
    one = Lab(cluster(nodes=nodes, ranks_per_node=ranks_per_node, rate="1gbit"), name)
    one.up(keep=True)
    yield name, nodes * ranks_per_node
    one.down()


@pytest.mark.timeout(LIMIT_S + 60)
@pytest.mark.parametrize("family", ["openmpi", "mpich"])
@pytest.mark.parametrize("way", WAYS)
def test_results(lab: tuple[str, int], family: str, way: str, made_once: Callable[..., Path], tmp_path: Path) -> None:
    """GIVEN many ranks on a few nodes THEN all results are right."""
    name, ranks = lab
    if family == "mpich" and ranks > 256:
        pytest.skip("without Antiphon, too, MPICH 5.0.2 opens all connections in MPI_Init and fails on two cores")
    mpi = by_name(family)

    def compile_it(folder: Path) -> None:
        compiler = mpi.prefix / "bin" / "mpicc"
        subprocess.run([compiler, "-O1", PROGRAM, "-o", folder / "program"], check=True, timeout=60)

    program = made_once(f"many-ranks-{family}", compile_it) / "program"
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")}
    env["XDG_CACHE_HOME"] = str(tmp_path)
    command = [sys.executable, "-m", "antiphon", "lab", "run", "--name", name, "-n", str(ranks), "--mpi", mpi.prefix]
    command += [f"--summary={tmp_path}/run.json", *(["--force", WAYS[way]] if WAYS[way] else [])]
    command += ["--timeout", str(LIMIT_S), program]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{ranks} ranks: 0 wrong" in done.stdout
    rows = json.loads((tmp_path / "run.json").read_text())["collectives"]
    used = {row["collective"] for row in rows if row["algorithm"].split(":")[0] == "nested"}
    if way == "nested":
        assert used >= set(NESTED)
