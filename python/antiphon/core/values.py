# SPDX-License-Identifier: Apache-2.0
"""What is asked of the core, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Collective:
    """A collective that Antiphon schedules."""

    name: str
    has_root: bool
    is_reduction: bool
    #: Sizes differ from block to block.
    is_irregular: bool


@dataclass(frozen=True)
class Parameter:
    """A tunable number of an algorithm."""

    name: str
    #: What it is for, which decides what is tried: "piece", "ahead", "at_once", "leaders", "fanout", "mode", "border",
    #: "amount".
    role: str
    default: int
    min: int
    max: int
    #: One line of text, with the unit.
    meaning: str


@dataclass(frozen=True)
class Algorithm:
    """One algorithm for one collective."""

    collective: str
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    #: False means that it cannot solve every problem (see `supported`).
    supports_all: bool
    #: Every rank must have all counts, which are told first (of scatterv and gatherv the root's).
    needs_all_counts: bool
    #: It is only worthwhile where multicast works between the nodes.
    multicasts: bool = False
    #: It only pays where one connection does not fill a port.
    many_connections: bool = False


@dataclass(frozen=True)
class Question:
    """The facts that a choice may depend on: only facts that all ranks know to be equal."""

    collective: str
    ranks: int
    nodes: int
    max_ranks_per_node: int
    #: Bytes of a block; None where not all ranks know it (alltoallv, scatterv, gatherv).
    bytes: int | None = None
    element_bytes: int = 1
    commutative: bool = True
    #: Rate of a node's link; 0 where it is unknown.
    link_bits_per_s: int = 0
    #: Each node's ranks follow one another.
    blocked: bool = True
    #: The library that is the alternative: "openmpi", "mpich"; "" means another, or unknown.
    mpi: str = ""
    #: What messages between nodes travel by: "tcp" over Ethernet, "other"; "" means unknown.
    transport: str = "tcp"
    #: MPI_I…: the alternative is the library's nonblocking call.
    nonblocking: bool = False
    #: The program has more ranks on a machine than that has cores.
    shares_cores: bool = False


@dataclass(frozen=True)
class Choice:
    """The algorithm for a collective call, and the reason."""

    #: "library" or "ALGORITHM[:PARAMETER=VALUE,…]".
    choice: str
    #: None: the library's own collective.
    algorithm: str | None
    parameters: Mapping[str, int]
    #: The reason: the rule that matched.
    reason: str


@dataclass(frozen=True)
class Case:
    """A collective call as seen from outside, and the algorithm for it."""

    collective: str
    #: "ALGORITHM[:PARAMETER=VALUE,…]".
    algorithm: str
    size: int
    bytes: int = 0
    root: int = 0
    #: Reductions: the element's size.
    element_bytes: int = 1
    commutative: bool = True
    in_place: bool = False
    #: Irregular collectives draw their sizes from the seed, with `bytes` as the mean; 0 gives every block `bytes`.
    seed: int = 0
    #: Ranks that follow one another on a node.
    ranks_per_node: int = 1
    #: Ranks that follow one another on a switch, by switch; empty: one switch.
    switch_sizes: Sequence[int] = ()


class Transfer(NamedTuple):
    """A message, or a piece of one, on its way from rank to rank."""

    source: int
    target: int
    #: 0: a token, which is permission to go on.
    bytes: int
    begin: int
    end: int


class RankTraffic(NamedTuple):
    """The messages (pieces and tokens) and bytes that one rank sends and receives."""

    sent_messages: int
    sent_bytes: int
    received_messages: int
    received_bytes: int


class NodeTraffic(NamedTuple):
    """The bytes that cross one node's link."""

    out_bytes: int
    in_bytes: int


class RoundTraffic(NamedTuple):
    """The messages that begin in one round."""

    messages: int
    tokens: int
    bytes: int


@dataclass(frozen=True)
class Replay:
    """All messages of a call on an ideal network (see include/antiphon/replay.hpp)."""

    #: Counts rounds, or bytes that passed through a port.
    end: int
    #: The most that any rank needs.
    scratch_bytes: int
    ranks: tuple[RankTraffic, ...]
    nodes: tuple[NodeTraffic, ...]
    #: Empty unless rounds were counted.
    rounds: tuple[RoundTraffic, ...]
    #: Empty unless asked for.
    transfers: tuple[Transfer, ...]


@dataclass(frozen=True)
class Matrix:
    """Holds how much each rank sends to each other rank: [source][target]."""

    messages: tuple[tuple[int, ...], ...]
    bytes: tuple[tuple[int, ...], ...]
