# SPDX-License-Identifier: Apache-2.0
"""Checks cables whose packets a process carries: latency, buffers that ports share, and marks."""

from __future__ import annotations

import json
import os
import signal
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from antiphon.errors import AntiphonError
from antiphon.lab import ClusterSpec, Lab, cables, kernel
from antiphon.mpi import discover

# This prints how many microseconds each of 20 connections takes to be made, which is one round trip.
CONNECT = """
import socket, sys, time
for _ in range(20):
    start = time.monotonic()
    try: socket.create_connection((sys.argv[1], 9), timeout=10)
    except ConnectionRefusedError: pass
    print((time.monotonic() - start) * 1e6)
"""


def round_trip_us(lab: Lab, programs: ModuleType, source: int, target: int) -> float:
    command = programs.python(CONNECT, lab.spec.node_name(target))
    return statistics.median(map(float, lab.execute(source, command, timeout_s=20).check().stdout.split()))


def counts_after(lab: Lab) -> dict[str, cables.Counts]:
    time.sleep(1.5)  # They are written once a second.
    return {one.name: one for one in cables.counts(Path(lab.record()["state_dir"]))}


def test_latency_between_switches(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    with Lab(cluster(nodes=None, switches=[2, 1], uplink_latency="20ms")) as lab:
        assert round_trip_us(lab, programs, 1, 2) < 20_000
        assert 40_000 <= round_trip_us(lab, programs, 1, 3) < 60_000


def test_latency_of_links(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    with Lab(cluster(nodes=2, latency="5ms")) as lab:
        # Four links, two there and two back.
        assert 20_000 <= round_trip_us(lab, programs, 1, 2) < 30_000
        assert set(counts_after(lab)) == {"port01", "port02", "far01", "far02"}


@pytest.mark.measures
@pytest.mark.parametrize("offloads", [False, True])
def test_a_carried_link_has_its_rate(cluster: Callable[..., ClusterSpec], programs: ModuleType, offloads: bool) -> None:
    with Lab(cluster(nodes=3, rate="50mbit", latency="100us", offloads=offloads)) as lab:
        rate = programs.throughput_bits_per_s(lab, 1, [2, 3], windows=10, window_s=0.1)
    assert 0.9 * lab.limit_bits_per_s < rate.undisturbed
    assert rate.mean < 1.01 * lab.limit_bits_per_s


@pytest.mark.measures
def test_ports_share_a_buffer(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    with Lab(cluster(nodes=5, rate="50mbit", shared_buffer="60kb")) as lab:
        rate = programs.throughput_bits_per_s(lab, 1, [2, 3, 4, 5], windows=5, window_s=0.1)
        port = counts_after(lab)["port01"]
    assert rate.undisturbed > 0.8 * lab.limit_bits_per_s
    assert port.dropped > 0
    assert 20_000 < port.longest_bytes <= 30 * 1024 + 1514  # half of the whole


@pytest.mark.measures
def test_marks_keep_a_queue_short(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    with Lab(cluster(nodes=3, rate="50mbit", ecn="30kb", port_buffer="1mb")) as lab:
        rate = programs.throughput_bits_per_s(lab, 1, [2, 3], windows=5, window_s=0.1)
        port = counts_after(lab)["port01"]
    assert rate.undisturbed > 0.8 * lab.limit_bits_per_s
    assert port.marked > 0
    assert port.dropped == 0
    assert port.longest_bytes < 500_000


def test_multicast_passes_carried_cables(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    with Lab(cluster(nodes=None, switches=[2, 2], latency="10us", uplink_latency="10us")) as lab:
        assert programs.receive_datagrams(lab, "239.1.2.3", [2, 3, 4], sender=1, number=100) == [100, 100, 100]


def test_a_program_runs_over_carried_cables(cluster: Callable[..., ClusterSpec]) -> None:
    mpi = next((one for one in discover() if one.launcher is not None and one.abi == one.family), None)
    if mpi is None:
        pytest.skip("no MPI on this machine")
    spec = cluster(nodes=None, switches=[2, 2], uplink_latency="200us", shared_buffer="1mb", ecn="64kb")
    with Lab(spec) as lab:
        program = cables.places.compiled() / f"antiphon-check-{mpi.abi}"
        result = lab.mpirun(mpi, 4, [str(program), "--quick"], timeout_s=120)
        assert result.exit_code == 0, result.stderr
        status = cables.counts(Path(lab.record()["state_dir"]))
    assert all(one.dropped == 0 for one in status)


def test_a_lab_ends_with_the_process_that_carries_its_packets(cluster: Callable[..., ClusterSpec]) -> None:
    with Lab(cluster(nodes=2, latency="1ms")) as lab:
        init = lab.record()["init"][0]
        children = Path(f"/proc/{init}/task/{init}/children").read_text(encoding="ascii").split()
        names = {int(pid): Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip() for pid in children}
        (carrier,) = [pid for pid, name in names.items() if name.startswith("antiphon-lab-c")]
        os.kill(carrier, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while kernel.process_start_time(init) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert kernel.process_start_time(init) is None


def test_without_its_device_the_lab_says_what_it_needs(
    cluster: Callable[..., ClusterSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cables, "_DEVICE", "/dev/net/there-is-none")
    with pytest.raises(AntiphonError, match="need tap interfaces") as raised:
        cables.check(cluster(nodes=2, latency="1ms"))
    assert "modprobe tun" in raised.value.hint
    cables.check(cluster(nodes=2))  # A lab that needs none is fine.


def test_the_plan_of_two_switches(cluster: Callable[..., ClusterSpec]) -> None:
    spec = cluster(nodes=None, switches=[1, 1], shared_buffer="1mb", ecn="30kb", uplink_latency="1ms")
    names = [end for cable in cables.carried(spec) for end in cable.ends]
    assert names == ["up0a", "up0b", "port01", "far01", "port02", "far02"]
    document = cables.plan(spec, {name: number for number, name in enumerate(names)}, Path("counts"))
    assert json.loads(json.dumps(document)) == document
    assert document["pools_bytes"] == [1 << 20, 1 << 20]
    by_name = {one["name"]: one for one in document["directions"]}
    assert [by_name[name]["pool"] for name in ("up0a", "up0b", "port01", "port02")] == [0, 1, 0, 1]
    assert by_name["up0a"]["latency_ns"] == 1_000_000
    assert by_name["port02"] | {"from": 0, "to": 0} == {
        "name": "port02", "from": 0, "to": 0, "pool": 1, "bits_per_s": 100_000_000, "burst_bytes": 8192,
        "buffer_bytes": 128 * 1024, "mark_bytes": 30 * 1024, "latency_ns": 0,
    }  # fmt: skip
    # A node's own end has a rate and a queue in the kernel.
    assert by_name["far01"] == {"name": "far01", "from": 3, "to": 2, "latency_ns": 0}
