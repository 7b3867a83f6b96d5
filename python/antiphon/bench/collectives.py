# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark of collectives and reads its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from antiphon.bench.results import Measurement, Results, measure
from antiphon.bench.testbed import Testbed, failure, json_lines, program
from antiphon.model import limits
from antiphon.mpi import Mpi


@dataclass(frozen=True)
class RaceCell:
    """Contenders with alternating calls: for one collective and size, on the first `ranks` ranks."""

    collective: str
    bytes: int
    #: 0 means all.
    ranks: int
    modes: Sequence[str]
    #: Choices in the form of antiphon_force, and "library:NAME[:PARAMETER=VALUE,…]" for one of the library's own.
    choices: Sequence[str]

    def argument(self) -> str:
        """Returns the cell in the form of the program's option --cell."""
        return ";".join([self.collective, str(self.bytes), str(self.ranks), "+".join(self.modes), *self.choices])


@dataclass(frozen=True)
class Race:
    """Cells that are measured as a race: a contender that cannot win leaves early."""

    cells: Sequence[RaceCell]
    #: Time for one cell in one mode.
    budget_s: float
    #: No further cell begins after this time.
    deadline_s: float
    root: int = 0

    def arguments(self) -> list[str]:
        """Returns the program's command line."""
        words = ["--race", "--budget", f"{self.budget_s:g}", "--deadline", f"{self.deadline_s:g}"]
        words += ["--root", str(self.root)]
        return words + [word for cell in self.cells for word in ("--cell", cell.argument())]

    @property
    def needs_antiphon(self) -> bool:
        return any(choice.partition(":")[0] != "library" for cell in self.cells for choice in cell.choices)

    @property
    def timeout_s(self) -> float:
        return 120 + 2 * self.deadline_s


@dataclass(frozen=True)
class CollectiveBenchmark:
    """Says what to measure: every contender at every collective, size and mode."""

    collectives: Sequence[str]
    sizes: Sequence[int]
    modes: Sequence[str]
    #: Contenders in the program's form: "COLLECTIVE:CHOICE".
    contenders: Sequence[str]
    budget_s: float
    root: int = 0
    nonblocking: bool = False
    #: Blocks hold a smooth field of doubles with noise, and not counted bytes.
    field: bool = False
    #: Computations beside nonblocking calls use the processor instead of sleeping.
    busy: bool = False

    def arguments(self) -> list[str]:
        """Returns the program's command line."""
        words = ["--collectives", ",".join(self.collectives), "--bytes", ",".join(map(str, self.sizes))]
        words += ["--modes", ",".join(self.modes), "--budget", str(self.budget_s), "--root", str(self.root)]
        words += [*(["--nonblocking"] if self.nonblocking else []), *(["--busy"] if self.busy else [])]
        words += ["--field"] if self.field else []
        return words + [word for contender in self.contenders for word in ("--contender", contender)]

    @property
    def cells(self) -> int:
        """Returns how many results there will be."""
        with_bytes = sum(name != "barrier" for name in self.collectives)
        return (with_bytes * len(self.sizes) + len(self.collectives) - with_bytes) * len(self.modes)

    @property
    def needs_antiphon(self) -> bool:
        return any(not contender.endswith(":library") for contender in self.contenders)

    @property
    def timeout_s(self) -> float:
        """Returns the time limit. Slow contenders may overrun the budget, because each makes at least three rounds."""
        return 600 + 20 * self.budget_s * self.cells


@dataclass(frozen=True)
class CollectiveMeasurement(Measurement):
    """One contender at one collective, size and mode."""

    collective: str
    bytes: int
    #: How many ranks took part; 0 means all.
    ranks: int = 0


@dataclass(kw_only=True)
class CollectiveResults(Results[CollectiveMeasurement]):
    """Results of collectives."""

    SUBJECT = ("collective", "bytes")
    root: int = 0

    @staticmethod
    def measurement(fields: Mapping[str, Any]) -> CollectiveMeasurement:
        return CollectiveMeasurement(**fields)

    def subject_fields(self, measurement: CollectiveMeasurement) -> dict[str, Any]:
        return {
            "collective": measurement.collective,
            "bytes": measurement.bytes,
            "ranks": measurement.ranks or self.ranks,
            "computation_s": measurement.computation_s,
            "overlap": self.overlap(measurement),
        }

    def overlap(self, measurement: CollectiveMeasurement) -> float | None:
        """Returns which part of a call was hidden behind the computation; None where the call alone was not measured.

        It is the overlap of the Intel MPI Benchmarks: the time saved, of the shorter of call and computation.
        """
        m = measurement
        alone = next(
            (
                a.summary.median
                for a in self.measurements
                if (a.collective, a.bytes, a.ranks, a.contender) == (m.collective, m.bytes, m.ranks, m.contender)
                and a.mode == "sync"
            ),
            None,
        )
        if m.computation_s <= 0 or not alone:
            return None
        saved_s = alone + m.computation_s - m.summary.median
        return min(1.0, max(0.0, saved_s / min(alone, m.computation_s)))

    def loads(self, measurement: CollectiveMeasurement, network: limits.Network) -> Iterable[limits.Load]:
        if 0 < measurement.ranks < self.ranks:
            network = replace(network, node_of_rank=self.node_of_rank[: measurement.ranks])
        return limits.loads_of(measurement.collective, measurement.bytes, network, self.root)


def run(
    testbed: Testbed,
    mpi: Mpi,
    n: int | None,
    benchmark: CollectiveBenchmark | Race,
    on_event: Callable[[Mapping[str, Any]], None],
    taken: list[CollectiveResults] | None = None,
) -> CollectiveResults:
    """Measures; `on_event` gets every line of the program as it comes, and `taken` the results before there are any: it
    has what was measured where the rest fails.
    """
    results = CollectiveResults(mpi=mpi.label, transport=testbed.transport(mpi), root=benchmark.root)
    if taken is not None:
        taken.append(results)
    argv = [str(program("bench", mpi.abi)), *benchmark.arguments()]
    preload, timeout_s = benchmark.needs_antiphon, benchmark.timeout_s
    measure(testbed, mpi, n, argv, results, on_event, preload=preload, timeout_s=timeout_s)
    return results


def library_algorithms(testbed: Testbed, mpi: Mpi) -> dict[str, list[str]]:
    """Returns the algorithms that the library itself lists for each collective (through MPI's tool interface)."""
    listed: dict[str, list[str]] = {}

    def take(event: Mapping[str, Any]) -> None:
        if event["event"] == "library_algorithm":
            listed.setdefault(event["collective"], []).append(event["name"])

    argv = [str(program("bench", mpi.abi)), "--list-library"]
    ended = testbed.run(mpi, 1, argv, preload=False, env={}, on_line=json_lines(take), timeout_s=120)
    if ended.exit_code != 0:
        raise failure("the benchmark", ended)
    return listed
