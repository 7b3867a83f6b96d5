# SPDX-License-Identifier: Apache-2.0
"""Checks what a tuning begins with: every parameter, the measured concurrency, and what was found before."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from antiphon import core
from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.profile import store
from antiphon.tune import confirm, contenders, decide, document, driver, grid, known, predictors
from antiphon.tune.grid import Point

NETWORK = limits.Network.blocks(16, 1, 95.6e6)
MACHINE = contenders.TunedMachine(16, 1, 100_000_000, "openmpi")
NAMES = [f"node{i:02}" for i in range(16)]
LONG = Point("gather", 65536, 16)


def machine_profile(concurrency: int | None = None) -> dict[str, Any]:
    profile = document.first_guess("sixteen", NETWORK.node_of_rank, NETWORK)
    profile["machine"]["mpi"] = {"name": "openmpi", "version": "5.0.11", "transport": "tcp"}
    port = profile["topology"]["nodes"][0]["port_bytes_per_s"]
    profile["topology"]["nodes"] = [{"name": name, "switch": "a", "port_bytes_per_s": port} for name in NAMES]
    if concurrency:
        profile["concurrency"] = {"index": concurrency, "two_destinations_ratio": 2.1 / concurrency}
    return profile


def rule(use: str, low: int = 65536, high: int = 98303, ranks: int = 16, collective: str = "bcast") -> dict[str, Any]:
    return {
        "collective": collective,
        "bytes": [low, high],
        "ranks": [ranks, ranks],
        "nodes": [ranks, ranks],
        "ranks_per_node": [1, 1],
        "blocked": True,
        "mpi": "openmpi",
        "use": use,
        "why": "measured in an earlier run: 1 ms, library 2 ms, 9 pairs of calls",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store in which runs on the sixteen nodes have learned three rules."""
    entry = store.save(machine_profile(), folders=[tmp_path]).parent
    rules = [rule("kary:radix=3"), rule("chain", 131072, 196607), rule("library", 49152, 65535, 12)]
    text = {"format": "antiphon-learned", "version": 1, "decisions": {"version": 1, "rules": rules}}
    (entry / "learned.tcp.eth0.0.json").write_text(json.dumps(text))
    return tmp_path


def knowledge(folder: Path, profile: dict[str, Any] | None = None, path: Path | None = None) -> known.Knowledge:
    return known.of(profile or machine_profile(), path, ("openmpi", "5.0.11"), [folder])


KARY = core.parse("bcast", "kary:radix=3").choice


class TestParameters:
    def test_every_parameter_of_every_algorithm_varies(self) -> None:
        """GIVEN any algorithm THEN each parameter takes several values, in a tuning's grid or in its variations."""
        profile = json.dumps(machine_profile(concurrency=2))
        for collective in core.collectives():
            for algorithm in core.algorithms(collective.name):
                at = Point(collective.name, 65536, 16)
                grid_values = [*contenders._grid(algorithm, at, 2)]
                start = core.parse(collective.name, algorithm.name).choice
                varied = [start, *contenders._variations(at, MACHINE, start, profile)]
                for p in algorithm.parameters:
                    values = {v[p.name] for v in grid_values}
                    values |= {core.parse(collective.name, c).parameters[p.name] for c in varied}
                    assert len(values) > 1, f"{collective.name}:{algorithm.name} {p.name}"

    def test_a_mode_takes_part_where_it_is_predicted_to_gain(self) -> None:
        def predict(_point: Point, choices: Sequence[str]) -> dict[str, float]:
            return {c: 1.0 if "sync=2" in c else 1.2 for c in choices}

        found = contenders.choices(Point("alltoall", 65536, 16), MACHINE, predict, 7)
        assert any("sync=2" in choice for choice in found)
        usual = contenders.choices(Point("alltoall", 65536, 16), MACHINE, lambda _p, cs: dict.fromkeys(cs, 1.0), 14)
        assert not any("sync=2" in choice for choice in usual)

    @pytest.mark.parametrize(("index", "senders"), [(1, {1, 2}), (4, {1, 2, 4, 8}), (None, {1, 2, 4})])
    def test_ranks_at_once_are_those_that_were_seen_to_pay(self, index: int | None, senders: set[int]) -> None:
        profile = json.dumps(machine_profile(index))
        asked: set[str] = set()

        def predict(_point: Point, choices: Sequence[str]) -> dict[str, float]:
            asked.update(choices)
            return dict.fromkeys(choices, 1.0)

        found = contenders.choices(LONG, MACHINE, predict, 60, profile=profile)
        flat = [core.parse("gather", c).parameters["senders"] for c in asked if c.startswith("flat")]
        assert set(flat) == senders
        first = next(c for c in found[1:] if c.startswith("flat"))
        assert core.parse("gather", first).parameters["senders"] == (index or 2)

    def test_the_number_of_contenders_is_bounded(self) -> None:
        profile = json.dumps(machine_profile(2))
        predict = predictors.of(profile, MACHINE)
        for collective in ("gather", "allgather"):
            found = contenders.choices(Point(collective, 65536, 16), MACHINE, predict, 5, profile=profile)
            assert len(found) <= 5


