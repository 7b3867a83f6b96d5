# SPDX-License-Identifier: Apache-2.0
"""The communication topology graph of a trace (paper 2, Sections 3 and 4)."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from antiphon.errors import AntiphonError
from antiphon.trace import AS_SCHEDULE, FAILED, Communicator, RankTrace, Shape, Trace
from antiphon.trace.calls import moved_by
from antiphon.traffic import libraries
from antiphon.traffic.decompose import Decomposed, Decomposer, Own
from antiphon.traffic.edges import Array, Edges
from antiphon.traffic.graph import POINT_TO_POINT, Made, Part, Traffic
from antiphon.traffic.libraries import CollectiveCall

SENDS = frozenset(f"MPI_{name}" for name in ("Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend"))
PERSISTENT = frozenset(f"MPI_{name}_init" for name in ("Send", "Bsend", "Ssend", "Rsend", "Recv"))
BOTH = frozenset(f"MPI_{name}" for name in ("Sendrecv", "Sendrecv_replace", "Isendrecv", "Isendrecv_replace"))
STARTS = ("MPI_Start", "MPI_Startall")
COLLECTIVES = frozenset(
    ("barrier", "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall", "alltoallv",
     "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
)  # fmt: skip
#: What they move is in a list by rank, as that of MPI_Alltoallv.
EXCHANGES = frozenset(
    {"alltoallw", *(f"neighbor_{kind}" for kind in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"))}
)
#: A run is not cut into more.
MOST_PHASES = 10_000
#: Only the root's call tells each rank's block.
ROOT_TELLS = frozenset({"scatterv", "gatherv"})
PERSISTENT_NOTE = (
    "persistent sends: as often as requests were started, on the average; starts of persistent collectives, which a "
    "trace does not tell apart, count as theirs"
)
#: Of starts before the rank had persistent messages.
LEFT_OUT_NOTE = "persistent collectives are left out: a trace has the starts of their requests alone"


def is_sending(function: str) -> bool:
    """Whether each call of a function sends what its shape says."""
    return function in SENDS | BOTH or _collective_named(function) is not None


@dataclass(frozen=True)
class Window:
    """A phase of the run: what began from `begin_ns` on and before `end_ns`."""

    begin_ns: int
    end_ns: int

    @classmethod
    def parse(cls, text: str) -> Window:
        """A:B, in seconds of the run."""
        try:
            begin, end = (int(float(part) * 1e9) for part in text.split(":"))
        except (ValueError, OverflowError):
            raise AntiphonError(f"--between {text}: expected A:B, in seconds", hint="--between 0.5:2") from None
        if begin >= end:
            raise AntiphonError(f"--between {text}: ends before it begins", hint="--between 0.5:2")
        return cls(begin, end)

    def holds(self, start_ns: int) -> bool:
        """Whether a call belongs to it."""
        return self.begin_ns <= start_ns < self.end_ns


#: The whole run.
ALWAYS = Window(0, 1 << 62)


@dataclass
class Counted:
    """How often a rank made a call, and how long that took."""

    calls: int = 0
    seconds: float = 0.0


def phases_of(trace: Trace, count: int) -> list[Window]:
    """Cuts the run into `count` equally long phases."""
    if count > MOST_PHASES:
        raise AntiphonError(f"{count} phases: at most {MOST_PHASES} can be told apart", hint="give fewer of them")
    ends = [r.ended_ns or max((c.start_ns + c.duration_ns for c in r.calls), default=0) for r in trace.ranks]
    edges = [int(x) for x in np.linspace(0, max(ends, default=0) + 1, count + 1)]
    return [Window(a, b) for a, b in itertools.pairwise(edges)]


def of_trace(
    trace: Trace,
    library: str = "",
    *,
    profile: str | None = None,
    own: bool = False,
    windows: Sequence[Window] = (),
    nodes: Sequence[int] | None = None,
) -> Traffic:
    """`library`: a table's name; "": what the trace says. `own`: as Antiphon's, not only those that were.
    `profile`: a profile's text, whose decisions then count. `nodes`: of each rank, instead of the trace's.
    """
    chosen = libraries.for_library(library or " ".join(str(trace.header.get("mpi", "")).split()))
    places = np.array(trace.nodes if nodes is None else nodes, np.int64)
    parts: list[Part] = []
    phases = windows or [ALWAYS]
    usual = Decomposer(Own(chosen, profile)) if own else Decomposer(chosen)
    builder = Builder(trace.size, places, usual, Decomposer(Own(chosen, profile, ran=True)))
    for phase, window in enumerate(phases):
        for part in builder.parts(trace, window):
            part.phase = phase
            parts.append(part)
    header = {
        "program": trace.header.get("program", ""),
        "mpi": " ".join(str(trace.header.get("mpi", "")).split()),
        "library": f"Antiphon over {chosen.name}" if own else chosen.name,
        "nodes": places.tolist(),
        "hosts": trace.header.get("hosts", []),
        "phases": [[w.begin_ns, w.end_ns] for w in windows],
        "complete": trace.complete,
    }
    return Traffic(trace.size, parts, header)


@dataclass
class Builder:
    """Makes the parts of a phase."""

    ranks: int
    places: Array
    usual: Decomposer
    #: For calls that ran as schedules of Antiphon's.
    as_schedule: Decomposer

    def parts(self, trace: Trace, window: Window) -> Iterator[Part]:
        """Point-to-point first, then collectives."""
        counted = {rank.rank: count_calls(rank, window) for rank in trace.ranks}
        messages = point_to_point(trace, window, counted)
        if messages.calls or messages.approximation:
            yield messages
        yield from self._collectives(counted)

    def _collectives(self, counted: dict[int, dict[Shape, Counted]]) -> Iterator[Part]:
        gathered: dict[tuple[str, str, str, str, int], list[Collected]] = defaultdict(list)
        for comm, by_call in collective_calls(counted).items():
            members = np.array(comm.members, np.int32)
            for one in by_call:
                done = self._decomposed(one, members)
                key = (one.collective, done.algorithm, "; ".join(done.schedules), comm.name, len(members))
                gathered[key].append(Collected(members, done, one))
        for (collective, algorithm, schedules, name, size), many in gathered.items():
            yield _part(collective, algorithm, schedules, (name, size), many)

    def _decomposed(self, one: TracedCollective, members: Array) -> Decomposed:
        if one.matrix is not None:
            return Decomposed(one.matrix, algorithm="as the counts say", schedules=["one message for each block"])
        decomposer = self.as_schedule if one.as_schedule else self.usual
        return decomposer.decompose(one.call, self.places[members])


@dataclass
class Collected:
    """A call on one communicator."""

    members: Array
    done: Decomposed
    call: TracedCollective


def _part(collective: str, algorithm: str, schedules: str, comm: tuple[str, int], many: Sequence[Collected]) -> Part:
    edges, uniform = [], []
    for one in many:
        if one.call.matrix is not None:  # in terms of the world already
            edges.append(one.done.edges)
            continue
        more, groups = one.done.mapped(one.members, one.call.calls)
        edges.append(more)
        uniform += groups
    made = [
        Made(one.call.call, one.done.schedule, tuple(one.members.tolist()), one.call.calls)
        for one in many
        if one.done.schedule
    ]
    notes = {note for one in many for note in one.done.notes}
    return Part(
        collective,
        Edges.merge(edges),
        uniform,
        algorithm,
        schedules,
        *comm,
        communicators=len({one.members.tobytes() for one in many}),
        calls=sum(one.call.calls for one in many),
        seconds=sum(one.call.seconds for one in many) / max(1, len({one.members.tobytes() for one in many})),
        approximation="; ".join(sorted(notes)),
        made=made if len(made) == len(many) else [],
    )


def count_calls(rank: RankTrace, window: Window) -> dict[Shape, Counted]:
    """A rank's calls, equal ones together."""
    counted: dict[int, Counted] = defaultdict(Counted)
    shapes: dict[int, Shape] = {}
    for call in rank.calls:
        if window.holds(call.start_ns):
            key = id(call.shape)
            shapes[key] = call.shape
            counted[key].calls += 1
            counted[key].seconds += call.duration_ns / 1e9
    return {shapes[key]: value for key, value in counted.items()}


