# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark program for patterns and reads its results."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.bench import stats
from antiphon.bench.places import Place, failure, program
from antiphon.errors import AntiphonError
from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.patterns import Pattern, node_bytes

#: In the order of tables; the bench program's --help describes them.
CONTENDERS = ("library", "point-to-point", "antiphon", "level1", "level2", "level3", "persistent:library", "persistent")


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    patterns: Sequence[Pattern]
    modes: Sequence[str]
    contenders: Sequence[str]
    budget_s: float
    #: What schedulers know of the machine, as the core reads it; see fabric_of.
    fabric: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        return len(self.patterns) * len(self.modes)

    @property
    def timeout_s(self) -> float:
        return 120 + 10 * self.budget_s * self.cells

    def document(self) -> str:
        named = [{"name": p.name, "pattern": p.document()} for p in self.patterns]
        return json.dumps({"patterns": named, "fabric": dict(self.fabric)})


@dataclass(frozen=True)
class Measurement:
    """One contender at one pattern in one mode."""

    pattern: str
    mode: str
    contender: str
    chosen: str
    calls_per_sample: int
    samples: Sequence[float]

    @property
    def summary(self) -> stats.Summary:
        return stats.summarize(self.samples)


@dataclass
class Results:
    """All that one run of the program said."""

    mpi: str
    transport: str
    patterns: Mapping[str, Pattern]
    node_of_rank: Sequence[int] = ()
    measurements: list[Measurement] = field(default_factory=list)
    #: (pattern, contender, why)
    skipped: list[tuple[str, str, str]] = field(default_factory=list)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)
    network: limits.Network | None = None

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
            (self.skipped if kind == "skipped" else self.wrong).append(
                (event["pattern"], event["contender"], event["why"])
            )

    def limit_s(self, pattern: str) -> float | None:
        """The lower bound: the most bytes into or out of a node, or over an uplink."""
        return None if self.network is None else limit_s(self.patterns[pattern], self.network)

    def rows(self) -> list[dict[str, Any]]:
        """The results as --json prints them."""
        return [self._row(measurement) for measurement in self.measurements]

    def _row(self, m: Measurement) -> dict[str, Any]:
        s = m.summary
        return {
            "collective": "alltoallv", "pattern": m.pattern, "bytes": self.patterns[m.pattern].bytes,
            "ranks": self.ranks,
            "nodes": self.nodes, "mpi": self.mpi, "transport": self.transport, "mode": m.mode, "contender": m.contender,
            "chosen": m.chosen, "median_s": s.median, "ci_low_s": s.ci_low, "ci_high_s": s.ci_high,
            "calls_per_sample": m.calls_per_sample, "samples": list(m.samples), "limit_s": self.limit_s(m.pattern),
        }  # fmt: skip


def limit_s(pattern: Pattern, network: limits.Network) -> float | None:
    """The least time that the links allow; None where no byte crosses one."""
    least = 8 * node_bytes(pattern, network.node_of_rank) / network.node_bits_per_s
    for uplink in network.uplinks:
        side = [0 if node in uplink.nodes else 1 for node in network.node_of_rank]
        least = max(least, 8 * node_bytes(pattern, side) / uplink.bits_per_s)
    return least or None


def fabric_of(network: limits.Network | None) -> dict[str, Any]:
    """What schedulers are to know of a network; a tree of switches counts as two at its first uplink."""
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


def run(place: Place, mpi: Mpi, n: int | None, plan: Plan, on_event: Callable[[Mapping[str, Any]], None]) -> Results:
    """Measures; `on_event` gets every line of the program as it comes."""
    results = Results(mpi.label, place.transport(mpi), {p.name: p for p in plan.patterns})

    def take(line: str) -> None:
        if not line.startswith("{"):
            return
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            return
        results.take(event)
        on_event(event)

    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        file = Path(folder) / "patterns.json"
        file.write_text(plan.document(), encoding="utf-8")
        argv = [str(program("patterns", mpi.abi)), "--patterns", str(file), "--modes", ",".join(plan.modes),
                "--budget", f"{plan.budget_s:g}"]  # fmt: skip
        # MPICH's test functions do not give the core away; Open MPI's do where ranks share cores.
        argv += ["--yield"] if mpi.family == "mpich" else []
        argv += [word for contender in plan.contenders for word in ("--contender", contender)]
        ended = place.run(mpi, n, argv, preload=True, env={}, on_line=take, timeout_s=plan.timeout_s)
    if ended.exit_code != 0 and not results.wrong:
        raise failure("the benchmark", ended)
    if not results.node_of_rank:
        raise AntiphonError("the benchmark said nothing", exit_code=1)
    results.network = place.network(results.node_of_rank)
    return results
