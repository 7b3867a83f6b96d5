# SPDX-License-Identifier: Apache-2.0
"""Checks limits against counts made by hand, and against schedules' own traffic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from antiphon import packed, run_summary
from antiphon.bench import tables
from antiphon.bench.collectives import CollectiveMeasurement, CollectiveResults
from antiphon.bench.testbed import lab_network
from antiphon.lab import load_cluster
from antiphon.model import bounds
from antiphon.model.limits import (
    PAYLOAD_SHARE,
    Network,
    UplinkLimit,
    below_note,
    least_of,
    limit_s,
    loads_of,
    node_bytes,
    ratio_text,
)
from antiphon.report.kinds import bench as bench_report

RESULTS = Path(__file__).resolve().parents[2] / "bench/results"

KIB = 1024


def blocks(ranks: int, per_node: int) -> list[int]:
    return [rank // per_node for rank in range(ranks)]


@pytest.mark.parametrize(
    ("collective", "m", "expected"),
    [
        ("barrier", 0, 0),
        ("bcast", 100, 100),
        ("reduce", 100, 100),
        ("scan", 100, 100),
        ("exscan", 100, 100),
        ("scatter", 100, 300),
        ("gatherv", 100, 300),
        ("allgather", 100, 300),
        ("alltoall", 100, 300),
        ("allreduce", 100, 150),
        ("reduce_scatter_block", 100, 300),
    ],
)
def test_four_nodes_of_one_rank(collective: str, m: int, expected: float) -> None:
    assert node_bytes(collective, m, blocks(4, 1)) == expected


@pytest.mark.parametrize(
    ("collective", "expected"),
    [
        ("alltoall", 2 * 6 * 100),
        ("allgather", 600),
        ("scatter", 600),
        ("allreduce", 150),
        ("reduce_scatter", 600),
        ("bcast", 100),
    ],
)
def test_two_ranks_on_each_of_four_nodes(collective: str, expected: float) -> None:
    assert node_bytes(collective, 100, blocks(8, 2)) == expected


def test_only_the_roots_node_is_busy_in_scatter() -> None:
    nodes = [0, 1, 1, 1]
    assert node_bytes("scatter", 10, nodes, root=0) == 30  # all three others are elsewhere
    assert node_bytes("scatter", 10, nodes, root=1) == 10  # one of them is


def test_uneven_nodes_count_the_busiest() -> None:
    assert node_bytes("alltoall", 1, [0, 0, 0, 1, 2]) == 3 * 2
    assert node_bytes("allgather", 1, [0, 0, 0, 1, 2]) == 4  # the lone rank's node takes in four blocks


@pytest.mark.parametrize("collective", ["bcast", "alltoall", "allreduce", "gather", "barrier"])
def test_one_node_has_no_limit(collective: str) -> None:
    assert limit_s(collective, KIB, Network.blocks(4, 4, 1e8)) is None


def test_the_labs_known_figures() -> None:
    """Checks the figures of docs: 16 nodes, 100 Mb/s; milliseconds as measured programs were compared with."""
    network = Network.blocks(16, 1, 1e8 * PAYLOAD_SHARE)
    known = {
        ("alltoall", 64): 82,
        ("alltoall", 256): 329,
        ("bcast", 256): 22,
        ("allreduce", 256): 41,
        ("reduce_scatter_block", 64): 82,
    }
    for (collective, kib), milliseconds in known.items():
        assert limit_s(collective, kib * KIB, network) == pytest.approx(milliseconds / 1000, rel=0.02)
    four_each = Network.blocks(64, 4, 1e8 * PAYLOAD_SHARE)
    assert limit_s("alltoall", 64 * KIB, four_each) == pytest.approx(1.32, rel=0.01)


def test_an_uplink_is_the_bottleneck_of_two_switches() -> None:
    network = Network.blocks(8, 1, 1e9)
    split = Network(network.node_of_rank, 1e9, [UplinkLimit(frozenset(range(4)), 1e9)])
    assert limit_s("alltoall", 1000, network) == pytest.approx(7 * 8000 / 1e9)
    assert limit_s("alltoall", 1000, split) == pytest.approx(4 * 4 * 8000 / 1e9)
    assert limit_s("bcast", 1000, split) == limit_s("bcast", 1000, network)


def test_the_uplink_of_a_cluster_file() -> None:
    spec = load_cluster("paper1-29")
    network = lab_network(spec, list(range(29)))
    assert [len(uplink.nodes) for uplink in network.uplinks] == [15]
    assert limit_s("alltoall", 1000, network) == pytest.approx(15 * 14 * 8000 / (1e8 * PAYLOAD_SHARE))


def test_an_unknown_collective_is_refused() -> None:
    with pytest.raises(ValueError, match="alltoallw"):
        node_bytes("alltoallw", 1, [0, 1])


def test_a_burst_is_in_the_least_time_once_for_calls_in_a_row() -> None:
    network = Network.blocks(2, 1, 8e6)
    network = Network(network.node_of_rank, 8e6, [UplinkLimit(frozenset([0]), 4e6, 500)], 1000)
    loads = list(loads_of("bcast", 3000, network))
    assert least_of(loads) == pytest.approx(8 * 2500 / 4e6), "the link between switches is the narrower one"
    assert least_of(loads, calls=10) == pytest.approx(8 * 2950 / 4e6)
    assert least_of(list(loads_of("bcast", 400, network))) == 0.0
    assert limit_s("bcast", 400, network) == pytest.approx(8 * 400 / 4e6)


@pytest.mark.parametrize(
    ("file", "cluster"),
    [
        ("tuned/ethernet-16-mpich.json.gz", "ethernet-16"),
        ("multicast/ethernet-16-openmpi.json.gz", "ethernet-16"),
        ("two-switches/paper1-16-mpich-short.json.gz", "paper1-16"),
        ("model/paper2-16x4-openmpi.json.gz", "paper2-16x4"),
    ],
)
def test_no_recorded_time_is_below_the_least(file: str, cluster: str) -> None:
    """GIVEN results with times below the limit of calls without end THEN the links' bursts explain them all."""
    rows = json.loads(packed.read_text(RESULTS / file))["results"]
    whole = lab_network(load_cluster(cluster), [])
    below = 0
    for row in rows:
        per_node = -(-row["ranks"] // row["nodes"])
        places = [rank // per_node for rank in range(row["ranks"])]
        loads = list(loads_of(row["collective"], row["bytes"], Network(places, whole.node_bits_per_s, whole.uplinks,
                                                                       whole.burst_bytes)))  # fmt: skip
        below += bool(row["limit_s"] and row["median_s"] < row["limit_s"])
        assert row["median_s"] >= least_of(loads, row["calls_per_sample"]), row
    assert below > 0, "else this shows nothing"


def test_times_below_the_limit_are_marked_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    results = CollectiveResults(mpi="x", transport="tcp", node_of_rank=[0, 1], network=Network([0, 1], 8e6, (), 1000))
    common = {"collective": "bcast", "bytes": 2000, "mode": "sync", "calls_per_sample": 1}
    for contender, seconds in (("library", 0.003), ("antiphon", 0.0015)):
        samples = [seconds] * 7
        results.measurements.append(CollectiveMeasurement(**common, contender=contender, chosen="a", samples=samples))
    table = tables.collective_table(results, "here")
    assert [*table.columns[8].cells] == ["1.50×", "0.75×°"]
    assert "burst (1000 B here)" in (results.below_limit() or "")
    rows = results.rows()
    assert [row["least_s"] for row in rows] == [pytest.approx(0.001)] * 2
    page = bench_report.page({"results": rows}, Path("x.json"))
    assert "burst" in page.sections[0].intro
    assert below_note([(0.003, 0.002), (None, 0.1), (0.1, None)]) is None
    assert ratio_text(None, 1.0) == ratio_text(1.0, None) == "–"


def test_the_least_of_wire_and_host_binds() -> None:
    document = {
        "link_classes": [{"scope": "switch", "connection_way_bytes_per_s": 2e6}],
        "topology": {
            "switches": [{"name": "a"}, {"name": "b", "parent": "a", "uplink_bytes_per_s": 4e6}],
            "nodes": [{"switch": "a", "port_bytes_per_s": 10e6, "count": 2}, {"switch": "b", "port_bytes_per_s": 10e6}],
        },
        "processors": {"rank_bytes_per_s": 16e6},
    }
    on_one = {**document, "topology": {**document["topology"], "switches": [{"name": "a"}, {"name": "b"}]}}

    def bound(of: dict, collective: str, ranks: int, per_node: int = 1) -> bounds.Bound | None:
        return bounds.bound_of(collective, 10**6, *bounds.of_profile(of, ranks, per_node))

    assert bound(document, "bcast", 3) == bounds.Bound(0.25, "uplink")
    # Two ranks have one connection, three have two for each of them.
    assert bound(on_one, "bcast", 2) == bounds.Bound(0.5, "connections")
    assert bound(on_one, "alltoall", 12) == bounds.Bound(22 / 16, "host")
    # Ranks that were measured may have been bound to one of a node's cores.
    for cores in ({"cores_per_node": 4}, {"cores_per_node": 1, "physical_cores": 4}):
        assert bounds.of_profile({**on_one, "processors": cores}, 8, 4)[1].cores_per_node == 4
    one_core = {**on_one, "processors": {}}
    assert bound(one_core, "alltoall", 12) == bounds.Bound(1.1, "wire")
    assert bound(one_core, "barrier", 3) is None


def test_each_node_has_its_own_port() -> None:
    """GIVEN a slow port THEN it is the limit only where its node takes part, and of its own bytes alone."""
    slow = {"switch": "a", "port_bytes_per_s": 4e6}
    topology = {"switches": [{"name": "a"}], "nodes": [{"switch": "a", "port_bytes_per_s": 10e6, "count": 2}, slow]}

    def wire_s(collective: str, ranks: int, root: int = 0) -> float:
        network, hosts = bounds.of_profile({"link_classes": [], "topology": topology}, ranks, 1)
        found = bounds.bound_of(collective, 10**6, network, hosts, root)
        assert found is not None and found.binds == "wire"
        return found.seconds

    assert wire_s("alltoall", 2) == pytest.approx(0.1)
    assert wire_s("alltoall", 3) == pytest.approx(2 / 4)
    # The root's two blocks take 0.2 s of its fast port, and one block 0.25 s of the slow one.
    assert wire_s("scatter", 3) == pytest.approx(0.25)
    assert wire_s("scatter", 3, root=2) == pytest.approx(2 / 4)
    assert wire_s("allreduce", 3) == pytest.approx(0.25)
    slow["port_bytes_per_s"] = 9e6
    assert wire_s("allreduce", 3) == pytest.approx(4 / 29)


def row_of(**changes: object) -> dict:
    """Returns a row of a summary: ten all-to-alls of eight ranks."""
    row = {"collective": "alltoall", "least_bytes": 65536, "most_bytes": 65536, "calls": 10, "least_ranks": 8}
    return {**row, "most_ranks": 8, **changes}


def test_the_limit_of_a_run_s_calls() -> None:
    """GIVEN ten all-to-alls of 64 KiB among 8 ranks on 4 nodes THEN 2 · 6 blocks cross each link in each of them."""
    run = {"ranks": 8, "nodes": 4, "network": {"link_bits_per_s": 100_000_000}}
    expected_s = 10 * 12 * 65536 * 8 / (1e8 * PAYLOAD_SHARE)
    assert run_summary.limit_s(row_of(), run) == pytest.approx(expected_s)
    unknown = [
        run_summary.limit_s(row_of(least_ranks=2), run),
        run_summary.limit_s(row_of(least_bytes=1), run),
        run_summary.limit_s(row_of(least_bytes=8, most_bytes=8), run),
        run_summary.limit_s(row_of(collective="ialltoall"), run),
        run_summary.limit_s(row_of(), {**run, "nodes": 3}),
        run_summary.limit_s(row_of(), {**run, "nodes": 1}),
        run_summary.limit_s(row_of(), {"ranks": 8, "nodes": 4}),
    ]
    assert unknown == [None] * len(unknown)
