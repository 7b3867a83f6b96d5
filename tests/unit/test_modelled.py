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
from antiphon.tune import contenders, decide, modelled, predictors
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


def chain_of_switches(count: int) -> dict[str, Any]:
    """Makes a profile whose farthest nodes are too many switches apart for the model: chains work, stars do not."""
    switches = [{"name": f"s{i}", **({"parent": f"s{i - 1}", "uplink_bytes_per_s": 1.2e7} if i else {})}
                for i in range(count)]  # fmt: skip
    link = {"name": "a", "scope": "switch", "latency_s": 4e-5, "os_s": [[0, 1e-6]], "or_s": [[0, 1e-6]]}
    return {
        "format": "antiphon-profile",
        "version": 1,
        "machine": {"name": "x", "nodes": count, "mpi": {"name": "openmpi", "version": "5.0.11"}},
        "link_classes": [{**link, "g_s": [[0, 2e-5], [65536, 5.5e-3]]}],
        "topology": {
            "switches": switches,
            "nodes": [{"switch": s["name"], "port_bytes_per_s": 1.2e7} for s in switches],
        },
    }


def test_a_candidate_that_cannot_be_evaluated_is_said_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a machine on which the model fails on some algorithms THEN predictions and tunings go on without them."""
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(chain_of_switches(16)))
    assert main(["predict", "bcast", "--ranks", "16", "--profile", str(file), "--no-sweep", "--json"]) == 0
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert "chain" in {p["algorithm"] for p in answer["predictions"]}
    assert "flat" in {one["choice"].partition(":")[0] for one in answer["left_out"]}
    assert "warning: bcast: left out, as the model cannot evaluate it (switches are nested too deeply" in said.err
    assert main(["tune", "--model", "barrier", "-n", "16", "--profile", str(file), "--json"]) == 0
    said = capsys.readouterr()
    assert "warning: barrier: left out" in said.err
    assert any("dissemination" in line for line in json.loads(said.out)["left_out"])
    assert json.loads(file.read_text())["decisions"]["rules"]


def test_a_tuning_leaves_out_what_the_model_fails_on() -> None:
    machine = contenders.TunedMachine(16, 1, 100_000_000, "openmpi")
    left_out: list[str] = []
    predictor = predictors.of(
        json.dumps(chain_of_switches(16)), machine, lambda _at, choice, _why: left_out.append(choice)
    )
    chosen = contenders.choices(Point("bcast", 65536, 16), machine, predictor, 20)
    assert "circulant" in {choice.partition(":")[0] for choice in left_out}
    assert any(c.startswith("chain") for c in chosen)
    assert not set(left_out) & set(chosen[1:]), "the first is the rules' own"
