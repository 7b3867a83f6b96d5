# SPDX-License-Identifier: Apache-2.0
"""The default table's choices on one node with a core for each rank, next to what was measured on 16 cores."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_cores_tables import choice_of, measured

RESULTS = Path(__file__).resolve().parents[2] / "bench/results/own-cores"
SAMPLES = sorted(RESULTS.glob("*-algorithms.json.gz"))
#: No choice of ours may have been slower than the library by more than samples of one process are apart.
LEAST_GAIN = 0.97


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.name)
def test_no_choice_was_slower_than_the_library(file: Path) -> None:
    """GIVEN measured times WHEN the table takes one of ours THEN it is among them, and was not slower."""
    mpi = "mpich" if "mpich" in file.name else "openmpi"
    calls = measured(file)
    assert len(calls) > 50
    taken = 0
    for call, times in calls.items():
        choice = choice_of(call, mpi)
        if choice != "library":
            assert times["library"] >= LEAST_GAIN * times[choice], (call, choice)
            taken += 1
    assert taken >= 15
