# SPDX-License-Identifier: Apache-2.0
"""Runs the example programs alternately without and with Antiphon, and reads their reports."""

from __future__ import annotations

import re
import statistics
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon import run_summary
from antiphon.bench.testbed import Testbed, failure, program
from antiphon.documents import parse_json
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.output.tables import share_text

#: One run may take at most this long.
RUN_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Example:
    """A program and the class of its problem."""

    name: str
    problem: str
    title: str

    @property
    def label(self) -> str:
        return f"{self.title}, class {self.problem}"


EXAMPLES = (
    Example("integer_sort", "W", "integer sort"),
    Example("integer_sort", "A", "integer sort"),
    Example("fft3d", "S", "3-D FFT"),
    Example("fft3d", "W", "3-D FFT"),
)


@dataclass(frozen=True)
class AnnouncedCalls:
    """Calls of one collective, as the program reports them."""

    calls: int
    collective: str
    bytes: int


@dataclass(frozen=True)
class ProgramReport:
    """The report that a program prints: its time, the time in each phase (mean over ranks), its collective calls."""

    time_s: float
    phases_s: Mapping[str, float]
    traffic: tuple[AnnouncedCalls, ...]


@dataclass(frozen=True)
class Used:
    """What did a collective's calls."""

    algorithm: str
    #: The part of the time in the calls before the last rank came to them; None where it is not known.
    waiting: float | None

    @property
    def by_library(self) -> bool:
        """Whether the library did them, as without Antiphon."""
        return self.algorithm == "library"

    def __str__(self) -> str:
        return self.algorithm if self.waiting is None else f"{self.algorithm}; {share_text(self.waiting)} waiting"


@dataclass
class ExampleRuns:
    """All runs of one example."""

    example: Example
    plain: list[ProgramReport] = field(default_factory=list)
    antiphon: list[ProgramReport] = field(default_factory=list)
    #: What took most of each collective's time under Antiphon.
    used: dict[str, Used] = field(default_factory=dict)

    def time_s(self, which: str) -> float:
        """Returns the median time of "plain" or "antiphon"."""
        return statistics.median(report.time_s for report in self._reports(which))

    def _reports(self, which: str) -> list[ProgramReport]:
        return {"plain": self.plain, "antiphon": self.antiphon}[which]

    def phase_s(self, which: str, phase: str) -> float:
        """Returns the median time in a phase; the phase "" is everything outside collectives."""
        collectives = set(self.collectives)
        return statistics.median(
            report.phases_s.get(phase, 0.0)
            if phase
            else sum(seconds for name, seconds in report.phases_s.items() if name not in collectives)
            for report in self._reports(which)
        )

    @property
    def collectives(self) -> list[str]:
        return list(dict.fromkeys(part.collective for part in self.plain[0].traffic))

    def phase_speed_up(self, phase: str) -> float | None:
        """Returns how much faster a collective is under Antiphon; None if the library did it, as in the plain run.

        Ranks then wait a shorter or longer time for each other, which is no merit of this collective.
        """
        used, seconds = self.used.get(phase), self.phase_s("antiphon", phase)
        return self.phase_s("plain", phase) / seconds if used and not used.by_library and seconds > 0 else None

    @property
    def speed_up(self) -> float:
        return self.time_s("plain") / self.time_s("antiphon")

    def limit_s(self, network: limits.Network | None, collective: str | None = None) -> float | None:
        """Returns the least time that the links allow for the calls of one collective, or of all."""
        if network is None:
            return None
        return sum(
            part.calls * (limits.limit_s(part.collective, part.bytes, network) or 0.0)
            for part in self.plain[0].traffic
            if collective in (None, part.collective)
        )

    def to_json(self, network: limits.Network | None) -> dict[str, Any]:
        """Returns the times of all runs, and the medians by phase."""
        phases = [*self.collectives, ""]
        return {
            "program": self.example.name,
            "class": self.example.problem,
            "speed_up": self.speed_up,
            "plain_s": self.time_s("plain"),
            "antiphon_s": self.time_s("antiphon"),
            "limit_s": self.limit_s(network),
            "plain_samples": [report.time_s for report in self.plain],
            "antiphon_samples": [report.time_s for report in self.antiphon],
            "phases": [
                {
                    "phase": phase or "computing",
                    "plain_s": self.phase_s("plain", phase),
                    "antiphon_s": self.phase_s("antiphon", phase),
                    "speed_up": self.phase_speed_up(phase) if phase else None,
                    "used": self.used[phase].algorithm if phase in self.used else None,
                    "waiting": self.used[phase].waiting if phase in self.used else None,
                    "limit_s": self.limit_s(network, phase) if phase else None,
                }
                for phase in phases
            ],
        }


