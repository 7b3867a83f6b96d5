# SPDX-License-Identifier: Apache-2.0
"""Decomposes a collective call into its messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from antiphon import core
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.traffic import core as messages_core
from antiphon.traffic.edges import Array, Edges, Uniform
from antiphon.traffic.libraries import CollectiveCall, Library, LibraryAlgorithm, RankLayout, first_supported

#: Algorithms in which each rank sends each other its block, and nothing else.
DIRECT = ("windowed", "rotated", "exchange_xor")
#: Communicators larger than this keep such exchanges as a group.
MOST_LISTED_RANKS = 64
ROTATED = "one rank's messages stand for all: bytes are right to 0.1 %"
SWITCHLESS = "a trace does not say which switches nodes are on: rings within switches count as one ring"


class Chooser(Protocol):
    """A library's table, or Antiphon's rules."""

    @property
    def name(self) -> str:
        """The name for people."""

    @property
    def leader(self) -> str:
        """Which rank of a node is its leader: "first", or "same_place" as the root on its own."""

    def choose(self, call: CollectiveCall, nodes: Array | None, sub: str = "") -> LibraryAlgorithm:
        """The algorithm for a call of ranks on these nodes (None: one a node, or all on one)."""


@dataclass
class Decomposed:
    """Messages among the ranks of the communicator."""

    edges: Edges
    uniform: list[Uniform] = field(default_factory=list)
    #: The library's name of the algorithm; our schedules that send the same.
    algorithm: str = ""
    schedules: list[str] = field(default_factory=list)
    #: The schedule that it is; "": it is made of several.
    schedule: str = ""
    notes: set[str] = field(default_factory=set)

    def mapped(self, members: Array, times: int = 1) -> tuple[Edges, list[Uniform]]:
        """In terms of other ranks, so many times."""
        groups = [Uniform(members[u.members], u.messages * times, u.bytes * times) for u in self.uniform]
        return self.edges.mapped(members).times(times), groups


class Decomposer:
    """Decomposes calls by a library's table; the same call on the same layout is done once."""

    def __init__(self, chooser: Chooser) -> None:
        self.chooser = chooser
        self._done: dict[tuple[CollectiveCall, bytes, str], Decomposed] = {}

    def decompose(self, call: CollectiveCall, nodes: Array | None = None, sub: str = "") -> Decomposed:
        """`nodes`: of each of the communicator's ranks; None: one rank a node, or one node."""
        # Only which ranks share a node matters, not which node it is.
        same = None if nodes is None else np.unique(nodes, return_inverse=True)[1].astype(np.int64)
        key = (call, b"" if same is None else same.tobytes(), sub)
        if key not in self._done:
            self._done[key] = self._by_choice(call, same, self.chooser.choose(call, same, sub))
        return self._done[key]

    def _by_choice(self, call: CollectiveCall, nodes: Array | None, choice: LibraryAlgorithm) -> Decomposed:
        if call.ranks < 2:
            return Decomposed(Edges.empty(), algorithm=choice.name, schedules=["nothing"])
        if not choice.steps:
            done = dataclasses.replace(by_schedule(call, choice.schedule, nodes), schedule=choice.schedule)
        else:
            done = joined(self._step(call, nodes, step) for step in choice.steps)
        done.algorithm = choice.name
        return dataclasses.replace(done, notes=done.notes | ({choice.note} if choice.note else set()))

    def _step(self, call: CollectiveCall, nodes: Array | None, step: Mapping[str, Any]) -> Decomposed:
        """A step of an algorithm that is made of other collectives."""
        call = dataclasses.replace(call, root=step.get("root", call.root))
        over = Groups(call, nodes, self.chooser.leader)
        if step["collective"] in MOVES:
            return Decomposed(Edges.of(MOVES[step["collective"]](call, over)), schedules=[step["collective"]])
        return joined(self._on_group(call, over, step, members) for members in over.of(step.get("over", "all")))

    def _on_group(self, call: CollectiveCall, over: Groups, step: Mapping[str, Any], members: Array) -> Decomposed:
        if step.get("from_root"):
            members = np.roll(members, -call.root)
        part = over.call_on(call, step, members)
        # For a collective on all ranks the library chooses again, by the nodes of the ranks.
        nodes = over.nodes if step.get("over", "all") == "all" else None
        done = joined(self._segment(piece, step, sub, times, nodes) for piece, sub, times in segments(part, step))
        edges, uniform = done.mapped(members)
        return dataclasses.replace(done, edges=edges, uniform=uniform)

    def _segment(
        self, call: CollectiveCall, step: Mapping[str, Any], sub: str, times: int, nodes: Array | None
    ) -> Decomposed:
        use = step.get("use")
        if use is None or call.ranks < 2:
            done = self.decompose(call, nodes, sub)
        else:
            done = self._by_choice(
                call,
                None,
                LibraryAlgorithm("", schedule=use if isinstance(use, str) else first_supported(call, tuple(use))),
            )
        edges, uniform = done.mapped(np.arange(call.ranks, dtype=np.int32), times)
        return dataclasses.replace(done, edges=edges, uniform=uniform)


