# SPDX-License-Identifier: Apache-2.0
"""Checks traffic among so many nodes that no matrix of them fits into memory."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

from antiphon import cli
from antiphon.traffic import Edges, Part, Traffic, Uniform
from antiphon.traffic.shares import contributions


def test_what_leaves_nodes_is_what_their_matrix_says() -> None:
    random_ = random.Random(4)
    rows = [
        (random_.randrange(20), random_.randrange(20), random_.randrange(9), random_.randrange(999)) for _ in range(99)
    ]
    group = Uniform(np.array(random_.sample(range(20), 9)), 3, 100)
    part = Part("alltoall", Edges.of(rows), [group])
    places = np.array([random_.randrange(6) for _ in range(20)])
    messages, size = part.between(places, 6)
    assert part.crossing(places) == (messages.sum() - messages.trace(), size.sum() - size.trace())


def test_many_nodes_take_little_memory(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN 30,000 nodes, each of which sends to its neighbour and all to all THEN they are summed within 100 MB."""
    nodes = 30_000
    ranks = np.arange(nodes)
    ring = Edges.summed(ranks, (ranks + 1) % nodes, np.ones(nodes, np.int64), np.full(nodes, 1000))
    parts = [Part("sendrecv", ring), Part("alltoall", Edges.empty(), [Uniform(ranks, 1, 10)])]
    traffic = Traffic(nodes, parts, {"nodes": ranks.tolist()})
    traffic.save(tmp_path / "many.traffic")
    tracemalloc.start()
    try:
        assert [one.crossing_bytes for one in contributions(traffic)] == [10 * nodes * (nodes - 1), 1000 * nodes]
        assert cli.main(["traffic", str(tmp_path / "many.traffic")]) == 0
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert f"{nodes * (nodes - 1) + nodes} messages" in capsys.readouterr().out.replace("\n", " ")
