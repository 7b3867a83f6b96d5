# SPDX-License-Identifier: Apache-2.0
"""Compares the table of settings with the code that reads them and with the page that describes them."""

from __future__ import annotations

import re
from pathlib import Path

from antiphon import core

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r'"(ANTIPHON(?:_[A-Z_]+)?)"')


def known() -> set[str]:
    return set(core.query("check_settings", variables=[])["names"])


def test_every_variable_that_is_read_is_known():
    """GIVEN a variable that an object reads THEN the table has it, or else runs that set it would be refused."""
    read = {
        name
        for source in [*(ROOT / "mpi").glob("*/*.cpp"), *(ROOT / "python" / "antiphon").rglob("*.py")]
        for name in NAME.findall(source.read_text(encoding="utf-8"))
    }
    assert len(read) > 25 and read <= known()


def test_no_number_is_read_by_the_rules_of_the_programs_locale():
    """GIVEN a program with a decimal comma THEN 0.02 is still a number: nothing that heeds its locale reads one."""
    files = [path for part in ("mpi", "src") for path in (ROOT / part).rglob("*.cpp")]
    found = [f"{path.name}: {line.strip()}" for path in files for line in path.read_text(encoding="utf-8").splitlines()
             if re.search(r"\b(strto[df]|strtold|atof|sto[df]|stold)\(", line.partition("//")[0])]  # fmt: skip
    assert not found


def test_settings_for_users_are_described():
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    pages = page + (ROOT / "docs" / "guides" / "multicast.md").read_text(encoding="utf-8")
    described = set(re.findall(r"ANTIPHON(?:_[A-Z_]+)?\b", pages))
    for_tests = {"ANTIPHON_CONFORMANCE_RUN", "ANTIPHON_LAB_RUN", "ANTIPHON_SLOW", "ANTIPHON_TEST_MAX_RANKS"}
    assert known() - for_tests <= described
    assert {name for name in described if not name.endswith("_")} <= known()
