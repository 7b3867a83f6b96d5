# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon traffic`, and the report of a trace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon import report
from antiphon.commands import _traffic_verify
from antiphon.placement import Node, Placement
from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode

DATA = Path(__file__).parent.parent / "data"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
RANKS = 16
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Writes a trace of a ring, a broadcast and an exchange on 8 nodes."""
    world = Communicator(1, "MPI_COMM_WORLD", tuple(range(RANKS)))
    ranks = []
    for r in range(RANKS):
        shapes = [
            Shape("MPI_Send", world, peer=(r + 1) % RANKS, tag=0, send_count=1000, send_size=8),
            Shape("MPI_Bcast", world, root=3, send_count=5000, send_size=1),
            Shape("MPI_Alltoall", world, send_count=10, send_size=8, receive_count=10, receive_size=8),
        ]
        calls = [Call(shape, 1000 * i, 900) for i, shape in enumerate(shapes * 3)]
        ranks.append(RankTrace(r, [world], shapes, calls, 0, 10000))
    header = {"mpi": "MPICH Version: 5.0.2", "nodes": [r // 2 for r in range(RANKS)], "program": "./solver</script>"}
    path = tmp_path / "run.trace"
    path.write_bytes(encode(Trace(RANKS, ("MPI_Send", "MPI_Bcast", "MPI_Alltoall"), header, ranks)))
    return path


def test_a_trace_s_traffic(command: Command, trace: Path, tmp_path: Path) -> None:
    """GIVEN a trace THEN its calls are listed with their algorithms, as JSON and in a file that is read again."""
    result = command("traffic", trace, "--json", "-o", tmp_path / "run.traffic")
    assert result.returncode == 0, result.stderr
    parts = {part["name"]: part for part in json.loads(result.stdout)["parts"]}
    assert parts["point-to-point"]["edges"][0] == [0, 1, 3, 24000]
    assert (parts["bcast"]["algorithm"], parts["alltoall"]["algorithm"]) == ("smp", "brucks")
    table = command("traffic", tmp_path / "run.traffic").stdout
    assert "16 ranks on 8 nodes" in table and "brucks" in table and "Payload only" in table
    other = json.loads(command("traffic", trace, "--json", "--library", "openmpi-4.1").stdout)
    assert {p["algorithm"] for p in other["parts"]} == {"", "binomial", "modified_bruck"}


def test_shares_are_the_same_everywhere(command: Command, trace: Path, tmp_path: Path) -> None:
    """GIVEN traffic THEN the command's table and the page's have the same shares; GIVEN one node THEN none crosses."""
    one_node = Trace.load(trace)
    one_node.header["nodes"] = [0] * RANKS
    (tmp_path / "one.trace").write_bytes(encode(one_node))
    for path in (trace, tmp_path / "one.trace"):
        printed = command("traffic", path).stdout
        sections = {section.title: section for section in report.page_of(path).sections}
        (table,) = sections["What is sent"].blocks
        columns = [table.headings.index(name) for name in ("payload", "share", "between nodes", "share of that")]
        assert len(table.rows) == 3
        for row in table.rows:
            (line,) = [line for line in printed.splitlines() if line.split()[:1] == [row[0]]]
            assert all(row[c] in line for c in columns), (line, row)
        assert ("–" in printed) == (path != trace)


def test_wrong_use(command: Command, trace: Path, tmp_path: Path) -> None:
    """GIVEN what cannot be THEN the error says what to do."""
    for args in (["traffic"], ["traffic", tmp_path / "none"], ["traffic", trace, "--library", "lam-7"]):
        result = command(*args)
        assert result.returncode == 2 or "lam" in str(args), (args, result.stderr)
    for window in ("soon", "0:inf", "nan:1"):
        assert f"--between {window}: expected A:B" in command("traffic", trace, "--between", window).stderr
    assert "--phases 0: must be at least 1" in command("traffic", trace, "--phases", 0).stderr
    assert "openmpi-5.0" in command("traffic", "--libraries").stdout
    assert _traffic_verify.DEFAULT_SIZES


def test_options_that_would_do_nothing_are_refused(command: Command, trace: Path, tmp_path: Path) -> None:
    """GIVEN options about traces for a file of traffic, or two that exclude each other THEN the error names them."""
    made = tmp_path / "run.traffic"
    assert command("traffic", trace, "-o", made).returncode == 0
    about_traces = [["--library", "mpich-5"], ["--own"], ["--profile", trace], ["--between", "0:1"], ["--phases", 2]]
    for option in about_traces:
        result = command("traffic", made, *option)
        assert result.returncode == 2 and f"{option[0]} says how a trace is read" in result.stderr, option
    both = command("traffic", trace, "--between", "0:1", "--phases", 2)
    assert both.returncode == 2 and "--between and --phases both say" in both.stderr
    for part in (["--between", "0:1"], ["--phases", 2]):
        result = command("traffic", trace, "--joint", "--profile", trace, *part)
        assert result.returncode == 2 and "--joint optimises the whole run" in result.stderr, part


def test_the_report_of_a_trace(command: Command, trace: Path, tmp_path: Path) -> None:
    """GIVEN a trace, its machine and a placement THEN the page shows calls, algorithms, heat maps and links of both."""
    nodes = [Node(f"node{n:02}", 2) for n in range(1, 9)]
    Placement(nodes, [r % 8 for r in range(RANKS)], [r // 8 for r in range(RANKS)]).save(tmp_path / "placed.json")
    machine = DATA / "ethernet-16.openmpi.json"
    page = report.page_of(trace, machine, tmp_path / "placed.json")
    assert [s.title for s in page.sections][:5] == ["Calls", "Timeline", "What is sent", "Traffic", "Network"]
    heats = [block.title for section in page.sections for block in section.blocks if block.kind == "heat"]
    assert len(heats) == 4 and heats[0].endswith("before") and heats[-1].endswith("after")
    drawings = [block.svg for section in page.sections for block in section.blocks if block.kind == "drawing"]
    assert len(drawings) == 2 and drawings[0] != drawings[1]
    result = command("report", trace, "-o", tmp_path / "t.html", "--profile", machine)
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "t.html").read_text(encoding="utf-8")
    assert "brucks" in text and "algorithm assumed" in text and "solver</script>" not in text
    wrong = command("report", DATA / "ethernet-16.openmpi.json", "--profile", machine)
    assert wrong.returncode == 2 and "traces" in wrong.stderr


@pytest.mark.parametrize(
    ("hosts", "reached", "note"),
    [
        (["node03.site", "node11"], {"node03", "node11"}, ""),
        (["zz1", "zz2"], {"node01", "node02"}, "no node of its own for zz1, zz2"),
        (None, {"node01", "node02"}, "the trace does not name its nodes"),
    ],
)
def test_the_links_are_those_of_the_runs_hosts(
    trace: Path, tmp_path: Path, hosts: list[str] | None, reached: set[str], note: str
) -> None:
    """GIVEN hosts that are not a profile's first nodes THEN their links are shown; GIVEN unknown ones, so is that."""
    run = Trace.load(trace)
    run.header |= {"nodes": [r // 8 for r in range(RANKS)], "hosts": hosts}
    trace.write_bytes(encode(run))
    Placement(
        [Node("node16", 8), Node("node12", 8)], [r % 2 for r in range(RANKS)], [r // 2 for r in range(RANKS)]
    ).save(tmp_path / "placed.json")
    page = report.page_of(trace, DATA / "two-switches.openmpi.json", tmp_path / "placed.json")
    sections = {section.title: section for section in page.sections}
    maps = {block.title: block for block in sections["Traffic"].blocks}
    assert maps["Between nodes, before"].labels == (hosts or ["0", "1"])
    assert maps["Between nodes, after"].labels == ["node16", "node12"]
    blocks = sections["Network"].blocks
    links = next(block for block in blocks if getattr(block, "title", "").startswith("Links"))
    used = [{row[0].split()[0] for row in links.rows if row[at] != "–"} - {"switch"} for at in (1, 3)]
    assert used == [reached, {"node16", "node12"}]
    said = [line for block in blocks if block.kind == "text" for line in block.lines]
    assert [line.startswith("before: ") and note in line for line in said] == [True] * bool(note)


@pytest.mark.skipif(BROWSER is None, reason="no browser on this machine; the page's structure is tested above")
def test_a_browser_draws_a_trace(command: Command, trace: Path, tmp_path: Path) -> None:
    """GIVEN the page of a trace THEN a browser draws its chart and finds nothing wrong."""
    assert command("report", trace, "-o", tmp_path / "t.html").returncode == 0
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'b'}"]
    command += ["--virtual-time-budget=5000", "--dump-dom", f"file://{tmp_path / 't.html'}"]
    env = {**os.environ, "HOME": str(tmp_path)}
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, env=env, check=False)
    assert 'data-charts="1"' in result.stdout, result.stderr[-2000:]
    assert "Uncaught" not in result.stderr
