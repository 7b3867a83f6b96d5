# SPDX-License-Identifier: Apache-2.0
"""Checks that every page has its place in the site's contents, and builds the site where its tools are installed."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def listed() -> set[Path]:
    """Returns the pages that the trees of contents in index.md name, some by patterns."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", (DOCS / "index.md").read_text(), re.MULTILINE | re.DOTALL)
    names = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    return {path for name in names for path in DOCS.glob(f"{name}.md")}


def test_every_page_is_in_the_contents() -> None:
    assert {path for path in DOCS.rglob("*.md")} - listed() == {DOCS / "index.md"}


def test_findings_are_one_a_page() -> None:
    """GIVEN a note THEN it has one heading and is named in the index; GIVEN the index THEN it names no other."""
    notes = sorted(DOCS.glob("findings/*/*.md"))
    linked = re.findall(r"\]\((\w+/[\w-]+\.md)\)", (DOCS / "findings" / "index.md").read_text())
    assert sorted(linked) == [str(path.relative_to(DOCS / "findings")) for path in notes]
    assert all(len(re.findall(r"^#+ ", path.read_text(), re.MULTILINE)) == 1 for path in notes)


def test_words_are_in_order_and_lead_to_pages() -> None:
    """GIVEN the list of words THEN they are in order, and each leads to a page, and a heading of it if one is named."""
    page = DOCS / "reference" / "words.md"
    rows = re.findall(r"^\| (.+?) \| (.+) \| \[.*\]\(([^#)]+)#?(.*)\) \|$", page.read_text(), re.MULTILINE)
    words = [word for word, _, _, _ in rows]
    assert len(words) == page.read_text().count("\n| ") - 1 > 30
    assert words == sorted(words)
    for word, _, target, heading in rows:
        text = (page.parent / target).read_text()
        headings = {
            re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in re.findall(r"^#+ (.*)", text, re.M)
        }
        assert not heading or heading in headings, word


def test_pages_that_load_something_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "scripts" / "docs_site.py")
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    monkeypatch.setattr(site, "ROOT", tmp_path)
    monkeypatch.setattr(site, "SITE", tmp_path)
    (tmp_path / "good.html").write_text('<script src="_static/x.js"></script><a href="https://elsewhere">there</a>')
    assert site.complaints() == []
    (tmp_path / "far.html").write_text('<script defer src="https://elsewhere/x.js"></script>')
    (tmp_path / "long.html").write_text("x" * 1_000_001)
    assert [text.partition(":")[0] for text in site.complaints()] == ["far.html", "long.html"]


@pytest.mark.skipif("ANTIPHON_SLOW" not in os.environ, reason="builds the site: ANTIPHON_SLOW=1")
def test_the_site_has_no_broken_link() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "docs_site.py")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr


CONCEPTS, RESULTS = sorted(DOCS.glob("concepts/*.md")), sorted(DOCS.glob("measurements/**/*.md"))


@pytest.mark.parametrize("page", CONCEPTS, ids=lambda page: page.stem)
def test_a_concept_is_short(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= 150, "split it: one idea a page"


@pytest.mark.parametrize(
    "page", [p for p in RESULTS if p.stem != "index"], ids=lambda page: f"{page.parent.name}/{page.stem}"
)
def test_a_page_of_results_begins_with_its_answer(page: Path) -> None:
    """GIVEN such a page THEN question and answer come first, then what it does not show.

    The index says the same of a page beside it, and of a page in a folder the page with the folder's name.
    """
    found = re.match(r"# .*\n\n\*\*(.*\?)\*\* (.*)\n\n\*\*It does not show:\*\* .*\n\n", page.read_text())
    assert found is not None
    if page.parent.name == "measurements":
        assert f"| [{found[1]}]({page.name}) | {found[2]} |\n" in (DOCS / "measurements" / "index.md").read_text()
    else:
        above = page.parent.with_suffix(".md").read_text()
        assert f"\n- [{found[1]}]({page.parent.name}/{page.name}) {found[2]}\n" in above


@pytest.mark.parametrize("page", [p for p in RESULTS if p.parent.name != "measurements" or p.with_suffix("").is_dir()])
def test_a_page_of_results_has_few_tables(page: Path) -> None:
    assert len(re.findall(r"^\|[-:|]+\|$", page.read_text(), re.MULTILINE)) <= 2, "split it: one question a page"


def test_pages_are_small() -> None:
    """GIVEN what Sphinx makes of a page (about three times its text, and 60 KB around it) THEN none can exceed 1 MB."""
    assert max(path.stat().st_size for path in DOCS.rglob("*.md")) < 250_000
    assert max(path.stat().st_size for path in DOCS.rglob("*.svg")) < 1_000_000