class TestKnowledge:
    def test_what_runs_learned_is_known_at_its_sizes_and_ranks(self, folder: Path) -> None:
        found = knowledge(folder)
        assert [(d.use, d.source) for d in found.at(Point("bcast", 65536, 16), MACHINE)] == [(KARY, known.LEARNED)]
        assert found.at(Point("bcast", 8192, 16), MACHINE) == []
        assert found.at(Point("bcast", 65536, 8), MACHINE) == []

    def test_other_nodes_and_libraries_have_learned_nothing_for_these(self, folder: Path) -> None:
        profile = machine_profile()
        assert known.of(profile, None, ("openmpi", "4.1"), [folder]).rules == []
        assert known.of(profile, None, ("mpich", "5.0.11"), [folder]).rules == []
        profile["topology"]["nodes"][0]["name"] = "other"
        assert known.of(profile, None, ("openmpi", "5.0.11"), [folder]).rules == []
        # A profile begun from the links' rate does not name its nodes.
        unnamed = document.first_guess("sixteen", NETWORK.node_of_rank, NETWORK)
        assert known.of(unnamed, None, ("openmpi", "5.0.11"), [folder]).rules == []
        assert len(known.of(unnamed, None, ("openmpi", "5.0.11"), [folder], NAMES).rules) == 3

    def test_the_newer_comes_first(self, folder: Path, tmp_path: Path) -> None:
        profile = machine_profile()
        profile["decisions"] = {"version": 1, "rules": [rule("binary", 1)]}
        file = tmp_path / "machine.json"
        file.write_text(json.dumps(profile))
        at = Point("bcast", 65536, 16)
        (learned,) = knowledge(folder).files
        os.utime(file, (1, 1))
        assert [d.source for d in knowledge(folder, profile, file).at(at, MACHINE)] == [known.LEARNED, known.MEASURED]
        assert len(knowledge(folder, profile, file).fresh) == 3
        os.utime(learned, (0, 0))
        assert [d.source for d in knowledge(folder, profile, file).at(at, MACHINE)] == [known.MEASURED, known.LEARNED]
        assert knowledge(folder, profile, file).fresh == []

    def test_what_a_model_said_is_not_known(self) -> None:
        profile = machine_profile()
        why = f"{decide.BY_THE_MODEL} on 16 ranks at 64 KiB: 2.00 times the library's speed"
        profile["decisions"] = {"version": 1, "rules": [rule("binary") | {"why": why}]}
        assert known.of(profile, None, ("openmpi", "5")).rules == []

    def test_measured_times_say_what_is_slower(self) -> None:
        profile = machine_profile()
        cells = [
            {"collective": "bcast", "bytes": 8, "ranks": 16, "mode": "sync", "contender": c, "chosen": c, "median_s": s}
            for c, s in (("library", 1.0), ("flat", 1.2), ("chain", 1.01))
        ]
        tuned = {"purpose": "decisions", "mpi": "openmpi", "ranks_per_node": 1, "created": "2999", "cells": cells}
        profile["measurements"] = {"tune": [tuned]}
        found = known.of(profile, None, ("openmpi", "5"))
        at = Point("bcast", 8, 16)
        assert found.is_slower("flat", "library", at, MACHINE)
        assert not found.is_slower("chain", "library", at, MACHINE)
        assert not found.is_slower("kary", "library", at, MACHINE)


