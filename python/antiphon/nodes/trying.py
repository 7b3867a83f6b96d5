# SPDX-License-Identifier: Apache-2.0
"""A real run of usual collectives on all nodes, which tells what would be accelerated, and what messages travel by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.bench.testbed import Testbed, program
from antiphon.mpi import Mpi

COLLECTIVES = ("bcast", "allgather", "alltoall", "reduce", "allreduce", "reduce_scatter_block")
SIZES = (1 << 10, 64 << 10)
TIMEOUT_S = 180
SAMPLE = re.compile(r"(antiphon_\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

OTHER_PMI = (
    "the launcher has to speak the library's PMI: under Slurm, `srun --mpi=list` shows what there is, and "
    '`--launcher-args "--mpi=pmix"` chooses; an `mpirun` has to be the library\'s own'
)


@dataclass(frozen=True)
class Call:
    """A kind of calls, and what did most of them."""

    collective: str
    bytes: int
    done_by: str
    reason: str
    count: int

    @property
    def accelerated(self) -> bool:
        return self.done_by != "library"


@dataclass
class Trial:
    """What the run found."""

    ranks: int
    calls: list[Call] = field(default_factory=list)
    #: One line: transport, interface and rate, each with its source; empty if the run did not come so far.
    network: str = ""
    transport: str = ""
    #: Why the run failed, and what to do.
    failed: str = ""
    hint: str = "`antiphon doctor` on one node tries it"
    #: What Antiphon itself said.
    said: list[str] = field(default_factory=list)

    @property
    def accelerated(self) -> list[Call]:
        return [call for call in self.calls if call.accelerated]

    def take(self, line: str) -> None:
        """Takes a line of the run's metrics."""
        match = SAMPLE.match(line)
        if match is None:
            return
        labels = {name: text.replace('\\"', '"').replace("\\\\", "\\") for name, text in LABEL.findall(match[2] or "")}
        if match[1] == "antiphon_network":
            self.network, self.transport = labels["text"], labels["transport"]
        elif match[1] == "antiphon_ranks" and (found := int(float(match[3]))) < self.ranks:
            self.failed = f"{self.ranks} ranks were asked for, and each program is a run of {found}"
            self.hint = OTHER_PMI
        elif match[1] == "antiphon_collective_calls":
            self._take_calls(labels, int(float(match[3])))

    def _take_calls(self, labels: Mapping[str, str], count: int) -> None:
        """Takes a kind of calls, but for the fewer that only tried another way."""
        size = int(labels["most_bytes"]) if labels["most_bytes"].isdigit() else -1
        if (
            labels["collective"] not in COLLECTIVES
            or size not in SIZES
            or labels["least_bytes"] != labels["most_bytes"]
        ):
            return
        taken = Call(labels["collective"], size, labels["done_by"], labels["reason"], count)
        kinds = [(call.collective, call.bytes) for call in self.calls]
        if (taken.collective, size) not in kinds:
            self.calls.append(taken)
        elif count > self.calls[at := kinds.index((taken.collective, size))].count:
            self.calls[at] = taken

    def to_json(self) -> dict[str, Any]:
        calls = [vars(call) | {"accelerated": call.accelerated} for call in self.calls]
        return {"ranks": self.ranks, "network": self.network or None, "calls": calls, "failed": self.failed or None}


def trial(testbed: Testbed, mpi: Mpi, ranks: int, profile: Path | None = None) -> Trial:
    """Runs a few calls of each collective and size, as a program with this profile and no other setting makes them."""
    found = Trial(ranks)
    argv = [str(program("bench", mpi.abi)), "--collectives", ",".join(COLLECTIVES), "--modes", "sync"]
    argv += ["--bytes", ",".join(map(str, SIZES)), "--contender", "*:auto", "--budget", "0"]
    env = {"ANTIPHON_METRICS": "/dev/stdout"}
    if profile is not None:
        env["ANTIPHON_PROFILE"] = str(profile.absolute())
    ended = testbed.run(mpi, ranks, argv, preload=True, env=env, on_line=found.take, timeout_s=TIMEOUT_S)
    lines = [line.strip() for line in ended.stderr.splitlines()]
    found.said = list(dict.fromkeys(line for line in lines if line.startswith("antiphon: ")))
    if found.failed:
        return found
    if ended.timed_out:
        found.failed = f"no end within {TIMEOUT_S} s"
    elif ended.exit_code != 0:
        found.failed = next((line for line in reversed(lines) if line.strip(" -=")), f"exit code {ended.exit_code}")
    return found
