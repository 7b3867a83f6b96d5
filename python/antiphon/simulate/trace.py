# SPDX-License-Identifier: Apache-2.0
"""Writes a plan as the time-independent traces that SMPI replays: one list of actions for each rank.

A schedule is a graph, a trace is a sequence. So pieces are put in the order in which they would start if a rank sent
one message at a time, and received one, and a rank waits for what the next one needs. Unlike the executor, a rank of
the trace cannot start something else meanwhile that would be ready earlier.

SimGrid shares a link among all messages under way, so a connection's messages do not start all at once: only as many as
hide the latency are under way.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.simulate.pieces import Place, matches, requirements, sizes_of, tags_of, window_of

#: Replays of more pieces take minutes.
MOST_PIECES = 400_000
#: What a message takes in `_order` beside its bytes, in the time of a byte.
_OF_MESSAGE = 1000
#: A latency that adds no more than this share to a message's time needs no other message that hides it.
_SHORT_LATENCY = 0.05
_WHAT = "a trace for SMPI"


@dataclass(frozen=True)
class Work:
    """What ranks work besides what links carry: by default on nothing, as a simulator does that counts it itself."""

    #: For a byte, in units of a host of 1 Gflop/s.
    copy_ns: float = 0
    reduce_ns: float = 0
    #: For a message to another node, on each side.
    send_s: float = 0
    receive_s: float = 0
    #: Messages within a node take their latency alone, as short sleeps would make a replay several times slower.
    ranks_per_node: int = 1
    #: What a link carries in one latency.
    latency_bytes: float = 0

    def of_message(self, rank: int, peer: int, kind: str) -> float:
        """Returns what a rank works to send to a peer, or to receive from it."""
        if rank // self.ranks_per_node == peer // self.ranks_per_node:
            return 0
        return self.send_s if kind == "send" else self.receive_s

    def under_way(self, size: int) -> int:
        """Returns how many messages of this size a connection needs under way, so that its link does not rest."""
        return 1 + math.ceil(max(self.latency_bytes / max(size, 1) - _SHORT_LATENCY, 0))


@dataclass
class _Piece:
    """A piece of an operation, in the graph of all."""

    place: Place
    op: Mapping[str, Any]
    bytes: int
    #: Pieces of this rank that must have ended, and the one that must have started.
    after: list[_Piece] = field(default_factory=list)
    before_it: _Piece | None = None
    #: The other side of a message.
    partner: _Piece | None = None
    tag: int = 0
    starts: int = -1
    ends: int = -1


def actions(plan: Mapping[str, Any], work: Work) -> list[list[str]]:
    """Returns each rank's actions. A message ends on both sides when both have begun."""
    pieces = _graph(plan)
    _order(pieces, work)
    by_rank: list[list[_Piece]] = [[] for _ in plan["schedules"]]
    for piece in pieces.values():
        by_rank[piece.place[0]].append(piece)
    return [list(_rank_actions(rank, own, work)) for rank, own in enumerate(by_rank)]


def _graph(plan: Mapping[str, Any]) -> dict[Place, _Piece]:
    schedules: Sequence[Mapping[str, Any]] = plan["schedules"]
    count = sum(len(sizes_of(op, _WHAT)) for schedule in schedules for op in schedule["ops"])
    if count > MOST_PIECES:
        raise AntiphonError(
            f"the schedule has {count} pieces; at most {MOST_PIECES} are simulated",
            hint="ask for fewer --ranks, less --bytes, or larger pieces with --algorithm",
        )
    pieces: dict[Place, _Piece] = {}
    for rank, schedule in enumerate(schedules):
        counts = [len(sizes_of(op, _WHAT)) for op in schedule["ops"]]
        for number, op in enumerate(schedule["ops"]):
            for k, size in enumerate(sizes_of(op, _WHAT)):
                piece = pieces[rank, number, k] = _Piece((rank, number, k), op, size)
                if k > 0:
                    piece.before_it = pieces[rank, number, k - 1]
                if 0 < window_of(op) <= k:
                    piece.after.append(pieces[rank, number, k - window_of(op)])
                needed = requirements(k, op.get("after", []), counts)
                piece.after += [pieces[rank, other, one] for other, one in needed]
    matched = list(matches(schedules, _WHAT))
    tags = tags_of(matched)
    for sender, receiver in matched:
        pieces[sender].partner, pieces[receiver].partner = pieces[receiver], pieces[sender]
        pieces[sender].tag = pieces[receiver].tag = tags[sender]
    return pieces