def parse_report(text: str) -> ProgramReport:
    """Reads a program's output; raises an error if the program found its own result wrong."""
    lines = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    phases = next((value for key, value in lines.items() if key.startswith("phases")), "")
    if lines.get("result") != "verified":
        raise AntiphonError(
            f"the program's result is {lines.get('result', 'missing')!r}:\n{text.strip()}", exit_code=EXIT_FAILURE
        )
    announced = re.findall(r"(\d+) x (\w+) (\d+) B", lines["traffic"])
    return ProgramReport(
        float(lines["time"].removesuffix(" s")),
        {name: float(seconds) for name, seconds in re.findall(r"(\w+) ([\d.]+) s", phases)},
        tuple(AnnouncedCalls(int(n), name, int(size)) for n, name, size in announced),
    )


def usual_ranks(ranks: int) -> int:
    """Returns ranks that share the transform's planes evenly: the highest power of two up to `ranks`, at most 32."""
    return min(32, 1 << (ranks.bit_length() - 1))


class Demonstration:
    """The runs of all examples with one MPI on one testbed."""

    def __init__(self, testbed: Testbed, mpi: Mpi, ranks: int, on_run: Callable[[str], None]) -> None:
        self._testbed = testbed
        self._mpi = mpi
        self._ranks = ranks
        self._on_run = on_run
        self.comparisons = [ExampleRuns(example) for example in EXAMPLES]
        self.network = testbed.network([rank * testbed.nodes_for(ranks) // ranks for rank in range(ranks)])

    def round(self) -> None:
        """Makes one run of each example without Antiphon, and then one with it."""
        for comparison in self.comparisons:
            self._on_run(f"{comparison.example.label}: plain {self._mpi.name}")
            comparison.plain.append(self._run(comparison.example, None))
            self._on_run(f"{comparison.example.label}: with Antiphon")
            with tempfile.TemporaryDirectory(prefix="antiphon-demo-") as folder:
                summary = Path(folder) / "summary.json"
                comparison.antiphon.append(self._run(comparison.example, summary))
                comparison.used.update(most_used(summary))

    def _run(self, example: Example, summary: Path | None) -> ProgramReport:
        lines: list[str] = []
        argv = [str(program(f"demo-{example.name}", self._mpi.abi)), example.problem]
        env = {"ANTIPHON_SUMMARY": str(summary)} if summary else {}
        ended = self._testbed.run(
            self._mpi,
            self._ranks,
            argv,
            preload=summary is not None,
            env=env,
            on_line=lines.append,
            timeout_s=RUN_TIMEOUT_S,
        )
        if ended.exit_code != 0:
            raise failure(f"{example.label} {'with Antiphon' if summary else 'without Antiphon'}", ended)
        return parse_report("\n".join(lines))


def most_used(summary: Path) -> dict[str, Used]:
    """Returns what took most of each collective's time, from the file that the preload object wrote."""
    try:
        rows = run_summary.rows(parse_json(summary.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError) as error:
        raise AntiphonError(
            f"Antiphon wrote no summary to {summary}: {error}",
            exit_code=EXIT_FAILURE,
            hint="`antiphon doctor` checks the preload objects",
        ) from None
    used = {}
    for collective in dict.fromkeys(row.collective for row in rows):
        own = [row for row in rows if row.collective == collective]
        known = [row for row in own if row.waiting_s is not None]
        seconds = sum(row.time_s for row in known)
        waiting = sum(row.waiting_s or 0.0 for row in known) / seconds if seconds else None
        used[collective] = Used(own[0].used, waiting)
    return used
