# SPDX-License-Identifier: Apache-2.0
"""Checks the credit protocol on real MPI libraries, and the trace of what runs there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi
from antiphon.trace import Trace
from antiphon.trace.writer import join_parts

HERE = Path(__file__).resolve().parent
PATTERNS = HERE / "programs" / "patterns.c"
STREAMS = HERE / "programs" / "streams.c"
UNEVEN = HERE / "programs" / "uneven.c"
CHANGING = HERE / "programs" / "changing.c"
INCLUDE = HERE.parents[1] / "include"
#: Which choices encode what the protocol carries.
ENCODED = ["credit:encode=1", "credit:piece_bytes=1000,credit_bytes=3000,sender_bytes=2000,short_bytes=300,encode=200"]
SMALL = "credit:piece_bytes=1000,credit_bytes=3000,sender_bytes=2000,short_bytes=300,window_bytes=200"

Run = Callable[..., Any]


def cluster(ranks: int, bits_per_s: int = 100_000_000) -> dict[str, str]:
    """Makes Antiphon take each rank for a node of its own."""
    return {"ANTIPHON_NODES": ",".join(f"node{i}" for i in range(ranks)), "ANTIPHON_LINK_BITS_PER_S": str(bits_per_s)}


@pytest.mark.parametrize("choice", ["credit", SMALL, "auto"])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_patterns(wheel: Mpi, n: int, choice: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN sparse, skewed and changing patterns THEN every byte arrives, whatever the credit."""
    if wheel.abi == "mpiabi" and n != 3:
        pytest.skip("the same library as mpich")
    result = run_ranks(wheel, n, [compiled(wheel, [PATTERNS])], ANTIPHON_FORCE=f"alltoallv:{choice}")
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    if choice != "auto":
        assert "credit" in result.used("alltoallv")


@pytest.mark.parametrize("compress", ["off", "force"])
@pytest.mark.parametrize("bits_per_s", [300_000_000, 1_000_000_000])
def test_longer_pieces_on_faster_links(
    native: Mpi, bits_per_s: int, compress: str, compiled: Run, run_ranks: Run
) -> None:
    """GIVEN faster links THEN ranks in step, whose pieces are longer there, receive every byte."""
    variables = {"ANTIPHON_ADAPT": "off", "ANTIPHON_COMPRESS": compress, **cluster(5, bits_per_s)}
    result = run_ranks(native, 5, [compiled(native, [PATTERNS])], **variables)
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    assert "credit in step" in {row["algorithm"] for row in result.calls("alltoallv")}


def test_credit_of_the_profile(native: Mpi, compiled: Run, run_ranks: Run) -> None:
    """GIVEN a profile or a variable that says what may be under way to a node THEN half of that is granted."""
    data = HERE.parent / "data"
    profile = data / f"ethernet-16.{'openmpi' if native.family == 'openmpi' else 'mpich'}.json"
    piece = json.loads(profile.read_text())["contention"]["credit_bytes"] // 16 // 1024 * 1024
    variables = {"ANTIPHON_PROFILE": str(profile), "ANTIPHON_FORCE": "alltoallv:credit", "ANTIPHON_COMPRESS": "off"}
    for told, source in (({}, f"the profile {profile}"), ({"ANTIPHON_CREDIT_BYTES": "65536"}, "ANTIPHON_CREDIT_BYTES")):
        if told:
            piece = 65536 // 16
        result = run_ranks(native, 3, [compiled(native, [PATTERNS]), 1], **variables, **told)
        assert result.returncode == 0, result.text
        wanted = f"credit:piece_bytes={piece},credit_bytes={8 * piece},sender_bytes={2 * piece},"
        assert any(wanted in row["algorithm"] for row in result.calls("alltoallv")), result.summary
        assert result.fact("credit")["source"] == source


