# SPDX-License-Identifier: Apache-2.0
"""Draws reports in a real browser, light and dark, on a phone and on a desk: nothing overflows, all is readable."""

from __future__ import annotations

import html as text_of_html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from antiphon import report
from antiphon.report import html
from antiphon.trace import AS_SCHEDULE, Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode

DATA = Path(__file__).parent.parent / "data"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--hide-scrollbars")  # fmt: skip
#: The browser's own setting of what prefers-color-scheme says.
SCHEMES = {"dark": "--blink-settings=preferredColorScheme=0", "light": "--blink-settings=preferredColorScheme=1"}
WIDTHS = (390, 1280)

#: Each page is shown in a frame of each width; what is found there is written into the document.
HARNESS = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const pages = PAGES, widths = WIDTHS, found = [];
const channel = (text) => text.match(/[\\d.]+/g).map(Number);
const luminance = (c) => c.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (element, view) => {
  for (; element; element = element.parentElement) {
    const colour = channel(view.getComputedStyle(element).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const look = (name, width, frame) => {
  const page = frame.contentDocument, view = frame.contentWindow;
  const out = { name, width, scheme: view.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" };
  out.overflow = page.documentElement.scrollWidth - width;
  out.beyond = [...page.querySelectorAll("main *")].filter((e) => !e.closest(".scroll > *") && !e.closest("svg *")
    && e.getBoundingClientRect().right > width + 1).map((e) => e.tagName + "." + e.className);
  const count = (selector) => page.querySelectorAll(selector).length;
  out.charts = count("figure.chart canvas") + " of " + count("figure.chart");
  out.unnamed = [...page.querySelectorAll("canvas, svg, [role=region], nav, section")].filter((e) =>
    !e.closest("[aria-hidden=true], [role=img]:not(canvas):not(svg)")
    && !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby")).map((e) => e.outerHTML.slice(0, 80));
  out.unscoped = [...page.querySelectorAll("main th:not([scope])")].filter((e) => !e.closest(".u-legend")).length;
  const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  out.faint = [...page.querySelectorAll("body *")].filter((e) => hasText(e)
    && !["SCRIPT", "STYLE", "title"].includes(e.tagName) && !e.matches(".switch-name")).map((e) => {
      const style = view.getComputedStyle(e), front = channel(e.closest("svg") ? style.fill : style.color);
      const [low, high] = [luminance(front), luminance(behind(e, view))].sort((a, b) => a - b);
      const name = e.tagName + "." + e.getAttribute("class") + ": " + e.textContent.slice(0, 30);
      return [(high + 0.05) / (low + 0.05), name];
    }).filter(([ratio]) => ratio < 4.5);
  return out;
};
let waiting = pages.length * widths.length;
for (const [name, page] of pages) for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "900px"; frame.style.border = 0;
  frame.onload = () => {
    found.push(look(name, width, frame));
    if (!--waiting) document.documentElement.dataset.found = JSON.stringify(found);
  };
  frame.srcdoc = page;
  document.body.append(frame);
}
</script>"""


def trace_of(path: Path, ranks: int = 40) -> Path:
    """Writes the trace of a run with two collectives and messages, of more ranks than lanes."""
    world = Communicator(1, "MPI_COMM_WORLD", tuple(range(ranks)))
    shapes = [
        Shape("MPI_Alltoall", world, send_count=64, send_size=8, receive_count=64, receive_size=8, flags=AS_SCHEDULE),
        Shape("MPI_Allreduce", world, send_count=1, send_size=8),
        Shape("MPI_Isend", world, peer=0, tag=1, send_count=10, send_size=8),
    ]
    traces = []
    for r in range(ranks):
        calls = [Call(shapes[i % 3], 10_000_000 * i + 100_000 * r, 7_000_000 - 90_000 * r) for i in range(30)]
        traces.append(RankTrace(r, [world], shapes, calls, 10**18, 310_000_000, 0))
    names = ("MPI_Alltoall", "MPI_Allreduce", "MPI_Isend")
    header = {
        "ranks": ranks,
        "functions": list(names),
        "nodes": [r // 4 for r in range(ranks)],
        "program": "/bin/solver",
    }
    path.write_bytes(encode(Trace(ranks, names, header, traces)))
    return path


def summary_of(path: Path, ranks: int = 40) -> Path:
    """Writes the summary of the same run."""
    row = {"least_bytes": 512, "most_bytes": 512, "calls": 10, "rank_calls": 10 * ranks, "bytes": 1 << 20,
           "time_s": 0.06, "max_time_s": 0.07, "share": 0.2, "waiting_s": 0.05, "moving_s": 0.01, "compared_calls": 80,
           "reason": None}  # fmt: skip
    rows = [{**row, "collective": "alltoall", "algorithm": "rotated:piece_bytes=16384,window=2"},
            {**row, "collective": "allreduce", "algorithm": "library", "reason": "short: latency decides, and the "
             "library's trees are good at that"}]  # fmt: skip
    facts = [{"name": "link", "value": "100 Mb/s", "source": "measured at the start", "text": "100 Mb/s (measured)"}]
    tried = {"collective": "alltoall", "ranks": ranks, "nodes": 10, "least_bytes": 257, "most_bytes": 512, "calls": 10,
             "in_use": "rotated", "in_use_s": 0.002, "tried": "library", "tried_s": 0.004, "pairs": 24, "decided": True,
             "lost": 0.01}  # fmt: skip
    about = {"mpi": "MPICH 5.0.2", "program": "/bin/solver", "started": "2026-01-31T12:00:00Z", "run_s": 0.31}
    document = {
        "version": 2,
        "ranks": ranks,
        "nodes": 10,
        **about,
        "collectives": rows,
        "facts": facts,
        "tried": [tried],
    }
    path.write_text(json.dumps(document))
    return path


def bench_of(path: Path) -> Path:
    row = {"collective": "bcast", "ranks": 4, "nodes": 4, "mpi": "MPICH 5", "transport": "ofi", "mode": "sync"}
    rows = [{**row, "bytes": 4**i, "contender": c, "median_s": 1e-5 * 3**i, "limit_s": 1e-6 * 4**i, "samples": [1e-3]}
            for i in range(11) for c in ("library", "chain", "multicast")]  # fmt: skip
    path.write_text(json.dumps({"results": rows}))
    return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Provides a page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    trace = trace_of(folder / "solver.trace")
    machine = DATA / "two-switches.openmpi.json"
    made = {
        "run": report.page_of(summary_of(folder / "run.json"), trace=trace),
        "traffic": report.page_of(trace, machine),
        "profile": report.page_of(machine),
        "bench": report.page_of(bench_of(folder / "bench.json")),
    }
    return {name: html.render(page) for name, page in made.items()}


def browse(folder: Path, *options: str) -> str:
    env = {**os.environ, "HOME": str(folder)}
    command = [str(BROWSER), *QUIET, f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=8000", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, env=env, check=False)
    assert "Uncaught" not in result.stderr and "ERR_" not in result.stderr, result.stderr[-2000:]
    return result.stdout


@pytest.mark.skipif(BROWSER is None, reason="no browser on this machine; the pages' structure is tested elsewhere")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_pages_fit_and_can_be_read(scheme: str, pages: dict[str, str], tmp_path: Path) -> None:
    """GIVEN a page of each kind, two widths and a colour scheme THEN nothing overflows and every text has contrast."""
    listed = json.dumps(list(pages.items())).replace("<", "\\u003c")
    (tmp_path / "harness.html").write_text(HARNESS.replace("PAGES", listed).replace("WIDTHS", str(list(WIDTHS)), 1))
    seen = browse(tmp_path, SCHEMES[scheme], "--dump-dom", f"file://{tmp_path / 'harness.html'}")
    said = re.search(r'data-found="([^"]*)"', seen)
    assert said is not None, "a frame was not loaded"
    found: list[dict[str, Any]] = json.loads(text_of_html.unescape(said[1]))
    assert {(one["name"], one["width"]) for one in found} == {(name, width) for name in pages for width in WIDTHS}
    for one in found:
        assert one["scheme"] == scheme
        assert one["overflow"] <= 0 and one["beyond"] == [], one
        drawn, _, charts = one["charts"].partition(" of ")
        assert drawn == charts, one
        assert one["unnamed"] == [] and one["unscoped"] == 0, one
        assert one["faint"] == [], one


def test_a_run_s_page_says_where_time_goes(pages: dict[str, str]) -> None:
    page = pages["run"]
    for wanted in ("Where the time went", "38.7 % of it", "83.3 % of that was waiting", "Timeline", "32 of 40 ranks",
                   "Allreduce by the library", "Alltoall by Antiphon", "messages",
                   "What the run tried", "measured at the start", "can gain 20.0 ms at most"):  # fmt: skip
        assert wanted in page, wanted
    drawn = [int(place) for place in re.findall(r"[dz]=?\"?M(\d+) ", page)]
    assert max(drawn) > 220, "the last call begins at 290 of 310 ms, in slice 224 of 240"


def test_a_trace_of_another_run_is_refused(tmp_path: Path) -> None:
    summary, trace = summary_of(tmp_path / "run.json", ranks=4), trace_of(tmp_path / "other.trace", ranks=8)
    with pytest.raises(report.AntiphonError) as error:
        report.page_of(summary, trace=trace)
    assert "another run" in error.value.message and "8, not 4" in error.value.message
    with pytest.raises(report.AntiphonError) as error:
        report.page_of(bench_of(tmp_path / "bench.json"), trace=trace)
    assert "--trace is for the summary of a run" in error.value.message
