# SPDX-License-Identifier: Apache-2.0
"""Placement and choice of algorithms together (paper 2, Section 7 calls it a promising way).

With Antiphon's own collectives both are free: ranks are placed for the messages that the algorithms send, then for each
call the algorithm is chosen that the model finds fastest for ranks in these places, and so on until nothing is gained.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from antiphon import core
from antiphon.documents import parse_json
from antiphon.mapping.hosts import in_profile
from antiphon.mapping.machine import with_nodes
from antiphon.trace import Trace
from antiphon.traffic import libraries
from antiphon.traffic.decompose import Decomposer, Own, by_schedule, question_of
from antiphon.traffic.edges import Array, Edges, Uniform
from antiphon.traffic.graph import Part, Traffic
from antiphon.traffic.libraries import CollectiveCall, LibraryAlgorithm
from antiphon.traffic.of_trace import Builder, TracedCollective, Window, collective_calls, count_calls

#: Both together rarely gain after the second round.
MOST_ROUNDS = 6
#: The search ends after a round that gains less.
LEAST_GAIN = 0.002
#: Evaluations that the search for an algorithm's parameters may take.
EVALUATIONS = 6
#: In which a block goes from one to the next; of other multicasts, short ones, links are not asked about.
PASSED_ON = {"bcast": "chain", "allgather": "ring"}
WHOLE_RUN = Window(0, 1 << 62)
#: The algorithm of each call, alike on all communicators that make it: ranks decide by sizes.
Choices = dict[CollectiveCall, str]


@dataclass(frozen=True)
class Asked:
    """Equal calls of one communicator."""

    members: tuple[int, ...]
    call: CollectiveCall
    calls: int


@dataclass
class JointChoice:
    """A placement, the algorithm of each call, and the predicted time of all."""

    nodes: list[int]
    choices: Choices
    collectives_s: float
    point_to_point_s: float

    @property
    def seconds(self) -> float:
        """Of all communication."""
        return self.collectives_s + self.point_to_point_s


@dataclass
class JointResult:
    """The predictions with nothing changed, with one of both changed, and with both."""

    start: JointChoice
    algorithms: JointChoice
    placement: JointChoice
    both: JointChoice
    rounds: int
    notes: list[str] = field(default_factory=list)


class Fixed:
    """Algorithms that were chosen for each call on each communicator; for the others, Antiphon's rules."""

    leader = "first"
    name = "chosen for the placement"

    def __init__(self, own: Own, choices: Mapping[CollectiveCall, str]) -> None:
        self.own = own
        self.by_call = choices

    def choose(self, call: CollectiveCall, nodes: Array | None, sub: str = "") -> LibraryAlgorithm:
        """What was chosen for the call."""
        chosen = self.by_call.get(call)
        return self.own.choose(call, nodes, sub) if chosen is None else LibraryAlgorithm(chosen, schedule=chosen)


