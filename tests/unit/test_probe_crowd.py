# SPDX-License-Identifier: Apache-2.0
"""Checks what the probe makes of samples from ranks that share cores: crowds, turns, and the cost of a message."""

from __future__ import annotations

import pytest

from antiphon.probe import document, plan, survey


def test_while_all_ranks_send_each_sends_to_other_nodes_or_to_its_own() -> None:
    Crowd = plan.Crowd
    assert plan.crowds([[0, 1], [2, 3], [4, 5]]) == {
        "switch": Crowd([2, 3, 4, 5, 0, 1], 2),
        "node": Crowd([1, 0, 3, 2, 5, 4], 1),
    }
    assert plan.crowds([[0, 3], [1, 2]]) == {"switch": Crowd([1, 0, 3, 2], 1), "node": Crowd([3, 2, 1, 0], 1)}
    assert plan.crowds([[0], [1], [2]]) == {"switch": Crowd([1, 2, 0], 2)}
    assert plan.crowds([[0, 1, 2], [3]]) == {}


def test_with_several_ranks_a_node_partners_are_on_other_nodes_and_in_other_places() -> None:
    crowd = plan.crowds([[4 * node + i for i in range(4)] for node in range(16)])["switch"]
    assert crowd.partners == 4
    rank, seen = 0, []
    for _ in range(crowd.partners):
        rank = crowd.to[rank]
        seen.append(rank)
    assert len({rank // 4 for rank in [0, *seen]}) == 5
    assert {rank % 4 for rank in seen} == {0, 1, 2, 3}


def eight_on_two_cores() -> survey.Survey:
    identity = {"hosts": list("abcdefgh"), "kernels": ["k"] * 8, "allowed_cores": ["0-1"] * 8}
    return survey.Survey(identity=identity, nodes=[[rank] for rank in range(8)])


def test_the_cores_of_a_node_are_apart_from_those_that_ranks_were_bound_to() -> None:
    """GIVEN two bound ranks on a node THEN the profile has the node's cores, too; nodes of a lab have none."""
    who = {"kernels": ["a"] * 2, "hosts": ["n"] * 2, "allowed_cores": ["0", "1"], "physical_cores": 64}
    found = document.processors(survey.Survey(identity=who, nodes=[[0, 1]]), [])
    assert (found["cores_per_node"], found["physical_cores"]) == (2, 64)
    of_lab = survey.Survey(identity={**who, "hosts": ["n1", "n2"]}, nodes=[[0], [1]])
    assert "physical_cores" not in document.processors(of_lab, [])
    del who["physical_cores"]
    assert "physical_cores" not in document.processors(survey.Survey(identity=who, nodes=[[0, 1]]), []), "old samples"


def test_turns_are_known_for_fewer_ranks_too() -> None:
    """GIVEN turns with all 8 ranks and with some of them THEN each by the ranks on a core, with all of them last."""
    found = eight_on_two_cores()
    assert plan.fewer(found.nodes) == [[0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]
    assert plan.fewer([[0, 1], [2, 3], [4, 5], [6, 7]]) == [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]
    assert plan.fewer([[0], [1]]) == []
    events = [
        {"event": "turns", "label": "", "awake": awake, "away_ns": [ns] * 9}
        for awake, ns in (([], 6000.0), ([0, 1], 0.1), ([0, 1, 2, 3], 1200.0), ([0, 1, 2, 3, 4, 5], 3000.0))
    ]
    held = document.turns(found, events)
    assert [ranks for ranks, _ in held] == [2, 3, 4]
    assert [1e6 * seconds for _, seconds in held] == [pytest.approx(1.2), pytest.approx(1.5), pytest.approx(2)]
    described = document.processors(found, events)
    assert described["turn_s"] == 2e-6 and described["turns_s"][-1] == [4, 2e-6]
    # Older samples have this form.
    assert document.turns(found, [{"event": "turns", "label": "", "away_ns": [6000.0]}]) == held[-1:]


def test_a_latency_contains_turns_that_who_sleeps_does_not_wait_for() -> None:
    """GIVEN 4 ranks a core, turns of 2 µs THEN half a round, or a whole one where receives take it, is not latency."""
    found, events = eight_on_two_cores(), [{"event": "turns", "label": "", "away_ns": [6000.0]}]
    link = {"latency_s": 2e-5, "os_s": [[0, 1e-6]], "or_s": [[0, 2e-6]]}
    assert document.on_the_way_s(found, events, link) == pytest.approx(2e-5 - 4e-6)
    assert document.on_the_way_s(found, events, {**link, "or_s": [[0, 9e-6]]}) == pytest.approx(2e-5 - 12e-6)
    assert document.on_the_way_s(found, events, {**link, "latency_s": 3e-6}) == 0
    assert document.on_the_way_s(found, [], link) == 2e-5


def test_what_a_message_costs_in_a_crowd_is_without_the_looks_in_vain() -> None:
    """GIVEN 8 ranks, 2 cores, turns of 1 µs, 6 µs a message, 1.5 looks THEN 6 µs, without waits for the wire."""
    found = eight_on_two_cores()

    def crowd(size: int, work_ns: float, looks: float) -> dict:
        step_ns = 4 * (work_ns + 1000 * looks)
        return {
            "event": "crowd",
            "label": "switch",
            "bytes": size,
            "step_ns": [[step_ns] * 3] * 8,
            "looks": [[looks] * 3] * 8,
        }

    turns = {"event": "turns", "label": "", "away_ns": [3000.0] * 9}
    full = [{**crowd(size, 50_000, looks), "label": "full"} for size, looks in ((1024, 60), (4096, 5))]
    events = [turns, crowd(0, 6000, 1.5), crowd(64, 6500, 1.5), crowd(4096, 9000, 14), *full]
    assert document.crowded(found, events, "uplink") == [(0, pytest.approx(6e-6)), (64, pytest.approx(6.5e-6))]
    assert document.crowded(found, events, "node") == []
    # Half a vain look passes until the message is there, and one more until it is reported.
    assert document.told_next_turn(found, events, "switch") is True
    assert document.told_next_turn(found, [turns, crowd(0, 6000, 0.6)], "uplink") is False
    assert document.told_next_turn(found, events, "node") is None
    assert document.told_next_turn(found, [], "switch") is None
    assert document.crowded(found, events[1:], "switch") == []
    # With long messages, ranks are idle a tenth of the time; with more than half of it, nothing is said.
    assert document.saturated(found, events, "switch") == [(4096, pytest.approx(50e-6))]
    assert document.saturated(found, events, "node") == []
