# SPDX-License-Identifier: Apache-2.0
"""Checks limits against counts made by hand, and against schedules' own traffic."""

from __future__ import annotations

import pytest

from antiphon.bench.testbed import lab_network
from antiphon.lab import load_cluster
from antiphon.model.limits import PAYLOAD_SHARE, Network, UplinkLimit, limit_s, node_bytes

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
