# SPDX-License-Identifier: Apache-2.0
"""Checks decisions by the model alone: which predictions are made, and the rules that follow from them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from antiphon import core
from antiphon.cli import main
from antiphon.errors import AntiphonError
from antiphon.profile import store
from antiphon.tune import contenders, decide, known, modelled, predictors
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
    assert subject.link_bits_per_s == 100_000_000
    # The built-in rules take this call at this rate; of a link of unknown rate they say nothing.
    assert modelled.decide_one(Point("bcast", 1 << 20, 8), subject).decision()[1] == "built-in"
    subject = dataclasses.replace(subject, link_bits_per_s=0)
    decided = modelled.decide_one(Point("bcast", 1 << 20, 8), subject)
    assert decided.library_s is not None
    assert decided.library_s > 1.2 * min(decided.own.values())
    good = decided.verdict().good[0]
    assert core.parse("bcast", good).parameters["segment_bytes"] < 65536
    [rule] = modelled.rules([decided], subject)
    assert rule["use"] == good
    assert rule["why"].startswith("by the model on 8 ranks at 1 MiB: ")


POINT = Point("bcast", 8, 16)


def test_rules_are_made_once(profile: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(modelled, "rules", lambda decided, subject: made.append(1) or [])
    answer = modelled.ModelledRules(modelled.subject(profile, 8, None), [])
    assert answer.rules is answer.rules and made == [1]


def test_what_gains_too_little_changes_nothing() -> None:
    assert modelled.Decided(POINT, 1.1, {"chain": 1.0, "flat": 2.0}).decision() == ([decide.LIBRARY], "built-in")
    assert modelled.Decided(POINT, None, {"chain": 1.0}).decision() == ([decide.LIBRARY], "built-in")
    assert modelled.Decided(POINT, 1.3, {"flat": 1.04, "chain": 1.0}).decision() == (["chain", "flat"], "")


def test_a_built_in_choice_is_replaced_only_by_what_is_clearly_faster() -> None:
    """GIVEN a choice of the built-in rules WHEN the model would pass the call on THEN the choice stays."""
    chain = {"usual": "chain"}
    passed_on = modelled.Decided(POINT, 1.0, {"chain": 1.1, "flat": 2.0}, **chain)  # type: ignore[arg-type]
    assert passed_on.decision() == (["chain"], "built-in")
    assert passed_on.row()["modelled"] == decide.LIBRARY
    near = modelled.Decided(POINT, 2.0, {"chain": 1.1, "flat": 1.0}, **chain)  # type: ignore[arg-type]
    assert near.decision() == (["chain"], "built-in")
    far = modelled.Decided(POINT, 2.0, {"chain": 1.3, "flat": 1.0}, **chain)  # type: ignore[arg-type]
    assert far.decision() == (["flat"], "")


def test_what_was_measured_is_not_replaced() -> None:
    own = {"chain": 2.0, "flat": 1.0}
    learned = known.Decision("chain", known.LEARNED, "measured in an earlier run: …")
    assert modelled.Decided(POINT, 3.0, own, known=learned).decision() == (["chain"], "learned")
    slower = modelled.Decided(POINT, 3.0, own, usual="chain", slower=frozenset({"flat"}))
    assert slower.decision() == (["chain"], "built-in")


def rule(collective: str, use: str, why: str, low: int = 1, high: int | None = None) -> dict[str, Any]:
    where = {"ranks": [4, 4], "ranks_per_node": [1, 1], "mpi": "openmpi"}
    return {"collective": collective, "bytes": [low, high], **where, "use": use, "why": why}


def run_model(collective: str, file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["tune", "--model", collective, "--whole", "-n", "4", "--profile", str(file), "--json"]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


def used(collective: str, file: Path, size: int) -> str:
    question = core.Question(collective, 4, 4, 1, size, link_bits_per_s=100_000_000, mpi="openmpi")
    return core.choose(question, file.read_text()).choice


def test_rules_of_a_tuning_stand_before_those_of_the_model(
    profile: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a profile with a measured rule and an older one of the model WHEN the model decides THEN the measured one
    holds, and the output says so."""
    measured = rule("gather", "binary", "measured on 4 ranks at 64 KiB: 1.50 times the library's speed", 40000, 90000)
    old = rule("gather", "chain", "by the model on 4 ranks at 1 MiB: 1.30 times the library's speed")
    file = tmp_path / "machine.json"
    file.write_text(json.dumps({**profile, "decisions": {"version": 1, "rules": [old, measured]}}))
    shown = run_model("gather", file, capsys)
    kept = {row["bytes"]: row for row in shown["predicted"] if row["kept"] == "measured"}
    assert set(kept) == {65536}
    assert kept[65536]["used"].startswith("binary:")
    rules = json.loads(file.read_text())["decisions"]["rules"]
    assert rules[0] == measured
    assert old not in rules
    assert used("gather", file, 65536).startswith("binary:")
    # Where the built-in rules pass the call on, the model decides if that gains. It never says "library".
    assert [r["bytes"][0] for r in shown["rules"]] == [1]
    assert all(r["use"] != "library" for r in shown["rules"])
    assert used("gather", file, 8) == next(row["used"] for row in shown["predicted"] if row["bytes"] == 8)
    assert {row["kept"] for row in shown["predicted"] if 8192 <= row["bytes"] < 65536} == {"built-in"}


