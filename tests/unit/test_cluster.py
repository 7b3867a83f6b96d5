# SPDX-License-Identifier: Apache-2.0
"""Cluster files, their profiles and bounds, and the fit to measurements of a real cluster."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from antiphon import core, model
from antiphon.cluster import bounds, estimate, files, fit, hosts, measured, of_profile, profile
from antiphon.cluster.spec import Level, regular_tree
from antiphon.errors import AntiphonError
from antiphon.report import cluster_page
from antiphon.simulate import growth

TAURUS = Path(__file__).resolve().parents[1] / "data/taurus"


@pytest.mark.parametrize("name", files.names())
def test_every_cluster_makes_a_profile_that_the_core_reads(name):
    spec = files.load(name)
    for variant in hosts.VARIANTS:
        said = core.query("profile", text=profile.text_of(spec, variant))
        assert said["nodes"] == spec.nodes
        assert said["port_bytes_per_s"] == pytest.approx(spec.port_bytes_per_s)
        assert said["switches"] == len(spec.switches)


def test_hosts_say_where_their_values_come_from_and_slow_is_slower():
    for row in hosts.table().values():
        assert row.basis in hosts.BASES
        assert len(row.source) > 40
        for name, (fast, typical, slow) in row.values.items():
            upwards = fast <= typical <= slow
            assert upwards if name.endswith("_us") else fast >= typical >= slow or fast == 0


@pytest.mark.parametrize("rate", ["10gbit", "25gbit", "100gbit"])
def test_a_run_without_a_profile_takes_the_table_s_typical_host(tmp_path, rate):
    path = tmp_path / "one-switch.toml"
    path.write_text(f'rate = "{rate}"\nnodes = 4\nranks_per_node = 2\n')
    spec = files.load(str(path))
    described = model.ModelledMachine(8, 2, profile.text_of(spec))
    guessed = model.ModelledMachine(8, 2, link_bits_per_s=spec.rate_bits_per_s)
    for choice in ("windowed", "rotated:piece_bytes=65536", "bruck"):
        for size in (64, 65536, 1 << 20):
            own, told = (
                model.predict("alltoall", [size], machine, choices=[choice]).sizes[size][0].seconds
                for machine in (guessed, described)
            )
            assert own == pytest.approx(told, rel=0.02), (choice, size)


def test_what_needs_switches_is_predicted_on_a_large_tree_of_them():
    spec = files.load("25gbe-1024x32-3levels-4to1")
    machine = model.ModelledMachine(spec.ranks, spec.ranks_per_node, profile.text_of(spec))
    found = model.predict("allreduce", [1024], machine, choices=["switch_rings"])
    assert found.complaints() == []
    assert [one.algorithm for one in found.sizes[1024]] == ["switch_rings"]
    assert found.sizes[1024][0].seconds > spec.hosts.host().latency_us * 1e-6


def test_a_tree_of_three_levels_has_the_uplinks_that_were_asked_for():
    switches = regular_tree(64, [Level(8, 1), Level(32, 4)], 10**10, 1000)
    assert [s.nodes for s in switches].count(8) == 8
    assert {s.uplink_bits_per_s for s in switches if s.nodes == 8} == {8 * 10**10}
    assert {s.uplink_bits_per_s for s in switches[1:3]} == {8 * 10**10}
    assert all(switch.parent < place for place, switch in enumerate(switches))
    with pytest.raises(AntiphonError):
        regular_tree(64, [Level(24)], 10**10, 1000)


def test_a_tree_may_have_many_levels():
    switches = regular_tree(1024, [Level(2**power) for power in range(1, 10)], 10**10, 1000)
    assert {switch.name[0] for switch in switches[1:]} == set("abcdefghi")
    assert sum(switch.nodes for switch in switches) == 1024


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes = 4", "'rate' is missing"),
        ('rate = "10gbit"', "'nodes' is missing"),
        ('rate = "fast"\nnodes = 4', "'rate'"),
        ('rate = "10gbit"\nnodes = 4\nspeed = 3', "unknown field 'speed'"),
        ('rate = "10gbit"\nnodes = 4\nhosts = "none"', "no hosts named 'none'"),
        ('rate = "10gbit"\nnodes = 4\n[host]\nlatency_us = [1, 2]', "host.latency_us"),
        ('rate = "10gbit"\nnodes = 4\n[host]\nspeed = 1', "host.speed"),
        ('rate = "10gbit"\nnodes = 0', "1 to 65536 nodes"),
        ('rate = "10gbit"\nnodes = 8\n[[level]]\nnodes = 3', "do not make a tree"),
        ('rate = "10gbit"\nswitch = [{name = "a", nodes = 2}, {name = "b", nodes = 2}]', "not all joined"),
        ('rate = "10gbit"\nswitch = []', "'switch' holds no switch"),
        ('rate = "10gbit"\nnodes = 4\n[host]\ncore_mb_per_s = 0', "host.core_mb_per_s"),
        ('rate = "10gbit"\nnodes = 4\n[host]\nmemory_mb_per_s = [1, 1, 0]', "host.memory_mb_per_s"),
        (f'rate = "10gbit"\nnodes = {2**40}\n[[level]]\nnodes = 2', "1 to 65536 nodes"),
        (f"rate = {'[' * 5000}", "not valid TOML"),
        ("rate = ", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_said_with_its_name(tmp_path, text, said):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(AntiphonError) as error:
        files.load(str(path))
    assert said in error.value.message
    assert "wrong.toml" in error.value.message


def test_the_bound_says_what_binds(tmp_path):
    path = tmp_path / "four.toml"
    path.write_text('rate = "100gbit"\nnodes = 4\n[host]\ncore_mb_per_s = 1000\nconnection_mb_per_s = 0\n')
    slow_hosts = files.load(str(path))
    found = bounds.bound_of("alltoall", 10**6, slow_hosts, 4)
    assert found is not None
    assert (found.binds, found.seconds) == ("host", pytest.approx(2 * 3 * 10**6 / 1e9))
    path.write_text('rate = "1gbit"\nnodes = 4\nranks_per_node = 4\n[[level]]\nnodes = 2\noversubscription = 4\n')
    tree = files.load(str(path))
    across = bounds.bound_of("alltoall", 1000, tree, 16)
    assert across is not None
    assert across.binds == "uplink"
    assert across.seconds == pytest.approx(8 * 8 * 1000 / (2 * tree.port_bytes_per_s / 4))
    assert bounds.bound_of("barrier", 0, tree, 16) is None


def test_an_estimate_is_of_the_root_that_is_asked_for(tmp_path):
    """GIVEN a slow link between four nodes and two THEN it carries the blocks of the ranks that are not the root's."""
    path = tmp_path / "six.toml"
    switches = '[[switch]]\nname = "a"\nnodes = 4\n[[switch]]\nname = "b"\nnodes = 2\n'
    path.write_text(f'rate = "1gbit"\n{switches}[[uplink]]\nbetween = ["a", "b"]\nrate = "100mbit"\n')
    spec = files.load(str(path))
    of_first, of_last = (estimate.Estimator(spec, 6, "mpich-5", root).estimate("scatter", 10**5) for root in (0, 5))
    assert of_first.bound and of_last.bound and of_first.bound.binds == of_last.bound.binds == "uplink"
    assert of_last.bound.seconds > 1.9 * of_first.bound.seconds
    assert of_last.antiphon and of_first.antiphon and of_last.antiphon.typical_s > 1.5 * of_first.antiphon.typical_s