def point_to_point(trace: Trace, window: Window, counted: dict[int, dict[Shape, Counted]]) -> Part:
    """All messages that ranks send to ranks."""
    rows: list[tuple[int, int, int, int]] = []
    seconds = 0.0
    notes: set[str] = set()
    for rank in trace.ranks:
        calls = counted[rank.rank]
        for shape, count in calls.items():
            if shape.function in SENDS | BOTH:
                rows += message(rank.rank, shape, count.calls)
            if _collective_named(shape.function) is None:
                seconds += count.seconds
        if any(shape.function in STARTS for shape in calls):
            started, more = persistent_sends(rank, window)
            for shape, times in started.items():
                rows += message(rank.rank, shape, times)
            notes |= more
    edges = Edges.of(rows)
    return Part(
        POINT_TO_POINT, edges, calls=edges.total_messages(), seconds=seconds / max(1, len(trace.ranks)),
        approximation="; ".join(sorted(notes)),
    )  # fmt: skip


def persistent_sends(rank: RankTrace, window: Window) -> tuple[dict[Shape, int], set[str]]:
    """How often each persistent send was started, on the average over the rank's requests for messages, and what is not
    known of that. What was started before it had any was something else."""
    made: Counter[Shape] = Counter()
    starts = 0
    notes = set()
    for call in rank.calls:
        if call.function in PERSISTENT:
            made[call.shape] += 1
        elif call.function in STARTS and window.holds(call.start_ns):
            starts += (call.shape.requests or 1) if made else 0
            notes.add(PERSISTENT_NOTE if made else LEFT_OUT_NOTE)
    requests = sum(made.values())
    sends = {shape: calls for shape, calls in made.items() if shape.function != "MPI_Recv_init"}
    return {shape: round(calls * starts / requests) for shape, calls in sends.items()}, notes


