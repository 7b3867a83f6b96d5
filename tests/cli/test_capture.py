# SPDX-License-Identifier: Apache-2.0
"""`--capture` records each rank's messages as it sent them, for any calls and datatypes."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from antiphon.bench import codecs
from antiphon.bench.testbed import HostTestbed, program
from antiphon.codec import messages
from antiphon.mpi import Mpi, discover
from antiphon.mpi.launch import Settings
from antiphon.trace import Trace

PREFIX = Path(sys.prefix).resolve()
WHEELS = [m for m in discover() if m.prefix.is_relative_to(PREFIX) and m.launcher and m.abi != "mpiabi"]


def captured(mpi: Mpi, name: str, folder: Path, *arguments: str, **variables: str) -> list[list[messages.Message]]:
    """Returns what two ranks of a program sent."""
    argv = [str(program(f"demo-{name}", mpi.abi)), *arguments]
    env = Settings(capture=folder).variables() | variables
    ended = HostTestbed().run(mpi, 2, argv, preload=True, env=env, on_line=lambda line: None, timeout_s=100)
    assert ended.exit_code == 0, ended.stderr
    return [list(messages.read(folder / f"rank-{rank}.msgs")) for rank in range(2)]


@pytest.mark.parametrize("mpi", WHEELS, ids=lambda mpi: mpi.label)
def test_isend(mpi: Mpi, tmp_path: Path) -> None:
    ranks = captured(mpi, "euler3d", tmp_path / "new", "--local", "8", "--steps", "3", "--warm-up", "1")
    for sent in ranks:
        # Each step sends both faces in each direction, five variables, four layers.
        assert Counter((m.tag, len(m.payload), m.type, m.operation) for m in sent) == {
            (tag, 8 * 5 * 4 * 64, "f64", 2): 4 for tag in range(6)
        }
    assert {m.destination for m in ranks[0] if m.tag < 2} == {1}
    assert {m.destination for m in ranks[0] if m.tag >= 2} == {0}


@pytest.mark.parametrize("mpi", WHEELS, ids=lambda mpi: mpi.label)
def test_persistent_requests_of_derived_types(mpi: Mpi, tmp_path: Path) -> None:
    size = ["--grid", "12x16x20", "--steps", "1", "--warm-up", "0", "--iterations", "4", "--method", "chebyshev"]
    code_ignored = HostTestbed().run(mpi, 2, [str(program("demo-cg3d", mpi.abi)), *size], preload=True, timeout_s=100,
                              env=Settings(capture=tmp_path).variables(), on_line=lambda line: None)  # fmt: skip
    assert code_ignored.exit_code in (0, 1)  # Four iterations do not solve it.
    for rank in range(2):
        sent = list(messages.read(tmp_path / f"rank-{rank}.msgs"))
        # The face towards the other rank is packed straight from the grid, in each iteration and for the check.
        assert {(m.destination, m.type, len(m.payload)) for m in sent} == {(1 - rank, "f64", 8 * 16 * 20)}
        assert len(sent) == 5


def test_beside_a_trace(tmp_path: Path) -> None:
    arguments = ["--local", "8", "--steps", "2", "--warm-up", "1"]
    alone = captured(WHEELS[0], "euler3d", tmp_path / "alone", *arguments)
    traced = captured(
        WHEELS[0], "euler3d", tmp_path / "both", *arguments, ANTIPHON_TRACE=str(tmp_path / "euler3d.trace")
    )
    assert [len(sent) for sent in traced] == [len(sent) for sent in alone] == [18, 18]
    sends = [call for call in Trace.load(tmp_path / "euler3d.trace").ranks[0].calls if call.function == "MPI_Isend"]
    assert len(sends) >= 18


def test_send_and_a_limit(tmp_path: Path) -> None:
    arguments = ["--grid", "16x16x64", "--layers", "16", "--steps", "3", "--warm-up", "1"]
    everything = captured(WHEELS[0], "sweep3d", tmp_path / "all", *arguments)
    assert {(m.operation, m.type, len(m.payload)) for m in everything[0]} == {(1, "f64", 8 * 6 * 16 * 16)}
    assert len(everything[0]) == 4 * 4 * 4  # steps, octants that lead to the other rank, blocks of layers
    limited = captured(WHEELS[0], "sweep3d", tmp_path / "less", *arguments, ANTIPHON_CAPTURE_MBYTES="0")
    assert limited == [[], []]


def test_what_was_captured_can_be_measured(tmp_path: Path) -> None:
    captured(WHEELS[0], "euler3d", tmp_path, "--local", "8", "--steps", "3", "--warm-up", "1")
    results = codecs.run(codecs.CodecBenchmark([tmp_path / "rank-0.msgs"], contenders=["antiphon", "dfcm"], budget_s=0))
    assert not results.wrong
    assert {cell.contender: cell.messages for cell in results.cells} == {"antiphon": 24, "dfcm": 24}
    assert all(cell.rate > 1.5 for cell in results.cells)
