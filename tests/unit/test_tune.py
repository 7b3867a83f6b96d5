# SPDX-License-Identifier: Apache-2.0
"""Checks tuning without measuring: the grid, who takes part, verdicts, rules, the profile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from antiphon import core
from antiphon import profile as profiles
from antiphon.bench.collectives import CollectiveMeasurement, Race, RaceCell
from antiphon.model import limits
from antiphon.tune import contenders, decide, document, grid, library, predictors
from antiphon.tune.grid import Point

DATA = Path(__file__).resolve().parents[1] / "data"

NETWORK = limits.Network.blocks(16, 1, 95.6e6)
MACHINE = contenders.TunedMachine(16, 1, 100_000_000, "openmpi")


def measured(
    contender: str,
    median_s: float,
    mode: str = "sync",
    size: int = 1024,
    collective: str = "bcast",
    ranks: int = 16,
    spread: float = 0.01,
) -> CollectiveMeasurement:
    samples = [median_s * (1 + spread * (i - 5) / 5) for i in range(11)]
    chosen = contender.removeprefix("antiphon:")
    return CollectiveMeasurement(
        collective, size, ranks, mode=mode, contender=contender, chosen=chosen, calls_per_sample=1, samples=samples
    )


def verdict_of(*measurements: CollectiveMeasurement, usual: str | None = None) -> decide.Verdict:
    ((key, cell),) = decide.cells_of(measurements).items()
    verdict = decide.verdict(key, cell, usual=usual)
    assert verdict is not None
    return verdict


class TestGrid:
    def test_every_collective_at_every_size_on_all_ranks_first(self) -> None:
        made = grid.make(("barrier", "bcast", "alltoall"), NETWORK, NETWORK.node_of_rank, 180)
        full = [p for p in made.points if p.ranks == 16]
        assert {(p.collective, p.bytes) for p in full} >= {
            ("barrier", 0),
            ("bcast", 8),
            ("bcast", 1 << 20),
            ("alltoall", 65536),
        }
        assert made.points[0].ranks == 16
        assert sum(p.collective == "barrier" for p in full) == 1

    def test_what_takes_too_long_is_said(self) -> None:
        made = grid.make(("alltoall",), NETWORK, NETWORK.node_of_rank, 60)
        assert Point("alltoall", 1 << 20, 16) in made.too_long
        assert not {*made.points} & {*made.too_long}

    @pytest.mark.parametrize(
        ("ranks", "per_node", "counts"), [(16, 1, [16, 8, 4]), (64, 4, [64, 32, 16]), (6, 1, [6, 3]), (2, 1, [2])]
    )
    def test_fewer_ranks_fill_nodes(self, ranks: int, per_node: int, counts: list[int]) -> None:
        assert grid.rank_counts(ranks, per_node) == counts

    def test_all_ranks_only(self) -> None:
        made = grid.make(("barrier", "bcast"), NETWORK, NETWORK.node_of_rank, 180, parts=False)
        assert {p.ranks for p in made.points} == {16}


class TestContenders:
    def test_the_rules_own_choice_comes_first(self) -> None:
        point = Point("bcast", 65536, 16)
        own = core.choose(MACHINE.question(point), own=True).choice
        found = contenders.choices(point, MACHINE, predictors.from_links(MACHINE), 6)
        assert found[0] == own
        assert len(found) == len(set(found)) <= 6
        for choice in found:
            core.parse("bcast", choice)

    def test_algorithms_before_parameters(self) -> None:
        found = contenders.choices(
            Point("bcast", 8192, 16), MACHINE, lambda _point, choices: dict.fromkeys(choices, 1.0), 5
        )
        assert len({choice.partition(":")[0] for choice in found}) >= 4

    def test_nobody_far_from_the_best(self) -> None:
        def predict(_point: Point, choices: Sequence[str]) -> dict[str, float]:
            return {choice: 1.0 if choice.startswith("chain") else 10.0 for choice in choices}

        found = contenders.choices(Point("bcast", 65536, 16), MACHINE, predict, 9)
        assert {choice.partition(":")[0] for choice in found} == {"chain"}

    @pytest.mark.parametrize("field", [None, "connection_bytes_per_s", "connection_way_bytes_per_s"])
    def test_many_connections_are_for_links_that_one_does_not_fill(self, field: str | None) -> None:
        document = json.loads((DATA / "ethernet-16.openmpi.json").read_text(encoding="utf-8"))
        document["link_classes"][0] |= {field: 3e6} if field else {}
        found = contenders.choices(
            Point("bcast", 1 << 20, 16), MACHINE, lambda _point, choices: dict.fromkeys(choices, 1.0), 99,
            profile=json.dumps(document),
        )  # fmt: skip
        assert any(choice.startswith("chains:") for choice in found) == bool(field)

    def test_nodes_that_are_not_full_count(self) -> None:
        """GIVEN six ranks on nodes of four and two THEN rules are asked about two nodes."""
        machine = contenders.TunedMachine(2, 4, 100_000_000, "openmpi")
        assert machine.question(Point("bcast", 8, 6)).nodes == 2

    def test_unsized_collectives_have_the_same_at_every_size(self) -> None:
        predict = predictors.from_links(MACHINE)
        assert contenders.choices(Point("alltoallv", 8, 16), MACHINE, predict, 5) == contenders.choices(
            Point("alltoallv", 65536, 16), MACHINE, predict, 5
        )

    def test_the_librarys_algorithms(self) -> None:
        listed = {"bcast": ["basic_linear", "chain", "two_proc"], "allgather": ["recursive_doubling", "nb"]}
        assert library.choices(Point("bcast", 65536, 16), "openmpi", listed) == [
            "library:basic_linear",
            "library:chain:chain_fanout=4,segmentsize=4096",
            "library:chain:chain_fanout=4,segmentsize=16384",
        ]
        assert library.choices(Point("allgather", 8, 16), "mpich", listed) == ["library:recursive_doubling"]
        assert library.choices(Point("allgather", 8, 12), "mpich", listed) == []


class TestVerdict:
    def test_a_clear_gain_is_taken(self) -> None:
        v = verdict_of(measured("library", 2.0), measured("antiphon:chain", 1.0))
        assert v.good == ["chain"]
        assert v.faster["chain"]["sync"] == pytest.approx(2.0)

    def test_within_noise_the_library_stays(self) -> None:
        v = verdict_of(measured("library", 1.04, spread=0.2), measured("antiphon:chain", 1.0, spread=0.2))
        assert v.good == [decide.LIBRARY]

    def test_of_equals_who_would_not_lose_to_the_library_at_its_best(self) -> None:
        library = measured("library", 1.25, spread=0.2)  # The interval begins at 1.0.
        v = verdict_of(library, measured("antiphon:chain", 1.04), measured("antiphon:kary", 1.01))
        assert v.good == ["kary"]
        assert verdict_of(library, measured("antiphon:chain", 1.04)).good == ["chain"]

    def test_a_small_gain_is_not_worth_it(self) -> None:
        v = verdict_of(measured("library", 1.01, spread=0.001), measured("antiphon:chain", 1.0, spread=0.001))
        assert v.good == [decide.LIBRARY]

    def test_who_loses_in_one_mode_is_not_taken(self) -> None:
        v = verdict_of(
            measured("library", 2.0),
            measured("antiphon:chain", 1.0),
            measured("library", 1.0, "throughput"),
            measured("antiphon:chain", 1.1, "throughput"),
        )
        assert v.good == [decide.LIBRARY]

    def test_who_was_left_out_of_a_mode_is_not_taken(self) -> None:
        v = verdict_of(
            measured("library", 2.0), measured("antiphon:chain", 1.0), measured("library", 1.0, "throughput")
        )
        assert v.good == [decide.LIBRARY]

    def test_without_the_library_there_is_no_verdict(self) -> None:
        ((key, cell),) = decide.cells_of([measured("antiphon:chain", 1.0)]).items()
        assert decide.verdict(key, cell) is None


class TestRules:
    def verdicts(self) -> list[decide.Verdict]:
        cells = [
            *[measured(c, t, size=8) for c, t in (("library", 1.0), ("antiphon:flat", 2.0))],
            *[
                measured(c, t, size=8192)
                for c, t in (("library", 2.0), ("antiphon:chain", 1.0), ("antiphon:binary", 1.01))
            ],
            *[
                measured(c, t, size=65536)
                for c, t in (("library", 4.0), ("antiphon:chain", 1.02), ("antiphon:binary", 1.0))
            ],
        ]
        judged = (decide.verdict(key, cell, usual="chain") for key, cell in decide.cells_of(cells).items())
        return [v for v in judged if v]

    def test_borders_are_geometric_means_and_neighbours_share(self) -> None:
        made = decide.rules(self.verdicts(), "openmpi", 1)
        assert [(r["bytes"], r["use"].partition(":")[0]) for r in made] == [
            ([1, 256], "library"),
            ([257, None], "chain"),
        ]
        assert all(r["ranks"] == [16, 16] and r["mpi"] == "openmpi" for r in made)

    def test_rules_are_read_by_the_core(self) -> None:
        profile = json.dumps({"decisions": {"version": 1, "rules": decide.rules(self.verdicts(), "openmpi", 1)}})
        question = core.Question("bcast", 16, 16, 1, 65536, link_bits_per_s=100_000_000, mpi="openmpi")
        chosen = core.choose(question, profile)
        assert chosen.algorithm == "chain"
        assert "measured on 16 ranks at 8 KiB to 64 KiB" in chosen.reason

    def test_ranks_between_two_measured_numbers(self) -> None:
        cells = [
            m
            for ranks, choice in ((4, "chain"), (16, "binary"))
            for m in (measured("library", 2.0, ranks=ranks), measured(f"antiphon:{choice}", 1.0, ranks=ranks))
        ]
        verdicts = [decide.verdict(key, cell) for key, cell in decide.cells_of(cells).items()]
        made = decide.rules([v for v in verdicts if v], "mpich", 1)
        assert [(r["ranks"], r["use"]) for r in made] == [([9, 16], "binary"), ([4, 8], "chain")]

    def test_unknown_sizes_get_one_choice_that_never_loses(self) -> None:
        def cell(size: int, library: float, rotated: float, windowed: float) -> list[CollectiveMeasurement]:
            return [
                measured("library", library, size=size, collective="alltoallv"),
                measured("antiphon:rotated", rotated, size=size, collective="alltoallv"),
                measured("antiphon:windowed", windowed, size=size, collective="alltoallv"),
            ]

        cells = [*cell(8, 1.0, 1.2, 1.0), *cell(65536, 3.0, 1.0, 2.0)]
        verdicts = [v for v in (decide.verdict(key, c) for key, c in decide.cells_of(cells).items()) if v]
        (rule,) = decide.rules(verdicts, "openmpi", 1)
        assert rule["use"] == "windowed"
        assert "bytes" not in rule


class TestDocument:
    def test_only_this_library_is_replaced(self, tmp_path: Path) -> None:
        profile = document.first_guess("lab", NETWORK.node_of_rank, NETWORK)
        other = {"collective": "bcast", "mpi": "mpich", "ranks_per_node": [1, 1], "use": "library"}
        old = {"collective": "bcast", "mpi": "openmpi", "ranks": [9, 16], "ranks_per_node": [1, 1], "use": "library"}
        more = {**old, "ranks": [17, 1024]}
        dealt = {**old, "blocked": False}
        profile["decisions"] = {"version": 1, "rules": [old, other, more, dealt]}
        new = {**old, "use": "chain"}
        document.put_rules(profile, [{**new, "ranks": [4, 8]}, new])
        assert profile["decisions"]["rules"] == [{**new, "ranks": [4, 8]}, new, other, more, dealt]
        document.write(tmp_path / "p.json", profile)
        assert profiles.load(tmp_path / "p.json") == profile


def test_cells_as_the_program_takes_them() -> None:
    plan = Race(
        [RaceCell("bcast", 8, 4, ("sync", "throughput"), ("library", "chain:segment_bytes=4096,window=8"))], 0.5, 30
    )
    assert plan.arguments()[-2:] == ["--cell", "bcast;8;4;sync+throughput;library;chain:segment_bytes=4096,window=8"]
    assert plan.needs_antiphon
    assert not Race([RaceCell("bcast", 8, 4, ("sync",), ("library", "library:chain"))], 0.5, 30).needs_antiphon


def test_among_equals_the_rules_own_choice_is_taken() -> None:
    """Another one that is better only within noise does not displace it, wherever it stands."""
    cells = [
        measured("library", 3.0),
        measured("antiphon:binary", 1.0, spread=0.1),
        measured("antiphon:chain", 1.05, spread=0.1),
    ]
    v = verdict_of(*cells, usual="chain")
    assert v.good[0] == "chain"
    assert verdict_of(*cells).good[0] == "binary"
    (rule,) = decide.rules([v], "openmpi", 1)
    assert rule["use"] == "chain"
    clearly = [measured("library", 3.0), measured("antiphon:chain", 1.5), measured("antiphon:binary", 1.0)]
    assert verdict_of(*clearly, usual="chain").good == ["binary"]


def test_few_samples_must_say_more() -> None:
    def few(contender: str, median_s: float) -> CollectiveMeasurement:
        chosen = contender.removeprefix("antiphon:")
        return CollectiveMeasurement(
            "bcast",
            65536,
            16,
            mode="throughput",
            contender=contender,
            chosen=chosen,
            calls_per_sample=4,
            samples=[median_s] * 3,
        )

    assert verdict_of(few("library", 1.07), few("antiphon:chain", 1.0)).good == [decide.LIBRARY]
    assert verdict_of(few("library", 1.2), few("antiphon:chain", 1.0)).good == ["chain"]


class TestMeasuredAgain:
    """Choices that were picked for being fast in some samples are judged by other samples."""

    FIRST = (
        *(measured("library", 1.5, mode=mode) for mode in ("sync", "throughput")),
        measured("antiphon:chain", 1.48, mode="sync"),
        measured("antiphon:chain", 1.0, mode="throughput"),
        measured("antiphon:binary", 1.45, mode="sync"),
        measured("antiphon:binary", 1.01, mode="throughput"),
        measured("antiphon:flat", 1.3, mode="sync"),
        measured("antiphon:flat", 1.3, mode="throughput"),
    )

    def judged(self, again: Sequence[CollectiveMeasurement]) -> decide.Verdict:
        ((key, cell),) = decide.cells_of(self.FIRST).items()
        (second,) = decide.cells_of(again).values()
        verdict = decide.verdict(key, cell, second)
        assert verdict is not None
        return verdict

    def again(self, chain_sync_s: float) -> list[CollectiveMeasurement]:
        return [
            *(measured("library", 1.5, mode=mode) for mode in ("sync", "throughput")),
            measured("antiphon:chain", chain_sync_s, mode="sync"),
            measured("antiphon:chain", 1.0, mode="throughput"),
        ]

    def test_who_is_in_doubt(self) -> None:
        assert decide.doubted(verdict_of(*self.FIRST, usual="chain")) == ["chain", "binary"]
        clear = [m for m in self.FIRST if m.chosen in ("library", "flat")]
        assert verdict_of(*clear).good == ["flat"]
        assert decide.doubted(verdict_of(*clear)) == []
        assert decide.doubted(verdict_of(measured("library", 1.0), measured("antiphon:chain", 2.0))) == []

    def test_who_wins_again_stays(self) -> None:
        v = self.judged(self.again(1.47))
        assert v.good == ["chain"]  # The algorithm binary was not measured again.
        assert v.faster["chain"]["sync"] == pytest.approx(1.5 / 1.47)

    def test_who_loses_then_goes_and_what_is_clear_stays(self) -> None:
        v = self.judged(self.again(1.6))
        assert v.good == ["flat"]