def message(rank: int, shape: Shape, times: int) -> list[tuple[int, int, int, int]]:
    """Adds a sending call's message, unless its receiver is outside MPI_COMM_WORLD."""
    comm = shape.comm
    if comm is None or shape.flags & FAILED or shape.peer is None or not 0 <= shape.peer < len(comm.members):
        return []
    target = comm.members[shape.peer]
    if comm.intercommunicator or target is None or times == 0:
        return []
    return [(rank, target, times, times * (shape.send_count or 0) * (shape.send_size or 0))]


@dataclass
class TracedCollective:
    """Equal calls of a communicator."""

    collective: str
    call: CollectiveCall
    calls: int
    seconds: float
    as_schedule: bool
    #: alltoallv: all calls' messages among ranks of MPI_COMM_WORLD.
    matrix: Edges | None = None


def collective_calls(counted: dict[int, dict[Shape, Counted]]) -> dict[Communicator, list[TracedCollective]]:
    """By communicator; those with the same members and name are one."""
    by_members: dict[tuple[object, ...], list[tuple[int, Shape, Counted]]] = defaultdict(list)
    for rank, calls in counted.items():
        for shape, count in calls.items():
            if collective_of(shape) is not None and shape.comm is not None and usable(shape.comm):
                by_members[shape.comm.name, shape.comm.members].append((rank, shape, count))
    return {rows[0][1].comm: list(_calls_of(rows)) for rows in by_members.values()}  # type: ignore[misc]


def usable(comm: Communicator) -> bool:
    """Its messages stay in MPI_COMM_WORLD."""
    return not comm.intercommunicator and None not in comm.members and comm.size > 1


def collective_of(shape: Shape) -> str | None:
    """Returns the collective that a call's data moves by; None of other calls and of those that failed."""
    return None if shape.flags & FAILED else _collective_named(shape.function)


