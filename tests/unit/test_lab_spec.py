# SPDX-License-Identifier: Apache-2.0
"""Checks descriptions of labs: units, cluster files, options."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import pytest

from antiphon.commands import lab
from antiphon.errors import AntiphonError
from antiphon.lab import ClusterSpec, Loss, cluster_names, load_cluster
from antiphon.lab.clusters import spec_from_dict
from antiphon.lab.spec import Traffic
from antiphon.units import format_rate, format_size, parse_rate, parse_size


@pytest.mark.parametrize(
    ("text", "bits_per_s"), [("100mbit", 10**8), ("1gbit", 10**9), ("2.5Gbit", 25 * 10**8), (" 64 kbit ", 64000)]
)
def test_rates_are_decimal(text: str, bits_per_s: int) -> None:
    assert parse_rate(text) == bits_per_s
    assert parse_rate(format_rate(bits_per_s)) == bits_per_s


@pytest.mark.parametrize(("text", "size"), [("8kb", 8192), ("2mb", 2 << 20), ("1600", 1600), ("128KiB", 131072)])
def test_sizes_are_powers_of_two_as_in_tc(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize("text", ["", "fast", "100", "0mbit", "-1mbit", "10mb"])
def test_wrong_rates_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        parse_rate(text)


def test_the_shipped_clusters_are_those_of_the_papers() -> None:
    names = cluster_names()
    assert {"ethernet-16", "paper1-16", "paper1-29", "paper2-16x4", "gigabit-8"} <= set(names)
    for name in names:
        spec = load_cluster(name)
        assert spec.name == name
        assert spec.description
    assert [s.nodes for s in load_cluster("paper1-29").switches] == [15, 14]
    assert load_cluster("paper2-16x4").ranks == 64
    gigabit = load_cluster("gigabit-8")
    assert (gigabit.nodes, gigabit.rate_bits_per_s, gigabit.offloads) == (8, 10**9, True)
    assert (gigabit.burst_bytes, gigabit.port_buffer_bytes) == (64 << 10, 512 << 10)


def test_payload_limit_of_fast_ethernet() -> None:
    assert load_cluster().limit_bits_per_s == pytest.approx(95.64e6, rel=1e-3)


@pytest.mark.parametrize("name", cluster_names())
def test_a_spec_survives_its_written_form(name: str) -> None:
    spec = load_cluster(name).with_options(loss=Loss(2.5, "udp", (1, 2)), connection_rate="2mbit")
    spec = dataclasses.replace(spec, traffic=(Traffic(1, 2), Traffic(2, 1, 3_000_000)))
    assert spec_from_dict(spec.to_dict(), "test") == spec


def test_a_new_rate_brings_its_defaults_and_given_values_stay() -> None:
    fast = load_cluster().with_options(rate="1gbit")
    assert (fast.burst_bytes, fast.port_buffer_bytes, fast.offloads) == (64 << 10, 512 << 10, True)
    between = load_cluster().with_options(rate="200mbit")
    assert (between.burst_bytes, between.port_buffer_bytes, between.offloads) == (8 << 10, 128 << 10, True)
    assert (load_cluster().node_buffer_bytes, between.node_buffer_bytes) == (2 << 20, 32 << 20)
    mixed = load_cluster().with_options(rate="1gbit", port_buffer="32kb", offloads=False)
    assert (mixed.burst_bytes, mixed.port_buffer_bytes, mixed.offloads) == (64 << 10, 32 << 10, False)


def test_switches_from_options_stand_in_a_row() -> None:
    spec = load_cluster().with_options(switches=[2, 3, 4], uplink_rate="1gbit")
    assert spec.nodes == 9
    assert [uplink.between for uplink in spec.uplinks] == [("a", "b"), ("b", "c")]
    assert {uplink.rate_bits_per_s for uplink in spec.uplinks} == {10**9}
    assert [spec.switch_of(number) for number in (1, 2, 3, 5, 6, 9)] == [0, 0, 1, 1, 2, 2]


def test_options_of_links_and_losses() -> None:
    """GIVEN the command's options THEN the cluster has the bursts, buffers and losses that they say."""
    parser = argparse.ArgumentParser()
    lab.add_arguments(parser)
    words = "up --switches 1,2 --burst 16kb --buffer 64kb --uplink-buffer 256kb --loss 5 --loss-protocol udp"
    spec = lab._spec(parser.parse_args(words.split()))
    assert (spec.nodes, spec.burst_bytes, spec.port_buffer_bytes) == (3, 16 << 10, 64 << 10)
    assert [uplink.buffer_bytes for uplink in spec.uplinks] == [256 << 10]
    assert spec.loss == Loss(5.0, "udp")


