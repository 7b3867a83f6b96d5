# SPDX-License-Identifier: Apache-2.0
"""Compares outcomes of the same tests without and with Antiphon, and shows what differs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from work import RESULTS, file_name

#: These outcomes count as a failure.
BAD = frozenset({"fail", "error", "hang", "crash"})


@dataclass(frozen=True)
class Verdict:
    """One test's outcome: "ok", "skip", "fail", "error", "hang" or "crash"."""

    status: str
    detail: str = ""
    seconds: float = 0.0

    @property
    def bad(self) -> bool:
        """Returns whether the test failed in one way or another."""
        return self.status in BAD


@dataclass
class Comparison:
    """The outcomes of one suite with one library and number of ranks (or a test's own number)."""

    part: str
    library: str
    ranks: str
    force: str
    without: dict[str, Verdict] = field(default_factory=dict)
    antiphon: dict[str, Verdict] = field(default_factory=dict)
    #: Tests that differed and, when repeated, differed again every time.
    differences: list[str] = field(default_factory=list)
    #: Tests that differed once, and not when repeated.
    unsteady: list[str] = field(default_factory=list)
    #: Calls as rank 0 counted them: collective → algorithm or "library" → calls.
    calls: dict[str, dict[str, int]] = field(default_factory=dict)
    #: True if the preload object was loaded, as a summary shows.
    preloaded: bool = False
    seconds: float = 0.0

    def candidates(self) -> list[str]:
        """Returns tests that failed in one mode only."""
        names = sorted({*self.without, *self.antiphon})
        absent = Verdict("absent")
        return [n for n in names if self.without.get(n, absent).bad != self.antiphon.get(n, absent).bad]

    def count(self, summary: Path) -> dict[str, Counter[str]]:
        """Adds the calls in a summary file that the preload object wrote; none if the program ended before that."""
        found = read_summary(summary)
        self.preloaded |= summary.exists()
        for collective, used in found.items():
            known = self.calls.setdefault(collective, {})
            for what, calls in used.items():
                known[what] = known.get(what, 0) + calls
        return found

    @property
    def accelerated(self) -> int:
        """Returns the calls that ran as schedules."""
        return sum(n for used in self.calls.values() for what, n in used.items() if what != "library")

    @property
    def idle(self) -> bool:
        """Returns whether nothing was tested though it could be: no preload object, or all left to the library."""
        left = self.passed_on if self.force != "compress" else self.calls.get("messages", {}).get("library", 0)
        return self.accelerated == 0 and not (self.preloaded and left == 0)

    @property
    def passed_on(self) -> int:
        """Returns the calls that were left to the library."""
        return sum(used.get("library", 0) for used in self.calls.values())

    def save(self) -> None:
        """Writes everything to build/conformance/results."""
        RESULTS.mkdir(parents=True, exist_ok=True)
        name = file_name(f"{self.part}-{self.library}-{self.ranks}-{self.force}")
        text = json.dumps(asdict(self), indent=1)
        (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def read_summary(path: Path) -> dict[str, Counter[str]]:
    """Returns calls by collective and algorithm."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        rows = document["collectives"]
    except (OSError, ValueError, KeyError):
        return {}
    calls: dict[str, Counter[str]] = {}
    for row in document.get("compression", []):
        counter = calls.setdefault("messages", Counter())
        counter["encoded"] += row["encoded"]
        counter["library"] += row["messages"] - row["encoded"]
    for row in rows:
        calls.setdefault(row["collective"], Counter())[row["algorithm"].partition(":")[0]] += row["calls"]
    return calls


def summarize(comparisons: Iterable[Comparison]) -> dict[str, Any]:
    """Returns the part of the results that is printed, as data."""
    rows = []
    for c in comparisons:
        rows.append({
            "part": c.part, "library": c.library, "ranks": c.ranks, "force": c.force, "tests": len(c.antiphon),
            "failed_without": sorted(n for n, v in c.without.items() if v.bad),
            "failed_with": sorted(n for n, v in c.antiphon.items() if v.bad),
            "differences": c.differences, "unsteady": c.unsteady, "accelerated_calls": c.accelerated,
            "library_calls": c.passed_on, "seconds": round(c.seconds, 1),
        })  # fmt: skip
    return {"version": 1, "results": rows}


def print_table(data: dict[str, Any]) -> None:
    """Prints the summary, and below it every test that differs."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    table = Table(title="Conformance: failing tests without Antiphon and with it, forced on")
    for name in ("suite", "library", "ranks", "forced"):
        table.add_column(name)
    for name in (
        "tests",
        "failed without",
        "failed with",
        "different",
        "unsteady",
        "calls accelerated",
        "left to library",
        "s",
    ):
        table.add_column(name, justify="right")
    for r in data["results"]:
        table.add_row(
            r["part"], r["library"], r["ranks"], r["force"], str(r["tests"]), str(len(r["failed_without"])),
            str(len(r["failed_with"])), str(len(r["differences"])), str(len(r["unsteady"])),
            str(r["accelerated_calls"]), str(r["library_calls"]), f"{r['seconds']:.0f}",
        )  # fmt: skip
    console.print(table)
    labels = {"differences": "different", "unsteady": "unsteady"}
    for r in data["results"]:
        for kind in ("differences", "unsteady"):
            for name in r[kind]:
                where = f"{r['part']}, {r['library']}, {r['ranks']}, {r['force']}"
                console.print(f"{labels[kind]}: {where}: {name}", markup=False, soft_wrap=True)