def _collective_named(function: str) -> str | None:
    """The collective that moves what the function moves."""
    name = moved_by(function)
    if name in EXCHANGES:
        return "alltoallv"
    return name if name in COLLECTIVES else None


def _calls_of(rows: Sequence[tuple[int, Shape, Counted]]) -> Iterator[TracedCollective]:
    """All ranks make the same calls, so one rank's are enough, but where only the root, or each itself, knows sizes."""
    comm = rows[0][1].comm
    assert comm is not None
    place = {member: i for i, member in enumerate(comm.members)}
    one = min(rank for rank, _, _ in rows)
    exchanged: list[tuple[int, Shape, Counted]] = []
    same: Counter[tuple[CollectiveCall, bool]] = Counter()
    seconds: dict[tuple[CollectiveCall, bool], float] = defaultdict(float)
    for rank, shape, count in rows:
        collective = collective_of(shape) or ""
        if collective == "alltoallv":
            exchanged.append((rank, shape, count))
        elif place[rank] == shape.root if collective in ROOT_TELLS else rank == one:
            call = replace(call_of(collective, shape, comm.size, place[rank]), stride=comm.stride)
            key = (call, bool(shape.flags & AS_SCHEDULE))
            same[key] += count.calls
            seconds[key] += count.seconds
    for key, calls in same.items():
        yield TracedCollective(key[0].collective, key[0], calls, seconds[key], key[1])
    if exchanged:
        yield _exchange(comm, exchanged)


def _exchange(comm: Communicator, rows: Sequence[tuple[int, Shape, Counted]]) -> TracedCollective:
    """MPI_Alltoallv: whatever the algorithm, each block is one message from its rank to its rank."""
    members = np.array(comm.members, np.int64)
    lists = []
    for rank, shape, count in rows:
        blocks = np.array(shape.send_bytes() or _received(rows, shape, rank, comm), np.int64)
        to = np.flatnonzero(blocks)
        ones = np.ones(len(to), np.int64)
        lists.append((ones * rank, members[to], ones * count.calls, blocks[to] * count.calls))
    columns = [np.concatenate(column) for column in zip(*lists, strict=True)]
    ranks = len({rank for rank, _, _ in rows})
    calls = sum(count.calls for _, _, count in rows) // max(1, ranks)
    seconds = sum(count.seconds for _, _, count in rows) / max(1, ranks)
    call = CollectiveCall("alltoallv", comm.size)
    return TracedCollective("alltoallv", call, calls, seconds, False, Edges.summed(*columns))


def _received(rows: Iterable[tuple[int, Shape, Counted]], shape: Shape, rank: int, comm: Communicator) -> list[int]:
    """In place, a rank sends as much as it receives."""
    return shape.receive_bytes() or [0] * comm.size


def call_of(collective: str, shape: Shape, ranks: int, place: int) -> CollectiveCall:
    """The call that a shape is, in blocks as our schedules count them."""
    sent = (shape.send_count or 0) * (shape.send_size or 0)
    received = (shape.receive_count or 0) * (shape.receive_size or 0)
    counts: tuple[int, ...] | None = None
    size, element = sent, 1
    if collective in ("allgather", "alltoall", "gather", "scatter"):
        # In place, or at the root, one of both is missing.
        size = received if collective in ("allgather", "alltoall") or shape.send_count is None else sent
        size = size or sent or received
    elif collective in ("allgatherv", "gatherv"):
        counts = tuple(shape.receive_bytes() or ())
    elif collective in ("scatterv", "reduce_scatter"):
        counts = tuple(shape.send_bytes() or ())
    if collective.startswith(("reduce", "allreduce")) or collective in ("scan", "exscan"):
        element = max(1, min(shape.send_size or 1, 65536))
    if counts is not None:
        size = sum(counts) // ranks
    root = shape.root if shape.root is not None and 0 <= shape.root < ranks else 0
    in_place = shape.in_place and collective == "alltoall"
    return CollectiveCall(collective, ranks, size, root, element, True, in_place, _plain(counts))


def _plain(counts: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Equal blocks need no list."""
    return None if not counts or len(set(counts)) == 1 else counts
