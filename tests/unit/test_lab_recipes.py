# SPDX-License-Identifier: Apache-2.0
"""Checks what MPI launchers are told about a lab, and what `ip` and `tc` are told about its network."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon import cli
from antiphon.commands import lab as lab_command
from antiphon.errors import AntiphonError
from antiphon.lab import agent as agent_script
from antiphon.lab import load_cluster, network, recipes
from antiphon.lab.lab import RunResult
from antiphon.placement import Node, Placement

HOSTS = ["node01", "node02"]


@dataclass
class FakeMpi:
    family: str
    version: str
    prefix: Path | None = Path("/opt/mpi")
    launcher: Path | None = Path("/opt/mpi/bin/mpirun")
    libmpi: Path = Path("/opt/mpi/lib/libmpi.so")
    vendor: str = ""
    device: str = ""
    name: str = "MPICH"


def launch(mpi: FakeMpi, n_ranks: int = 2, map_by: str = "node", **environment: str) -> recipes.LabLaunch:
    transport = recipes.choose_transport(mpi, None)
    job = recipes.Job(("./program", "-x"), n_ranks, {"A": "1;2"}, ("/lib/one.so",), map_by, transport)
    return recipes.build(mpi, job, HOSTS, Path("/state/hosts"), Path("/state/agent"), environment)


@pytest.mark.parametrize("mpi", [FakeMpi("openmpi", "5.0.1"), FakeMpi("openmpi", "4.1.4"), FakeMpi("mpich", "5.0")])
def test_preloads_and_settings_are_the_ranks_own(mpi: FakeMpi) -> None:
    made = launch(mpi, PATH="/usr/bin", LD_PRELOAD="/users/own.so", PMIX_RANK="3", OMPI_MCA_btl_base_verbose="1")
    assert made.argv[-5:] == ["/usr/bin/env", "A=1;2", "LD_PRELOAD=/lib/one.so", "./program", "-x"]
    assert "LD_PRELOAD" not in made.env
    assert "PMIX_RANK" not in made.env  # of a job that the caller is part of
    assert made.env["OMPI_MCA_btl_base_verbose"] == "1"
    assert made.env["PATH"] == "/opt/mpi/bin:/usr/bin"
    assert made.env["LD_LIBRARY_PATH"] == "/opt/mpi/lib"


BATCH = {"SLURM_JOB_ID": "1", "SLURM_JOBID": "1", "SLURM_NODELIST": "cn01", "PBS_JOBID": "1", "PBS_NODEFILE": "/nodes",
         "LSB_JOBID": "1", "LSB_MCPU_HOSTS": "cn01 4", "FLUX_URI": "local:///run", "PE_HOSTFILE": "/hosts"}  # fmt: skip


@pytest.mark.parametrize("mpi", [FakeMpi("openmpi", "5.0.1"), FakeMpi("openmpi", "4.1.4"), FakeMpi("mpich", "5.0")])
def test_a_lab_is_no_part_of_the_batch_job_it_is_in(mpi: FakeMpi) -> None:
    """GIVEN variables that have launchers take the job's nodes and no others THEN none comes to the lab's launcher."""
    assert not BATCH.keys() & launch(mpi, **BATCH).env.keys()


def test_a_transport_that_may_hang_is_the_last_choice_and_not_a_silent_one() -> None:
    built = "MPICH Version: 4.0.2 MPICH Device: ch4:ucx ofi MPICH configure: "
    assert recipes.choose_transport(FakeMpi("mpich", "4.0.2", vendor=built), None) == "ofi"
    assert recipes.choose_transport(FakeMpi("mpich", "5.0.2", vendor=built), None) == "ucx"
    alone = FakeMpi("mpich", "4.0.2", device="ch4:ucx")
    assert recipes.choose_transport(alone, None) == "ucx"
    warning = recipes.trouble(alone, "ucx", 3)
    assert warning is not None
    assert "MPI_Finalize" in warning
    assert recipes.trouble(alone, "ucx", 2) is None
    assert recipes.trouble(alone, "ofi", 3) is None
    assert recipes.trouble(FakeMpi("mpich", "4.1", device="ch4:ucx"), "ucx", 3) is None


def test_open_mpi_changed_the_name_of_its_remote_shell() -> None:
    assert launch(FakeMpi("openmpi", "5.0.1")).argv[1:4] == ["--prtemca", "plm_ssh_agent", "/state/agent"]
    assert launch(FakeMpi("openmpi", "4.1.4")).argv[1:4] == ["--mca", "plm_rsh_agent", "/state/agent"]


@pytest.mark.parametrize(
    ("version", "n_ranks", "transports"),
    [("5.0.1", 2, "tcp,self"), ("5.0.1", 3, "tcp,self,sm"), ("4.1.4", 2, "tcp,self"), ("4.1.4", 4, "tcp,self,vader")],
)
def test_shared_memory_only_where_ranks_share_a_node(version: str, n_ranks: int, transports: str) -> None:
    made = launch(FakeMpi("openmpi", version), n_ranks)
    assert made.argv[made.argv.index("btl") + 1] == transports
    assert made.hosts == "".join(f"{host} slots={-(-n_ranks // 2)}\n" for host in HOSTS)


def test_mpich_places_ranks_by_its_host_file() -> None:
    assert launch(FakeMpi("mpich", "5.0"), 4, "node").hosts == "node01:1\nnode02:1\n"
    assert launch(FakeMpi("mpich", "5.0"), 4, "slot").hosts == "node01:2\nnode02:2\n"


@pytest.mark.parametrize(
    ("vendor", "device", "transport"),
    [
        ("MPICH Version: 5.0.2 MPICH Device: ch4:ucx ofi MPICH configure: x", "ch4:ucx", "ucx"),
        ("MPICH Version: 4.0.2 MPICH Device: ch4:ucx MPICH configure: x", "ch4:ucx", "ucx"),
        ("", "ch3:nemesis", "ch3"),
        ("", "", "ofi"),
    ],
)
def test_mpich_transport_is_one_that_was_built(vendor: str, device: str, transport: str) -> None:
    mpi = FakeMpi("mpich", "5", vendor=vendor, device=device)
    made = launch(mpi)
    assert made.transport == f"{transport} (tcp)"
    assert made.env.get("MPIR_CVAR_CH4_NETMOD") == (None if transport == "ch3" else transport)
    with pytest.raises(AntiphonError, match="no transport 'pigeon'"):
        recipes.choose_transport(mpi, "pigeon")


def test_spinning_collectives_of_mpich_are_off_only_where_ranks_share_a_node() -> None:
    name = "MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM"
    assert name not in launch(FakeMpi("mpich", "5.0"), 2).env
    assert launch(FakeMpi("mpich", "5.0"), 4).env[name] == "mpir"
    assert launch(FakeMpi("mpich", "5.0"), 4, **{name: "auto"}).env[name] == "auto"


def test_a_library_without_launcher_is_an_error() -> None:
    with pytest.raises(AntiphonError, match="has no launcher"):
        launch(FakeMpi("mpich", "5.0", launcher=None))


@pytest.mark.parametrize(
    "arguments",
    [
        ["node03", "prted", "--x"],  # Open MPI
        ["-x", "node03", "prted", "--x"],  # Hydra
        ["-o", "BatchMode=yes", "-q", "user@node03", "prted", "--x"],
    ],
)
def test_the_remote_shell_takes_arguments_as_ssh_does(arguments: list[str]) -> None:
    assert agent_script.split_arguments(arguments) == ("node03", "prted --x")


def test_network_lines_name_each_node_once_and_shape_both_ends() -> None:
    spec = load_cluster("paper1-29")
    links = network.switch_links(spec, [f"/proc/{pid}/ns/net" for pid in range(1001, 1030)])
    assert sum(" netns /proc/10" in line for line in links) == 29
    assert "link set port15 master sw-a up" in links
    assert "link set port16 master sw-b up" in links
    shaping = network.switch_shaping(spec)
    assert len(shaping) == 29 + 2
    assert "qdisc add dev port01 root tbf rate 100000000bit burst 8192 limit 131072" in shaping
    assert network.node_shaping(spec) == ["qdisc add dev eth0 root tbf rate 100000000bit burst 8192 limit 2097152"]
    inside = network.node_links(spec, 2, "cubic")
    assert sum(line.startswith("neigh ") for line in inside) == 28
    assert any(line.endswith("src 10.77.0.2 congctl cubic") for line in inside)


@pytest.mark.parametrize(
    ("options", "longest_bytes"),
    [
        ({"nodes": 2}, 14745),
        ({"nodes": 2, "port_buffer": "128kb"}, None),
        ({"switches": [1, 1], "port_buffer": "512kb", "uplink_buffer": "64kb"}, 29491),
    ],
)
def test_packets_with_offloads_fit_twice_into_the_smallest_queue(
    options: dict[str, Any], longest_bytes: int | None
) -> None:
    spec = load_cluster().with_options(**{"rate": "1gbit", "port_buffer": "32kb", **options})
    limits = [line.split()[-1] for line in network.node_links(spec, 1, "cubic") if "gso_max_size" in line]
    assert limits == ([str(longest_bytes)] if longest_bytes else [])


def test_hardware_addresses_are_local_and_different() -> None:
    addresses = {network.mac(number) for number in range(1, 201)}
    assert len(addresses) == 200
    assert all(int(address[:2], 16) & 3 == 2 for address in addresses)


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(network, "_SEARCH_PATH", os.fspath(tmp_path))
    with pytest.raises(AntiphonError, match="`ip` is not installed") as caught:
        network.check_tools(load_cluster())
    assert "iproute2" in caught.value.hint


@pytest.mark.parametrize(
    ("said", "hint"),
    [("RTNETLINK answers: Operation not permitted", "--cap-add NET_ADMIN"), ("Unknown device type.", "modprobe")],
)
def test_a_refusal_of_the_network_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, hint: str
) -> None:
    """GIVEN an `ip` without the right to change the network, or without a kernel module THEN the hint is about that."""
    tool = tmp_path / "ip"
    tool.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setattr(network, "_SEARCH_PATH", str(tmp_path))
    with pytest.raises(AntiphonError, match=said) as caught:
        network.run_batch("ip", ["link set lo up"])
    assert hint in caught.value.hint


class Listening(nullcontext):
    """A lab that is not there, and keeps the number of ranks that it is to start."""

    started = 0

    def __init__(self, spec: Any) -> None:
        super().__init__()
        self.spec = spec

    def mpirun(self, _mpi: Any, ranks: int, *_: Any, **__: Any) -> RunResult:
        Listening.started = ranks
        return RunResult(0, "", "", 0.1)


@pytest.mark.parametrize(("options", "ranks"), [([], 3), (["-n", "5"], 5)])
def test_the_ranks_of_a_placement_are_announced(
    options: list[str], ranks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a placement of fewer ranks than the lab has cores THEN as many are announced as start."""
    Placement([Node("node01", 2), Node("node02", 2)], [0, 1, 1], [0, 0, 1]).save(tmp_path / "placed.json")
    monkeypatch.setattr(lab_command, "Lab", Listening)
    monkeypatch.setattr(lab_command, "find_mpi", lambda *_, **__: SimpleNamespace(note="", label="MPICH"))
    words = ["--plain", "--nodes", "4", "--placement", str(tmp_path / "placed.json"), *options, "/bin/true"]
    assert cli.main(["lab", "run", *words]) == 0
    assert f"; {ranks} ranks, MPICH" in capsys.readouterr().err
    assert Listening.started == ranks
