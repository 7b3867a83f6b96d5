# SPDX-License-Identifier: Apache-2.0
"""The default table's choices on one node with a core for each rank, next to what was measured on 16 cores."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from antiphon import core, packed

RESULTS = Path(__file__).resolve().parents[2] / "bench/results/own-cores"
SAMPLES = sorted(RESULTS.glob("*-algorithms.json.gz"))
#: No choice of ours may have been slower than the library by more than samples of one process are apart.
LEAST_GAIN = 0.97


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.name)
def test_no_choice_was_slower_than_the_library(file: Path) -> None:
    """GIVEN measured times WHEN the table takes one of ours THEN it is among them, and was not slower."""
    mpi = "mpich" if "mpich" in file.name else "openmpi"
    measured: dict[tuple[str, int, int], dict[str, float]] = defaultdict(dict)
    for row in json.loads(packed.read_text(file))["results"]:
        # What Antiphon chose then is known by the forced algorithms alone.
        if row["contender"] != "antiphon":
            measured[row["collective"], row["ranks"], row["bytes"]][row["chosen"]] = row["median_s"]
    assert len(measured) > 50
    taken = 0
    for (collective, ranks, size), times in measured.items():
        question = core.Question(collective, ranks, 1, ranks, size, 8, link_bits_per_s=0, mpi=mpi)
        choice = core.choose(question).choice
        if choice != "library":
            assert times["library"] >= LEAST_GAIN * times[choice], (collective, ranks, size, choice)
            taken += 1
    assert taken >= 15
