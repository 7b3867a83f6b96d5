# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark of MPI_Alltoallv with patterns of messages and reads its results."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.bench.results import Measurement, Results, measure
from antiphon.bench.testbed import Testbed, program
from antiphon.errors import AntiphonError
from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.patterns import Pattern, node_bytes

#: The names are in the order of tables; the bench program's --help describes them.
CONTENDERS = ("library", "point-to-point", "antiphon", "level1", "level2", "level3", "persistent:library", "persistent")


@dataclass(frozen=True)
class PatternBenchmark:
    """Says what to measure: every contender with every pattern in every mode."""

    patterns: Sequence[Pattern]
    modes: Sequence[str]
    contenders: Sequence[str]
    budget_s: float
    #: What the schedulers know of the machine, in the core's form (see fabric_of).
    fabric: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        return len(self.patterns) * len(self.modes)

    @property
    def timeout_s(self) -> float:
        return 120 + 10 * self.budget_s * self.cells

    def arguments(self, file: Path) -> list[str]:
        """Returns the program's command line, with the file that holds the document."""
        words = ["--patterns", str(file), "--modes", ",".join(self.modes), "--budget", f"{self.budget_s:g}"]
        return words + [word for contender in self.contenders for word in ("--contender", contender)]

    def document(self) -> str:
        """Returns the patterns in the form that the program reads."""
        named = [{"name": p.name, "pattern": p.document()} for p in self.patterns]
        return json.dumps({"patterns": named, "fabric": dict(self.fabric)})


@dataclass(frozen=True)
class PatternMeasurement(Measurement):
    """One contender with one pattern in one mode."""

    pattern: str


@dataclass(kw_only=True)
class PatternResults(Results[PatternMeasurement]):
    """Results of MPI_Alltoallv with patterns."""

    SUBJECT = ("pattern",)
    patterns: Mapping[str, Pattern]

    @staticmethod
    def measurement(fields: Mapping[str, Any]) -> PatternMeasurement:
        return PatternMeasurement(**fields)

    def subject_fields(self, measurement: PatternMeasurement) -> dict[str, Any]:
        name = measurement.pattern
        return {
            "collective": "alltoallv",
            "pattern": name,
            "bytes": self.patterns[name].bytes,
            "ranks": self.ranks,
        }

    def loads(self, measurement: PatternMeasurement, network: limits.Network) -> Iterable[limits.Load]:
        return loads_of(self.patterns[measurement.pattern], network)


def loads_of(pattern: Pattern, network: limits.Network) -> Iterator[limits.Load]:
    """Returns the loads of the busiest node's link and of each link between switches."""
    yield limits.Load(node_bytes(pattern, network.node_of_rank), network.node_bits_per_s, network.burst_bytes)
    for uplink in network.uplinks:
        side = [0 if node in uplink.nodes else 1 for node in network.node_of_rank]
        yield limits.Load(node_bytes(pattern, side), uplink.bits_per_s, uplink.burst_bytes)


def fabric_of(network: limits.Network | None) -> dict[str, Any]:
    """Returns a network in the form that schedulers read; a tree of switches counts as two switches, split at its first
    uplink.
    """
    if network is None:
        return {}
    fabric: dict[str, Any] = {
        "link_bytes_per_s": int(network.node_bits_per_s / 8),
        "node_of_rank": list(network.node_of_rank),
    }
    if network.uplinks:
        nodes = range(max(network.node_of_rank) + 1)
        fabric["switch_of_node"] = [0 if node in network.uplinks[0].nodes else 1 for node in nodes]
        fabric["uplink_bytes_per_s"] = int(network.uplinks[0].bits_per_s / 8)
    return fabric


def run(
    testbed: Testbed,
    mpi: Mpi,
    n: int | None,
    benchmark: PatternBenchmark,
    on_event: Callable[[Mapping[str, Any]], None],
    taken: list[PatternResults],
) -> None:
    """Measures; `on_event` gets every line of the program as it comes, and `taken` the results before there are any: it
    has what was measured where the rest fails.
    """
    patterns = {pattern.name: pattern for pattern in benchmark.patterns}
    results = PatternResults(mpi=mpi.label, transport=testbed.transport(mpi), patterns=patterns)
    taken.append(results)
    with _folder(testbed) as folder:
        file = Path(folder) / "patterns.json"
        file.write_text(benchmark.document(), encoding="utf-8")
        argv = [str(program("patterns", mpi.abi)), *benchmark.arguments(file)]
        # MPICH's test functions do not give the core away; Open MPI's do so where ranks share cores.
        argv += ["--yield"] if mpi.family == "mpich" else []
        measure(testbed, mpi, n, argv, results, on_event, preload=True, timeout_s=benchmark.timeout_s)
    if not results.node_of_rank:
        raise AntiphonError("the benchmark said nothing", exit_code=1)


def _folder(testbed: Testbed) -> tempfile.TemporaryDirectory[str]:
    """Makes a directory for the file that rank 0 reads, which may be on another node: then below the working directory,
    as programs' own files are.
    """
    shared = testbed.shared_folder()
    try:
        return tempfile.TemporaryDirectory(prefix="antiphon-" if shared is None else ".antiphon-", dir=shared)
    except OSError as error:
        what = f"the nodes read the patterns below {shared or tempfile.gettempdir()}: {error.strerror}"
        raise AntiphonError(what, hint="start it in a directory of yours that all nodes see") from error
