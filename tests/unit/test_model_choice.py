# SPDX-License-Identifier: Apache-2.0
"""The model's choices, next to what the library and all algorithms took where they were measured."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from antiphon import core, packed

RESULTS = Path(__file__).resolve().parents[2] / "bench/results/model"
SAMPLES = [
    file
    for file in sorted(RESULTS.glob("*-16*-openmpi*.json.gz"))
    if not any(word in file.name for word in ("profile", "losses", "long"))
]
#: What a run in that lab finds out about its nodes: all on one machine of two cores, shaped links, and how
#: long a look took there (docs/findings/cores).
FACTS = {"cores_per_node": 2, "link_burst_bytes": 8192, "turn_s": 1.7e-6}
#: Times of one call in different launches are this far apart.
NOT_SLOWER = 0.9


def question(row: dict[str, Any]) -> core.Question:
    """Returns what a run asks."""
    return core.Question(
        collective=row["collective"],
        ranks=row["ranks"],
        nodes=row["nodes"],
        max_ranks_per_node=-(-row["ranks"] // row["nodes"]),
        bytes=row["bytes"],
        element_bytes=8,
        link_bits_per_s=100_000_000,
        mpi="openmpi",
    )


def chosen(asked: core.Question) -> core.Choice:
    """Returns what a run on those nodes uses."""
    return core.Choice(**core.query("choose", model=True, nodes_sharing=asked.nodes, **FACTS, **core.fields(asked)))


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.name)
def test_the_model_gains_and_does_not_lose(file: Path) -> None:
    """GIVEN times of the library and of all algorithms WHEN the model chooses THEN no call is slower than the
    library's, and together they are no slower than by the table alone.
    """
    library: dict[core.Question, float] = {}
    ours: dict[core.Question, dict[str, float]] = defaultdict(dict)
    for row in json.loads(packed.read_text(file))["results"]:
        name = row["chosen"].partition(":")[0]
        times = ours[question(row)]
        if name == "library":
            library[question(row)] = row["median_s"]
        else:
            times[name] = min(row["median_s"], times.get(name, math.inf))
    by_model, by_table = [], []
    for asked, library_s in library.items():
        times = ours[asked] | {"library": library_s}
        used, table = chosen(asked), core.choose(asked)
        if {used.algorithm or "library", table.algorithm or "library"} <= times.keys():
            gain = library_s / times[used.algorithm or "library"]
            assert gain >= NOT_SLOWER, (asked, used, times)
            by_model.append(gain)
            by_table.append(library_s / times[table.algorithm or "library"])
    assert len(by_model) >= 8
    assert math.prod(by_model) >= math.prod(by_table)
