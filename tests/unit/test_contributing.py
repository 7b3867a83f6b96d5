# SPDX-License-Identifier: Apache-2.0
"""Checks that CONTRIBUTING.md leads to existing files."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def test_every_relative_link_leads_to_a_file() -> None:
    """GIVEN the relative links of CONTRIBUTING.md THEN each names a file or a directory of the tree."""
    targets = LINK.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert len(targets) > 10
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_way_of_a_call_has_at_most_eight_steps() -> None:
    """GIVEN the section on the way of a call THEN it has at most eight steps, and each links to a file."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.split("## Where does a call go", 1)[1].split("\n## ", 1)[0]
    steps = re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]
    assert 0 < len(steps) <= 8
    assert all(LINK.search(step) for step in steps)
