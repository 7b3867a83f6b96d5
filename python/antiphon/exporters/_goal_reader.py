# SPDX-License-Identifier: Apache-2.0
"""Reads GOAL as LogGOPSim's txt2bin does and runs it, to check that all messages match and everything ends."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field

from antiphon.errors import AntiphonError

_IDENT = r"[a-zA-Z][a-zA-Z0-9_]*"
_LINE = re.compile(
    rf"(?:(?P<label>{_IDENT})\s*:\s*)?(?:(?P<kind>send|recv)\s+(?P<bytes>\d+)b\s+(?P<way>to|from)\s+(?P<peer>\d+)"
    rf"(?:\s+tag\s+(?P<tag>\d+))?|calc\s+(?P<time>\d+))(?:\s+cpu\s+\d+)?(?:\s+nic\s+\d+)?"
)
_NEED = re.compile(rf"(?P<who>{_IDENT})\s+(?P<how>i?requires)\s+(?P<what>{_IDENT})")


@dataclass
class Operation:
    """One line of a rank."""

    kind: str
    bytes: int = 0
    peer: int = -1
    tag: int = 0
    needs: list[int] = field(default_factory=list)
    needs_start: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class MovedBytes:
    """Holds the messages and bytes that a run moved, by sender and receiver."""

    messages: list[list[int]]
    bytes: list[list[int]]


def parse(text: str) -> list[list[Operation]]:
    """Returns every rank's operations. An AntiphonError names the line that txt2bin would not take."""
    ranks: list[list[Operation]] = []
    count = 0
    current: list[Operation] | None = None
    labels: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.partition("//")[0].strip()
        header = re.fullmatch(r"num_ranks\s+(\d+)", line)
        begin = re.fullmatch(r"rank\s+(\d+)\s*\{", line)
        if not line:
            continue
        if header:
            count = int(header[1])
        elif begin and current is None and int(begin[1]) == len(ranks) < count:
            current, labels = [], {}
        elif line == "}" and current is not None:
            ranks.append(current)
            current = None
        elif current is None or not _take(line, current, labels, count):
            raise AntiphonError(f"line {number} is not GOAL: {line!r}", exit_code=1)
    if current is not None or len(ranks) != count:
        raise AntiphonError(f"{len(ranks)} of {count} ranks are complete", exit_code=1)
    return ranks


def _take(line: str, current: list[Operation], labels: dict[str, int], ranks: int) -> bool:
    need = _NEED.fullmatch(line)
    if need:
        if need["who"] not in labels or need["what"] not in labels:
            return False
        operation = current[labels[need["who"]]]
        (operation.needs if need["how"] == "requires" else operation.needs_start).append(labels[need["what"]])
        return True
    match = _LINE.fullmatch(line)
    if not match or (match["kind"] and (match["kind"] == "send") != (match["way"] == "to")):
        return False
    if match["label"]:
        if match["label"] in labels:
            return False
        labels[match["label"]] = len(current)
    if match["kind"] and int(match["peer"]) >= ranks:
        return False
    current.append(
        Operation(match["kind"] or "calc", int(match["bytes"] or 0), int(match["peer"] or -1), int(match["tag"] or 0))
    )
    return True


def run(text: str) -> MovedBytes:
    """Runs all ranks: a receive ends when its message has come, a send at once (eager). Leftovers are an error."""
    return _Run(parse(text)).outcome()


class _Run:
    """All ranks' operations on their way."""

    def __init__(self, ranks: list[list[Operation]]) -> None:
        self._ranks = ranks
        size = len(ranks)
        self._messages, self._moved = [[0] * size for _ in ranks], [[0] * size for _ in ranks]
        self._done = [[False] * len(ops) for ops in ranks]
        self._arrived: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        self._waiting: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        self._after, self._missing = _successors(ranks)
        self._ready = deque(
            (rank, i) for rank, ops in enumerate(ranks) for i in range(len(ops)) if self._missing[rank][i] == 0
        )

    def outcome(self) -> MovedBytes:
        while self._ready:
            self._start(*self._ready.popleft())
        stuck = [
            f"rank {rank} operation {i}" for rank, ops in enumerate(self._done) for i, end in enumerate(ops) if not end
        ]
        if stuck:
            raise AntiphonError(f"deadlock: {stuck[0]} and {len(stuck) - 1} others never end", exit_code=1)
        if any(self._arrived.values()):
            raise AntiphonError("a message is never received", exit_code=1)
        return MovedBytes(self._messages, self._moved)

    def _start(self, rank: int, i: int) -> None:
        operation = self._ranks[rank][i]
        self._release(rank, i, begun=True)
        if operation.kind == "recv":
            key = (operation.peer, rank, operation.tag)
            self._waiting[key].append(i)
            self._match(key)
            return
        self._finish(rank, i)
        if operation.kind == "send":
            key = (rank, operation.peer, operation.tag)
            self._messages[rank][operation.peer] += 1
            self._moved[rank][operation.peer] += operation.bytes
            self._arrived[key].append(operation.bytes)
            self._match(key)

    def _match(self, key: tuple[int, int, int]) -> None:
        while self._arrived[key] and self._waiting[key]:
            sent, i = self._arrived[key].popleft(), self._waiting[key].popleft()
            wanted = self._ranks[key[1]][i].bytes
            if wanted != sent:
                text = f"rank {key[1]} expects {wanted} bytes from rank {key[0]}, and gets {sent}"
                raise AntiphonError(text, exit_code=1)
            self._finish(key[1], i)

    def _finish(self, rank: int, i: int) -> None:
        self._done[rank][i] = True
        self._release(rank, i, begun=False)

    def _release(self, rank: int, i: int, begun: bool) -> None:
        for j, on_start in self._after[rank][i]:
            if on_start == begun:
                self._missing[rank][j] -= 1
                if self._missing[rank][j] == 0:
                    self._ready.append((rank, j))


def _successors(ranks: list[list[Operation]]) -> tuple[list[list[list[tuple[int, bool]]]], list[list[int]]]:
    """Returns the operations that wait for each operation's end or start, and how many each one waits for."""
    after: list[list[list[tuple[int, bool]]]] = [[[] for _ in ops] for ops in ranks]
    missing = [[len(op.needs) + len(op.needs_start) for op in ops] for ops in ranks]
    for rank, ops in enumerate(ranks):
        for j, op in enumerate(ops):
            for i in op.needs:
                after[rank][i].append((j, False))
            for i in op.needs_start:
                after[rank][i].append((j, True))
    return after, missing
