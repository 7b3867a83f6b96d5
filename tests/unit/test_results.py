# SPDX-License-Identifier: Apache-2.0
"""Checks the samples in bench/results, their manifest, and the pages with them: none is missing or left over."""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from antiphon.packed import read_text

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
MANIFEST: list[dict[str, Any]] = json.loads((RESULTS / "manifest.json").read_text(encoding="utf-8"))
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]

FIELDS = {"file", "study", "clusters", "mpi", "command", "date", "commit", "machine", "pages"}
LINK = re.compile(r"\]\(([^()\s]+)\)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(page: Path) -> str:
    """Returns a page's text without code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


@functools.cache
def targets(page: Path) -> list[tuple[Path, str]]:
    """Returns the files in the repository that a page links, each with the anchor."""
    found = []
    for link in LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        if "://" not in link and not link.startswith("mailto:"):
            found.append(((page.parent / path).resolve() if path else page, anchor))
    return found


@functools.cache
def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def ids(paths: list[Path]) -> list[str]:
    return [name_of(path) for path in paths]


def test_the_manifest_names_each_sample_once() -> None:
    stored = {str(path.relative_to(RESULTS)) for path in RESULTS.rglob("*") if path.is_file()} - {"manifest.json"}
    named = [sample["file"] for sample in MANIFEST]
    assert set(named) == stored
    assert len(named) == len(stored)


@pytest.mark.parametrize("sample", MANIFEST, ids=lambda sample: sample["file"])
def test_a_sample_is_described(sample: dict[str, Any]) -> None:
    """GIVEN a sample THEN the manifest says what it is of, and its name follows from that."""
    assert set(sample) == FIELDS
    clusters, mpi = sample["clusters"], sample["mpi"]
    assert mpi in ([], ["mpich"], ["openmpi"], ["openmpi", "mpich"])
    assert all(isinstance(cluster, str) for cluster in clusters)
    cluster = "several" if len(clusters) > 1 else (clusters or ["host"])[0]
    library = "both" if len(mpi) > 1 else (mpi or ["none"])[0]
    what = re.escape(f"{sample['study']}/{cluster}-{library}")
    assert re.fullmatch(rf"{what}(-[a-z0-9-]+)?\.jsonl?\.gz", sample["file"])
    assert datetime.date.fromisoformat(sample["date"])
    assert re.fullmatch(r"[0-9a-f]{40}", sample["commit"])
    for field in ("command", "machine"):
        assert sample[field] is None or sample[field].strip() == sample[field] != ""


@pytest.mark.parametrize("sample", MANIFEST, ids=lambda sample: sample["file"])
def test_a_sample_can_be_read(sample: dict[str, Any]) -> None:
    """GIVEN a sample THEN it is JSON, packed so that the same content makes the same bytes (`gzip -n`)."""
    file = RESULTS / sample["file"]
    header = file.read_bytes()[:10]
    assert header[:2] == b"\x1f\x8b"
    assert header[3:8] == bytes(5)
    text = read_text(file)
    for document in text.splitlines() if ".jsonl" in file.name else [text]:
        assert json.loads(document)


@functools.cache
def linking() -> dict[Path, set[str]]:
    """Returns the names of the pages that link each file."""
    found: dict[Path, set[str]] = {}
    for page in PAGES:
        for path, _ in targets(page):
            found.setdefault(path, set()).add(name_of(page))
    return found


@pytest.mark.parametrize("sample", MANIFEST, ids=lambda sample: sample["file"])
def test_a_sample_is_linked_by_its_pages(sample: dict[str, Any]) -> None:
    pages = linking().get(RESULTS / sample["file"])
    assert pages
    assert sorted(pages) == sample["pages"]


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in targets(page):
        assert path.exists(), f"{name_of(page)} links {path}, which is not there"
        if anchor:
            assert anchor in anchors(path), f"{name_of(page)} links #{anchor}, which {name_of(path)} does not have"


def test_every_page_is_linked() -> None:
    linked = {path for page in PAGES for path, _ in targets(page) if path != page}
    assert [name_of(page) for page in DOCS if page not in linked] == []


@pytest.mark.parametrize("page", DOCS, ids=ids(DOCS))
def test_a_page_of_measurements_says_what_it_rests_on(page: Path) -> None:
    """GIVEN such a page THEN it links samples or says its command; GIVEN any other THEN it links something."""
    found = [path for path, _ in targets(page)]
    if "measurements" not in page.parts:
        assert found
        return
    command = re.search(r"^ {4}\S", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert command or any(RESULTS in path.parents for path in found)
