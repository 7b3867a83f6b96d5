# SPDX-License-Identifier: Apache-2.0
"""Runs `antiphon doctor --hostfile` and `antiphon selftest` on nodes that are namespaces, as on a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.lab import ClusterSpec, Lab
from antiphon.lab.node import remote_shell
from antiphon.lab.recipes import launcher_env
from antiphon.mpi import Mpi, discover, launch

#: One of each family, the newest.
LIBRARIES = [
    next(mpi for mpi in discover() if mpi.launcher is not None and mpi.abi == family)
    for family in sorted({mpi.family for mpi in discover() if mpi.abi == mpi.family})
]
NODES = 3
Answer = tuple[int, dict[str, Any]]


@pytest.fixture(params=LIBRARIES, ids=[mpi.label.replace(" ", "-") for mpi in LIBRARIES])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    return request.param


@pytest.fixture
def nodes(cluster: Callable[..., ClusterSpec]) -> Iterator[Lab]:
    with Lab(cluster(nodes=NODES)) as made:
        yield made


@pytest.fixture
def on_first(nodes: Lab, mpi: Mpi, tmp_path: Path) -> Callable[..., Answer]:
    """Runs a command on the first node with a hostfile, by the library's own launcher and the lab's remote shell."""

    def run(*words: str, hosts: list[str] | None = None) -> Answer:
        hostfile = tmp_path / "hosts"
        hostfile.write_text("".join(f"{host} slots=1\n" for host in hosts or nodes.spec.node_names()))
        agent = remote_shell(nodes.state_dir)
        how = {"openmpi": f"--prtemca plm_ssh_agent {agent} --mca pml ob1 --mca btl tcp,self",
               "mpich": f"-launcher ssh -launcher-exec {agent}"}[mpi.family]  # fmt: skip
        env = launcher_env(mpi, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
        if mpi.family == "openmpi":
            env["OPAL_PREFIX"] = str(mpi.prefix)
        else:
            env |= {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
        argv = [sys.executable, "-m", "antiphon", words[0], "--json", "--hostfile", str(hostfile)]
        argv += ["--launcher-args", how, "--link-rate", "100mbit", "--mpi", str(mpi.libmpi), *words[1:]]
        done = nodes.execute(1, argv, env=env, cwd=str(tmp_path), timeout_s=150)
        assert done.stdout.startswith("{"), done.stderr
        return done.exit_code, json.loads(done.stdout)

    return run


def lines(document: dict[str, Any], status: str) -> dict[str, str]:
    return {line["name"]: line["detail"] for line in document["checks"] if line["status"] == status}


def test_all_nodes_are_looked_at(on_first: Callable[..., Answer], nodes: Lab, mpi: Mpi) -> None:
    """GIVEN a program and healthy nodes THEN each is named, they hear each other, and calls would be accelerated."""
    program = launch.lib_dir() / f"antiphon-demo-fft3d-{mpi.abi}"
    nodes.execute(2, ["ip", "link", "set", "eth0", "mtu", "1400"], timeout_s=20).check()
    code, found = on_first("doctor", str(program))
    assert code == 0 and found["ok"] and found["accelerated"], found
    assert sorted(found["nodes"]) == nodes.spec.node_names()
    assert all(node["program"]["digest"] for node in found["nodes"].values())
    well = lines(found, "ok")
    assert f"on all {NODES} nodes" in well["installation"] and f"on all {NODES} nodes" in well["MPI library"]
    assert well["multicast"] == f"all {NODES} nodes hear each other"
    assert "TCP" in well[f"{NODES} ranks"] and "eth0" in well[f"{NODES} ranks"]
    assert "MTU 1400 on node02" in lines(found, "warn")["frames"]
    assert found["answer"][0].startswith("yes: ")
    by = {(call["collective"], call["bytes"]): call for call in found["run"]["calls"]}
    assert by["alltoall", 65536]["accelerated"] and all(call["accelerated"] or call["reason"] for call in by.values())


def test_a_node_that_is_not_there_is_named(on_first: Callable[..., Answer]) -> None:
    """GIVEN a hostfile with a node that cannot be reached THEN the others answer, and a line names it."""
    code, found = on_first("doctor", hosts=["node01", "node02", "node17"])
    assert code == 1 and not found["ok"] and not found["accelerated"]
    assert "does not reach it" in lines(found, "fail")["node17"]
    assert {"node01", "node02"} <= {host for host, facts in found["nodes"].items() if "missing" not in facts}
    assert found["answer"][0].startswith("no: ")


@pytest.mark.parametrize("mpi", LIBRARIES[:1], ids=["one"])
def test_nodes_that_do_not_hear_each_other(on_first: Callable[..., Answer], nodes: Lab) -> None:
    """GIVEN a node that drops multicast THEN a line says who does not hear whom; the rest is as before."""
    rule = "nft add table inet t && nft add chain inet t i '{ type filter hook input priority 0; }' && " \
           "nft add rule inet t i ip daddr 239.255.0.0/16 drop"  # fmt: skip
    nodes.execute(3, ["sh", "-c", rule], timeout_s=20).check()
    _, found = on_first("doctor")
    assert "node03 do not hear all others" in lines(found, "warn")["multicast"]
    assert found["accelerated"]


def test_results_and_gain(on_first: Callable[..., Answer], mpi: Mpi) -> None:
    """GIVEN healthy nodes THEN every result is the same, and the gain of each measured call is told."""
    code, found = on_first("selftest", "--budget", "5")
    assert code == 0 and found["ok"] and found["results"]["same"] and found["results"]["differences"] == 0
    assert found["results"]["comparisons"] > 1000 and found["results"]["checks"]["alltoallv"] > 0
    assert found["ranks"] == NODES and len(found["gain"]["calls"]) == 8 and not found["gain"]["wrong"]
    assert 0 < found["gain"]["accelerated"] <= 8 and found["gain"]["speed_up"] > 0


def test_a_wrong_result_is_found(nodes: Lab, mpi: Mpi, tmp_path: Path) -> None:
    """GIVEN an object in LD_PRELOAD that spoils broadcasts THEN the self-test finds it."""
    source = tmp_path / "spoil.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <mpi.h>\n"
        "int MPI_Bcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {\n"
        "  int rank, result = PMPI_Bcast(b, n, t, root, c);\n  PMPI_Comm_rank(c, &rank);\n"
        "  if (n == 17 && rank != root) ((char*)b)[0] ^= 1;\n  return result;\n}\n"
    )
    spoiler = tmp_path / "libspoil.so"
    compiler = mpi.prefix / "bin" / "mpicc"
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", spoiler], check=True, timeout=60)
    from antiphon.bench import selftest
    from antiphon.bench.testbed import LabTestbed

    class Spoiled(LabTestbed):
        def run(self, *words: Any, env: Any, **more: Any) -> Any:
            return super().run(*words, env={**env, "LD_PRELOAD": str(spoiler)}, **more)

    found = selftest.check(Spoiled(nodes), mpi, NODES, lambda what: None)
    assert not found.same and found.failed["bcast"] > 0 and found.failed["alltoall"] == 0
    assert any("MPI_Bcast" in line for line in found.lines)
