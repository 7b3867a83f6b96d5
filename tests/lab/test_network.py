# SPDX-License-Identifier: Apache-2.0
"""Checks the emulated wire: its rate, its switch ports, its switches, multicast and loss."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType

import pytest

from antiphon.lab import ClusterSpec, Lab, Loss


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