def test_what_runs_have_learned_holds(
    profile: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN nodes on which runs have learned something WHEN the model decides THEN their rules are in the profile,
    which is now newer than they are, before the model's."""
    monkeypatch.setenv("ANTIPHON_STORE", str(tmp_path / "store"))
    document = of_four(profile)
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(document))
    learned = {**rule("bcast", "kary", "measured in an earlier run: 1 ms, library 2 ms", 65536, 98303), "blocked": True}
    entry = store.save(document).parent
    text = {"format": "antiphon-learned", "version": 1, "decisions": {"version": 1, "rules": [learned]}}
    (entry / "learned.tcp.eth0.0.json").write_text(json.dumps(text))
    shown = run_model("bcast", file, capsys)
    assert [row["bytes"] for row in shown["predicted"] if row["kept"] == "learned"] == [65536]
    assert used("bcast", file, 65536).startswith("kary:")
    assert learned in json.loads(file.read_text())["decisions"]["rules"]


def of_four(profile: dict[str, Any]) -> dict[str, Any]:
    """Returns the profile of four nodes with names."""
    port = profile["topology"]["nodes"][0]["port_bytes_per_s"]
    nodes = [{"name": f"n{i}", "switch": "a", "port_bytes_per_s": port} for i in range(4)]
    return {**profile, "machine": {**profile["machine"], "nodes": 4},
            "topology": {"switches": [{"name": "a"}], "nodes": nodes}}  # fmt: skip


@pytest.mark.parametrize("options", [[], ["--no-keep"], ["--dry-run"]])
def test_the_profile_is_kept_for_runs_to_find(
    options: list[str], profile: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """GIVEN a profile of Open MPI 5 with names of nodes THEN runs with each library that is decided for find it."""
    monkeypatch.setenv("ANTIPHON_STORE", str(tmp_path / "store"))
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(of_four(profile)))
    words = ["tune", "--model", "barrier", "--whole", "-n", "4", "--profile", str(file), "--mpi", "openmpi,mpich"]
    assert main([*words, *options]) == 0
    kept = store.entries()
    assert capsys.readouterr().err.count("kept: runs on these nodes find it") == len(kept)
    assert [entry.mpi for entry in kept] == ([] if options else ["mpich-5", "openmpi-5"])
    assert all(json.loads(entry.profile.read_text()) == json.loads(file.read_text()) for entry in kept if entry.profile)