def test_options_of_carried_cables() -> None:
    parser = argparse.ArgumentParser()
    lab.add_arguments(parser)
    words = "up --switches 1,2 --latency 20us --uplink-latency 1.5ms --shared-buffer 256kb --ecn 30kb"
    spec = lab._spec(parser.parse_args(words.split()))
    assert (spec.latency_ns, spec.shared_buffer_bytes, spec.ecn_bytes) == (20_000, 256 << 10, 30 << 10)
    assert [uplink.latency_ns for uplink in spec.uplinks] == [1_500_000]
    assert spec_from_dict(spec.to_dict(), "test") == spec
    assert spec.smallest_buffer_bytes == (256 << 10) // 4  # two nodes and the uplink share it
    assert "256kb buffer for all ports of a switch, marks from 30kb, 1500us latency" in spec.summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 0}, "no nodes"),
        ({"nodes": 201}, "too many nodes: 201"),
        ({"rate": "quick"}, "--link-rate: 'quick' is not a rate"),
        ({"port_buffer": "1kb"}, "at least one frame"),
        ({"switches": [2, 2], "uplink_buffer": "1kb"}, "at least one frame"),
        ({"ranks_per_node": 0}, "ranks per node"),
        ({"uplink_rate": "1gbit"}, "need several switches"),
        ({"nodes": 5, "switches": [2, 2]}, "contradicts --switches"),
        ({"latency": "soon"}, "--latency: 'soon' is not a time"),
        ({"latency": "0s"}, "must be above zero"),
        ({"latency": "2s"}, "latency of more than 1s"),
        ({"switches": [1, 1], "uplink_latency": "1500ms"}, "latency of more than 1s"),
        ({"uplink_latency": "1ms"}, "need several switches"),
        ({"shared_buffer": "16kb"}, "at least one frame"),
        ({"ecn": "128kb"}, "marks from 128kb on, but a port holds at most 128kb"),
        ({"ecn": "40kb", "shared_buffer": "64kb"}, "a port holds at most 32kb"),
        ({"loss": Loss(101.0)}, "loss of 101 percent"),
        ({"loss": Loss(1.0, "icmp")}, "protocol 'icmp'"),
        ({"loss": Loss(1.0, "udp", (17,))}, "loss on node 17"),
    ],
)
def test_impossible_options_say_why(options: dict[str, object], message: str) -> None:
    with pytest.raises(AntiphonError, match=message):
        load_cluster().with_options(**options)  # type: ignore[arg-type]


def test_nodes_of_a_cluster_with_two_switches_are_ambiguous() -> None:
    with pytest.raises(AntiphonError, match="ambiguous"):
        load_cluster("paper1-16").with_options(nodes=4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes = 'many'", "field 'nodes' must be a whole number"),
        ("nodes = true", "field 'nodes' must be a whole number"),
        ("nodes = 2\nrat = '1gbit'", "unknown field 'rat'"),
        ("nodes = 2\nrate = '1 furlong'", "field 'rate': '1 furlong' is not a rate"),
        ("rate = '1gbit'", "field 'nodes' is missing"),
        ("nodes = 2\n[[switch]]\nnodes = 2", "both 'nodes' and 'switch'"),
        ("[[switch]]\nname = 'a'", r"field 'switch\[0\].nodes' is missing"),
        ("[[switch]]\nnodes = 2\n[[switch]]\nnodes = 2", "not all joined"),
        ("[[switch]]\nnodes = 2\n[[uplink]]\nbetween = ['a', 'z']", "names a switch there is not"),
        ("[[switch]]\nnodes = 2\n[[uplink]]\nbetween = ['a', 'a']", "closes a loop"),
        ("nodes = 2\n[loss]\nprotocol = 'udp'", "field 'loss.percent' is missing"),
        ("nodes = 2\n[loss]\npercent = 'much'", "field 'loss.percent' must be a number"),
        ("nodes = 2\nnode_buffer = '1kb'", "at least one frame"),
        ("nodes = 2\nconnection_rate = '20gbit'", "at most 16gbit"),
        ("nodes = 2\nlatency = '1 day'", "field 'latency': '1 day' is not a time"),
        ("nodes = 2\necn = 5", "field 'ecn' must be a string"),
        ("[[switch]]\nnodes = 2\n[[uplink]]\nlatency = 'x'\nbetween = ['a', 'b']", r"field 'uplink\[0\].latency'"),
        ("nodes = 2\n[[traffic]]\nfrom = 1", r"'traffic\[0\].to' is missing"),
        ("nodes = 2\n[[traffic]]\nfrom = 1\nto = 3", "traffic of node 3"),
        ("nodes = 2\n[[traffic]]\nfrom = 1\nto = 1", "to itself"),
        ("nodes = ", "is not valid TOML"),
        ("switch = []", "has no switch"),
        (f"nodes = {'[' * 5000}", "is not valid TOML"),
    ],
)
def test_wrong_cluster_files_name_the_field(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(AntiphonError, match=message) as caught:
        load_cluster(path)
    assert str(path) in str(caught.value)


def test_unknown_clusters_list_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(AntiphonError, match="no cluster named 'ethernet-17'") as caught:
        load_cluster("ethernet-17")
    assert "ethernet-16" in caught.value.hint
    with pytest.raises(AntiphonError, match="does not exist"):
        load_cluster(tmp_path / "none.toml")


def test_a_cluster_file_with_only_a_number_of_nodes_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text("nodes = 4\n")
    spec: ClusterSpec = load_cluster(str(path))
    assert (spec.name, spec.nodes, spec.rate_bits_per_s, spec.offloads) == ("small", 4, 10**8, False)
