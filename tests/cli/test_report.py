# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon report`: a page that is whole, loads nothing, and is drawn by a real browser where there is one."""

from __future__ import annotations

import html.parser
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon import profile, report
from antiphon.errors import AntiphonError

DATA = Path(__file__).parent.parent / "data"
PROFILES = sorted(DATA.glob("*.json"))
Command = Callable[..., "subprocess.CompletedProcess[str]"]
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Structure(html.parser.HTMLParser):
    """Collects what a browser would see: open elements, what would be loaded, the data of charts."""

    VOID = ("meta", "br", "hr", "img", "link", "input", "rect", "line")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.loads: list[str] = []
        self.charts: list[dict] = []
        self.in_chart = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        said = dict(attrs)
        self.loads += [value for key, value in attrs if key in ("src", "href") and value and not value.startswith("#")]
        self.in_chart = said.get("type") == "application/json"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag
        self.in_chart = False

    def handle_data(self, data: str) -> None:
        if self.in_chart and data.strip():
            self.charts.append(json.loads(data))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_s_page_is_whole(command: Command, tmp_path: Path, path: Path) -> None:
    page = tmp_path / "page.html"
    result = command("report", path, "-o", page, "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["sections"][:3] == ["Network", "Curves", "Pairs"]
    text = page.read_text(encoding="utf-8")
    seen = Structure()
    seen.feed(text)
    assert seen.open == []
    assert seen.loads == []
    assert "@import" not in text
    document = profile.load(path)
    nodes = document["machine"]["nodes"]
    assert seen.count["rect"] >= 2 * nodes * nodes + nodes, "two matrices and the nodes"
    curves = seen.charts[0]
    assert curves["names"][0].startswith("g(m)")
    drawn = [(x, y) for x, y in zip(curves["data"][0], curves["data"][1], strict=True) if y is not None]
    assert [y for _, y in drawn] == [y for _, y in document["link_classes"][0]["g_s"]]
    assert len(text) < 500_000


@pytest.mark.skipif(BROWSER is None, reason="no browser on this machine; the page's structure is tested above")
@pytest.mark.parametrize("path", PROFILES[:1], ids=lambda path: path.stem)
def test_a_browser_draws_it(command: Command, tmp_path: Path, path: Path) -> None:
    page = tmp_path / "page.html"
    assert command("report", path, "-o", page).returncode == 0
    command = [
        BROWSER,
        *QUIET,
        f"--user-data-dir={tmp_path / 'browser'}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        f"file://{page}",
    ]
    env = {**os.environ, "HOME": str(tmp_path)}
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, env=env, check=False)
    charts = page.read_text(encoding="utf-8").count('class="chart"')
    assert charts >= 4
    assert f'data-charts="{charts}"' in result.stdout, result.stderr[-2000:]
    assert result.stdout.count("<canvas") == charts
    # No script failed, and nothing was requested from a network.
    assert "Uncaught" not in result.stderr
    assert "ERR_" not in result.stderr


def test_results_of_bench(command: Command, tmp_path: Path) -> None:
    row = {
        "collective": "bcast",
        "ranks": 4,
        "nodes": 4,
        "mpi": "MPICH 5",
        "transport": "ofi",
        "mode": "sync",
        "limit_s": 1e-3,
        "samples": [2e-3] * 6,
    }
    rows = [
        {**row, "bytes": size, "contender": c, "median_s": 2e-3}
        for size in (1024, 65536)
        for c in ("library", "</script><b>")
    ]
    (tmp_path / "r.json").write_text(json.dumps({"results": rows}))
    result = command("report", tmp_path / "r.json")
    assert result.returncode == 0, result.stderr
    seen = Structure()
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    seen.feed(text)
    assert seen.open == []
    assert "<b>" not in text, "names are text, whatever they contain"
    assert seen.charts[0]["names"] == ["library", "</script><b>", "limit"]


