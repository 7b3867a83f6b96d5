# SPDX-License-Identifier: Apache-2.0
"""Checks what a tuning concludes whose time ended before all of its cells were measured."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from antiphon.bench.collectives import CollectiveMeasurement
from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.tune import decide, driver
from antiphon.tune.grid import Grid, Point
from antiphon.tune.state import TuningState

NETWORK = limits.Network.blocks(16, 1, 95.6e6)
MPI = Mpi("openmpi", "openmpi", "Open MPI", "5.0.11", "", "", Path("/"), Path("/"), None)
TESTBED: Any = SimpleNamespace(transport=lambda _mpi: "tcp")
HERE = driver.Surroundings(TESTBED, MPI, NETWORK.node_of_rank, NETWORK)
REQUEST = driver.Request(("bcast", "alltoallv"), ("sync",), 180, None)
SIZES = (8, 8192)
WANTED = Grid([Point(collective, size, 16) for size in SIZES for collective in REQUEST.collectives], [])
CHOICE = {"bcast": "chain", "alltoallv": "rotated"}


def conclude(tmp_path: Path, *points: Point, purpose: str = driver.DECISIONS) -> driver.TuningResult:
    """Concludes from these points, at each of which our choice takes half the library's time."""
    state = TuningState(tmp_path / "state.jsonl", {})
    for p in points:
        state.finished.add((p.collective, p.bytes, p.ranks))
        for contender, seconds in (("library", 2.0), (f"antiphon:{CHOICE[p.collective]}", 1.0)):
            samples = [seconds * (1 + i / 1000) for i in range(11)]
            chosen = contender.removeprefix("antiphon:")
            state.measurements.append(
                CollectiveMeasurement(
                    p.collective, p.bytes, p.ranks, mode="sync", contender=contender, chosen=chosen,
                    calls_per_sample=1, samples=samples,
                )
            )  # fmt: skip
    return driver.conclude(dataclasses.replace(REQUEST, purpose=purpose), HERE, WANTED, state)


def test_one_choice_for_all_sizes_needs_all_that_were_to_be_measured(tmp_path: Path) -> None:
    short = [Point("bcast", 8, 16), Point("alltoallv", 8, 16)]
    partly = conclude(tmp_path, *short)
    assert {rule["collective"] for rule in partly.rules} == {"bcast"}
    assert "one choice serves all sizes, and not all were reached: alltoallv" in partly.evidence["not_covered"]
    # What was measured is shown, and stays in the profile, for a tuning that reaches the rest.
    assert {cell["collective"] for cell in partly.evidence["cells"]} == {"bcast", "alltoallv"}

    assert {v.collective for v in partly.verdicts} == {"bcast", "alltoallv"}

    whole = conclude(tmp_path, *short, Point("alltoallv", 8192, 16))
    assert {rule["collective"]: rule["use"] for rule in whole.rules} == CHOICE
    assert not any("one choice" in text for text in whole.evidence["not_covered"])


def test_nothing_is_held_back_from_an_export(tmp_path: Path) -> None:
    partly = conclude(tmp_path, Point("alltoallv", 8, 16), purpose=driver.EXPORT)
    assert not any("one choice" in text for text in partly.evidence["not_covered"])


def test_without_one_choice_for_all_sizes_the_built_in_rules_stay() -> None:
    faster = {8: {"nested": {"sync": 4.0}, "rotated": {"sync": 0.5}}, 65536: {"nested": {"sync": 0.5}, "rotated": {}}}
    verdicts = [decide.Verdict("alltoallv", size, 16, ["library"], ratios) for size, ratios in faster.items()]
    assert decide.rules(verdicts, "openmpi", 1) == []
