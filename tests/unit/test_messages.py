# SPDX-License-Identifier: Apache-2.0
"""Checks message files, messages made from a user's own data, and sizes of messages in traces."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from antiphon.bench import trace_sizes
from antiphon.codec import messages
from antiphon.codec.messages import Message
from antiphon.errors import AntiphonError
from antiphon.trace import Call, RankTrace, Shape
from antiphon.traffic import of_trace


def npy(descr: str, shape: str, data: bytes, version: int = 1) -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "x.msgs"
    all_messages = [Message("f64", 2, 3, -1, b"12345678"), Message("bytes", 8, 0, 2**31 - 1, b"")]
    with path.open("wb") as file:
        for message in all_messages:
            messages.write(file, message)
    assert list(messages.read(path)) == all_messages
    assert messages.is_message_file(path)
    assert path.read_bytes()[:4] == bytes.fromhex("3147534d")


@pytest.mark.parametrize("cut", [1, 20, 35])
def test_a_cut_file_is_an_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.msgs"
    with path.open("wb") as file:
        messages.write(file, Message("i32", 1, 0, 0, b"1234"))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(AntiphonError, match="cut off"):
        list(messages.read(path))


def test_something_else_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"x" * 100)
    assert not messages.is_message_file(path)
    with pytest.raises(AntiphonError, match="no message file"):
        list(messages.read(path))
    with pytest.raises(AntiphonError, match="No such file"):
        messages.is_message_file(tmp_path / "absent")


@pytest.mark.parametrize(
    ("descr", "kind"),
    [
        ("<f8", "f64"),
        ("<f4", "f32"),
        ("<i4", "i32"),
        ("<u8", "i64"),
        ("<c16", "f64"),
        (">f8", "bytes"),
        ("|S7", "bytes"),
        ("<f2", "bytes"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_arrays_without_numpy(tmp_path: Path, descr: str, kind: str, version: int) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(npy(descr, "(2,)", b"0123456789abcdef", version))
    assert messages.of_array_file(path) == (kind, b"0123456789abcdef")


def test_numpy_writes_what_is_read(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    field = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    numpy.save(tmp_path / "x.npy", field)
    assert messages.of_array_file(tmp_path / "x.npy") == ("f32", field.tobytes())


def test_damaged_arrays_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    for damaged in (b"\x93NUMPY", b"\x93NUMPY\1\0\x05\0ab(cd", npy("<f8", "(1,)", b"")[:30]):
        path.write_bytes(damaged)
        with pytest.raises(AntiphonError, match="header"):
            messages.of_array_file(path)


def test_files_of_one_size_are_steps_of_a_channel(tmp_path: Path) -> None:
    paths = [tmp_path / f"{step}.raw" for step in range(2)]
    for path in paths:
        path.write_bytes(path.name.encode() * 5)
    found = list(messages.of_data(paths, "f32", 10))
    assert [(m.tag, m.type, len(m.payload)) for m in found] == [(0, "f32", 10), (1, "f32", 10), (2, "f32", 5)] * 2
    assert b"".join(m.payload for m in found[:3]) == b"0.raw" * 5


def test_empty_data_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(AntiphonError, match="is empty"):
        list(messages.of_data([tmp_path / "empty"], None, 10))


def call(
    function: str, blocks: list[int] | None = None, count: int | None = None, size: int | None = None
) -> SimpleNamespace:
    shape = SimpleNamespace(send_bytes=lambda: blocks, send_count=count, send_size=size)
    return SimpleNamespace(function=function, shape=shape)


def test_sizes_in_a_trace() -> None:
    calls = [
        call("MPI_Isend", count=1000, size=8),
        call("MPI_Alltoallv", blocks=[5, 70000]),
        call("MPI_Recv", count=3, size=8),
        call("MPI_Sendrecv_replace", count=2, size=4),
        call("MPI_Wait"),
    ]
    assert list(trace_sizes.sizes(calls)) == [8000, 5, 70000, 8]


@pytest.mark.parametrize("function", [
    "MPI_Ialltoall", "MPI_Alltoallw", "MPI_Neighbor_alltoallv", "MPI_Ineighbor_allgather", "MPI_Ialltoallv",
])  # fmt: skip
def test_blocks_of_every_exchange_are_messages(function: str) -> None:
    """GIVEN a block for each rank THEN those with something in them are messages."""
    assert list(trace_sizes.sizes([call(function, blocks=[5, 0, 70000])])) == [5, 70000]


@pytest.mark.parametrize("function", ["MPI_Isendrecv", "MPI_Allreduce", "MPI_Ireduce", "MPI_Iallgatherv", "MPI_Exscan"])
def test_counts_of_every_sending_call_are_messages(function: str) -> None:
    assert list(trace_sizes.sizes([call(function, count=3, size=8), call("MPI_Recv_init", count=3, size=8)])) == [24]


def test_persistent_messages_count_as_often_as_they_are_started() -> None:
    rank = RankTrace(0)
    shapes = [Shape("MPI_Send_init", None, send_count=5000, send_size=1), Shape("MPI_Recv_init", None)]
    shapes += [Shape("MPI_Startall", None, requests=2)] * 3
    rank.calls = [Call(shape, 0, 0) for shape in shapes]
    notes: set[str] = set()
    assert list(trace_sizes.of_rank(rank, notes)) == [5000] * 3
    assert notes == {of_trace.PERSISTENT_NOTE}


@pytest.mark.parametrize("as_json", [False, True])
def test_a_trace_that_sends_nothing_says_so(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = SimpleNamespace(ranks=[RankTrace(0)])
    monkeypatch.setattr(trace_sizes, "Trace", SimpleNamespace(load=lambda _path: trace))
    monkeypatch.setattr(trace_sizes, "measured_speed", lambda: trace_sizes.Speed(1e-6, 1e-9))
    assert trace_sizes.report(Path("run.trace"), 12.5e6, as_json) == 0
    said = capsys.readouterr().out
    assert '"classes": []' in said if as_json else said == "run.trace: no call that sends something of a known size\n"


def test_classes_of_sizes() -> None:
    found = trace_sizes.classes([8, 1024, 4095, 4096, 10**9], 12.5e6, trace_sizes.Speed(1e-6, 1e-9))
    assert [(one.least_bytes, one.messages) for one in found] == [(0, 1), (1024, 2), (4096, 1), (1024 * 4**6, 1)]
    assert found[0].least_rate is None
    rates = [one.least_rate for one in found[1:]]
    assert all(rate is not None and rate > 1 for rate in rates)
    assert rates == sorted(rates, reverse=True)  # type: ignore[type-var]  # longer messages need less
