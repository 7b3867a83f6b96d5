# SPDX-License-Identifier: Apache-2.0
"""Checks that every table can be read on a terminal of 80 columns and in a pipe: no number and no unit is cut."""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from antiphon import cli, output
from antiphon.bench.collectives import CollectiveMeasurement, CollectiveResults
from antiphon.bench.testbed import HostTestbed
from antiphon.commands import bench
from antiphon.output import progress, tables
from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode

DATA = Path(__file__).parent.parent / "data"
SOURCES = Path(__file__).parents[2] / "python" / "antiphon"
MACHINE = DATA / "ethernet-16.openmpi.json"
RANKS = 16
#: A number with its unit, a share or a ratio: what must never be broken.
VALUE = re.compile(r"\d[\d.]* (?:[KMGT]iB|B|[nµm]?s|%)(?!\w)|\d[\d.]*×")


def shown(width: int | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns what `antiphon bench` prints on a terminal so wide, or into a pipe."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=width is not None, highlight=False, no_color=True)
    monkeypatch.setattr(output, "stdout", lambda: console)
    bench._show(bench_results(), HostTestbed())  # noqa: SLF001
    return re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue())


def long_rows(text: str, width: int) -> list[str]:
    """Returns rows that a terminal would break. Sentences may go on in its next line; what has columns may not."""
    return [line for line in text.splitlines() if len(line.rstrip()) > width and "  " in line.strip()]


def values(text: str) -> list[str]:
    """Returns all numbers with their units."""
    return sorted(VALUE.findall(text))


def bench_results() -> CollectiveResults:
    """Makes results with the longest names."""
    used = "rotated:piece_bytes=16384,window=2,sync=1,credit_bytes=49152"
    results = CollectiveResults(mpi="Open MPI 5.0.7", transport="tcp", node_of_rank=range(64))
    for collective in ("reduce_scatter_block", "alltoall"):
        for i, contender in enumerate(("library", used, "antiphon")):
            samples = [0.1234 * (1 + i) * (1 + n / 1000) for n in range(9)]
            results.measurements.append(
                CollectiveMeasurement(
                    mode="overlap",
                    contender=contender,
                    chosen=used,
                    calls_per_sample=1,
                    samples=samples,
                    collective=collective,
                    bytes=1 << 10,
                )  # fmt: skip
            )
    return results


