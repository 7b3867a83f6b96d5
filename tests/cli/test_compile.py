# SPDX-License-Identifier: Apache-2.0
"""`antiphon compile` turns repeating patterns of a trace into a plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.patterns import repeating
from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode

WORLD = Communicator(1, "MPI_COMM_WORLD", (0, 1, 2))
#: This communicator has the same members again, and the next has two of them in another order.
AGAIN = Communicator(2, "", (0, 1, 2))
PAIR = Communicator(3, "", (2, 0))


def counts(rank: int, comm: Communicator, kind: int) -> tuple[int, ...]:
    """Returns what a rank of the communicator sends in a pattern of a kind; some of it goes to itself."""
    return tuple(5 if to == rank else (rank + 1) * 1000 * kind + to for to in range(comm.size))


def alltoallv(rank: int, comm: Communicator, kind: int, start: int, function: str = "MPI_Alltoallv") -> Call:
    place = comm.members.index(rank)
    received = tuple(counts(other, comm, kind)[place] for other in range(comm.size))
    shape = Shape(function, comm, send_size=4, receive_size=4, send_counts=counts(place, comm, kind),
                  receive_counts=received)  # fmt: skip
    return Call(shape, start, 1000 * (rank + 1))


def trace_file(folder: Path, kinds: list[int]) -> Path:
    """Traces three ranks: they call patterns of these kinds on WORLD and one on AGAIN, ranks 0 and 2 two on PAIR."""
    ranks = []
    for rank in range(3):
        calls = [alltoallv(rank, WORLD, kind, 10_000 * i) for i, kind in enumerate(kinds)]
        calls.append(alltoallv(rank, AGAIN, 9, 10**6))
        if rank != 1:
            calls += [alltoallv(rank, PAIR, 4, i * 10**6, "MPI_Ialltoallv") for i in (2, 3)]
        comms = [WORLD, AGAIN, PAIR] if rank != 1 else [WORLD, AGAIN]
        shapes = list(dict.fromkeys(call.shape for call in calls))
        ranks.append(RankTrace(rank, comms, shapes, calls, 0, 10**7, 0))
    functions = ("MPI_Alltoallv", "MPI_Ialltoallv")
    header = {"ranks": 3, "functions": list(functions), "nodes": [0, 1, 1]}
    file = folder / "run.trace"
    file.write_bytes(encode(Trace(3, functions, header, ranks)))
    return file


def test_what_repeats_is_found(tmp_path: Path) -> None:
    found = repeating.find(Trace.load(trace_file(tmp_path, [1, 2, 1, 1])))
    by_calls = sorted((one.calls, one.members, one.pattern.messages[0]) for one in found)
    assert by_calls == [
        (1, (0, 1, 2), (0, 1, 4 * 2001)),  # kind 2
        (1, (0, 1, 2), (0, 1, 4 * 9001)),  # the other communicator
        (2, (2, 0), (0, 1, 4 * 4001)),
        (3, (0, 1, 2), (0, 1, 4 * 1001)),
    ]
    three = next(one for one in found if one.calls == 3)
    assert len(three.pattern.messages) == 6  # nothing to itself
    assert three.duration_s == pytest.approx(3 * 3e-6)  # the slowest rank's


def test_a_plan_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, plan = trace_file(tmp_path, [1, 2, 1]), tmp_path / "plan.json"
    assert cli.main(["compile", str(trace), "-o", str(plan), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["patterns"]
    assert [(row["ranks"], row["calls"]) for row in rows] == [(3, 2), (2, 2)]
    patterns = json.loads(plan.read_text())["patterns"]
    assert [p["size"] for p in patterns] == [3, 2]
    parts = [part for phase in patterns[0]["phases"] for part in phase["parts"]]
    assert sum(part[3] for part in parts if part[0] == 0) == 4 * (1001 + 1002)
    assert cli.main(["explain", "--plan", str(plan)]) == 0
    assert cli.main(["compile", str(trace), "-o", str(plan)]) == 2  # it is there already
    assert cli.main(["compile", str(trace), "-o", str(plan), "--overwrite", "--min-calls", "1"]) == 0
    assert len(json.loads(plan.read_text())["patterns"]) == 4


def test_nothing_to_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", str(trace_file(tmp_path, [1])), "-o", str(tmp_path / "p"), "--min-calls", "3"]) == 1
    assert "none seen 3 times" in capsys.readouterr().err
    assert cli.main(["compile", str(tmp_path / "missing"), "-o", str(tmp_path / "p")]) == 2
