# SPDX-License-Identifier: Apache-2.0
"""Checks what `antiphon doctor --hostfile` says of nodes, from answers of nodes that differ in one thing each."""

from __future__ import annotations

import copy
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from antiphon.bench.testbed import HostTestbed
from antiphon.checks import FAIL, OK, WARN
from antiphon.mpi import Mpi, jobs
from antiphon.nodes import Survey, Trial, agent, hearing, interfaces, judge, survey
from antiphon.nodes.asking import NO_PACKAGE, NO_PYTHON
from antiphon.placement.starting import Where

HOSTS = ["node1", "node2", "node3", "node4"]
NODE: dict[str, Any] = {
    "host": "", "address": "10.0.0.1", "processor": "x86_64", "kernel": "6.1", "cores": 8,
    "antiphon": {"version": "0.1.0", "builds": {"openmpi": "0123456789ab"}, "package": "/opt/antiphon"},
    "program": {"path": "/home/u/solver", "mpi": "Open MPI 5.0.11", "abi": "openmpi", "libmpi": "/opt/mpi/libmpi.so.40",
                "digest": "abc"},
    "interface": {"name": "eth0", "bits_per_s": 10**9, "mtu_bytes": 1500, "driver": "igb"}, "rdma": [],
    "open_files": 1024, "shared_memory_free_bytes": 1 << 30, "warnings": [], "settings": {},
    "multicast": {"heard": HOSTS},
}  # fmt: skip
RUN = [
    'antiphon_network{transport="TCP",interface="eth0",text="TCP on eth0 (\\"ob1/tcp\\")"} 1',
    'antiphon_collective_calls{collective="alltoall",least_bytes="65536",most_bytes="65536",'
    'done_by="rotated",reason=""} 5',
    'antiphon_collective_calls{collective="bcast",least_bytes="1024",most_bytes="1024",done_by="library",'
    'reason="short: latency decides"} 5',
    'antiphon_collective_calls{collective="scan",least_bytes="1024",most_bytes="1024",done_by="library",reason="x"} 5',
    "# EOF",
    "something else",
]


def answered(**changed: Any) -> Survey:
    """Returns the answers of four nodes; `changed` is merged into what node3 says."""
    survey = Survey(list(HOSTS))
    for host in HOSTS:
        facts = copy.deepcopy(NODE) | {"host": host}
        for key, value in changed.items() if host == "node3" else ():
            facts[key] = facts[key] | value if isinstance(value, dict) and facts[key] else value
        survey.take(agent.encode(facts))
    return survey


def ran(lines: list[str] = RUN) -> Trial:
    trial = Trial(16)
    for line in lines:
        trial.take(line)
    return trial


def test_all_is_well() -> None:
    report = judge(answered(), ran())
    assert report.ok and report.accelerated and {line.status for line in report.checks} == {OK}
    said = {line.name: line.detail for line in report.checks}
    assert said["link"] == "1 Gb/s on all 4 nodes" and said["multicast"] == "all 4 nodes hear each other"
    assert said["16 ranks"] == 'TCP on eth0 ("ob1/tcp")'
    assert report.answer[0].startswith("yes: alltoall (64 KiB) would be accelerated, on 4 nodes with 16 ranks")
    assert "left to the library: bcast (1 KiB): short: latency decides" in report.answer
    assert not any("scan" in line for line in report.answer), "only calls that the trial made are told"


@pytest.mark.parametrize("tried_first", [True, False])
def test_tried_calls_do_not_count(tried_first: bool) -> None:
    """GIVEN calls of one kind, some of which tried the library's way THEN what did most of them is told."""
    tried = RUN[1].replace('done_by="rotated",reason=""} 5', 'done_by="library",reason="by turns with rotated"} 2')
    found = ran([tried, *RUN] if tried_first else [*RUN, tried])
    assert [call.done_by for call in found.calls if call.collective == "alltoall"] == ["rotated"]
    assert not any("by turns" in line for line in judge(answered(), found).answer)


