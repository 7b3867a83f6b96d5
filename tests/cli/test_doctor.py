# SPDX-License-Identifier: Apache-2.0
"""Checks the lines of `antiphon doctor`, their exit code, and that it notices what is broken."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from control_group import joining

from antiphon import checks, nodes
from antiphon.bench import testbed
from antiphon.checks import machine, multicast
from antiphon.checks import mpi as mpi_checks

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def with_objects(objects, monkeypatch):
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(objects))


def test_json_schema_and_exit_code(antiphon):
    result = antiphon("doctor", "--json")
    data = json.loads(result.stdout)
    assert set(data) == {"ok", "mpi", "checks"}
    for line in data["checks"]:
        assert set(line) == {"group", "name", "status", "detail", "hint"}
        assert line["status"] in ("ok", "warn", "fail") and line["detail"]
        assert (line["hint"] is None) == (line["status"] == "ok"), line
    failed = [line for line in data["checks"] if line["status"] == "fail"]
    assert data["ok"] is (not failed) and result.returncode == (1 if failed else 0)
    # The objects of these tests come without the core, so exactly the core must be missing.
    assert [line["name"] for line in failed] == ["core"]
    groups = {"Antiphon", "MPI", "Fortran", "lab", "multicast", "CPU", "profiles"}
    assert {line["group"] for line in data["checks"]} == groups
    assert data["mpi"] and all({"family", "abi", "version", "libmpi", "launcher"} <= set(mpi) for mpi in data["mpi"])


@pytest.mark.parametrize("cluster", ["paper1-29", "my.toml"])
def test_a_cluster_in_the_place_of_a_program_is_said(antiphon, cluster):
    result = antiphon("doctor", "--lab", cluster, "--mpi", "mpich")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == (
        f"error: {cluster} is a cluster, but stands where the program does\nhint: write --lab={cluster}\n"
    )


def test_a_library_is_started_and_intercepted(mpi, with_objects):
    lines = list(mpi_checks.of_library(mpi))
    assert [(line.status, line.name) for line in lines] == [("ok", mpi.label), ("ok", f"{mpi.label} under Antiphon")]


def test_two_ranks_start_on_the_hardware_threads_of_one_core(mpi, monkeypatch):
    """GIVEN one core with two hardware threads THEN Open MPI, which has one slot for it, is told to take more ranks."""
    started = []

    def tried(command, *_):
        started.extend(command)
        return subprocess.CompletedProcess(command, 1, "", "")

    monkeypatch.setattr(mpi_checks.cores, "count", lambda: 1)
    monkeypatch.setattr(mpi_checks, "tried", tried)
    mpi_checks.run_program(mpi, {})
    assert ("--oversubscribe" in started) == (mpi.family == "openmpi")


def test_a_launcher_that_fails_is_noticed(mpi, with_objects):
    broken = replace(mpi, launcher=Path(shutil.which("false")))
    (line,) = mpi_checks.of_library(broken)
    assert line.status == "warn" and line.hint


def test_without_a_working_mpi_it_fails(mpi, with_objects, monkeypatch):
    broken = replace(mpi, launcher=Path(shutil.which("false")))
    assert [line.status for line in mpi_checks.checks([broken]) if line.group == "MPI"] == ["fail"]
    assert [line.status for line in mpi_checks.checks([]) if line.group == "MPI"] == ["fail"]


def test_an_object_that_intercepts_nothing_is_noticed(mpi, tmp_path, monkeypatch):
    (tmp_path / "empty.c").write_text("int antiphon_test_empty;")
    library = tmp_path / f"libantiphon-{mpi.abi}.so"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "empty.c", "-o", library], check=True, timeout=60)
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(tmp_path))
    works, under = mpi_checks.of_library(mpi)
    assert works.status == "ok"
    assert under.status == "fail" and "does not intercept" in under.detail


def test_missing_objects_are_failures_only_where_they_are_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(tmp_path))
    found = {line.name: line.status for line in mpi_checks.of_objects({"mpich"})}
    assert found == {"preload object openmpi": "warn", "preload object mpich": "fail", "preload object mpiabi": "warn"}


def test_fortran_bindings_of_debian(mpi):
    if not shutil.which("gfortran") or not mpi_checks.fortran_wrapper(mpi):
        pytest.skip("no gfortran, or an MPI without Fortran")
    found = {line.name: line.detail for line in mpi_checks.fortran([mpi])}
    assert found[mpi.label] == "mpif.h, use mpi, mpi_f08"


def test_namespaces_agree_with_unshare():
    if not shutil.which("unshare"):
        pytest.skip("no unshare to compare with")
    kinds = ["--net", "--mount", "--uts", "--ipc", "true"]
    plain = subprocess.run(["unshare", *kinds], stderr=subprocess.DEVNULL, timeout=30, check=False)
    mapped = ["unshare", "--user", "--map-root-user", *kinds]
    user = subprocess.run(mapped, stderr=subprocess.DEVNULL, timeout=30, check=False)
    expected = False if plain.returncode == 0 else True if user.returncode == 0 else None
    assert machine.namespaces_need_user() is expected
    assert machine.namespaces(expected).status == ("warn" if expected is None else "ok")


def test_what_only_the_lab_needs_is_said(monkeypatch):
    """GIVEN nothing that the emulated cluster needs THEN each of these lines says that programs do not need it."""
    monkeypatch.setattr(machine, "tried", lambda command, *_, **__: subprocess.CompletedProcess(command, 1, "", "no\n"))
    lines = [line for line in machine.checks() if line.status != "ok"]
    assert [(line.group, line.name) for line in lines] == [("lab", "namespaces"), ("lab", "scheduling")]
    assert all(line.hint.startswith("only `antiphon lab` needs it: ") for line in lines)


def test_limited_processor_time_is_said(limited_group):
    """GIVEN a control group that limits processor time THEN the line of the CPU says how much it allows."""
    line = "from antiphon.checks import machine; print(machine.cpu().detail)"
    argv = joining(limited_group(0.75), [sys.executable, "-c", line])
    result = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert "processor time of 0.75 cores by a control group" in result.stdout, result.stderr


def test_links_are_tried_and_nothing_is_left():
    user = machine.namespaces_need_user()
    if user is None:
        pytest.skip("namespaces are refused here")
    links = ["ip", "-o", "link"]
    if not shutil.which("ip"):
        pytest.skip("no iproute2")
    before = subprocess.run(links, capture_output=True, text=True, timeout=30, check=True).stdout
    lines = {line.name: line for line in machine.traffic_control(user)}
    assert set(lines) == {"links", "link rates", "packet loss"}
    assert lines["links"].status == "ok", lines["links"].detail
    assert subprocess.run(links, capture_output=True, text=True, timeout=30, check=True).stdout == before


def test_multicast_on_an_address_that_is_not_there():
    line = multicast.round_trip("nowhere", "203.0.113.1")
    assert line.status == checks.WARN and "203.0.113.1" in line.detail and line.hint


def test_multicast_on_loopback():
    assert multicast.round_trip("loopback", "127.0.0.1").status == checks.OK


@pytest.mark.parametrize(
    ("found", "status", "said"),
    [
        ({"works": True, "nodes": 16, "latency_s": 1e-4, "g_s": [[0, 0]], "bytes_per_s": 11.9e6}, checks.OK, "all 16"),
        ({"works": False, "why_not": "rank 3 hears no multicast of rank 0"}, checks.WARN, "rank 3 hears no multicast"),
        (None, checks.WARN, "does not say"),
    ],
)
def test_multicast_between_nodes_is_told_from_a_profile(
    tmp_path: Path, found: dict[str, object] | None, status: str, said: str
) -> None:
    profile = tmp_path / "machine.json"
    measured = json.loads((DATA / "ethernet-16.openmpi.json").read_text(encoding="utf-8"))
    measured.pop("multicast", None)
    profile.write_text(json.dumps(measured if found is None else {**measured, "multicast": found}))
    line = multicast.between_nodes(profile)
    assert line.status == status and said in line.detail
    assert (line.hint is None) == (status == checks.OK)


def test_interfaces_and_bridges_that_stop_multicast_are_told(tmp_path: Path) -> None:
    """GIVEN an interface without the multicast flag, and a bridge without a querier, THEN both are warned of."""
    for name, flags in (("lo", "0x9"), ("eth0", "0x1003"), ("tun0", "0x1"), ("down0", "0x0"), ("br0", "0x1003")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "flags").write_text(f"{flags}\n")
    bridge = tmp_path / "br0" / "bridge"
    bridge.mkdir()
    (bridge / "multicast_snooping").write_text("1\n")
    (bridge / "multicast_querier").write_text("0\n")
    lines = list(multicast.interfaces(tmp_path))
    assert [(line.name, line.status) for line in lines] == [("br0", checks.WARN), ("tun0", checks.WARN)]


def test_a_command_that_hangs_has_failed(tmp_path, monkeypatch):
    """GIVEN a compiler that waits for something THEN there are no bindings, and no error."""
    wrapper = tmp_path / "mpifort"
    wrapper.write_text("#!/bin/sh\nexec sleep 60\n")
    wrapper.chmod(0o755)
    monkeypatch.setattr(mpi_checks, "TIMEOUT_S", 0.2)
    assert not mpi_checks._compiles(wrapper, "end")  # noqa: SLF001
    ended = checks.tried([str(wrapper)], 0.2)
    assert (ended.returncode, ended.stderr) == (1, f"{wrapper}: takes longer than 0.2 s")
    assert "No such file" in checks.tried([str(tmp_path / "none")], 1).stderr


def test_nodes_are_checked_with_the_profile(tmp_path, monkeypatch, command):
    """GIVEN a profile THEN the calls that are tried use it, and what the probe heard is told."""
    profile = DATA / "ethernet-16.openmpi.json"
    ran = []

    def run(_self, _mpi, _n, _argv, *, env, **_):
        ran.append(env)
        return testbed.Exit(0, "")

    monkeypatch.setattr(testbed.HostTestbed, "run", run)
    monkeypatch.setattr(nodes, "survey", lambda *_: nodes.Survey(["here"]))
    (tmp_path / "hosts").write_text("here\n")
    result = command("doctor", "--profile", profile, "--json", "--hostfile", tmp_path / "hosts")
    assert ran[-1]["ANTIPHON_PROFILE"] == str(profile), result
    assert "between nodes" in [line["name"] for line in json.loads(result.stdout)["checks"]]
