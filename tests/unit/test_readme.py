# SPDX-License-Identifier: Apache-2.0
"""Compares README.md with the tree: its figures with what was measured, its command lines with the options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import page_commands
import pytest
import run_page_commands

from antiphon import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEFAULTS = (ROOT / "docs" / "measurements" / "defaults.md").read_text(encoding="utf-8")
APPLICATIONS = (ROOT / "docs" / "measurements" / "applications.md").read_text(encoding="utf-8")
TRANSFORMS = (ROOT / "docs" / "measurements" / "applications" / "mpi4py-fft.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md",
         *sorted(path for name in ("guides", "tutorials") for path in (ROOT / "docs" / name).glob("*.md"))]  # fmt: skip
#: README's names of clusters, and those of the page with their figures.
CLUSTERS = {
    "16 nodes, one rank each, 100 Mb/s": "16 nodes, one rank each",
    "16 nodes, 4 ranks each, 100 Mb/s": "16 nodes, 4 ranks each",
    "two racks of 8 nodes, 4 ranks each, 200 Mb/s between them":
        "two racks of 8 nodes with 4 ranks each, 200 Mb/s between them",
    "8 nodes, 2 ranks each, 1 Gb/s": "8 nodes, 2 ranks each, 1 Gb/s",
    "4 nodes, 4 ranks each, 10 Gb/s": "4 nodes, 4 ranks each, 10 Gb/s",
}  # fmt: skip


def rows(text: str, width: int) -> dict[str, list[str]]:
    """Returns the rows with so many cells of a page's tables, by their first cells."""
    lines = [line.strip()[1:-1].split("|") for line in text.splitlines() if line.startswith("|")]
    return {line[0].strip(): [cell.strip() for cell in line[1:]] for line in lines if len(line) == width}


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 80
    text = [line for line in README.splitlines() if not line.lstrip().startswith("<")]
    assert max(len(line) for line in text) <= 120


def test_the_table_is_what_was_measured() -> None:
    shown, measured = rows(README, 4), rows(DEFAULTS, 4)
    assert set(CLUSTERS) <= set(shown)
    for name, page_name in CLUSTERS.items():
        means, least, _ = measured[page_name]
        assert shown[name] == [*means.split(" / "), min(least.split(" / "))]


def test_the_programs_are_what_was_measured() -> None:
    """GIVEN the page of programs of others THEN README says its ratios at 100 Mb/s, and those at 1 Gb/s are near 1."""
    slow, fast = APPLICATIONS.split("| at 1 Gb/s |")
    ratio = {line.split(" | ")[0].strip("| "): float(line.split(" | ")[5].strip("| ")) for line in slow.splitlines()
             if " | whole calculation | " in line or " | all steps | " in line}  # fmt: skip
    claimed = f"Debian's CP2K and LAMMPS, unchanged, run {ratio['CP2K']:.2f} and {ratio['LAMMPS']:.2f} times as fast"
    assert claimed in " ".join(README.split())
    rest = [
        float(line.split(" | ")[5].strip("| "))
        for line in fast.splitlines()
        if line.count(" | ") == 5 and "4 + 4" in line
    ]
    assert len(rest) == 3 and all(0.97 <= value <= 1.03 for value in rest)


def test_the_transforms_are_what_was_measured() -> None:
    """GIVEN the page of mpi4py-fft THEN README says the least and the most of its long transforms."""
    long = [cells for what, cells in rows(TRANSFORMS, 4).items() if what.startswith(("96, ", "128, "))]
    slow, fast = (sorted(gain for cells in long for gain in cells[column].split(" / ")) for column in (0, 1))
    claimed = f"run {slow[0]} to {slow[-1]} times as fast, and {fast[0]} to {fast[-1]} times at 1 Gb/s"
    assert len(slow) == len(fast) == 8 and claimed in " ".join(README.split())


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("antiphon run -n 4 ./solver   # comment", "antiphon run -n 4 ./solver"),
        ("mpirun $(antiphon env --mpirun ./solver) -n 4 ./solver", "antiphon env --mpirun ./solver"),
        ("LD_PRELOAD=/a.so antiphon run ./solver > out", "antiphon run ./solver"),
        ("antiphon: run of 1.03 s: 4 ranks", None),
        ("make a page with antiphon report", None),
    ],
)
def test_commands_are_found(line: str, found: str | None) -> None:
    assert page_commands.command(line) == found


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        name for page in PAGES for name in re.findall(r"(?:^ {4}|`)make ([a-z][a-z-]*)", page.read_text(), re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


LINES = page_commands.lines()


def test_page_commands_write_nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN files that commands of pages name THEN their folders are made in the copy that the command runs in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    line = "antiphon module -o /opt/modules --set ANTIPHON_METRICS=/tmp/a/x.prom --metrics /var/b/y.prom c/z.prom"
    words = run_page_commands.here(shlex.split(line), tmp_path / "pages")
    run_page_commands.make_folders(words, tmp_path / "pages-copy")
    assert sorted(path.name for path in (tmp_path / "pages-copy").iterdir()) == ["a", "b", "c"]
    assert list((tmp_path / "here").iterdir()) == []


def command_lines() -> list[str]:
    """Returns the commands of all pages, but forms that leave parts out."""
    return sorted({line.text for line in LINES if not line.is_form})


def test_there_are_command_lines() -> None:
    assert len(command_lines()) > 250


@pytest.mark.parametrize("line", command_lines())
def test_command_lines_parse(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a command line of a page THEN its command takes it, by the names that options have now."""
    words = shlex.split(line)[1:]
    if words[0] in ("--help", "--version", "help"):
        return
    parser, _ = cli.load(words[0])
    try:
        parser.parse_args(words[1:])
    except SystemExit as exit:
        assert exit.code == 0, capsys.readouterr().err
    assert "the old name" not in capsys.readouterr().err