def test_an_estimate_has_a_range_and_no_time_below_the_bound(tmp_path):
    estimator = estimate.Estimator(files.load("10gbe-12"), 12, "openmpi-5.0")
    for collective, size in (("bcast", 1 << 20), ("alltoall", 65536), ("allgather", 65536)):
        one = estimator.estimate(collective, size)
        assert one.library and one.antiphon and one.bound and one.gain
        assert one.antiphon.low_s <= one.antiphon.typical_s <= one.antiphon.high_s
        assert one.library.typical_s >= one.antiphon.typical_s
        assert one.antiphon.typical_s > 0.99 * one.bound.seconds
        json.dumps(one.to_json())


def test_a_fit_to_a_real_cluster_predicts_what_it_did_not_use():
    """GIVEN messages of 12 nodes with 10 GbE THEN half of the long ones give a host that predicts the others."""
    found = fit.Measurements.read(
        TAURUS / "point_to_point.csv",
        TAURUS / "saturation_send.csv",
        TAURUS / "saturation_sendrecv_same.csv",
        TAURUS / "saturation_sendrecv_diff.csv",
    )
    spec = fit.fitted("taurus", 10**10, found, "test")
    host = spec.hosts.host()
    assert spec.nodes == 12
    assert spec.hosts.eager_bytes == 65536
    assert 20 < host.latency_us < 28
    # A core moves more than a connection carries, and less than the port both ways.
    assert host.connection_mb_per_s < host.core_mb_per_s < 2 * spec.port_bytes_per_s * 1e-6
    compared = fit.compare(spec, found)
    held_out = [abs(one.error) for one in compared if not one.used]
    assert len(held_out) == 7
    assert max(held_out) < 0.10