class TestTuningAfterRuns:
    def plan(self, folder: Path, collective: str = "bcast") -> dict[tuple[str, int, int], Sequence[str]]:
        request = driver.Request((collective,), ("sync",), 180, None, parts=False, known=knowledge(folder))
        mpi = Mpi("openmpi", "openmpi", "Open MPI", "5.0.11", "", "", Path("/"), Path("/"), None)
        here = driver.Surroundings(None, mpi, NETWORK.node_of_rank, NETWORK)  # type: ignore[arg-type]
        cells, _ = driver.plan_cells(request, here, predictors.from_links(MACHINE))
        return {(c.collective, c.bytes, c.ranks): c.choices for c in cells}

    def test_what_was_learned_takes_part_first(self, folder: Path) -> None:
        cells = self.plan(folder)
        assert list(cells["bcast", 65536, 16])[:2] == ["library", KARY]
        # No size of a tuning is in this class: it gets a cell of its own. That of 12 ranks is no part of the grid.
        assert list(cells["bcast", 131072, 16])[1].startswith("chain:")
        assert {ranks for _, _, ranks in cells} == {16}

    def test_what_is_used_untuned_takes_part_where_one_choice_serves_all_sizes(self, folder: Path) -> None:
        assert all(choices[-1] == decide.AUTO for choices in self.plan(folder, "alltoallv").values())
        assert not any(decide.AUTO in choices for choices in self.plan(folder).values())

    def test_it_is_confirmed_or_refuted(self, folder: Path) -> None:
        found = knowledge(folder)
        slower = {KARY: {"sync": 0.9}, "chain": {"sync": 1.5}}
        verdicts = [
            decide.Verdict("bcast", 65536, 16, ["chain"], slower),
            decide.Verdict("bcast", 131072, 16, [core.parse("bcast", "chain").choice], {}),
        ]
        refuted, confirmed = confirm.judge(verdicts, found, MACHINE)
        assert (refuted["use"], refuted["confirmed"], refuted["now"]) == (KARY, False, "chain")
        assert confirmed["confirmed"]
        # About 12 ranks nothing was measured: that rule stays.
        assert [r["ranks"] for r in confirm.unjudged(verdicts, found, MACHINE)] == [[12, 12]]


def test_what_an_earlier_tuning_measured_holds_where_this_one_did_not() -> None:
    """GIVEN a profile tuned at 64 KiB and 1 MiB WHEN only 64 KiB is tuned again THEN 1 MiB keeps its decision."""
    profile = machine_profile()
    use = {65536: "chain", 1 << 20: "binary"}
    profile["decisions"] = {"version": 1, "rules": [rule("chain", 1, 262144), rule("binary", 262145, 1 << 30)]}
    cells = [
        {"collective": "bcast", "bytes": size, "ranks": 16, "mode": "sync", "contender": c, "chosen": c, "median_s": s}
        for size, own in use.items()
        for c, s in (("library", 2.0), (core.parse("bcast", own).choice, 1.0))
    ]
    tuned = {"purpose": "decisions", "mpi": "openmpi", "ranks_per_node": 1, "created": "2999", "cells": cells}
    profile["measurements"] = {"tune": [tuned]}
    verdicts = [decide.Verdict("bcast", 65536, 16, ["flat"], {"flat": {"sync": 1.5}})]
    kept = known.of(profile, None, ("openmpi", "5"))
    (carried,) = confirm.carried(verdicts, kept, MACHINE)
    assert (carried.bytes, carried.good) == (1 << 20, [core.parse("bcast", "binary").choice])
    rules = decide.rules([*verdicts, carried], "openmpi", 1)
    assert [(r["bytes"], r["use"].partition(":")[0]) for r in rules] == [
        ([1, 262144], "flat"),
        ([262145, None], "binary"),
    ]
    # Since then the network was probed: what was measured over the older one does not count.
    tuned["created"] = "2000"
    assert confirm.carried(verdicts, known.of(profile, None, ("openmpi", "5")), MACHINE) == []


def test_what_was_not_measured_keeps_the_built_in_rules() -> None:
    """GIVEN a tuning whose time reached only for short messages THEN nothing is decided about long ones."""
    short = [decide.Verdict("bcast", size, 16, [decide.LIBRARY], {}) for size in (8, 1024)]
    made = decide.rules([*short, *confirm.gaps(short, [])], "openmpi", 1)
    assert [(r["bytes"], r["use"]) for r in made] == [([1, 2896], "library")]
    too_long = [Point("bcast", size, 16) for size in grid.SIZES if size > 1024]
    made = decide.rules([*short, *confirm.gaps(short, too_long)], "openmpi", 1)
    assert [(r["bytes"], r["use"]) for r in made] == [([1, None], "library")]


def test_points_of_what_was_learned_are_not_those_of_the_grid(folder: Path) -> None:
    assert knowledge(folder).points(["bcast"], [16, 8], grid.SIZES) == [Point("bcast", 131072, 16)]
    assert knowledge(folder).points(["reduce"], [16, 8], grid.SIZES) == []
