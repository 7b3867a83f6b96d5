# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark program and reads its results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.bench import stats
from antiphon.bench.places import Place, failure, program
from antiphon.model import limits
from antiphon.mpi import Mpi

MODES = ("sync", "throughput", "burst")


@dataclass(frozen=True)
class Cell:
    """What is measured together, interleaved: some contenders at one collective and size, on the first `ranks`
    ranks.
    """

    collective: str
    bytes: int
    #: 0: all.
    ranks: int
    modes: Sequence[str]
    #: As antiphon_force takes them, and "library:NAME[:PARAMETER=VALUE,…]" for one of the library's own.
    choices: Sequence[str]

    def argument(self) -> str:
        """As the program takes it."""
        return ";".join([self.collective, str(self.bytes), str(self.ranks), "+".join(self.modes), *self.choices])


@dataclass(frozen=True)
class CellPlan:
    """Cells that are measured as a race: who cannot win one leaves it early."""

    cells: Sequence[Cell]
    #: For one cell in one mode.
    budget_s: float
    #: After this time no further cell is begun.
    deadline_s: float
    root: int = 0

    def arguments(self) -> list[str]:
        """The program's command line."""
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
class Plan:
    """What to measure."""

    collectives: Sequence[str]
    sizes: Sequence[int]
    modes: Sequence[str]
    #: As the program takes them: "COLLECTIVE:CHOICE".
    contenders: Sequence[str]
    budget_s: float
    root: int = 0

    def arguments(self) -> list[str]:
        """The program's command line."""
        words = ["--collectives", ",".join(self.collectives), "--bytes", ",".join(map(str, self.sizes))]
        words += ["--modes", ",".join(self.modes), "--budget", str(self.budget_s), "--root", str(self.root)]
        return words + [word for contender in self.contenders for word in ("--contender", contender)]

    @property
    def cells(self) -> int:
        """How many results there will be."""
        with_bytes = sum(name != "barrier" for name in self.collectives)
        return (with_bytes * len(self.sizes) + len(self.collectives) - with_bytes) * len(self.modes)

    @property
    def needs_antiphon(self) -> bool:
        return any(not contender.endswith(":library") for contender in self.contenders)

    @property
    def timeout_s(self) -> float:
        """The budget may be overrun by slow contenders: at least three rounds of each are always made."""
        return 600 + 20 * self.budget_s * self.cells


@dataclass(frozen=True)
class Measurement:
    """One contender at one collective, size and mode."""

    collective: str
    bytes: int
    mode: str
    contender: str
    #: What really ran: differs from the contender where Antiphon chose, or where an algorithm gives up.
    chosen: str
    calls_per_sample: int
    samples: Sequence[float]
    #: How many took part.
    ranks: int = 0

    @property
    def summary(self) -> stats.Summary:
        return stats.summarize(self.samples)


@dataclass
class Results:
    """All that one run of the program said."""

    mpi: str
    transport: str
    node_of_rank: Sequence[int] = ()
    measurements: list[Measurement] = field(default_factory=list)
    #: (collective, bytes, contender, why) of what could not take part, or gave a wrong result.
    skipped: list[tuple[str, int, str, str]] = field(default_factory=list)
    wrong: list[tuple[str, int, str, str]] = field(default_factory=list)
    network: limits.Network | None = None
    root: int = 0

    @property
    def ranks(self) -> int:
        return len(self.node_of_rank)

    @property
    def nodes(self) -> int:
        return len(set(self.node_of_rank))

    def take(self, event: Mapping[str, Any]) -> None:
        """Adds one line of the program's output."""
        kind = event["event"]
        if kind == "start":
            self.node_of_rank = event["node_of_rank"]
        elif kind == "result":
            self.measurements.append(Measurement(**{key: value for key, value in event.items() if key != "event"}))
        elif kind in ("skipped", "wrong"):
            said = (event["collective"], event["bytes"], event["contender"], event["why"])
            (self.skipped if kind == "skipped" else self.wrong).append(said)

    def limit_s(self, measurement: Measurement) -> float | None:
        """The least time that the links allow; None where that is not known."""
        if self.network is None:
            return None
        network = self.network
        if 0 < measurement.ranks < self.ranks:
            network = replace(network, node_of_rank=self.node_of_rank[: measurement.ranks])
        return limits.limit_s(measurement.collective, measurement.bytes, network, self.root)

    def rows(self) -> list[dict[str, Any]]:
        """The results as --json prints them."""
        return [self._row(measurement) for measurement in self.measurements]

    def _row(self, m: Measurement) -> dict[str, Any]:
        s = m.summary
        return {
            "collective": m.collective, "bytes": m.bytes, "ranks": m.ranks or self.ranks, "nodes": self.nodes,
            "mpi": self.mpi, "transport": self.transport, "mode": m.mode, "contender": m.contender, "chosen": m.chosen,
            "median_s": s.median, "ci_low_s": s.ci_low, "ci_high_s": s.ci_high, "calls_per_sample": m.calls_per_sample,
            "samples": list(m.samples), "limit_s": self.limit_s(m),
        }  # fmt: skip


def run(place: Place, mpi: Mpi, n: int | None, plan: Plan | CellPlan,
        on_event: Callable[[Mapping[str, Any]], None]) -> Results:  # fmt: skip
    """Measures; `on_event` gets every line of the program as it comes."""
    results = Results(mpi.label, place.transport(mpi), root=plan.root)

    def take(line: str) -> None:
        if not line.startswith("{"):
            return
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            return
        results.take(event)
        on_event(event)

    argv = [str(program("bench", mpi.abi)), *plan.arguments()]
    ended = place.run(mpi, n, argv, preload=plan.needs_antiphon, env={}, on_line=take, timeout_s=plan.timeout_s)
    if results.node_of_rank:
        results.network = place.network(results.node_of_rank)
    if ended.exit_code != 0 and not results.wrong:
        raise failure("the benchmark", ended)
    return results


def library_algorithms(place: Place, mpi: Mpi) -> dict[str, list[str]]:
    """The algorithms that the library itself lists for each collective (through MPI's tool interface)."""
    listed: dict[str, list[str]] = {}

    def take(line: str) -> None:
        if line.startswith('{"') and '"library_algorithm"' in line:
            event = json.loads(line)
            listed.setdefault(event["collective"], []).append(event["name"])

    argv = [str(program("bench", mpi.abi)), "--list-library"]
    ended = place.run(mpi, 1, argv, preload=False, env={}, on_line=take, timeout_s=120)
    if ended.exit_code != 0:
        raise failure("the benchmark", ended)
    return listed
