# SPDX-License-Identifier: Apache-2.0
"""Finds the algorithm for a collective call, the reason, and its messages: the content of `antiphon explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.model import limits

#: With more ranks, only the choice is explained, because replaying all ranks takes too long.
MAX_REPLAYED_RANKS = 1024
#: Up to this number of ranks, single messages are kept (to be drawn) and alternatives are replayed too.
MAX_DRAWN_RANKS = 64


@dataclass(frozen=True)
class ExplainedCall:
    """The collective call that is to be explained."""

    collective: str
    ranks: int
    ranks_per_node: int
    bytes: int
    root: int = 0
    element_bytes: int = 1
    commutative: bool = True
    #: 0: unknown.
    link_bits_per_s: int = 0
    #: The library that is the alternative; "" means that none is named.
    mpi: str = ""
    #: What messages between nodes travel by: "tcp" over Ethernet, or "other".
    transport: str = "tcp"
    #: MPI_I… instead of MPI_….
    nonblocking: bool = False
    #: Ranks on each switch, which follow one another; empty: one switch.
    switch_sizes: tuple[int, ...] = ()
    #: The program has more ranks on a machine than that has cores.
    shares_cores: bool = False

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.ranks_per_node)

    def question(self) -> core.Question:
        """Returns the question to the rules, without sizes that not all ranks can know."""
        unknown = self.collective in ("alltoallv", "scatterv", "gatherv")
        return core.Question(
            self.collective, self.ranks, self.nodes, min(self.ranks_per_node, self.ranks),
            None if unknown else self.bytes, self.element_bytes, self.commutative, self.link_bits_per_s, mpi=self.mpi,
            transport=self.transport, nonblocking=self.nonblocking, shares_cores=self.shares_cores,
        )  # fmt: skip

    def case(self, algorithm: str) -> core.Case:
        return core.Case(
            self.collective, algorithm, self.ranks, self.bytes, self.root, self.element_bytes, self.commutative,
            ranks_per_node=min(self.ranks_per_node, self.ranks), switch_sizes=self.switch_sizes,
        )  # fmt: skip

    def supported(self) -> tuple[str, ...]:
        """Returns the algorithms that can do this call."""
        return core.supported(self.question(), self.switch_sizes)

    def limit_bytes(self) -> float:
        """Returns the bytes that must cross the busiest node's link with any algorithm."""
        places = [rank // self.ranks_per_node for rank in range(self.ranks)]
        return limits.node_bytes(self.collective, self.bytes, places, self.root)


@dataclass(frozen=True)
class Cost:
    """The cost of the messages of an algorithm's schedules."""

    algorithm: str
    #: Counts rounds of whole messages, with each port sending and receiving one at a time.
    rounds: core.Replay
    #: Counts pieces, where time is the bytes that pass through a node's port.
    wire: core.Replay

    @property
    def busiest_link_bytes(self) -> int:
        return max((max(node) for node in self.wire.nodes), default=0)

    @property
    def tokens(self) -> int:
        return sum(r.tokens for r in self.rounds.rounds)

    def ratio(self, limit_bytes: float) -> float | None:
        """Returns the time on an ideal wire as a multiple of the limit."""
        return self.wire.end / limit_bytes if limit_bytes else None


@dataclass(frozen=True)
class Explanation:
    """The explanation of a call."""

    call: ExplainedCall
    #: The rules' choice, or the algorithm that the user asked for.
    choice: core.Choice
    asked: bool
    #: The algorithm that is shown: the choice, or Antiphon's own where the choice is the library.
    shown: core.Choice
    #: None where there are too many ranks.
    cost: Cost | None
    #: The other algorithms that support the call, with their default parameters.
    alternatives: Sequence[str]
    alternative_costs: Sequence[Cost]

    def to_json(self) -> dict[str, Any]:
        limit = self.call.limit_bytes()
        return {
            "question": asdict(self.call) | {"nodes": self.call.nodes},
            "choice": asdict(self.choice),
            "shown": self.shown.choice,
            "limit_bytes": limit,
            "cost": _cost_json(self.cost, limit) | _messages_json(self.cost) if self.cost else None,
            "alternatives": [_cost_json(c, limit) for c in self.alternative_costs]
            or [{"algorithm": name} for name in self.alternatives],
        }


def explain(call: ExplainedCall, algorithm: str | None = None, profile: str | None = None) -> Explanation:
    """Explains `call`, with `algorithm` (NAME[:PARAMETER=VALUE,…]) instead of the rules' choice if it is given."""
    question = call.question()
    if algorithm is not None and algorithm != "library":
        choice = shown = _asked(call, algorithm)
    else:
        choice = core.parse(call.collective, algorithm) if algorithm else core.choose(question, profile, model=True)
        shown = choice if choice.algorithm else core.choose(question, profile, own=True)
    others = [name for name in call.supported() if name != shown.algorithm]
    if shown.algorithm is None or call.ranks > MAX_REPLAYED_RANKS:
        return Explanation(call, choice, algorithm is not None, shown, None, others, ())
    replayed = others if call.ranks <= MAX_DRAWN_RANKS else ()
    costs = [cost_of(call, name, transfers=False) for name in replayed]
    return Explanation(call, choice, algorithm is not None, shown, cost_of(call, shown.choice), others, costs)


def cost_of(call: ExplainedCall, algorithm: str, transfers: bool = True) -> Cost:
    """Replays the algorithm's schedules, and keeps single messages if there are few ranks."""
    case = call.case(algorithm)
    wanted = transfers and call.ranks <= MAX_DRAWN_RANKS
    rounds = core.replay(case, "rounds", wanted)
    return Cost(algorithm, rounds, core.replay(case, "bytes", wanted))


def _asked(call: ExplainedCall, algorithm: str) -> core.Choice:
    name = algorithm.partition(":")[0]
    known = [a.name for a in core.algorithms(call.collective)]
    if name not in known:
        raise AntiphonError(
            f"{call.collective} has no algorithm {name!r}",
            hint=f"there are: {', '.join(known) or 'none yet'}, and library (`antiphon bench --list` describes them)",
        )
    if name not in call.supported():
        raise AntiphonError(
            f"{call.collective}:{name} cannot solve this call ({call.ranks} ranks, {call.bytes} bytes"
            f"{'' if call.commutative else ', operands in order'})",
            hint=f"these can: {', '.join(call.supported())}",
        )
    return core.parse(call.collective, algorithm)


def _cost_json(cost: Cost, limit_bytes: float) -> dict[str, Any]:
    return {
        "algorithm": cost.algorithm,
        "rounds": cost.rounds.end,
        "busiest_link_bytes": cost.busiest_link_bytes,
        "wire_bytes": cost.wire.end,
        "wire_over_limit": cost.ratio(limit_bytes),
        "scratch_bytes": cost.wire.scratch_bytes,
    }


def _messages_json(cost: Cost) -> dict[str, Any]:
    return {
        "ranks": [r._asdict() for r in cost.wire.ranks],
        "by_round": [r._asdict() for r in cost.rounds.rounds],
        "messages": [
            {"round": t.begin + 1, "from": t.source, "to": t.target, "bytes": t.bytes} for t in cost.rounds.transfers
        ],
    }
