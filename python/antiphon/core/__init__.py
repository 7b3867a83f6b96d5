# SPDX-License-Identifier: Apache-2.0
"""Offers the core (libantiphon_core.so) as Python functions: algorithms, choices, schedules, and traffic.

The core answers JSON requests through ctypes, so that one build serves every Python.
"""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from antiphon.errors import AntiphonError

LIBRARY = Path(__file__).parent.parent / "lib" / "libantiphon_core.so"


class CoreError(AntiphonError):
    """The core's error for a request that makes no sense."""


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
    #: What it is for, which decides what is tried: "piece", "ahead", "at_once", "fanout", "mode", "border", "amount".
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
    #: Every rank must have the root's counts, which are exchanged first (scatterv, gatherv).
    needs_all_counts: bool
    #: It is only worthwhile where multicast works between the nodes.
    multicasts: bool = False


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


def query(request: str, **fields: Any) -> dict[str, Any]:
    """Asks the core; a refusal becomes a CoreError."""
    library = _library()
    text = json.dumps({"request": request, **fields}).encode()
    pointer = library.antiphon_core_query(text)
    if not pointer:
        raise CoreError("the core is out of memory", hint="ask for fewer ranks", exit_code=1)
    try:
        answer = _string_at(pointer)
    finally:
        library.antiphon_core_free(pointer)
    response: dict[str, Any] = json.loads(answer)
    if not response.pop("ok"):
        raise CoreError(response["error"])
    return response


def version() -> str:
    """Returns the core's version."""
    return str(query("version")["version"])


@functools.lru_cache(maxsize=1)
def collectives() -> tuple[Collective, ...]:
    """Returns all collectives that Antiphon schedules, in the order of the C++ enumeration."""
    return tuple(Collective(**c) for c in query("collectives")["collectives"])


@functools.lru_cache(maxsize=32)
def algorithms(collective: str | None = None) -> tuple[Algorithm, ...]:
    """Returns all algorithms, or those of one collective, sorted by name."""
    listed = query("algorithms", collective=collective)["algorithms"]
    return tuple(Algorithm(**{**a, "parameters": tuple(Parameter(**p) for p in a["parameters"])}) for a in listed)


def choose(question: Question, profile: str | None = None, own: bool = False, model: bool = False) -> Choice:
    """Returns the choice for `question` by the default table, or first by the decisions of `profile` (JSON text).

    With `own`, the answer "library" is skipped: the result is what Antiphon would use if it must. With `model`, it is
    what a run uses: the rules' choice, put to the model of the profile's machine, or of one with these links.
    """
    return Choice(**query("choose", profile=profile, own=own, model=model, **_fields(question)))


def parse(collective: str, choice: str) -> Choice:
    """Reads "library" or "ALGORITHM[:PARAMETER=VALUE,…]" and fills in the defaults."""
    return Choice(**query("parse", collective=collective, choice=choice))


def supported(question: Question) -> tuple[str, ...]:
    """Returns the algorithms that can solve what `question` asks for."""
    return tuple(query("supported", **_fields(question))["algorithms"])


def build(case: Case) -> dict[str, Any]:
    """Returns all ranks' schedules, in the form of docs/reference/plan-format.md."""
    return dict(query("build", **asdict(case))["plan"])


def schedule_text(case: Case, rank: int) -> str:
    """Returns one rank's schedule, one line per operation."""
    return str(query("build", rank=rank, **asdict(case))["text"])


def check(case: Case) -> str | None:
    """Runs all ranks in this process, on random data and in random order; returns what is wrong, if anything."""
    wrong = query("check", **asdict(case))["wrong"]
    return None if wrong is None else str(wrong)


def matrix(case: Case) -> Matrix:
    """Returns the messages (pieces and tokens) and bytes that every rank sends to every other."""
    answer = query("matrix", **asdict(case))
    return Matrix(_rows(answer["messages"], case.size), _rows(answer["bytes"], case.size))


def replay(case: Case, clock: Literal["rounds", "bytes"], transfers: bool = True) -> Replay:
    """Runs the schedules on an ideal network; returns when each message was under way."""
    answer = query("replay", clock=clock, transfers=transfers, **asdict(case))
    return Replay(
        end=answer["end"],
        scratch_bytes=answer["scratch_bytes"],
        ranks=tuple(RankTraffic(*r) for r in answer["ranks"]),
        nodes=tuple(NodeTraffic(*n) for n in answer["nodes"]),
        rounds=tuple(RoundTraffic(*r) for r in answer["rounds"]),
        transfers=tuple(Transfer(*t) for t in answer["transfers"]),
    )


def loaded() -> ctypes.CDLL:
    """Returns libantiphon_core.so itself, which also holds the codecs (antiphon.codec)."""
    return _library()


def _fields(question: Question) -> dict[str, Any]:
    return {**asdict(question), "bytes": -1 if question.bytes is None else question.bytes}


def _rows(cells: Sequence[int], size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(cells[row * size : (row + 1) * size]) for row in range(size))


def _string_at(pointer: int) -> bytes:
    return ctypes.string_at(pointer)


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        missing = f"{LIBRARY} is missing: Antiphon's core is not built"
        what = f"cannot load {LIBRARY}: {error}" if LIBRARY.exists() else missing
        raise AntiphonError(what, hint="`make setup` builds and installs it into .venv") from None
    library.antiphon_core_query.argtypes = [ctypes.c_char_p]
    library.antiphon_core_query.restype = ctypes.c_void_p
    library.antiphon_core_free.argtypes = [ctypes.c_void_p]
    library.antiphon_core_free.restype = None
    return library