def test_decisions_that_a_tuning_has_written_meanwhile_stay(
    profile: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a tuning that ends while the model decides THEN its decisions hold."""
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(profile))
    measured = rule("gather", "binary", "measured on 4 ranks at 64 KiB: 1.50 times the library's speed")
    decide_all = modelled.decide_all

    def slowly(*args: Any) -> list[modelled.Decided]:
        file.write_text(json.dumps({**profile, "decisions": {"version": 1, "rules": [measured]}}))
        return decide_all(*args)

    monkeypatch.setattr(modelled, "decide_all", slowly)
    run_model("gather", file, capsys)
    assert json.loads(file.read_text())["decisions"]["rules"][0] == measured


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


@pytest.mark.parametrize(("options", "points"), [
    (["--bytes", "2k,4k"], {(2048, 8), (4096, 8), (2048, 4), (4096, 4)}),
    (["--bytes", "2k", "--whole"], {(2048, 8)}),
])  # fmt: skip
def test_the_sizes_and_ranks_that_are_asked_for_are_decided(options, points, profile, tmp_path, capsys) -> None:
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(profile))
    assert main(["tune", "--model", "gather", "-n", "8", "--profile", str(file), "--json", *options]) == 0
    assert {(row["bytes"], row["ranks"]) for row in json.loads(capsys.readouterr().out)["predicted"]} == points


def test_each_library_that_is_named_is_decided(profile, tmp_path, capsys) -> None:
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(profile))
    words = [
        "tune",
        "--model",
        "gather",
        "-n",
        "4",
        "--bytes",
        "8,64k",
        "--profile",
        str(file),
        "--mpi",
        "openmpi,mpich",
    ]
    assert main([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["library"] for one in shown] == ["Open MPI 5.0", "MPICH 5"]
    rules = json.loads(file.read_text())["decisions"]["rules"]
    assert {rule["mpi"] for rule in rules} == {"openmpi", "mpich"}
    assert rules == [*shown[1]["rules"], *shown[0]["rules"]]
    assert main([*words, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("rules not written") == 2


@pytest.mark.parametrize(("options", "said"), [
    (["--mpi", "lam"], "--mpi lam: there is no table of its algorithms"),
    (["--mpi", "openmpi,lam"], "--mpi lam: there is no table of its algorithms"),
    (["--modes", "burst"], "--modes is about measuring"),
    (["--for-export"], "--for-export is about measuring"),
    (["--restart"], "--restart is about measuring"),
])  # fmt: skip
def test_what_the_model_cannot_do_is_refused(options, said, profile, tmp_path, capsys) -> None:
    file = tmp_path / "machine.json"
    file.write_text(before := json.dumps(profile))
    assert main(["tune", "--model", "bcast", "-n", "4", "--profile", str(file), *options]) == 2
    assert said in capsys.readouterr().err
    assert file.read_text() == before


def test_a_profile_of_the_standard_abi_is_of_mpich(profile: dict[str, Any]) -> None:
    """GIVEN a profile that names its library by the ABI, or one that nothing is known of."""
    about = {**profile["machine"], "mpi": {"name": "mpiabi", "version": "5.0.2"}}
    assert modelled.subject({**profile, "machine": about}, 4, None).library.key == "mpich-5"
    about["mpi"] = {"name": "lam", "version": "7"}
    with pytest.raises(AntiphonError, match="the profile was measured with lam"):
        modelled.subject({**profile, "machine": about}, 4, None)


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
    file.write_text(json.dumps(chain_of_switches(20)))
    assert main(["predict", "bcast", "--ranks", "20", "--profile", str(file), "--no-sweep", "--json"]) == 0
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert "chain" in {p["algorithm"] for p in answer["predictions"]}
    assert "flat" in {one["choice"].partition(":")[0] for one in answer["left_out"]}
    assert "warning: bcast: left out, as the model cannot evaluate it (switches are nested too deeply" in said.err
    assert main(["tune", "--model", "barrier", "-n", "20", "--profile", str(file), "--json"]) == 0
    said = capsys.readouterr()
    assert "warning: barrier: left out" in said.err
    shown = json.loads(said.out)
    assert any("dissemination" in line for line in shown["left_out"])
    assert shown["predicted"][0]["best_s"] > 0


def test_a_tuning_leaves_out_what_the_model_fails_on() -> None:
    machine = contenders.TunedMachine(20, 1, 100_000_000, "openmpi")
    left_out: list[str] = []
    predictor = predictors.of(
        json.dumps(chain_of_switches(20)), machine, lambda _at, choice, _why: left_out.append(choice)
    )
    chosen = contenders.choices(Point("bcast", 65536, 20), machine, predictor, 20)
    assert "circulant" in {choice.partition(":")[0] for choice in left_out}
    assert any(c.startswith("chain") for c in chosen)
    assert not set(left_out) & set(chosen[1:]), "the first is the rules' own"
