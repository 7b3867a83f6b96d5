# SPDX-License-Identifier: Apache-2.0
"""The default table's choices, next to what all algorithms took where they were measured."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from antiphon import core, packed

RESULTS = Path(__file__).resolve().parents[2] / "bench/results/model"
#: Times of one call in different launches are this far apart, and the table has few classes of sizes.
NEARLY_BEST = 1.5
SAMPLES = [file for file in sorted(RESULTS.glob("paper2-16x4-openmpi*.json.gz")) if "profile" not in file.name]


def key(row: dict[str, object]) -> tuple[object, ...]:
    return (row["collective"], row["ranks"], row["nodes"], row["bytes"])


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.name)
def test_several_ranks_a_node(file: Path) -> None:
    """GIVEN times of all algorithms WHEN the table chooses one of them THEN it is nearly the best."""
    rows = json.loads(packed.read_text(file))["results"]
    measured: dict[tuple[object, ...], dict[str, float]] = defaultdict(dict)
    for row in rows:
        algorithm = row["contender"].removeprefix("antiphon").removeprefix(":").partition(":")[0]
        # Whether multicast works is not known to the table.
        if algorithm and "multicast" not in algorithm:
            known = measured[key(row)].get(algorithm, row["median_s"])
            measured[key(row)][algorithm] = min(known, row["median_s"])
    for (collective, ranks, nodes, size), times in measured.items():
        question = core.Question(
            collective=collective,
            ranks=ranks,
            nodes=nodes,
            max_ranks_per_node=-(-ranks // nodes),
            bytes=size,
            link_bits_per_s=100_000_000,
            mpi="openmpi",
        )
        choice = core.choose(question).algorithm
        if choice in times:
            assert times[choice] <= NEARLY_BEST * min(times.values()), (collective, ranks, nodes, size, choice, times)