@pytest.mark.parametrize(("size", "duration"), [(1024, 0), (0, 1)])
def test_messages_that_take_no_time_fit_nothing(size, duration, tmp_path):
    path = tmp_path / "ring.csv"
    path.write_text("rank,bytes,start_ms,duration_ms\n" + f"0,{size},1,{duration}\n1,{size},1,{duration}\n")
    with pytest.raises(AntiphonError, match=f"ring.csv: messages of {size} bytes take"):
        measured.saturation(path)


def test_a_fitted_file_reads_back(tmp_path):
    spec = files.load("10gbe-12")
    path = tmp_path / "again.toml"
    path.write_text(fit.text_of(spec))
    again = files.load(str(path))
    assert again.hosts.host() == spec.hosts.host()
    assert again.nodes == spec.nodes


def test_the_table_has_the_values_of_the_fit():
    """GIVEN the same measurements THEN the table's typical 10 Gb/s host is what they give, within a tenth."""
    found = fit.Measurements.read(*(TAURUS / name for name in (
        "point_to_point.csv", "saturation_send.csv", "saturation_sendrecv_same.csv", "saturation_sendrecv_diff.csv"
    )))  # fmt: skip
    own = fit.fitted("taurus", 10**10, found, "test").hosts.host()
    typical = hosts.table()["tcp-10gbe"].host()
    for name in ("latency_us", "send_us", "receive_us", "core_mb_per_s", "connection_mb_per_s"):
        assert getattr(typical, name) == pytest.approx(getattr(own, name), rel=0.1), name


def test_a_part_of_a_cluster_has_its_shape():
    whole = files.load("25gbe-1024x32-3levels-2to1")
    part = whole.thinned(8)
    assert (part.nodes, part.levels()) == (8, 3)
    assert sorted(switch.nodes for switch in part.switches if switch.nodes) == [1] * 8
    # Of each level: what its nodes can send, over what its uplink carries.
    for switch, below in zip(part.switches, part.nodes_below(), strict=True):
        if switch.parent >= 0:
            share = len(below) * part.rate_bits_per_s / switch.uplink_bits_per_s
            assert share == pytest.approx(1 if switch.nodes else 2)
    assert whole.thinned(whole.nodes) == whole


def test_ranks_are_counted_by_switch():
    racks = files.load("two-racks-16x4")
    assert racks.switch_sizes(64) == (32, 32)
    assert racks.switch_sizes(40) == (32, 8)
    assert racks.with_ranks(None, 1).switch_sizes(11) == (8, 3)
    assert racks.switch_sizes(32) == files.load("ethernet-16").switch_sizes(16) == ()


def test_a_measured_machine_is_a_cluster_for_simulators():
    spec = files.load("two-racks-16x4")
    back = of_profile.spec_of(profile.document(spec), "again")
    assert (back.nodes, back.ranks_per_node, back.levels()) == (spec.nodes, spec.ranks_per_node, spec.levels())
    assert back.rate_bits_per_s == pytest.approx(spec.rate_bits_per_s, abs=1)
    assert [s.uplink_bits_per_s for s in back.switches] == [s.uplink_bits_per_s for s in spec.switches]
    host, was = back.hosts.host(), spec.hosts.host()
    for name in ("latency_us", "send_us", "core_mb_per_s", "connection_mb_per_s", "memory_us"):
        assert getattr(host, name) == pytest.approx(getattr(was, name), rel=0.02)


def test_growth_has_both_ways_and_the_simulator_s_points(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text('rate = "25gbit"\nnodes = 8\nranks_per_node = 4\n[[level]]\nnodes = 4\noversubscription = 2\n')
    smpirun = shutil.which("smpirun")
    parts = growth.parts_of(files.load(str(path)), 32)
    points = list(growth.growth(parts, "openmpi-5.0", "bcast", 65536, smpirun and Path(smpirun)))
    assert [point.estimate.ranks for point in points] == [8, 32]
    assert all(point.estimate.flat and point.estimate.nested for point in points)
    assert all((point.simulated_flat_s is not None) == bool(smpirun) for point in points)
    chart = cluster_page.over_ranks(points)
    assert [series.name for series in chart.series][:3] == ["library", "Antiphon, flat", "Antiphon, nested"]