def _order(pieces: Mapping[Place, _Piece], work: Work) -> None:
    """Finds when each piece starts and ends, in the time that a byte takes."""
    by_start: dict[Place, list[_Piece]] = defaultdict(list)
    by_end: dict[Place, list[_Piece]] = defaultdict(list)
    left: dict[Place, int] = {}
    for piece in pieces.values():
        left[piece.place] = len(piece.after) + (piece.before_it is not None)
        for one in piece.after:
            by_end[one.place].append(piece)
        if piece.before_it:
            by_start[piece.before_it.place].append(piece)
    serial = itertools.count()  # Pieces of one moment keep the order in which they became ready.
    ready = [(0, next(serial), piece) for piece in pieces.values() if not left[piece.place]]
    links = _Links(work)
    begun = 0

    def release(followers: Iterable[_Piece]) -> None:
        for follower in followers:
            left[follower.place] -= 1
            if not left[follower.place]:
                heapq.heappush(ready, (_earliest(follower), next(serial), follower))

    while ready:
        time, _, piece = heapq.heappop(ready)
        if (ahead := links.ahead_of(piece, time)) is not None:
            piece.after.append(ahead)
            heapq.heappush(ready, (ahead.ends, next(serial), piece))
            continue
        begun += 1
        piece.starts = time
        release(by_start[piece.place])
        for ended, at in _ended(piece, links):
            ended.ends = at
            release(by_end[ended.place])
    if begun < len(pieces):
        raise AntiphonError("the schedules do not fit together: some ranks would wait for ever")


def _earliest(piece: _Piece) -> int:
    """Returns when the piece may start, since all that it waits for is known."""
    before = piece.before_it.starts if piece.before_it else 0
    return max((before, *(one.ends for one in piece.after)))


class _Links:
    """When each rank can send and receive again, and what each connection has sent."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._free: dict[tuple[int, str], int] = defaultdict(int)
        self._sent: dict[tuple[int, int], list[_Piece]] = defaultdict(list)

    def ahead_of(self, piece: _Piece, time: int) -> _Piece | None:
        """Returns the send of the same connection that must end before this one starts."""
        if piece.op["op"] != "send":
            return None
        sent, most = self._sent[piece.place[0], piece.op["peer"]], self._work.under_way(piece.bytes)
        return sent[-most] if len(sent) >= most and sent[-most].ends > time else None

    def end(self, piece: _Piece, other: _Piece) -> int:
        """Sends the message of these two sides, and returns when it ends."""
        sides = [(one.place[0], one.op["op"]) for one in (piece, other)]
        begins = max(piece.starts, other.starts, *(self._free[side] for side in sides))
        ends = begins + piece.bytes + _OF_MESSAGE
        for side in sides:
            self._free[side] = ends
        sender = piece if piece.op["op"] == "send" else other
        self._sent[sender.place[0], sender.op["peer"]].append(sender)
        return ends


def _ended(piece: _Piece, links: _Links) -> Iterator[tuple[_Piece, int]]:
    """Yields what ends now that this piece has started, and when."""
    other = piece.partner
    if other is None:
        yield piece, piece.starts
    elif other.starts >= 0:
        at = links.end(piece, other)
        yield piece, at
        yield other, at


def _rank_actions(rank: int, own: list[_Piece], work: Work) -> Iterator[str]:
    yield f"{rank} init"
    own.sort(key=lambda piece: (piece.starts, piece.place))
    waited: set[Place] = set()
    for piece in own:
        for one in piece.after:
            yield from _wait(rank, one, waited, work)
        kind, size = piece.op["op"], piece.bytes
        if kind in ("send", "recv"):
            if kind == "send":
                yield from _sleep(rank, work.of_message(rank, piece.op["peer"], kind))
            # SMPI takes a message without bytes for none.
            yield f"{rank} i{kind} {piece.op['peer']} {piece.tag} {max(size, 1)}"
        elif size:
            yield f"{rank} compute {size * (work.reduce_ns if kind == 'reduce' else work.copy_ns):.0f}"
    for piece in own:
        yield from _wait(rank, piece, waited, work)
    yield f"{rank} finalize"


def _wait(rank: int, piece: _Piece, waited: set[Place], work: Work) -> Iterator[str]:
    if piece.partner is None or piece.place in waited:
        return
    waited.add(piece.place)
    peer = piece.op["peer"]
    ends = f"{rank} {peer}" if piece.op["op"] == "send" else f"{peer} {rank}"
    yield f"{rank} wait {ends} {piece.tag}"
    if piece.op["op"] == "recv":
        yield from _sleep(rank, work.of_message(rank, peer, "recv"))


def _sleep(rank: int, seconds: float) -> Iterator[str]:
    if seconds > 0:
        yield f"{rank} sleep {seconds:g}"
