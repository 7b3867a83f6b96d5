# SPDX-License-Identifier: Apache-2.0
"""Compares README.md with the tree: its figures with what was measured, its command lines with the options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from antiphon import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MEASURED = (ROOT / "docs" / "measurements" / "ethernet-16.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md",
         *sorted(path for name in ("guides", "tutorials") for path in (ROOT / "docs" / name).glob("*.md"))]  # fmt: skip
NUMBER_WORDS = {8: "eight", 9: "nine", 10: "ten"}


def rows(text: str, width: int) -> list[list[str]]:
    """Returns the cells of a page's table rows with so many cells that begin with a collective's name."""
    lines = [line.strip()[1:-1] for line in text.splitlines() if line.startswith("|")]
    found = [[cell.strip(" *") for cell in line.split("|")] for line in lines]
    return [row for row in found if len(row) == width and re.fullmatch(r"[a-z_]+", row[0]) and row[1][:1].isdigit()]


def test_the_table_is_what_was_measured() -> None:
    measured = {(row[0], row[1]): row for row in rows(MEASURED.partition("## throughput")[0], 10)}
    shown = rows(README, 9)
    assert len(shown) >= 10
    for collective, size, _, *cells in shown:
        row = measured[collective, size]
        expected = [row[2], row[3], row[4], row[6], row[7], row[8]]
        for claimed, value in zip(cells, expected, strict=True):
            assert abs(float(claimed.rstrip("×")) - float(value)) <= 0.051 * max(1, float(value) / 10), (
                collective,
                size,
            )


def test_the_text_counts_the_table() -> None:
    collectives = {row[0] for row in rows(README, 9)}
    assert f"Over these {NUMBER_WORDS[len(collectives)]} collectives" in README
    in_all = {row[0] for row in rows(MEASURED.partition("## throughput")[0].replace("–", "0"), 10)}
    assert in_all == collectives | {"barrier"}


def test_the_means_are_the_pages() -> None:
    mean = r"([\d.]+) × {} 5 \(least ([\d.]+)\)"
    means = re.search(f"Geometric mean: {mean.format('Open MPI')}, {mean.format('MPICH')}", MEASURED)
    assert means is not None
    assert f"{means[1]} times Open MPI, {means[3]} times MPICH" in README
    assert f"worst single case is {min(means[2], means[4])}" in re.sub(r"\s+", " ", README)
    backwards = MEASURED.partition("## throughput")[2]
    least = min(re.findall(r"\(least ([\d.]+)\)", backwards.partition("## burst")[0]))
    assert f"back to back it is {least}" in re.sub(r"\s+", " ", README)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        name for page in PAGES for name in re.findall(r"(?:^ {4}|`)make ([a-z][a-z-]*)", page.read_text(), re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


def command_lines() -> list[str]:
    """Returns the lines of code that call antiphon, without comments and what the shell does with them."""
    lines = []
    for page in PAGES:
        fenced = re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        indented = re.findall(r"^ {4}.*$", page.read_text(encoding="utf-8"), re.MULTILINE)
        code = [line for block in fenced for line in block.splitlines()] + indented
        lines += [line.strip() for line in code if line.strip().startswith("antiphon ")]
    plain = [re.split(r"\s{2,}#|\s&&\s|\s>|\s#\s|\s\|\s", line)[0] for line in lines]
    return sorted({line for line in plain if "…" not in line and "$(" not in line and not line.endswith(("\\", ":"))})


def test_there_are_command_lines() -> None:
    assert len(command_lines()) > 60


@pytest.mark.parametrize("line", command_lines())
def test_command_lines_parse(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a command line of a page THEN its command takes it, by the names that options have now."""
    words = shlex.split(line.partition("   ")[0])[1:]
    if words[0] in ("--help", "--version", "help"):
        return
    parser, _ = cli.load(words[0])
    try:
        parser.parse_args(words[1:])
    except SystemExit as exit:
        assert exit.code == 0, capsys.readouterr().err
    assert "the old name" not in capsys.readouterr().err
