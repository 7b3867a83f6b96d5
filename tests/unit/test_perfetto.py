# SPDX-License-Identifier: Apache-2.0
"""Checks traces as JSON trace events: what their viewers need is there, and every call with its time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.trace import AS_SCHEDULE, Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode


def example() -> Trace:
    world = Communicator(1, "MPI_COMM_WORLD", (0, 1, 2))
    shapes = [
        Shape("MPI_Alltoall", world, send_count=4, send_size=8, receive_count=4, receive_size=8, flags=AS_SCHEDULE),
        Shape("MPI_Send", world, peer=1, tag=5, send_count=3, send_size=2),
        Shape("MPI_Waitall", None, requests=4),
    ]
    ranks = [RankTrace(r, [world], shapes, [Call(s, 1000 * i + r, 500) for i, s in enumerate(shapes)], None, 9000, r)
             for r in range(3)]  # fmt: skip
    names = tuple(shape.function for shape in shapes)
    header = {"ranks": 3, "functions": list(names), "nodes": [0, 0, 1], "hosts": ["a", 'b"<\\'], "program": "/bin/x"}
    return Trace(3, names, header, ranks)


@pytest.mark.parametrize("name", ["run.perfetto.json", "other.json.gz"])
def test_every_call_is_a_slice(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.trace").write_bytes(encode(example()))
    words = ["-o", str(tmp_path / name)] if name.endswith(".gz") else []
    assert cli.main(["trace", "--to", "perfetto", *words, str(tmp_path / "run.trace")]) == 0
    assert "9 calls" in capsys.readouterr().err
    raw = (tmp_path / name).read_bytes()
    events = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)["traceEvents"]
    assert all({"ph", "name", "pid"} <= event.keys() for event in events)
    names = {(e["name"], e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["ph"] == "M"}
    assert names[("process_name", 1, None)] == 'b"<\\' and names[("thread_name", 1, 2)] == "rank 2"
    slices = [event for event in events if event["ph"] == "X"]
    assert [(e["ts"], e["dur"]) for e in slices if e["tid"] == 2] == [(0.002, 0.5), (1.002, 0.5), (2.002, 0.5)]
    first = next(e for e in slices if e["tid"] == 1)
    assert (first["name"], first["cat"], first["args"]["bytes"]) == ("MPI_Alltoall", "antiphon", 96)
    assert first["args"]["communicator"] == "MPI_COMM_WORLD" and first["args"]["ranks"] == 3
    assert {e["cat"] for e in slices if e["name"] != "MPI_Alltoall"} == {"library"}
    assert [e["name"] for e in events if e["ph"] == "i"] == ["1 calls were not recorded", "2 calls were not recorded"]


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.trace").write_bytes(b"no trace")
    for words in ([], [str(tmp_path / "run.trace")], [str(tmp_path / "missing")]):
        assert cli.main(["trace", "--to", "perfetto", "-o", str(tmp_path / "x.json"), *words]) == 2
        assert "\nhint: " in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()