class Optimiser:
    """One trace on one machine."""

    def __init__(self, trace: Trace, profile: str, library: str = "") -> None:
        self.trace = trace
        self.profile = profile
        text = library or " ".join(str(trace.header.get("mpi", "")).split())
        self.own = Own(libraries.for_library(text), profile, ran=True)
        #: How many ranks each node of the run has, and its number in the profile.
        self.slots = np.bincount(trace.nodes).tolist()
        topology = parse_json(profile)["topology"]
        self.numbers, self.note = in_profile(trace.header.get("hosts") or [], len(self.slots), topology)
        self._machines: dict[float, dict[str, Any]] = {}
        self.counted = {rank.rank: count_calls(rank, WHOLE_RUN) for rank in trace.ranks}
        self.asked = list(asked(collective_calls(self.counted)))
        self._predicted: dict[tuple[CollectiveCall, bytes], list[dict[str, Any]]] = {}
        self._timed: dict[tuple[CollectiveCall, bytes, str], float] = {}
        self._shared: dict[tuple[CollectiveCall, tuple[int, ...], str, tuple[int, ...]], float] = {}
        by_call: dict[CollectiveCall, list[Asked]] = defaultdict(list)
        for one in self.asked:
            by_call[one.call].append(one)
        self.layers = {call: layers(many) for call, many in by_call.items()}

    def run(self) -> JointResult:
        """All four."""
        there = list(self.trace.nodes)
        start = self.state(there, self.by_rules(there))
        algorithms = self.state(there, self.best(there))
        placement = start
        for nodes in (self.place(start.choices, there), *self.usual()):
            placement = self.better(placement, self.state(nodes, self.by_rules(nodes)))
        both, rounds = self.better(algorithms, placement), 0
        for nodes in self.usual():
            both = self.better(both, self.state(nodes, self.best(nodes)))
        for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007
            nodes = self.place(both.choices, both.nodes)
            tried = [self.state(nodes, self.best(nodes)), self.state(both.nodes, self.best(both.nodes))]
            best = min(tried, key=lambda state: state.seconds)
            if best.seconds > both.seconds * (1 - LEAST_GAIN):
                both = self.better(both, best)
                break
            both = best
        return JointResult(start, algorithms, placement, both, rounds, [self.note] if self.note else [])

    def usual(self) -> list[list[int]]:
        """Block and cyclic on the run's nodes, in their sizes."""
        sizes = np.bincount(self.trace.nodes)
        block = np.repeat(np.arange(len(sizes)), sizes)
        # Round after round, each node that still has room takes the next rank.
        turn = np.concatenate([np.arange(size) for size in sizes])
        cyclic = block[np.lexsort((block, turn))]
        return [block.tolist(), cyclic.tolist()]

    @staticmethod
    def better(a: JointChoice, b: JointChoice) -> JointChoice:
        """The faster one; the first if both take the same time."""
        return b if b.seconds < a.seconds else a

    def state(self, nodes: Sequence[int], choices: Choices) -> JointChoice:
        """The predicted time."""
        seconds = sum(self.total(call, nodes, choice) for call, choice in choices.items())
        return JointChoice(list(nodes), choices, seconds, self.messages_s(nodes))

    def total(self, call: CollectiveCall, nodes: Sequence[int], choice: str) -> float:
        """What all these calls take. Those on communicators without common ranks go on at the same time: as long as the
        slowest takes by itself, or the links that they share need for all."""
        seconds = 0.0
        for layer in self.layers[call]:
            alone = max(one.calls * self.time(one, nodes, choice) for one in layer)
            calls = max(one.calls for one in layer)
            seconds += max(alone, calls * self.shared(layer, nodes, choice) if len(layer) > 1 else 0.0)
        return seconds

    def calls(self, call: CollectiveCall) -> int:
        """How many of these calls a rank makes."""
        return sum(max(one.calls for one in layer) for layer in self.layers[call])

    def shared(self, layer: Sequence[Asked], nodes: Sequence[int], choice: str) -> float:
        """What the messages of one call on each of these communicators take, as one heap."""
        key = (layer[0].call, tuple(one.members[0] for one in layer), choice, tuple(nodes))
        if key not in self._shared:
            lists, groups = zip(*(_messages(one, nodes, choice) for one in layer), strict=True)
            part = Part(layer[0].call.collective, Edges.merge(lists), [group for some in groups for group in some])
            self._shared[key] = self._heap_s(Traffic(self.trace.size, [part]), nodes)
        return self._shared[key]

    def by_rules(self, nodes: Sequence[int]) -> Choices:
        """What Antiphon's rules, or the profile's, choose."""
        return {one.call: self.rule(one, nodes) for one in self.asked}

    def rule(self, one: Asked, nodes: Sequence[int]) -> str:
        """Of one call; where no rule fits, the model's."""
        chosen = self.own.choose(one.call, np.array(nodes, np.int64)[list(one.members)]).schedule
        return chosen or str(self.candidates(one, nodes)[0]["choice"])

    def as_run(self, nodes: Sequence[int], measured: bool) -> Choices:
        """What a run chooses there by itself: the rules' choice, put to its model of a measured machine or a guess."""
        found: Choices = {}
        for one in self.asked:
            places = np.array(nodes, np.int64)[list(one.members)]
            question = question_of(one.call, places, self.own.library.about["family"], self.own.link_bits_per_s)
            chosen = core.choose(question, self.profile if measured else None, model=True)
            if chosen.algorithm is None:
                found[one.call] = self.own.library.choose(one.call, places).schedule or self.rule(one, nodes)
            else:
                found[one.call] = chosen.choice
        return found

    def best(self, nodes: Sequence[int]) -> Choices:
        """What the model finds fastest there."""
        chosen = {}
        for call, layered in self.layers.items():
            many = [one for layer in layered for one in layer]
            # The best of each communicator stands for election; the rules' comes first, and stays where none is better.
            names = [self.rule(many[0], nodes)]
            names += [str(found[0]["choice"]) for one in many if (found := self.candidates(one, nodes))]
            totals = {name: self.total(call, nodes, name) for name in dict.fromkeys(names)}
            chosen[call] = min(totals, key=lambda name: totals[name])  # noqa: B023
        return chosen

    def _request(self, one: Asked, nodes: Sequence[int]) -> dict[str, Any]:
        call = one.call
        return {
            "collective": call.collective,
            "ranks": call.ranks,
            "bytes": [call.total_bytes() // call.ranks],
            "root": call.root,
            "element_bytes": call.element_bytes,
            "node_of_rank": [self.numbers[nodes[m]] for m in one.members],
            "profile": self.profile,
        }

    def candidates(self, one: Asked, nodes: Sequence[int]) -> list[dict[str, Any]]:
        """All algorithms, predicted for ranks there."""
        request = self._request(one, nodes)
        key = (one.call, np.array(request["node_of_rank"], np.int32).tobytes())
        if key not in self._predicted:
            self._predicted[key] = core.query("predict", max_evaluations=EVALUATIONS, **request)["sizes"][0][
                "candidates"
            ]
        return self._predicted[key]

    def time(self, one: Asked, nodes: Sequence[int], choice: str) -> float:
        """The time of one call."""
        request = self._request(one, nodes)
        key = (one.call, np.array(request["node_of_rank"], np.int32).tobytes(), choice)
        if key not in self._timed:
            answer = core.query("predict", choices=[choice], **request)["sizes"][0]["candidates"]
            self._timed[key] = float(answer[0]["seconds"]) if answer else float("inf")
        return self._timed[key]

    def traffic(self, choices: Mapping[CollectiveCall, str], nodes: Sequence[int]) -> Traffic:
        """The messages with these algorithms."""
        fixed = Decomposer(Fixed(self.own, choices))
        builder = Builder(self.trace.size, np.array(nodes, np.int64), fixed, fixed)
        return Traffic(self.trace.size, list(builder.parts(self.trace, WHOLE_RUN)), {"nodes": list(nodes)})

    def place(self, choices: Mapping[CollectiveCall, str], nodes: Sequence[int]) -> list[int]:
        """Ranks placed for those messages."""
        answer = self._ask(self.traffic(choices, nodes), "map", seconds=max(0.1, 2.5e-4 * self.trace.size))
        return [int(node) for node in answer["node_of_rank"]]

    def messages_s(self, nodes: Sequence[int]) -> float:
        """What point-to-point messages cost there."""
        alone = self.traffic({}, nodes).selected(lambda part: not part.collective)
        return self._heap_s(alone, nodes) if alone.parts else 0.0

    def _heap_s(self, traffic: Traffic, nodes: Sequence[int]) -> float:
        return float(self._ask(traffic, "score_mapping", node_of_rank=list(nodes), links=False)["costs"]["predicted_s"])

    def _ask(self, traffic: Traffic, request: str, **fields: Any) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
            file = Path(folder) / "traffic"
            traffic.mapping_file(file)
            return core.query(request, traffic_file=str(file), machine=self._machine(traffic.mean_bytes()), **fields)

    def _machine(self, message_bytes: float) -> dict[str, Any]:
        """The run's nodes alone, as the run numbers them, with places for the ranks that were there."""
        if message_bytes not in self._machines:
            request = {"machine": self.profile, "cores_per_node": max(self.slots), "message_bytes": message_bytes}
            whole = core.query("describe_machine", **request)["machine"]
            hosts = [(f"node{node}", max(1, slots)) for node, slots in enumerate(self.slots)]
            self._machines[message_bytes] = with_nodes(whole, self.numbers, hosts)
        return self._machines[message_bytes]


def _messages(one: Asked, nodes: Sequence[int], choice: str) -> tuple[Edges, list[Uniform]]:
    """Of one call. A multicast reaches each node once: what is passed on from node to node fills links alike."""
    call, members = one.call, one.members
    if choice.startswith("multicast"):
        if call.collective not in PASSED_ON:
            return Edges.empty(), []
        choice = PASSED_ON[call.collective]
        root = members[call.root]
        members = tuple(sorted(members, key=lambda m: (m != root, nodes[m] != nodes[root], nodes[m])))
        call = replace(call, root=0)
    return by_schedule(call, choice, [nodes[m] for m in members]).mapped(np.array(members, np.int32))


def layers(many: Sequence[Asked]) -> list[list[Asked]]:
    """Communicators put together that have no rank in common, each where it first fits."""
    found: list[tuple[set[int], list[Asked]]] = []
    for one in many:
        for ranks, layer in found:
            if ranks.isdisjoint(one.members):
                ranks.update(one.members)
                layer.append(one)
                break
        else:
            found.append((set(one.members), [one]))
    return [layer for _, layer in found]


def asked(calls: Mapping[Any, Sequence[TracedCollective]]) -> Iterator[Asked]:
    """The calls whose algorithm is to be chosen; an alltoallv's sizes are not known to the model."""
    for comm, many in calls.items():
        for one in many:
            if one.matrix is None and one.call.ranks > 1:
                yield Asked(tuple(int(m) for m in comm.members), one.call, one.calls)
