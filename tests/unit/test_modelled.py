# SPDX-License-Identifier: Apache-2.0
"""Checks decisions by the model alone: which predictions are made, and the rules that follow from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon import core
from antiphon.cli import main
from antiphon.errors import AntiphonError
from antiphon.tune import decide, modelled
from antiphon.tune.grid import Point

PROFILE = Path(__file__).parents[1] / "data" / "ethernet-16-predicted.openmpi.json"


@pytest.fixture(scope="module")
def profile() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(PROFILE.read_text())
    document.pop("decisions", None)
    return document


def test_a_long_broadcast_is_decided_for_a_pipeline(profile: dict[str, Any]) -> None:
    subject = modelled.subject(profile, 8, None)
    assert (subject.family, subject.library.key) == ("openmpi", "openmpi-5.0")
    decided = modelled.decide_one(Point("bcast", 1 << 20, 8), subject)
    assert decided.library_s is not None
    assert decided.library_s > 1.2 * min(decided.own.values())
    good = decided.verdict().good[0]
    assert core.parse("bcast", good).parameters["segment_bytes"] < 65536
    [rule] = modelled.rules([decided], subject)
    assert rule["use"] == good
    assert rule["why"].startswith("by the model on 8 ranks at 1 MiB: ")


def test_what_gains_too_little_stays_the_library_s() -> None:
    point = Point("bcast", 8, 16)
    assert modelled.Decided(point, 1.1, {"chain": 1.0, "flat": 2.0}).verdict().good == [decide.LIBRARY]
    assert modelled.Decided(point, None, {"chain": 1.0}).verdict().good == [decide.LIBRARY]
    assert modelled.Decided(point, 1.3, {"flat": 1.04, "chain": 1.0}).verdict().good == ["chain", "flat"]


def test_without_ranks_or_library_it_says_what_to_give(profile: dict[str, Any]) -> None:
    with pytest.raises(AntiphonError, match="how many nodes") as caught:
        modelled.subject({**profile, "machine": {"name": "x"}}, None, "mpich")
    assert "-n" in str(caught.value.hint)
    with pytest.raises(AntiphonError, match="whose MPI"):
        modelled.subject({**profile, "machine": {"name": "x", "nodes": 4}}, None, None)


def test_the_command_writes_rules_that_are_used(
    profile: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(profile))
    assert main(["tune", "--model", "barrier", "bcast", "-n", "4", "--profile", str(file), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {r["collective"] for r in shown["predicted"]} == {"barrier", "bcast"}
    written = json.loads(file.read_text())
    assert written["decisions"]["rules"] == shown["rules"]
    assert written["link_classes"] == profile["link_classes"]
