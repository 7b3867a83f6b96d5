# SPDX-License-Identifier: Apache-2.0
"""Takes the operations of a plan apart: every piece of a message is a message of its own, with a tag of its own.

So nothing depends on the order of arrival, and simulators that know no pieces can replay a plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from antiphon.errors import AntiphonError

Operation = Mapping[str, Any]
#: The place of a piece: (rank, operation, piece).
Place = tuple[int, int, int]


def sizes_of(op: Operation, what: str) -> list[int]:
    """Returns the bytes of an operation's pieces; `what` names the form that has plain messages only."""
    if op["op"] in ("multicast", "encode", "decode"):
        raise AntiphonError(f"{what} has no {op['op']}", hint="choose an algorithm of plain messages")
    total = (op["to"] if op["op"] == "recv" else op["from"])[2]
    piece = op.get("cut", [0, 0])[0]
    if piece <= 0 or total <= piece:
        return [total]
    return [min(piece, total - at) for at in range(0, total, piece)]


def window_of(op: Operation) -> int:
    """Returns how many pieces may be under way; 0: all."""
    return int(op.get("cut", [0, 0])[1])


def matches(schedules: Sequence[Mapping[str, Any]], what: str) -> Iterator[tuple[Place, Place]]:
    """Yields the sender's and the receiver's place of each piece.

    Messages match in posting order within (sender, receiver, tag); builders keep that order in their lists.
    """
    waiting: dict[tuple[int, int, int], list[Place]] = defaultdict(list)
    for rank, schedule in enumerate(schedules):
        for number, op in enumerate(schedule["ops"]):
            if op["op"] == "send":
                key = (rank, op["peer"], op.get("tag", 0))
                waiting[key] += [(rank, number, k) for k in range(len(sizes_of(op, what)))]
    taken: dict[tuple[int, int, int], int] = defaultdict(int)
    for rank, schedule in enumerate(schedules):
        for number, op in enumerate(schedule["ops"]):
            if op["op"] != "recv":
                continue
            key = (op["peer"], rank, op.get("tag", 0))
            for k in range(len(sizes_of(op, what))):
                if taken[key] == len(waiting[key]):
                    raise AntiphonError(f"rank {rank} waits for a message that rank {op['peer']} never sends")
                yield waiting[key][taken[key]], (rank, number, k)
                taken[key] += 1


def tags_of(matched: Iterable[tuple[Place, Place]]) -> dict[Place, int]:
    """Returns a tag for each piece of the matches, equal on both sides, and different for each two ranks."""
    tags: dict[Place, int] = {}
    used: dict[tuple[int, int], int] = defaultdict(int)
    for sender, receiver in matched:
        pair = (sender[0], receiver[0])
        tags[sender] = tags[receiver] = used[pair]
        used[pair] += 1
    return tags


def requirements(k: int, after: Sequence[Any], counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields the (operation, piece) that piece k waits for, of operations with so many pieces.

    A piece starts after the one before it, so only what is new is listed.
    """
    for dependency in after:
        other, lag = (dependency, None) if isinstance(dependency, int) else dependency
        count = counts[other]
        if lag is None:
            wanted = range(count) if k == 0 else range(0)
        else:
            last = min(k - lag, count - 1)
            # The full range is 0…k−lag: the first piece lists all of it, others what the piece before did not wait for.
            first = 0 if k == 0 else max(0, min(k - 1 - lag, count - 1) + 1)
            wanted = range(first, last + 1)
        for piece in wanted:
            yield other, piece