@pytest.mark.parametrize(("bits_per_s", "limits"), [
    (1_000_000_000, "piece_bytes=32768,credit_bytes=65536,sender_bytes=65536,short_bytes=57344"),
    (10_000_000_000, "piece_bytes=45056,credit_bytes=90112,sender_bytes=90112,short_bytes=78848"),
])  # fmt: skip
def test_forced_credit_suits_the_link(native: Mpi, bits_per_s: int, limits: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN a fast link THEN the protocol has the parameters that Antiphon chooses for it (credit_limits_test.cpp)."""
    variables = {"ANTIPHON_FORCE": "alltoallv:credit", "ANTIPHON_COMPRESS": "off", **cluster(3, bits_per_s)}
    result = run_ranks(native, 3, [compiled(native, [PATTERNS]), 1], **variables)
    assert result.returncode == 0, result.text
    assert any(f"credit:{limits}" in row["algorithm"] for row in result.calls("alltoallv")), result.summary


@pytest.mark.parametrize("choice", ENCODED)
@pytest.mark.parametrize("n", [2, 5])
def test_encoded_patterns(wheel: Mpi, n: int, choice: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN the same patterns in frames THEN every byte arrives, by the credit protocol."""
    if wheel.abi == "mpiabi" and n != 5:
        pytest.skip("the same library as mpich")
    variables = {"ANTIPHON_FORCE": f"alltoallv:{choice}", "ANTIPHON_COMPRESS": "force"}
    result = run_ranks(wheel, n, [compiled(wheel, [PATTERNS])], **variables)
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    assert set(result.used("alltoallv")) == {"credit"}
    coded = next(row for row in result.summary["compression"] if row["class"] == "collectives")
    assert coded["encoded"] > 0 and coded["wire_bytes"] < coded["bytes"]


def test_uneven_patterns(native: Mpi, compiled: Run, run_ranks: Run) -> None:
    """GIVEN a pattern with phases that would wait for each other THEN it is right, and scheduled once it is known."""
    result = run_ranks(native, 5, [compiled(native, [UNEVEN])], ANTIPHON_FORCE="alltoallv:on", **cluster(5))
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    ways = {row["algorithm"] for row in result.calls("alltoallv")}
    assert any("credit with a known pattern" in way for way in ways), result.summary
    assert result.used("alltoallv") == {"credit": 6}


@pytest.mark.parametrize("compress", ["on", "force"])
def test_encoded_uneven_patterns(native: Mpi, compress: str, compiled: Run, run_ranks: Run) -> None:
    """GIVEN compression THEN the pattern is known and scheduled as without it, and its messages are encoded."""
    variables = {"ANTIPHON_FORCE": "alltoallv:on", "ANTIPHON_COMPRESS": compress, **cluster(5)}
    result = run_ranks(native, 5, [compiled(native, [UNEVEN])], **variables)
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    assert any("credit with a known pattern" in row["algorithm"] for row in result.calls("alltoallv")), result.summary
    coded = next(row for row in result.summary["compression"] if row["class"] == "collectives")
    assert coded["encoded"] > 0


def test_trace_holds_the_calls(wheel: Mpi, compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a recorded run THEN the trace has every rank's calls with their counts."""
    path = tmp_path / "run.trace"
    result = run_ranks(wheel, 3, [compiled(wheel, [PATTERNS]), 4], ANTIPHON_TRACE=str(path))
    assert result.returncode == 0, result.text
    trace = Trace.load(path)
    assert trace.complete
    assert trace.size == 3
    assert not list(tmp_path.glob("run.trace.rank*"))
    for rank in trace.ranks:
        calls = [c for c in rank.calls if c.function == "MPI_Alltoallv"]
        assert len(calls) == 9 * 4 + 27
        assert all(c.comm is not None and c.comm.members == (0, 1, 2) for c in calls)
        hot = calls[8].shape
        assert hot.send_bytes() == [300000, 300000, 0]
        assert hot.receive_bytes() == ([300000] * 3 if rank.rank < 2 else [0, 0, 0])
        assert sum(c.function == "MPI_Allreduce" for c in rank.calls) == 1
        with_types = [c.shape for c in rank.calls if c.function == "MPI_Alltoallw"]
        assert len(with_types) == 9
        assert with_types[2].send_bytes() == [300000, 300000, 0]
        starts = [c.start_ns for c in rank.calls]
        assert starts == sorted(starts)


def test_neighbours_are_traced(wheel: Mpi, compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a neighbour collective THEN the trace has its bytes by rank, whichever side runs it."""
    source = tmp_path / "ring.c"
    source.write_text(
        "#include <mpi.h>\nint main(int c, char** v) { int n, p = 1, x[8] = {0}, y[8]; MPI_Comm ring; MPI_Init(&c, &v);"
        " MPI_Comm_size(MPI_COMM_WORLD, &n); MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &p, 0, &ring);"
        " MPI_Neighbor_alltoall(x, 3, MPI_INT, y, 3, MPI_INT, ring); MPI_Comm_free(&ring); MPI_Finalize(); }\n"
    )
    path = tmp_path / "run.trace"
    for n, wanted in ((3, [[0, 12, 12], [12, 0, 12], [12, 12, 0]]), (2, [[0, 24], [24, 0]])):
        path.unlink(missing_ok=True)
        result = run_ranks(wheel, n, [compiled(wheel, [source])], ANTIPHON_TRACE=str(path))
        assert result.returncode == 0, result.text
        calls = [c for rank in Trace.load(path).ranks for c in rank.calls if c.function == "MPI_Neighbor_alltoall"]
        assert [call.shape.send_bytes() for call in calls] == wanted
        assert [call.shape.receive_bytes() for call in calls] == wanted


def test_point_to_point_is_traced(wheel: Mpi, compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN messages THEN the trace has their peers, tags and sizes."""
    source = tmp_path / "messages.c"
    source.write_text(
        "#include <mpi.h>\nint main(int c, char** v) { int r, n, x[8] = {0}; MPI_Request q; MPI_Init(&c, &v);"
        " MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Comm_size(MPI_COMM_WORLD, &n);"
        " MPI_Isend(x, 4 + r, MPI_INT, (r + 1) % n, 17, MPI_COMM_WORLD, &q);"
        " MPI_Recv(x + 1, 7, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
        " MPI_Wait(&q, MPI_STATUS_IGNORE); MPI_Finalize(); return 0; }\n"
    )
    path = tmp_path / "run.trace"
    result = run_ranks(wheel, 2, [compiled(wheel, [source])], ANTIPHON_TRACE=str(path))
    assert result.returncode == 0, result.text
    for rank in Trace.load(path).ranks:
        calls = {c.function: c.shape for c in rank.calls}
        assert (calls["MPI_Isend"].peer, calls["MPI_Isend"].tag) == (1 - rank.rank, 17)
        assert (calls["MPI_Isend"].send_count, calls["MPI_Isend"].send_size) == (4 + rank.rank, 4)
        received = calls["MPI_Recv"]
        assert (received.peer, received.tag, received.receive_count) == (1 - rank.rank, -1, 7)
        assert calls["MPI_Wait"].requests == 1


def test_traces_of_threads(native: Mpi, tmp_path: Path, verified: Run) -> None:
    """GIVEN threads that meet new communicators at once THEN the trace defines all of them, in order."""
    path = tmp_path / "threads.trace"
    verified(native, 2, "threads.c", options=["-lpthread"], ANTIPHON_TRACE=str(path))
    used = {call.comm.number for call in Trace.load(path).ranks[0].calls if call.function == "MPI_Allreduce"}
    assert len(used) == 400


def test_trace_of_a_rank_that_dies(wheel: Mpi, compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a rank that is killed THEN what the ranks had recorded can be joined."""
    source = tmp_path / "dies.c"
    source.write_text(
        "#include <mpi.h>\n#include <signal.h>\nint main(int c, char** v) { int r, i, x; MPI_Init(&c, &v);"
        " MPI_Comm_rank(MPI_COMM_WORLD, &r);"
        " for (i = 0; i < 50; i++) MPI_Allreduce(&r, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);"
        " MPI_Barrier(MPI_COMM_WORLD);"
        " if (r == 1) raise(SIGKILL);"
        " MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Finalize(); }\n"
    )
    path = tmp_path / "run.trace"
    result = run_ranks(wheel, 3, [compiled(wheel, [source])], ANTIPHON_TRACE=str(path))
    assert result.returncode != 0
    assert not path.exists()
    assert join_parts(path) == (3, 3)
    trace = Trace.load(path)
    assert not trace.complete
    dead = trace.ranks[1]
    assert dead.ended_ns is None
    assert sum(c.function == "MPI_Allreduce" for c in dead.calls) == 50


def test_trace_keeps_within_its_memory(native: Mpi, compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a small bound THEN what does not fit is counted, said, and nothing breaks."""
    path = tmp_path / "run.trace"
    source = tmp_path / "many.c"
    source.write_text(
        "#include <mpi.h>\nint main(int c, char** v) { int i; char b[1]; MPI_Init(&c, &v);"
        " for (i = 0; i < 60000; i++) MPI_Send(b, 0, MPI_CHAR, MPI_PROC_NULL, i, MPI_COMM_WORLD);"
        " MPI_Finalize(); return 0; }\n"
    )
    bounds = {"ANTIPHON_TRACE": str(path), "ANTIPHON_TRACE_BYTES": "1048576"}
    result = run_ranks(native, 2, [compiled(native, [source])], **bounds)
    assert result.returncode == 0, result.text
    assert "were not recorded" in result.text
    trace = Trace.load(path)
    for rank in trace.ranks:
        assert rank.dropped > 0
        assert rank.dropped + len(rank.calls) == 60000
    assert path.stat().st_size < 3 << 20


@pytest.mark.parametrize(
    ("calls", "used"),
    [
        # Calls are gathered before calls 1, 4 (known at 5) and 16: all are short, so the library runs them until the
        # next gathering.
        ("s" * 17 + "l", {"library": 18}),
        # Call 4 is short, but a long one was seen since call 1; after call 17 all are long.
        ("ssls" + "l" * 16, {"library": 4, "credit": 16}),
        # The gathering before call 4 is under way when the program ends.
        ("ssss", {"library": 4}),
    ],
)
def test_short_patterns_are_the_librarys(
    native: Mpi, calls: str, used: dict[str, int], compiled: Run, run_ranks: Run
) -> None:
    """GIVEN patterns that are short THEN the library does them, on every rank alike, until all have seen a long one."""
    result = run_ranks(native, 3, [compiled(native, [CHANGING]), calls, "with types, too"], **cluster(3))
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    for collective in ("alltoallv", "alltoallw"):
        assert result.used(collective) == used
        assert result.reasons(collective) == {"short: the ranks have seen that it is not worth a schedule"}


def test_uneven_patterns_that_change(native: Mpi, compiled: Run, run_ranks: Run) -> None:
    """GIVEN another uneven pattern in each call THEN it is gathered and scheduled for its own call."""
    result = run_ranks(native, 5, [compiled(native, [CHANGING]), "u" * 12], **cluster(5))
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    known = [row["algorithm"] for row in result.calls("alltoallv") if "known pattern" in row["algorithm"]]
    assert known, result.summary


def test_ranks_go_the_same_way(native: Mpi, compiled: Run, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN counts that repeat nearly, grow, take turns or change THEN all ranks go the same way in each call.

    So they do with a plan for other counts."""
    program = compiled(native, [STREAMS], f"-I{INCLUDE}", "-ldl")
    streams = ["even:equal", "even:key", "uneven:key", "uneven:little", "uneven:growing", "even:turns", "skewed:3"]
    other = {"collective": "alltoallv", "synchronisation": "tokens", "cut": [8192, 2], "size": 5}
    other |= {"scheduler": "by hand", "phases": [{"parts": [[0, 1, 0, 7777], [2, 3, 0, 7777]]}]}
    (tmp_path / "other.plan").write_text(json.dumps({"version": 1, "patterns": [other]}))

    def used_by(**environment: str) -> dict[str, list[str]]:
        argv = [program, 65536, 14, 1, "antiphon", *streams]
        result = run_ranks(native, 5, argv, **cluster(5), **environment)
        assert result.returncode == 0, result.text
        assert "fine" in result.text.split()
        lines = [json.loads(line) for line in result.text.splitlines() if line.startswith("{")]
        return {line["stream"]: line["used"] for line in lines}

    used = used_by()
    assert used_by(ANTIPHON_PLAN=str(tmp_path / "other.plan")) == used
    assert set(used["even:key"]) == {"credit in step"}
    assert set(used["uneven:key"]) == {"credit with a known pattern"}
    assert set(used["uneven:little"]) == {"credit with a known pattern"}
    assert {*used["even:turns"]} == {"credit in step", "credit with a known pattern"}
    # From call 3 on counts are even: once that is gathered, all ranks leave the schedule, and need none.
    assert used["skewed:3"][:2] == ["credit with a known pattern"] * 2
    assert used["skewed:3"][-1] == "credit in step"