@pytest.mark.parametrize(("changed", "name", "status", "said"), [
    ({"antiphon": {"version": "0.0.9"}}, "installation", FAIL, "Antiphon 0.0.9 (build 01234567) on node3"),
    ({"antiphon": {"builds": {"openmpi": "ffffffffffff"}}}, "installation", FAIL, "(build ffffffff) on node3"),
    ({"processor": "aarch64"}, "processor", WARN, "x86_64 on node1, node2, node4; aarch64 on node3"),
    ({"program": {"mpi": "Open MPI 4.1.4"}}, "MPI library", FAIL, "Open MPI 4.1.4, /opt/mpi/libmpi.so.40 on node3"),
    ({"program": {"digest": "def"}}, "program", WARN, "(def) on node3"),
    ({"program": {"error": "/home/u/solver: no such file", "hint": "h"}}, "node3", FAIL, "no such file"),
    ({"interface": {"bits_per_s": 10**8}}, "link", WARN, "1 Gb/s on node1, node2, node4; 100 Mb/s on node3"),
    ({"interface": {"bits_per_s": None}}, "link", WARN, "rate not told by the system on node3"),
    ({"interface": {"mtu_bytes": 9000}}, "frames", WARN, "MTU 9000 on node3"),
    ({"interface": None}, "interface", WARN, "no IPv4 interface leads to the others from node3"),
    ({"multicast": {"heard": ["node3"]}}, "multicast", WARN, "(node3 not node1, node2, node4)"),
    ({"multicast": {"heard": [], "why": "No such device"}}, "multicast", WARN, "node3: No such device"),
    ({"open_files": 64}, "open files", WARN, "64 on node3"),
    ({"shared_memory_free_bytes": 1 << 20}, "shared memory", WARN, "1 MiB are free in /dev/shm on node3"),
    ({"shared_memory_free_bytes": 64 << 20}, "shared memory", WARN, "64 MiB are free in /dev/shm on node3; 128 MiB"),
    ({"shared_memory_free_bytes": (128 << 20) - 1}, "shared memory", WARN, "on node3; 128 MiB are"),
    ({"warnings": [{"name": "libx.so", "detail": "wraps", "hint": "h"}]}, "libx.so", WARN, "wraps (node3)"),
])  # fmt: skip
def test_a_node_that_differs_is_named(changed: dict[str, Any], name: str, status: str, said: str) -> None:
    """GIVEN one node of four with something else THEN a line names it, with what to do."""
    report = judge(answered(**changed), ran())
    wrong = [line for line in report.checks if line.status != OK]
    assert [(line.name, line.status) for line in wrong] == [(name, status)]
    assert said in wrong[0].detail and wrong[0].hint
    assert report.ok == (status != FAIL)
    assert any("mended first" in line for line in report.answer) == (status == FAIL)


def test_different_settings_of_nodes() -> None:
    survey = answered(settings={"ANTIPHON_FORCE": "*:library"})
    assert judge(survey, ran()).ok, "a rank without settings takes rank 0's"
    survey.facts["node1"]["settings"] = {"ANTIPHON_VERBOSE": "1"}
    assert [line.name for line in judge(survey, ran()).checks if line.status == FAIL] == ["settings"]


def test_nodes_without_an_answer() -> None:
    """GIVEN nodes that lack Python, lack Antiphon or are silent THEN each is named with its reason, and nothing ran."""
    survey = answered()
    for host in ("node2", "node3", "node4"):
        del survey.facts[host]
    survey.take(f"{NO_PYTHON} node2")
    survey.take(f"{NO_PACKAGE} node3.cluster.site")
    assert survey.unanswered() == ["node4"]
    survey.missing["node4"] = "the launcher does not reach it: no route"
    report = judge(survey, None)
    lines = {line.name: line for line in report.checks if line.status == FAIL}
    assert "is not there" in lines["node2"].detail and "same path" in lines["node2"].hint
    assert "does not start there" in lines["node3"].detail
    assert "no route" in lines["node4"].detail and "ssh node4" in lines["node4"].hint
    assert not report.accelerated and report.answer[0].startswith("no: ")


@pytest.mark.parametrize(("lines", "answer"), [
    ([RUN[0], RUN[2]], "no: the library does all calls here"),
    ([RUN[0]], "no: every call is left to the library"),
])  # fmt: skip
def test_nothing_would_be_accelerated(lines: list[str], answer: str) -> None:
    report = judge(answered(), ran(lines))
    assert report.ok and not report.accelerated and report.answer[0] == answer


def test_programs_that_run_each_for_itself() -> None:
    """GIVEN a launcher with another PMI than the library THEN the run has failed, although it ended well."""
    assert not ran(["antiphon_ranks 16", *RUN]).failed
    report = judge(answered(), ran(["antiphon_ranks 1", *RUN]))
    assert not report.ok and not report.accelerated
    assert report.checks[-1].detail == "16 ranks were asked for, and each program is a run of 1"
    assert "srun --mpi=list" in (report.checks[-1].hint or "")


