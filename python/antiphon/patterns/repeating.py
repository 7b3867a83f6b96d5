# SPDX-License-Identifier: Apache-2.0
"""Finds the patterns of MPI_Alltoallv and its kin that repeat in a trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from antiphon.patterns import Pattern
from antiphon.trace import Call, RankTrace, Trace

#: A plan is used for these calls: blocking and nonblocking ones, and started ones of the same name with _init.
NAMES = (
    "Alltoallv",
    "Alltoallw",
    *(f"Neighbor_{kind}" for kind in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")),
)
FUNCTIONS = frozenset(
    f"MPI_{form}{large}"
    for name in NAMES
    for form in (name, f"I{name.lower()}", f"{name}_init")
    for large in ("", "_c")
)

Members = tuple[int | None, ...]


@dataclass(frozen=True)
class Repeating:
    """A pattern of a communicator, and how often all its ranks together called it."""

    pattern: Pattern
    members: Members
    calls: int
    #: The time of all these calls on the slowest rank.
    duration_s: float


def find(trace: Trace) -> list[Repeating]:
    """Returns all patterns, the most time-consuming first, without calls that some rank lacks (a cut-off trace)."""
    found: dict[tuple[Members, tuple[tuple[int, int, int], ...]], list[float]] = defaultdict(list)
    for members, calls in _calls_together(trace):
        messages = tuple(_messages(calls))
        if messages:
            found[members, messages].append(max(call.duration_ns for call in calls) / 1e9)
    patterns = [
        Repeating(Pattern(f"{len(members)} ranks", len(members), messages), members, len(times), sum(times))
        for (members, messages), times in found.items()
    ]
    return sorted(patterns, key=lambda r: (-r.duration_s, r.members, r.pattern.messages))


def _messages(calls: Sequence[Call]) -> Iterator[tuple[int, int, int]]:
    for source, call in enumerate(calls):
        for target, count in enumerate(call.shape.send_bytes() or ()):
            if count and target != source:
                yield source, target, count


def _calls_together(trace: Trace) -> Iterator[tuple[Members, list[Call]]]:
    """Yields each rank's k-th call on a communicator, for every communicator and k, by rank of the communicator."""
    by_rank = {rank.rank: _calls_of(rank) for rank in trace.ranks}
    groups = {key for calls in by_rank.values() for key in calls}
    for members, ordinal in sorted(groups, key=repr):
        if any(member not in by_rank for member in members):
            continue
        lists = [by_rank[member].get((members, ordinal), []) for member in members if member is not None]
        for together in zip(*lists, strict=False):
            if len({call.function for call in together}) == 1 and not any(call.shape.in_place for call in together):
                yield members, list(together)


def _calls_of(rank: RankTrace) -> dict[tuple[Members, int], list[Call]]:
    """Groups a rank's calls by communicator: its members, and its ordinal among communicators with the same members."""
    ordinals: dict[int, int] = {}
    seen: dict[Members, int] = defaultdict(int)
    for comm in sorted(rank.communicators, key=lambda c: c.number):
        ordinals[comm.number] = seen[comm.members]
        seen[comm.members] += 1
    calls: dict[tuple[Members, int], list[Call]] = defaultdict(list)
    for call in rank.calls:
        used = call.comm
        if call.function in FUNCTIONS and used is not None and not used.intercommunicator:
            calls[used.members, ordinals[used.number]].append(call)
    return calls


def node_of_members(nodes: Sequence[int], members: Members) -> list[int]:
    """Returns the node of each rank of a communicator, numbered by first appearance; `nodes`: of each rank of all."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(nodes[member], len(numbers)) for member in members if member is not None]