def test_the_summary_of_a_run(command: Command, tmp_path: Path) -> None:
    collective = {"collective": "alltoall", "size_class": "≤ 256 KiB", "calls": 4, "bytes": 1 << 20, "time_s": 0.25}
    traffic = {"communicator": "grid", "class": "between nodes", "messages": 10, "encoded": 8, "bytes": 3 << 20}
    times = {"wire_bytes": 2 << 20, "rate": 1.5, "encode_s": 0.004, "decode_s": 0.002, "saved_s": -0.5}
    run = {
        "version": 1,
        "ranks": 2,
        "collectives": [{**collective, "max_time_s": 0.5, "algorithm": "rotated:encode=1"}],
    }
    (tmp_path / "run.json").write_text(json.dumps({**run, "compression": [{**traffic, **times}]}))
    result = command("report", tmp_path / "run.json", "--json")
    assert json.loads(result.stdout)["sections"] == ["What was chosen, and why", "Compression"], result.stderr
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    for wanted in ("rotated:encode=1", "grid", "3 MiB travelled as 2 MiB, 1.50 times shorter", "−250 ms", "−500 ms"):
        assert wanted in text, wanted
    assert "≤ 256 KiB (buffer)" in text, "a file of version 1 keeps its meaning"
    (tmp_path / "run.json").write_text(json.dumps({**run, "collectives": []}))
    again = command("report", tmp_path / "run.json", "--json", "--overwrite")
    assert json.loads(again.stdout)["sections"] == ["What was chosen, and why"], again.stderr


def test_what_did_each_call_and_why(command: Command, tmp_path: Path) -> None:
    """GIVEN a summary of this version THEN the page has its numbers; GIVEN a later one THEN it is refused."""
    row = {"collective": "allreduce", "least_bytes": 8, "most_bytes": 8, "calls": 4, "rank_calls": 8, "bytes": 64,
           "time_s": 0.25, "max_time_s": 0.5, "share": 0.125, "waiting_s": 0.2, "moving_s": 0.05,
           "compared_calls": 8, "algorithm": "library", "reason": "two ranks"}  # fmt: skip
    about = {"mpi": "MPICH 5.0.2", "program": "/bin/solver", "started": "2026-01-31T12:00:00Z", "run_s": 2.0}
    others = [{**row, "least_bytes": 5, "share": None}, {**row, "collective": "alltoallv", "most_bytes": 2048}]
    run = {"version": 2, "ranks": 2, "nodes": 2, **about, "collectives": [row, *others]}
    (tmp_path / "run.json").write_text(json.dumps(run))
    result = command("report", tmp_path / "run.json")
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    wanted = (
        "2 ranks on 2 nodes, MPICH 5.0.2",
        "took 2.00 s",
        "≤ 8 B",
        "8 B … 2 KiB",
        "12.5 %",
        "80.0 %",
        "two ranks",
        "–",
    )
    assert [words for words in wanted if words not in text] == []
    (tmp_path / "run.json").write_text(json.dumps({**run, "version": 3}))
    later = command("report", tmp_path / "run.json", "-o", tmp_path / "later.html")
    assert later.returncode == 2 and "version 3" in later.stderr and "hint:" in later.stderr


def test_a_page_is_not_replaced_unasked(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text("mine")
    result = command("report", PROFILES[0], "-o", tmp_path / "x.html")
    assert result.returncode == 2
    assert "--overwrite" in result.stderr
    assert (tmp_path / "x.html").read_text() == "mine"
    assert command("report", PROFILES[0], "-o", tmp_path / "x.html", "--overwrite").returncode == 0


@pytest.mark.parametrize("content", ["", "{", '{"a": 1}', "[1, 2]", "nonsense"])
def test_other_documents_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "d.json").write_text(content)
    with pytest.raises(AntiphonError) as error:
        report.page_of(tmp_path / "d.json")
    assert "d.json" in error.value.message
    assert error.value.hint


def test_a_broken_profile_is_told_by_its_field(command: Command, tmp_path: Path) -> None:
    document = profile.load(PROFILES[0])
    document["link_classes"][0]["latency_s"] = "soon"
    (tmp_path / "p.json").write_text(json.dumps(document))
    result = command("report", tmp_path / "p.json")
    assert result.returncode == 2
    assert "link_classes[0].latency_s" in result.stderr
    assert not (tmp_path / "p.html").exists()


def test_kinds_are_listed(command: Command) -> None:
    kinds = json.loads(command("report", "--list", "--json").stdout)["kinds"]
    assert {"profile", "bench", "summary"} <= kinds.keys()


def test_a_browser_is_asked_to_show_it(tmp_path: Path) -> None:
    """GIVEN --open THEN $BROWSER gets the page's address; GIVEN no browser THEN the page is written, which is said."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/shown\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "antiphon", "report", PROFILES[0], "-o", tmp_path / "a page.html", "--open"]

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **more}
        return subprocess.run(
            [*command, "--overwrite"], capture_output=True, text=True, env=env, timeout=60, check=True
        )

    run(BROWSER=str(browser))
    assert (tmp_path / "shown").read_text() == f"file://{tmp_path}/a%20page.html\n"
    result = run(BROWSER="/nowhere/browser", PATH=str(tmp_path / "nothing"), DISPLAY="", WAYLAND_DISPLAY="")
    assert "warning: no browser was found\nhint: open " in result.stderr