@pytest.mark.parametrize("width", [60, 80, 100, 132])
def test_bench_on_a_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN the widest rows of bench WHEN a terminal is narrow THEN values are whole, and what is left out is named."""
    piped = shown(None, monkeypatch)
    narrow = shown(width, monkeypatch)
    assert long_rows(narrow, width) == []
    assert "…" not in re.sub(r"s … \d", "", narrow), narrow
    for words in ("1 KiB", "124 ms", "0.50×", "reduce_"):
        assert words in narrow, (words, narrow)
    kept = set(values(narrow))
    left_out = set(values(piped)) - kept
    assert not left_out or "not shown" in narrow, narrow
    assert "rotated:piece_bytes=16384,window=2,sync=1,credit_bytes=49152" in re.sub(r"\s", "", piped)


def test_no_table_goes_another_way() -> None:
    """GIVEN the sources THEN only `antiphon.output.tables` makes and prints tables."""
    for path in sorted(SOURCES.rglob("*.py")):
        if path == SOURCES / "output" / "tables.py" or "report" in path.parts:
            continue
        for call in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)):
            name, arguments = ast.unparse(call.func), [ast.unparse(argument) for argument in call.args]
            assert name != "Table", f"{path}:{call.lineno}: new_table() makes tables"
            printed = name.endswith(".print") and any(re.search(r"(^|_)table(\(|$)", text) for text in arguments)
            assert not printed, f"{path}:{call.lineno}: print_wide() prints tables"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes a trace of messages and collectives on 8 nodes."""
    world = Communicator(1, "MPI_COMM_WORLD", tuple(range(RANKS)))
    names = ("MPI_Isend", "MPI_Reduce_scatter_block", "MPI_Alltoall")
    ranks = []
    for r in range(RANKS):
        shapes = [
            Shape(names[0], world, peer=(r + 1) % RANKS, tag=0, send_count=1000, send_size=8),
            Shape("MPI_Allreduce", world, send_count=5000, send_size=1),
            Shape(names[2], world, send_count=12345, send_size=8, receive_count=12345, receive_size=8),
        ]
        calls = [Call(shape, 1000000 * i, 900000) for i, shape in enumerate(shapes * 3)]
        ranks.append(RankTrace(r, [world], shapes, calls, 0, 10000000))
    header = {"mpi": "MPICH 5.0.2", "nodes": [r // 2 for r in range(RANKS)], "program": "./solver"}
    path = tmp_path_factory.mktemp("traces") / "run.trace"
    path.write_bytes(encode(Trace(RANKS, (names[0], "MPI_Allreduce", names[2]), header, ranks)))
    return path


COMMANDS: dict[str, list[object]] = {
    "explain": ["explain", "alltoall", "--ranks", "16", "--bytes", "64k", "--link-rate", "100mbit"],
    "explain-measured": ["explain", "alltoall", "--ranks", "8", "--bytes", "64k", "--profile", MACHINE],
    "explain-phases": ["explain", "--pattern", "banded:64k", "--ranks", "8"],
    "predict": ["predict", "alltoall", "--ranks", "8", "--bytes", "64k", "--profile", MACHINE, "--no-sweep"],
    "traffic": ["traffic", "TRACE"],
    "trace": ["trace", "--summary", "TRACE"],
    "map": ["map", "TRACE", MACHINE],
}


def printed(words: Sequence[str], width: int | None, patch: pytest.MonkeyPatch, capsys: Any) -> str:
    """Runs a command in this process, on a terminal so wide or into a pipe, and returns what it prints."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=width is not None, highlight=False, no_color=True)
    patch.setattr(output, "stdout", lambda: console)
    assert cli.main(list(words)) == 0, capsys.readouterr().err
    return re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue())


@pytest.mark.parametrize("width", [1, 15])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_terminal_is_too_narrow(name: str, width: int, trace: Path, monkeypatch, capsys) -> None:
    words = [str(trace if word == "TRACE" else word) for word in COMMANDS[name]]
    assert printed(words, width, monkeypatch, capsys)


#: What writes FILE, a name that rich would take for its orders.
NAMING: dict[str, list[object]] = {
    "report": ["report", MACHINE, "-o", "FILE"],
    "explain": ["explain", "bcast", "-n", "4", "--bytes", "1k", "--svg", "FILE"],
    "explain-phases": ["explain", "--pattern", "banded:64k", "-n", "8", "--svg", "FILE"],
    "predict": ["predict", "barrier", "-n", "2", "--no-sweep", "--svg", "FILE"],
    "cluster": ["cluster", "show", "ethernet-16", "--profile-out", "FILE"],
    "traffic": ["traffic", "TRACE", "-o", "FILE"],
    "map": ["map", "TRACE", MACHINE, "-o", "FILE"],
    "trace": ["trace", "--to", "perfetto", "-o", "FILE", "TRACE"],
    "completion": ["completion", "bash", "-o", "FILE"],
}


@pytest.mark.parametrize("file", ["r[new].html", "r[/x].html"])
@pytest.mark.parametrize("name", NAMING)
def test_brackets_in_names_are_printed(name: str, file: str, trace: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    """GIVEN a file whose name looks like an order to rich THEN what the command says of it has the whole name."""
    monkeypatch.chdir(tmp_path)
    Path(file).parent.mkdir(exist_ok=True)
    words = [str(trace if word == "TRACE" else word).replace("FILE", file) for word in NAMING[name]]
    assert cli.main(words) == 0, capsys.readouterr().err
    told = capsys.readouterr()
    assert file in told.out + told.err


def test_brackets_in_cells_and_bars_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN texts from elsewhere, as names of libraries THEN a table that is too wide and a bar show them."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "stdout", stream)
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "40", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    table = tables.new_table("title [/x]")
    table.add_column("heading [/x]")
    table.add_row("a [/x] cell that is long enough to go on in the next line of a narrow terminal")
    tables.print_wide(table)
    with progress.bar("bar [/x]", 2) as move:
        move(description="moved [/x]", completed=1)
    with output.stderr().status(output.literal("waiting [/x]")):
        pass
    text = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", stream.getvalue())
    for word in ("title", "heading", "a", "moved", "waiting"):
        assert f"{word} [/x]" in text, text


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str, trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """GIVEN a command that prints tables THEN 80 columns and a pipe show the same values, whole."""
    words = [str(trace if word == "TRACE" else word) for word in COMMANDS[name]]
    piped = printed(words, None, monkeypatch, capsys)
    terminal = printed(words, 80, monkeypatch, capsys)
    assert values(piped), "there is something to compare"
    assert long_rows(terminal, 80) == []
    # Some times differ from run to run, so the number of values that are whole is compared.
    assert len(values(terminal)) >= len(values(piped)) or "not shown" in terminal, terminal
