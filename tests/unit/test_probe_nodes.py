# SPDX-License-Identifier: Apache-2.0
"""Checks how the probe finds the nodes of very many ranks, and what it says of losses that are not the port's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from antiphon.probe import contention, document, nodes, survey
from antiphon.probe.curves import ClassCurves

HOSTS, PER_HOST = 128, 64
#: The kernel's own limit of one word of a command line.
LONGEST_WORD = 131072


class Machine:
    """Answers as the program would on hosts of 64 ranks each; near ranks are those with the same `home`."""

    def __init__(self, home: Callable[[int], int]) -> None:
        self.ranks, self.budget_s, self.elapsed_s = HOSTS * PER_HOST, 60.0, 0.0
        self.home = home
        self.pairs = 0
        self.launches = 0

    def run(self, tasks: Sequence[str]) -> list[dict[str, Any]]:
        self.launches += 1
        return [event for text in tasks for event in self._events(text)]

    def _events(self, text: str) -> list[dict[str, Any]]:
        assert len(text) < LONGEST_WORD
        name, _, values = text.partition(";")
        if name == "identify":
            hosts = [f"n{rank // PER_HOST}" for rank in range(self.ranks)]
            return [{"event": "identity", "ranks": self.ranks, "hosts": hosts}]
        told = dict(pair.split("=") for pair in values.split(";"))
        rounds = [[tuple(map(int, p.split("-"))) for p in one.split(",")] for one in told["rounds"].split("/")]
        self.pairs += sum(map(len, rounds))
        rows = [[a, b, [1000.0 if self.home(a) == self.home(b) else 50000.0]] for one in rounds for a, b in one]
        return [{"event": "pairs", "label": told["label"], "pairs": rows}]


def test_of_very_many_ranks_some_pairs_are_measured() -> None:
    """GIVEN 8192 ranks on 128 hosts THEN pairs of hosts and of one host's ranks are enough to find the nodes."""
    machine = Machine(lambda rank: rank // PER_HOST)
    found = nodes.find(machine)  # type: ignore[arg-type]
    assert found.nodes == [list(range(PER_HOST * n, PER_HOST * (n + 1))) for n in range(HOSTS)]
    assert found.notes == []
    assert machine.pairs < 3 * (HOSTS * HOSTS + PER_HOST * PER_HOST) / 2
    assert {(0, 1), (62, 63), (0, PER_HOST), (126 * PER_HOST, 127 * PER_HOST)} <= found.latency_s.keys()


def test_latency_that_contradicts_the_names_of_very_many_ranks_is_told() -> None:
    """GIVEN two hosts on each machine THEN the nodes are the hosts, and a note says what latency says."""
    found = nodes.find(Machine(lambda rank: rank // PER_HOST // 2))  # type: ignore[arg-type]
    assert len(found.nodes) == HOSTS
    assert found.notes == [
        "by latency 191 of the ranks are on 64 nodes, by their names 128: the profile follows the names, as not all "
        "pairs of so many ranks were measured"
    ]


def test_sockets_of_one_measured_node_are_those_of_all() -> None:
    found = nodes.find(Machine(lambda rank: rank // (PER_HOST // 2)))  # type: ignore[arg-type]
    surveyed = survey.Survey(identity=found.identity, nodes=found.nodes, least_s=found.least_s)
    parts = survey._parts_of_nodes(surveyed)  # noqa: SLF001
    assert parts is not None and len(parts) == HOSTS
    assert parts[127] == [list(range(8128, 8160)), list(range(8160, 8192))]


@pytest.mark.parametrize("lost_at_16k", [0, 2])
def test_no_credit_where_the_least_burst_lost_packets(lost_at_16k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN losses at every size of some senders THEN there is no credit, and a note instead of a credit of nothing."""
    events = [
        {"event": "incast", "senders": senders, "total_bytes": total, "seconds": [0.01], "trials": 5, "lost": lost,
         "passed": lost < 2}
        for senders, total, lost in ((2, 16384, 0), (2, 65536, 2), (4, 16384, lost_at_16k), (4, 65536, 2))
    ]  # fmt: skip
    monkeypatch.setattr(contention, "gamma", lambda *_: [])
    notes: list[str] = []
    told = document.contended(events, ClassCurves(), 1e7, notes)
    assert told.get("credit_bytes") == (None if lost_at_16k else 8192)
    assert [note.partition(":")[0] for note in notes] == (
        ["even 16384 bytes at once from 4 nodes lost packets on the way to one"] if lost_at_16k else []
    )