def segments(call: CollectiveCall, step: Mapping[str, Any]) -> Iterator[tuple[CollectiveCall, str, int]]:
    """What a step cuts a message into: a segment's call, the part of the table that decides, how many there are."""
    first, others = step.get("first", ""), step.get("others", "")
    longest = step.get("segment_bytes")
    if longest is None or call.bytes <= longest:
        yield call, first, 1
        return
    whole = max(longest // call.element_bytes, 1) * call.element_bytes
    count, rest = divmod(call.bytes, whole)
    yield dataclasses.replace(call, bytes=whole), first, 1
    if count > 1:
        yield dataclasses.replace(call, bytes=whole), others, count - 1
    if rest:
        yield dataclasses.replace(call, bytes=rest), others, 1


class Groups:
    """A communicator's nodes, and the leading rank of each."""

    def __init__(self, call: CollectiveCall, nodes: Array | None, leader: str) -> None:
        self.nodes = np.zeros(call.ranks, np.int64) if nodes is None else nodes
        order = np.argsort(self.nodes, kind="stable").astype(np.int32)
        starts = np.flatnonzero(np.diff(self.nodes[order])) + 1
        self.by_node = np.split(order, starts)
        home = next(members for members in self.by_node if self.nodes[members[0]] == self.nodes[call.root])
        place = int(np.flatnonzero(home == call.root)[0]) if leader == "same_place" else 0
        self.leaders = np.sort(np.array([members[min(place, len(members) - 1)] for members in self.by_node], np.int32))

    def of(self, over: str) -> list[Array]:
        """The groups that a step works on, each as ranks of the communicator."""
        if over == "node":
            return [members for members in self.by_node if len(members) > 1]
        if over == "leaders":
            return [self.leaders]
        everybody = np.arange(len(self.nodes), dtype=np.int32)
        paired, others = np.split(everybody, [2 * pairs_of(len(everybody))])
        if over == "pairs":
            return list(paired.reshape(-1, 2))
        return [everybody if over == "all" else np.concatenate([paired[::2], others])]

    def leader_of(self, rank: int) -> int:
        """The leader of the rank's node."""
        return int(next(r for r in self.leaders if self.nodes[r] == self.nodes[rank]))

    def call_on(self, call: CollectiveCall, step: Mapping[str, Any], members: Array) -> CollectiveCall:
        """The step's call on one group."""
        over = step.get("over", "all")
        speaker = call.root
        if over in ("node", "leaders"):
            speaker = self.leader_of(int(members[0]) if over == "node" else call.root)
        root = int(np.argmax(members == speaker))
        what = step.get("bytes", "block")
        mean = call.total_bytes() // call.ranks
        size = {
            "block": mean,
            "total": call.total_bytes(),
            "node": mean * (call.ranks // len(self.by_node)),
            "share": -(-call.bytes // call.ranks),
        }[what]
        irregular = step["collective"].endswith("v") or step["collective"] == "reduce_scatter"
        counts = call.counts if irregular and over == "all" else None
        return dataclasses.replace(
            call, collective=step["collective"], ranks=len(members), bytes=size, root=root, counts=counts
        )


def _root_to_leader(call: CollectiveCall, over: Groups) -> list[tuple[int, int, int, int]]:
    return [(call.root, over.leader_of(call.root), 1, call.bytes)]


def _leader_to_root(call: CollectiveCall, over: Groups) -> list[tuple[int, int, int, int]]:
    return [(over.leader_of(call.root), call.root, 1, call.bytes)]


def pairs_of(ranks: int) -> int:
    """The number of ranks beyond the largest power of two."""
    return ranks - (1 << (ranks.bit_length() - 1))


def _first_to_root(call: CollectiveCall, over: Groups) -> list[tuple[int, int, int, int]]:
    return [(0, call.root, 1, call.bytes)]


def _partners(call: CollectiveCall, over: Groups) -> list[tuple[int, int, int, int]]:
    """Each with those whose numbers differ in one bit, both ways."""
    bits = [1 << b for b in range(max(call.ranks - 1, 0).bit_length())]
    return [(r, r ^ bit, 1, call.bytes) for r in range(call.ranks) for bit in bits if r ^ bit < call.ranks]


def _mirrored(call: CollectiveCall, over: Groups) -> list[tuple[int, int, int, int]]:
    """Among the largest power of two of ranks, each to the one with its bits in reverse."""
    width = call.ranks.bit_length() - 1
    return [(r, int(f"{r:0{width}b}"[::-1] or "0", 2), 1, call.total_bytes() // call.ranks) for r in range(1 << width)]


def _last_to_first(call: CollectiveCall, over: Groups) -> list[tuple[int, int, int, int]]:
    return [(int(members[-1]), int(members[0]), 1, call.bytes) for members in over.by_node]


def _shift(call: CollectiveCall, over: Groups) -> list[tuple[int, int, int, int]]:
    return [(int(a), int(b), 1, call.bytes) for a, b in zip(over.leaders, over.leaders[1:], strict=False)]


#: Steps that are a message or two, by name.
MOVES = {
    "root_to_leader": _root_to_leader,
    "leader_to_root": _leader_to_root,
    "first_to_root": _first_to_root,
    "last_to_first": _last_to_first,
    "mirrored": _mirrored,
    "partners": _partners,
    "shift": _shift,
}


def joined(parts: Iterable[Decomposed]) -> Decomposed:
    """The messages of steps that follow one another."""
    done = list(parts)
    schedules = list(dict.fromkeys(name for part in done for name in part.schedules))
    notes = {note for part in done for note in part.notes}
    uniform = [group for part in done for group in part.uniform]
    return Decomposed(Edges.merge([part.edges for part in done]), uniform, schedules=schedules, notes=notes)


def by_schedule(call: CollectiveCall, schedule: str, nodes: Sequence[int] | Array | None = None) -> Decomposed:
    """The messages of one of our schedules; `nodes` of the ranks, if they are known."""
    named = f"{call.collective}:{schedule}"
    if call.collective == "alltoallv":
        raise AntiphonError("an alltoallv's messages are its counts", hint="they are in the trace")
    if call.collective == "alltoall" and schedule.partition(":")[0] in DIRECT and call.ranks > MOST_LISTED_RANKS:
        # A few ranks show how many pieces and tokens a pair exchanges.
        few = messages_core.messages(schedule, "alltoall", 4, bytes=call.bytes)[0]
        group = Uniform(np.arange(call.ranks, dtype=np.int32), int(few.messages[0]), call.bytes)
        return Decomposed(Edges.empty(), [group], schedules=[named])
    fields: dict[str, Any] = {"bytes": call.bytes, "root": call.root, "element_bytes": call.element_bytes}
    if call.counts is not None:
        fields["counts"] = call.counts
    if nodes is not None:
        fields["node_of_rank"] = [int(node) for node in nodes]
    known = _without_switches(call.collective, schedule)
    edges, approximate = messages_core.messages(
        known, call.collective, call.ranks, commutative=call.commutative, **fields
    )
    notes = ({ROTATED} if approximate else set()) | ({SWITCHLESS} if known != schedule else set())
    return Decomposed(edges, schedules=[named], notes=notes)


def _without_switches(collective: str, schedule: str) -> str:
    """Returns the schedule, or its like for one switch where it is for several."""
    if schedule.partition(":")[0] == "switch_rings":
        return "ring"
    choice = core.parse(collective, schedule)
    outer = choice.parameters.get("outer")
    ways = {a.name: a for a in core.algorithms(collective)}[choice.algorithm].parameters if choice.algorithm else ()
    among = next((p.meaning for p in ways if p.name == "outer"), "")
    if outer is None or f"{outer} switch_rings" not in among:
        return schedule
    ring = next(int(way.split()[0]) for way in among.partition(": ")[2].split(", ") if way.endswith(" ring"))
    return choice.choice.replace(f"outer={outer}", f"outer={ring}")


class Own:
    """Antiphon's collectives: what its rules, or a profile's, choose; what they leave to the library, its table says.

    `ran`: the calls are known not to have been left to the library.
    """

    def __init__(
        self, library: Library, profile: str | None = None, ran: bool = False, link_bits_per_s: int = 0
    ) -> None:
        self.library = library
        self.profile = profile
        self.ran = ran
        self.link_bits_per_s = link_bits_per_s or rate_of(profile)
        self.name = f"Antiphon over {library.name}"
        self.leader = library.leader

    def choose(self, call: CollectiveCall, nodes: Array | None, sub: str = "") -> LibraryAlgorithm:
        """The algorithm that a run under Antiphon uses."""
        question = question_of(call, nodes, self.library.about["family"], self.link_bits_per_s)
        found = core.choose(question, self.profile, own=self.ran)
        if found.algorithm is None:
            return self.library.choose(call, nodes, sub)
        return LibraryAlgorithm(f"Antiphon's {found.algorithm}", schedule=found.choice)


def rate_of(profile: str | None) -> int:
    """The slowest node's port, in bits a second; 0: unknown."""
    nodes = parse_json(profile)["topology"]["nodes"] if profile else []
    return int(8 * min((node.get("port_bytes_per_s", 0) for node in nodes), default=0))


def question_of(call: CollectiveCall, nodes: Array | None, family: str, link_bits_per_s: int) -> core.Question:
    """The question to the rules about a call."""
    counts = np.array([1] * call.ranks) if nodes is None else np.unique(nodes, return_counts=True)[1]
    known = None if call.collective in ("alltoallv", "scatterv", "gatherv") else call.total_bytes() // call.ranks
    return core.Question(
        call.collective,
        call.ranks,
        len(counts),
        int(counts.max()),
        known,
        call.element_bytes,
        call.commutative,
        link_bits_per_s=link_bits_per_s,
        blocked=RankLayout.of(nodes).consecutive,
        mpi=family,
    )
