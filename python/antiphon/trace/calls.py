# SPDX-License-Identifier: Apache-2.0
"""What a trace says of one rank: its communicators, and its calls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

#: Collectives with one block for each rank, all of the same size.
EQUAL_BLOCKS = {"send": ("alltoall", "scatter"), "receive": ("alltoall", "allgather", "gather")}
IN_PLACE, AS_SCHEDULE, FAILED, RECEIVE_GAPS, SEND_GAPS = 1, 2, 4, 8, 16


def moved_by(function: str) -> str:
    """Returns the name of what a function does, blocking or not: MPI_Ibcast moves what MPI_Bcast moves."""
    return function.removeprefix("MPI_").lower().removeprefix("i")


@dataclass(frozen=True)
class Communicator:
    """A communicator as one rank sees it; members are ranks of MPI_COMM_WORLD, None outside it."""

    number: int
    name: str
    members: tuple[int | None, ...]
    intercommunicator: bool = False

    @property
    def size(self) -> int:
        """Returns the number of ranks (of an intercommunicator: the local ones)."""
        return len(self.members)

    @property
    def stride(self) -> int:
        """Returns how far apart in MPI_COMM_WORLD the members are, each from the next: 1 for the world and for rows of
        a grid, its width for columns; 0: differently far, or backwards."""
        if None in self.members or self.size < 2:
            return 0
        apart = {int(b) - int(a) for a, b in itertools.pairwise(self.members)}  # type: ignore[arg-type]
        return max(apart.pop(), 0) if len(apart) == 1 else 0


@dataclass(frozen=True)
class Shape:
    """A call without its times. Fields that a call does not have are None."""

    function: str
    comm: Communicator | None
    root: int | None = None
    peer: int | None = None
    tag: int | None = None
    send_count: int | None = None
    send_size: int | None = None
    receive_count: int | None = None
    receive_size: int | None = None
    send_counts: tuple[int, ...] | None = None
    receive_counts: tuple[int, ...] | None = None
    flags: int = 0
    source: int | None = None
    source_tag: int | None = None
    requests: int | None = None
    bytes_to: tuple[int, ...] | None = None
    bytes_from: tuple[int, ...] | None = None

    @property
    def in_place(self) -> bool:
        """Returns whether MPI_IN_PLACE was given."""
        return bool(self.flags & IN_PLACE)

    def send_bytes(self) -> list[int] | None:
        """Returns the bytes of the block for each rank of the communicator, where the call has one for each."""
        return self._blocks(self.bytes_to, self.send_counts, self.send_count, self.send_size, "send")

    def receive_bytes(self) -> list[int] | None:
        """Returns the bytes of the block from each rank of the communicator, where the call has one for each."""
        return self._blocks(self.bytes_from, self.receive_counts, self.receive_count, self.receive_size, "receive")

    def _blocks(self, given: Sequence[int] | None, counts: Sequence[int] | None, count: int | None, size: int | None,
                side: str) -> list[int] | None:  # fmt: skip
        if given is not None:
            return list(given)
        if counts is not None and size is not None:
            return [n * size for n in counts]
        if (
            moved_by(self.function) in EQUAL_BLOCKS[side]
            and count is not None
            and size is not None
            and self.comm is not None
        ):
            return [count * size] * self.comm.size
        return None


@dataclass(frozen=True)
class Call:
    """One call of a rank."""

    shape: Shape
    start_ns: int
    duration_ns: int

    @property
    def function(self) -> str:
        """Returns the MPI function's name."""
        return self.shape.function

    @property
    def comm(self) -> Communicator | None:
        """Returns the communicator, if the call has one."""
        return self.shape.comm


@dataclass
class RankTrace:
    """The record of one rank."""

    rank: int
    communicators: list[Communicator] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    began_at_ns: int | None = None  #: wall clock of time 0
    ended_ns: int | None = None  #: time of MPI_Finalize; None: the rank did not get there
    dropped: int = 0  #: calls that were not recorded
