# SPDX-License-Identifier: Apache-2.0
"""Checks the emulated wire: its rate, its switch ports, its switches, multicast and loss."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from types import ModuleType

import pytest

from antiphon.lab import ClusterSpec, Lab, Loss, pacing
from antiphon.lab.spec import Traffic


@pytest.mark.measures
def test_one_stream_reaches_the_payload_rate_of_the_link(
    cluster: Callable[..., ClusterSpec], programs: ModuleType
) -> None:
    with Lab(cluster(nodes=2)) as lab:
        rate = programs.throughput_bits_per_s(lab, 1, [2])
        assert rate.undisturbed > 0.97 * lab.limit_bits_per_s
        assert rate.mean < 1.01 * lab.limit_bits_per_s


@pytest.mark.measures
def test_incast_fills_the_port_and_overruns_its_buffer(
    cluster: Callable[..., ClusterSpec], programs: ModuleType
) -> None:
    with Lab(cluster(nodes=9)) as lab:
        rate = programs.throughput_bits_per_s(lab, 1, list(range(2, 10)), windows=10, window_s=0.1)
        port = lab.execute("switch", ["/usr/sbin/tc", "-s", "qdisc", "show", "dev", "port01"]).check().stdout
        dropped = int(re.search(r"dropped (\d+)", port)[1])
        assert rate.undisturbed > 0.85 * lab.limit_bits_per_s
        assert rate.mean < 1.01 * lab.limit_bits_per_s
        assert dropped > 0


@pytest.mark.measures
def test_a_connection_has_a_rate_of_its_own(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can limit the rate of connections")
    with Lab(cluster(nodes=4, rate="40mbit", connection_rate="10mbit")) as lab:
        one = programs.throughput_bits_per_s(lab, 1, [2], windows=5, window_s=0.1)
        three = programs.throughput_bits_per_s(lab, 1, [2, 3, 4], windows=5, window_s=0.1)
        guardian = lab.record()["guardian"][0]
    assert 0.85 * 10e6 < one.undisturbed < 1.05 * 10e6
    assert 0.85 * 30e6 < three.undisturbed < 1.05 * 30e6
    assert not list(pacing.own_group().glob(f"antiphon-lab-{guardian}"))


@pytest.mark.measures
def test_another_job_takes_its_share(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    spec = dataclasses.replace(cluster(nodes=3, rate="40mbit"), traffic=(Traffic(3, 1, 30_000_000),))
    with Lab(spec) as lab:
        rate = programs.throughput_bits_per_s(lab, 1, [2], windows=10, window_s=0.1)
    # Two streams share a port: the other one gets less than it would like, this one no more than is left or half.
    assert 0.2 * 40e6 < rate.mean < 0.7 * 40e6


@pytest.mark.measures
def test_uplink_is_shared_by_the_nodes_of_a_switch(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    with Lab(cluster(nodes=None, switches=[2, 1], rate="50mbit", uplink_rate="10mbit")) as lab:
        rate = programs.throughput_bits_per_s(lab, 3, [1, 2], windows=10, window_s=0.1)
        assert rate.undisturbed > 0.8 * 10e6
        assert rate.mean < 1.01 * 10e6


def test_multicast_reaches_members_behind_another_switch(
    cluster: Callable[..., ClusterSpec], programs: ModuleType
) -> None:
    with Lab(cluster(nodes=None, switches=[2, 2])) as lab:
        counts = programs.receive_datagrams(lab, "239.1.2.3", [2, 3, 4], sender=1, number=100)
        assert counts == [100, 100, 100]


def test_loss_drops_its_share_where_it_was_asked_for(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    with Lab(cluster(nodes=3, loss=Loss(20.0, "udp", (2,)))) as lab:
        lossy, clean = programs.receive_datagrams(lab, "239.1.2.3", [2, 3], sender=1, number=1000)
        assert clean == 1000
        assert 730 < lossy < 870  # The bounds are five standard deviations.


def test_congestion_control_is_not_the_pacing_kind(lab: Lab) -> None:
    route = lab.execute(1, ["/usr/sbin/ip", "route", "show", "dev", "eth0"]).check().stdout
    assert f"congctl {lab.record()['congestion_control']}" in route
    assert lab.record()["congestion_control"] in ("cubic", "reno")


def test_offloads_follow_the_cluster(cluster: Callable[..., ClusterSpec], programs: ModuleType) -> None:
    for wanted in (False, True):
        with Lab(cluster(nodes=1, offloads=wanted)) as lab:
            text = lab.execute(1, programs.python(programs.READ_OFFLOADS)).check().stdout
            assert text.split() == [str(int(wanted))] * 3


@pytest.mark.parametrize(("rate", "longest_bytes"), [("200mbit", 7372), ("1gbit", 65536)])
def test_packets_with_offloads_fit_into_a_burst(
    cluster: Callable[..., ClusterSpec], rate: str, longest_bytes: int
) -> None:
    with Lab(cluster(nodes=1).with_options(rate=rate)) as lab:
        link = lab.execute(1, ["/usr/sbin/ip", "-details", "link", "show", "eth0"]).check().stdout
        assert f"gso_max_size {longest_bytes} " in link
