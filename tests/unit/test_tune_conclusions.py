# SPDX-License-Identifier: Apache-2.0
"""Checks what a tuning concludes whose time ended before all of its cells were measured."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon import __version__
from antiphon.bench.collectives import CollectiveMeasurement
from antiphon.bench.results import WITHOUT_MULTICAST
from antiphon.bench.testbed import HostTestbed, LabTestbed
from antiphon.lab import Lab, load_cluster
from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.tune import conclusions, decide, driver
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


def test_a_tuning_over_other_links_is_another_one() -> None:
    """GIVEN other clusters of as many nodes, or another rate THEN no samples of one count for the other."""
    labs = [LabTestbed(Lab(load_cluster(name))) for name in ("ethernet-16", "paper1-16")]
    hosts = [HostTestbed(), HostTestbed(1e9), HostTestbed(1e8)]
    headers = [driver.header(REQUEST, dataclasses.replace(HERE, testbed=testbed)) for testbed in (*labs, *hosts)]
    assert all(headers.count(header) == 1 for header in headers)
    assert all(json.loads(json.dumps(header)) == header for header in headers)
    again = LabTestbed(Lab(load_cluster("ethernet-16"), "mine"))
    assert driver.header(REQUEST, dataclasses.replace(HERE, testbed=again)) == headers[0]
    assert {header["antiphon"] for header in headers} == {__version__}


def conclude(
    tmp_path: Path, *points: Point, purpose: str = driver.DECISIONS, untuned_s: float | None = None
) -> conclusions.TuningResult:
    """Concludes from these points, at each of which our choice takes half the library's time, and what is used untuned
    `untuned_s`, where it was measured."""
    state = TuningState(tmp_path / "state.jsonl", {})
    for p in points:
        state.finished.add((p.collective, p.bytes, p.ranks))
        times = {"library": 2.0, f"antiphon:{CHOICE[p.collective]}": 1.0}
        for contender, seconds in (times | ({"antiphon": untuned_s} if untuned_s else {})).items():
            samples = [seconds * (1 + i / 1000) for i in range(11)]
            chosen = "windowed" if contender == "antiphon" else contender.removeprefix("antiphon:")
            state.measurements.append(
                CollectiveMeasurement(
                    p.collective, p.bytes, p.ranks, mode="sync", contender=contender, chosen=chosen,
                    calls_per_sample=1, samples=samples,
                )
            )  # fmt: skip
    return conclusions.draw(dataclasses.replace(REQUEST, purpose=purpose), HERE, WANTED, state)


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


ALL_SIZES = (Point("alltoallv", 8, 16), Point("alltoallv", 8192, 16))
STAYS = "alltoallv on 16 ranks: no one choice gains at all sizes, so what is used stays"


def test_one_choice_for_all_sizes_must_beat_what_tells_them_apart(tmp_path: Path) -> None:
    """No rule is better than one that replaces the built-in ones, known patterns among them, by something slower."""
    slower = conclude(tmp_path, *ALL_SIZES, untuned_s=0.99)
    assert slower.rules == []
    assert STAYS in slower.evidence["not_covered"]

    faster = conclude(tmp_path, *ALL_SIZES, untuned_s=1.2)
    assert [rule["use"] for rule in faster.rules] == ["rotated"]
    assert STAYS not in faster.evidence["not_covered"]


def test_the_profile_keeps_choices_and_not_what_is_used_untuned(tmp_path: Path) -> None:
    kept = conclude(tmp_path, *ALL_SIZES, untuned_s=0.5).evidence["cells"]
    assert {cell["chosen"] for cell in kept} == {"library", "rotated"}


@pytest.mark.parametrize(("untuned", "used"), [(0.5, ["library"]), (1.2, []), (1.0, [])])
def test_the_library_replaces_what_loses_to_it(untuned: float, used: list[str]) -> None:
    """`untuned`: how many times faster than the library it is."""
    faster = {"rotated": {"sync": 0.9}, decide.AUTO: {"sync": untuned}}
    verdicts = [decide.Verdict("alltoallv", size, 16, ["library"], faster) for size in SIZES]
    assert [rule["use"] for rule in decide.rules(verdicts, "openmpi", 1)] == used


def test_a_choice_without_its_multicast_groups_is_no_rule(tmp_path: Path) -> None:
    """GIVEN a multicast whose group could not be opened, the fastest all the same THEN it is left out, and said why."""
    state = TuningState(tmp_path / "state.jsonl", {})
    state.finished.add(("bcast", 8, 16))
    chosen = {"library": "library", "antiphon:multicast": f"multicast:senders=1{WITHOUT_MULTICAST}rank 2 hears none"}
    for contender, name in chosen.items():
        seconds = 2.0 if contender == "library" else 1.0
        samples = [seconds * (1 + i / 1000) for i in range(11)]
        state.measurements += [
            CollectiveMeasurement(
                "bcast", 8, 16, mode=mode, contender=contender, chosen=name, calls_per_sample=1, samples=samples
            )
            for mode in ("sync", "throughput")
        ]
    found = conclusions.draw(REQUEST, HERE, WANTED, state)
    assert [rule["use"] for rule in found.rules] == ["library"]
    assert {cell["chosen"] for cell in found.evidence["cells"]} == {"library"}
    about = {"mpi": MPI.label, "collective": "bcast", "bytes": 8, "contender": "antiphon:multicast"}
    assert found.skipped == [about | {"why": "no multicast: rank 2 hears none"}]
