# SPDX-License-Identifier: Apache-2.0
"""Checks that the reader reads what is written, and that it only reads or refuses, whatever the bytes are."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import cli
from antiphon.commands import trace as trace_command
from antiphon.trace import MAGIC, Call, Communicator, RankTrace, Shape, Trace, TraceError
from antiphon.trace.summary import summarise
from antiphon.trace.writer import encode, join_parts, varint

FUNCTIONS = ("MPI_Alltoallv", "MPI_Bcast", "MPI_Isend", "MPI_Waitall")


def example(size: int = 3) -> Trace:
    """Makes a run with several communicators and shapes."""
    world = Communicator(1, "MPI_COMM_WORLD", tuple(range(size)))
    part = Communicator(2, "", (2, 0, None), intercommunicator=True)
    shapes = [
        Shape("MPI_Alltoallv", world, None, None, None, None, 8, None, 4, (1, 1, 7), (0, 2**40, 2**40)),
        Shape("MPI_Bcast", part, root=0, send_count=5, send_size=1, flags=3),
        Shape("MPI_Isend", world, peer=-2, tag=-1, send_count=2**31, send_size=2),
        Shape("MPI_Waitall", None, requests=4),
    ]
    ranks = []
    for r in range(size):
        calls = [Call(shapes[(i * i + r) % 4], 1000 * i, 17 * i) for i in range(40)]
        used = list(dict.fromkeys(c.shape for c in calls))
        ranks.append(RankTrace(r, [world, part], used, calls, 10**18 + r, 123456, r))
    return Trace(size, FUNCTIONS, {"ranks": size, "functions": list(FUNCTIONS), "nodes": [0] * size}, ranks)


def test_what_is_written_is_read() -> None:
    """GIVEN a trace THEN its file holds all of it."""
    assert Trace.decode(encode(example())) == example()


def test_bytes_by_rank() -> None:
    """GIVEN counts and sizes THEN a shape says bytes by rank."""
    shape = example().ranks[0].calls[0].shape
    assert shape.send_bytes() == [8, 8, 56]
    assert shape.receive_bytes() == [0, 2**42, 2**42]


@pytest.mark.parametrize("form", ["MPI_", "MPI_I"])
@pytest.mark.parametrize(
    ("name", "sent", "received"),
    [("alltoall", 3, 3), ("scatter", 3, None), ("gather", None, 3), ("allgather", None, 3), ("bcast", None, None)],
)
def test_equal_blocks_are_one_for_each_rank(form: str, name: str, sent: int | None, received: int | None) -> None:
    """GIVEN a collective with a block for each rank THEN all of them count, also where the call does not block."""
    function = form + (name if form.endswith("I") else name.capitalize())
    world = Communicator(1, "", (0, 1, 2))
    shape = Shape(function, world, send_count=4, send_size=2, receive_count=4, receive_size=2)
    assert shape.send_bytes() == (sent and [8] * sent)
    assert shape.receive_bytes() == (received and [8] * received)


@pytest.mark.parametrize("keep", [0, 5, 8, 9, 30, -200, -1])
def test_cut_off(keep: int) -> None:
    """GIVEN a file that was cut off THEN it is refused, or read as far as it goes and called incomplete."""
    data = encode(example())[:keep]
    try:
        trace = Trace.decode(data)
    except TraceError:
        return
    assert not trace.complete
    assert len(trace.ranks) <= 3


@given(st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=300, deadline=None)
def test_damaged(seed: int, changes: int) -> None:
    """GIVEN any damage THEN nothing but TraceError comes of it."""
    draw = random.Random(seed)
    data = bytearray(encode(example()))
    for _ in range(changes):
        at = draw.randrange(len(MAGIC), len(data))
        if draw.random() < 0.3:
            del data[at : at + draw.randrange(4)]
        else:
            data[at] = draw.choice((0, 1, 127, 128, 255, draw.randrange(256)))
    with contextlib.suppress(TraceError):
        Trace.decode(bytes(data))


@pytest.mark.parametrize(
    ("members", "counts", "what"),
    [
        ((0, 9), (1, 1), "ranks from 0 to 9, and the run had 3 ranks"),
        ((1, 2), (1, 1), "one of rank 0, which is not in it"),
        ((2, 0), (1, 1, 1), "a list of 3 for a communicator of 2 ranks"),
    ],
)
def test_ranks_that_cannot_be_are_refused(members: tuple[int, ...], counts: tuple[int, ...], what: str) -> None:
    comm = Communicator(1, "", members)
    shape = Shape("MPI_Alltoallv", comm, send_size=1, receive_size=1, send_counts=counts, receive_counts=counts)
    rank = RankTrace(0, [comm], [shape], [Call(shape, 0, 1)], 0, 100, 0)
    with pytest.raises(TraceError, match=what):
        Trace.decode(encode(Trace(3, FUNCTIONS, {}, [rank])))


@pytest.mark.parametrize("nodes", [[0, 0, 3], [0, -1, 0], [0, "1", 0], [0, 0], None])
def test_nodes_that_cannot_be_are_not_known(nodes: object) -> None:
    assert Trace(3, FUNCTIONS, {"nodes": nodes}, []).nodes == [0, 1, 2]


def test_huge_lists_are_refused() -> None:
    """GIVEN a list that claims 2^60 entries THEN no memory is taken for it."""
    good = encode(example())
    preamble_end = good.index(varint(1), good.index(b"}"))
    stream = b"".join(varint(n) for n in (2, 0, 0, 0, 1, 8, 2**60, 1, 2**60))
    data = good[:preamble_end] + varint(1) + varint(len(stream)) + stream + varint(0)
    with pytest.raises(TraceError, match="a list of"):
        Trace.decode(data)


def test_parts_are_joined(tmp_path: Path) -> None:
    """GIVEN parts of ranks of which one died within an entry THEN what was whole is in the joined trace."""
    whole = encode(example())
    start = whole.index(b"}", whole.index(b'"nodes"')) + 1
    for rank in (0, 2):
        block = encode(Trace(3, FUNCTIONS, example().header, [example().ranks[rank]]))[start:]
        at = 1 + next(i for i, b in enumerate(block[1:], 1) if b < 128)
        stream = block[at:-2]
        cut = stream[:-9] + b"\x90" if rank == 2 else stream
        part = whole[:start] + varint(1 + rank) + varint(0) + cut + bytes(1000 * (rank == 0))
        (tmp_path / f"run.trace.rank{rank}").write_bytes(part)
    assert join_parts(tmp_path / "run.trace") == (2, 3)
    trace = Trace.load(tmp_path / "run.trace")
    assert [r.rank for r in trace.ranks] == [0, 2]
    assert trace.ranks[0] == example().ranks[0]
    assert trace.ranks[1].ended_ns is None
    assert 30 < len(trace.ranks[1].calls) <= 40
    assert not trace.complete
    assert not list(tmp_path.glob("*.rank*"))
    assert summarise(tmp_path / "run.trace")["ranks_recorded"] == 2


def leave_part(path: Path, trace: Trace, rank: int) -> None:
    """Writes what a rank that died leaves beside the trace."""
    head = encode(Trace(trace.size, FUNCTIONS, trace.header, []))[:-1]
    block = encode(Trace(trace.size, FUNCTIONS, trace.header, [trace.ranks[rank]]))[len(head) :]
    at = 1 + next(i for i, b in enumerate(block[1:], 1) if b < 128)
    path.with_name(f"{path.name}.rank{rank}").write_bytes(head + varint(1 + rank) + varint(0) + block[at:-1])


@pytest.mark.parametrize(
    "damaged",
    [lambda part: bytes(len(part)), lambda part: part[:20], lambda part: b"", lambda _: None],
    ids=["zeros", "cut in the header", "empty", "a directory"],
)
def test_a_part_that_cannot_be_read_is_left_out(
    damaged: Callable[[bytes], bytes | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN what a node that died has left of one part THEN the others are joined, and the warning names it."""
    path, part = tmp_path / "run.trace", tmp_path / "run.trace.rank1"
    for rank in range(3):
        leave_part(path, example(), rank)
    rest = damaged(part.read_bytes())
    part.unlink()
    part.mkdir() if rest is None else part.write_bytes(rest)
    assert cli.main(["trace", "--recover", str(path)]) == 0
    assert [rank.rank for rank in Trace.load(path).ranks] == [0, 2]
    said = " ".join(capsys.readouterr().err.split())
    assert "cannot be read" in said and "run.trace.rank1" in said and "another run" not in said
    assert [one.name for one in tmp_path.glob("*.rank*")] == ["run.trace.rank1"]


