# SPDX-License-Identifier: Apache-2.0
"""Draws reports in a real browser, light and dark, on a phone and on a desk: nothing overflows, all is readable."""

from __future__ import annotations

import html as text_of_html
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from antiphon import report

pytest.importorskip("matplotlib", reason="brings the font and the images: pip install 'antiphon[plots]'")
HERE = Path(__file__).parent
#: What pages look like: the narrow and the wide view side by side, at half size. WRITE_SCREENSHOTS=1 writes them anew.
EXPECTED = HERE.parent / "data" / "screenshots"
HEIGHT = 1400


def load(name: str) -> ModuleType:
    """Returns a module of this folder, which is no package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


browser, report_pages = load("browser"), load("report_pages")
needs_browser = pytest.mark.skipif(
    browser.BROWSER is None, reason="no browser: the pages' structure is tested elsewhere"
)

#: Looks at a page in its frame.
LOOK = """
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
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Provides a page of each kind."""
    made: dict[str, str] = report_pages.make(tmp_path_factory.mktemp("pages"))
    return made


Seen = Callable[[str], tuple[list[dict[str, Any]], Path]]


@pytest.fixture(scope="module")
def seen(pages: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Provides what the browser finds in all pages, and a picture of them, by a colour scheme."""
    known: dict[str, tuple[list[dict[str, Any]], Path]] = {}

    def look(scheme: str) -> tuple[list[dict[str, Any]], Path]:
        if scheme not in known:
            folder = tmp_path_factory.mktemp(scheme)
            (folder / "frames.html").write_text(browser.frames(pages, height=HEIGHT, script=LOOK))
            size = f"--window-size={sum(browser.WIDTHS)},{HEIGHT * len(pages)}"
            said = browser.browse(folder, browser.SCHEMES[scheme], size, f"--screenshot={folder / 'all.png'}",
                                  "--dump-dom", f"file://{folder / 'frames.html'}")  # fmt: skip
            found = re.search(r'data-found="([^"]*)"', said)
            assert found is not None, "a frame was not loaded"
            known[scheme] = json.loads(text_of_html.unescape(found[1])), folder / "all.png"
        return known[scheme]

    return look


@needs_browser
@pytest.mark.parametrize("scheme", browser.SCHEMES)
def test_pages_fit_and_can_be_read(scheme: str, pages: dict[str, str], seen: Seen) -> None:
    """GIVEN a page of each kind, two widths and a colour scheme THEN nothing overflows and every text has contrast."""
    found, _ = seen(scheme)
    assert {(one["name"], one["width"]) for one in found} == {(n, width) for n in pages for width in browser.WIDTHS}
    for one in found:
        assert one["scheme"] == scheme
        assert one["overflow"] <= 0 and one["beyond"] == [], one
        drawn, _, charts = one["charts"].partition(" of ")
        assert drawn == charts, one
        assert one["unnamed"] == [] and one["unscoped"] == 0, one
        assert one["faint"] == [], one


@needs_browser
@pytest.mark.parametrize("scheme", browser.SCHEMES)
def test_pages_look_as_expected(scheme: str, pages: dict[str, str], seen: Seen, tmp_path: Path) -> None:
    """GIVEN a page of each kind, narrow and wide THEN it looks as its screenshot in the tree does."""
    pictures = browser.split(seen(scheme)[1], list(pages), HEIGHT)
    expected = {name: EXPECTED / f"report-{name}-{scheme}.png" for name in pages}
    if os.environ.get("WRITE_SCREENSHOTS"):
        for name, picture in pictures.items():
            browser.keep(picture, expected[name])
    different = browser.compare(pictures, expected, tmp_path)
    assert not different, "look at both; if the new one is right: WRITE_SCREENSHOTS=1\n" + "\n".join(different)


def test_a_changed_picture_is_found(tmp_path: Path) -> None:
    """GIVEN screenshots THEN one is not taken for another, nor for one with a section moved by a line of text."""
    pictures = {path.stem: browser.open_picture(path) for path in sorted(EXPECTED.glob("report-*.png"))}
    names = list(pictures)
    assert len(names) == 16
    rotated = {name: EXPECTED / f"{other}.png" for name, other in zip(names, names[1:] + names[:1], strict=True)}
    assert len(browser.compare(pictures, rotated, tmp_path)) == len(names)
    moved = {name: browser.moved_down(picture, below=200, pixels=12) for name, picture in pictures.items()}
    assert len(browser.compare(moved, {name: EXPECTED / f"{name}.png" for name in names}, tmp_path)) == len(names)
    assert browser.compare(pictures, {name: EXPECTED / f"{name}.png" for name in names}, tmp_path) == []


def test_a_run_s_page_says_where_time_goes(pages: dict[str, str]) -> None:
    page = pages["run"]
    for wanted in ("Where the time went", "38.7 % of it", "83.3 % of that was waiting", "Timeline", "32 of 40 ranks",
                   "Allreduce by the library", "Alltoall by Antiphon", "messages",
                   "What the run tried", "measured at the start", "can gain 20.0 ms at most"):  # fmt: skip
        assert wanted in page, wanted
    assert "<code>antiphon trace --to perfetto</code> shows each" in page
    drawn = [int(place) for place in re.findall(r"[dz]=?\"?M(\d+) ", page)]
    assert max(drawn) > 220, "the last call begins at 290 of 310 ms, in slice 224 of 240"


def test_a_trace_of_another_run_is_refused(tmp_path: Path) -> None:
    summary, trace = (
        report_pages.summary_of(tmp_path / "run.json", ranks=4),
        report_pages.trace_of(tmp_path / "other.trace", ranks=8),
    )
    with pytest.raises(report.AntiphonError) as error:
        report.page_of(summary, trace=trace)
    assert "another run" in error.value.message and "8, not 4" in error.value.message
    with pytest.raises(report.AntiphonError) as error:
        report.page_of(report_pages.bench_of(tmp_path / "bench.json"), trace=trace)
    assert "--trace is for the summary of a run" in error.value.message