def test_a_run_that_fails() -> None:
    trial = ran([])
    trial.failed = "no route to host"
    report = judge(answered(), trial)
    assert not report.ok and not report.accelerated
    assert report.checks[-1].detail == "no route to host"


@pytest.mark.parametrize("launcher", ["flux", "jsrun", "aprun"])
def test_a_launcher_that_is_told_no_nodes_asks_them_too(
    launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a job whose launcher takes no hostfile, and a node that is silent THEN the other one answers."""
    start = tmp_path / launcher
    start.write_text('#!/bin/sh\nwhile [ "$1" != /bin/sh ]; do shift; done\nexec "$@"\n')
    start.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    job = jobs.Job("Flux", ((socket.gethostname(), 2), ("silent", 2)))
    mpi = Mpi("mpich", "mpich", "MPICH", "5.0.2", "", "libmpi.so.12", tmp_path, tmp_path / "libmpi.so.12", None)
    found = survey(HostTestbed(where=Where(None, job, launcher)), mpi, [], None, lambda _: None)
    assert list(found.facts) == [socket.gethostname()]
    assert list(found.missing) == ["silent"]


@pytest.mark.parametrize("line", ["", "antiphon-node: ", "antiphon-node: AAAA", "antiphon-node: !", "hello",
                                  "antiphon-node: eJwDAAAAAAE="])  # fmt: skip
def test_other_lines_are_no_answers(line: str) -> None:
    assert agent.decode(line) is None


def test_an_answer_is_one_short_line() -> None:
    """GIVEN all facts THEN they are one line that fits into what launchers pass on at once."""
    line = agent.encode(agent.answer({"hosts": ["localhost"], "hearing": hearing.request(1)}))
    found = agent.decode(line)
    assert found is not None and found["host"] == socket.gethostname()
    assert len(line) < 4000 and "\n" not in line
    assert found["cores"] >= 1 and found["antiphon"]["builds"]


def test_programs_are_found_or_the_reason_is_told() -> None:
    found = agent.program({"program": "/nowhere/solver"})
    assert found is not None and "no such file" in found["error"] and found["hint"]
    assert agent.program({"program": None}) is None


def test_names_in_a_hostfile_may_be_long() -> None:
    survey = Survey(["a.cluster.site", "b"])
    assert survey.host_of("a") == "a.cluster.site" and survey.host_of("b.cluster.site") == "b"
    assert Survey(["10.0.0.1", "10.0.0.2"]).host_of("unknown") == "unknown"


@pytest.mark.parametrize(("below", "bits_per_s"), [
    ({}, None), ({"device": 1000}, 10**9), ({"device": -1}, None), ({"bonding": 20000}, 2 * 10**10),
    ({"lower_p1": 25000, "lower_p2": 1000}, 10**9), ({"lower_p1": 25000, "lower_v": None}, None),
])  # fmt: skip
def test_a_virtual_interface_has_the_rate_of_what_is_below(
    below: dict[str, int | None], bits_per_s: int | None, tmp_path: Path
) -> None:
    """GIVEN an interface that reports 10 Gb/s THEN only a device, a bond or ports tell its rate: a veth has none."""
    speeds = {"eth0": next((below[kind] for kind in ("device", "bonding") if kind in below), 10_000)}
    speeds |= {name.removeprefix("lower_"): rate for name, rate in below.items() if name.startswith("lower_")}
    for name, speed in speeds.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "speed").write_text(f"{10_000 if speed is None else speed}\n")
        if name != "eth0" and speed is not None:
            (tmp_path / name / "device").mkdir()
    for name in below:
        (tmp_path / "eth0" / name).mkdir()
    assert interfaces.rate(tmp_path / "eth0") == bits_per_s


def test_the_interface_with_an_address(tmp_path: Any) -> None:
    found = interfaces.with_address("127.0.0.1")
    assert found is not None and found["name"] == "lo" and found["bits_per_s"] is None
    assert interfaces.with_address("203.0.113.1") is None
    port = tmp_path / "mlx5_0" / "ports" / "1"
    port.mkdir(parents=True)
    (port / "state").write_text("4: ACTIVE\n")
    (port / "link_layer").write_text("InfiniBand\n")
    assert interfaces.rdma_devices(tmp_path) == [{"device": "mlx5_0", "layer": "InfiniBand"}]


def test_an_address_without_multicast() -> None:
    found = hearing.listen("203.0.113.1", hearing.request(2))
    assert found["heard"] == [] and found["why"]