def test_a_part_with_nothing_behind_its_header_is_empty(tmp_path: Path) -> None:
    """GIVEN zeros where a rank's entries would be THEN it is a rank that recorded nothing."""
    path = tmp_path / "run.trace"
    leave_part(path, example(), 0)
    (tmp_path / "run.trace.rank1").write_bytes(encode(Trace(3, FUNCTIONS, example().header, []))[:-1] + bytes(99))
    assert join_parts(path) == (1, 3)
    assert [rank.rank for rank in Trace.load(path).ranks] == [0]


def test_the_program_s_exit_code_stays_if_no_part_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.trace"
    (tmp_path / "run.trace.rank0").write_bytes(bytes(100))
    assert [trace_command.after(path, code, None) for code in (7, 0)] == [7, 1]
    assert "run.trace.rank0: this is not a trace" in " ".join(capsys.readouterr().err.split())
    assert cli.main(["trace", "--recover", str(path)]) == 2


@pytest.mark.parametrize("size", [3, 4], ids=["as many ranks", "more ranks"])
def test_parts_of_another_run_are_left(size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN parts of an earlier run beside those of two ranks that began a second apart THEN these are joined."""
    path, earlier, newest = tmp_path / "run.trace", example(size), example()
    earlier.header["started"] = "2026-01-31T12:00:00Z"
    for rank in range(size):
        leave_part(path, earlier, rank)
    for rank in (0, 1):
        newest.header["started"] = f"2026-01-31T12:30:0{rank}Z"
        leave_part(path, newest, rank)
    assert cli.main(["trace", "--recover", str(path)]) == 0
    assert [rank.rank for rank in Trace.load(path).ranks] == [0, 1]
    assert Trace.load(path).size == 3
    left = sorted(part.name for part in tmp_path.glob("*.rank*"))
    assert left == [f"run.trace.rank{rank}" for rank in range(2, size)]
    assert f"of another run: {', '.join(left)}" in " ".join(capsys.readouterr().err.split())


def test_not_a_trace(tmp_path: Path) -> None:
    """GIVEN another file THEN the message says so."""
    (tmp_path / "x").write_text("{}")
    with pytest.raises(TraceError, match="not a trace"):
        Trace.load(tmp_path / "x")
    with pytest.raises(TraceError, match="No such file"):
        Trace.load(tmp_path / "y")
