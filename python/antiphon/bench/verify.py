# SPDX-License-Identifier: Apache-2.0
"""Compares a library's table with what really crosses the links of a machine, by interface counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from antiphon.bench.testbed import Testbed, failure, json_lines, program
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi
from antiphon.traffic import libraries
from antiphon.traffic.decompose import Decomposer
from antiphon.traffic.edges import Array, Edges
from antiphon.traffic.libraries import CollectiveCall

#: Ethernet, IP and TCP with time stamps: each frame carries them beside its payload, and an acknowledgement carries
#: only them.
HEADER_BYTES = 14 + 20 + 32
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
ROOTED = ("bcast", "scatter", "scatterv", "gather", "gatherv", "reduce")
#: A call's whole payload should be about this, so that headers of a few control messages do not count.
AIM_BYTES = 8 << 20
MOST_CALLS = 100
#: In its first calls, TCP has windows that are too large or too small, and so retransmissions that are not the
#: library's.
LEAST_CALLS = 5
#: A link with less than this share of the busiest link's bytes is compared with the busiest link.
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class RepeatedCall:
    """Equal calls on all ranks."""

    collective: str
    bytes: int
    root: int
    calls: int

    def argument(self) -> str:
        """Returns the call in the form that the measuring program reads."""
        return f"{self.collective}:{self.bytes}:{self.root}:{self.calls}"


@dataclass(frozen=True)
class VerifiedCalls:
    """A case's result: payload of the busiest link, and the links' greatest error."""

    case: RepeatedCall
    algorithm: str
    schedules: str
    #: Per node, sent and received.
    expected: Array
    measured: Array

    @property
    def error(self) -> float:
        """Returns the most that any link's payload is off, relative to its own, or for idle links to the busiest
        link's.
        """
        busiest = float(self.expected.max(initial=0.0))
        if busiest == 0:
            return 0.0
        own = np.where(self.expected >= LEAST_SHARE * busiest, self.expected, busiest)
        return float((np.abs(self.measured - self.expected) / own).max())

    def to_json(self) -> dict[str, Any]:
        """Returns the result for --json."""
        return {
            "collective": self.case.collective,
            "bytes": self.case.bytes,
            "root": self.case.root,
            "calls": self.case.calls,
            "algorithm": self.algorithm,
            "schedules": self.schedules,
            "error": self.error,
            "expected_sent_bytes": self.expected[0].tolist(),
            "expected_received_bytes": self.expected[1].tolist(),
            "measured_sent_bytes": self.measured[0].tolist(),
            "measured_received_bytes": self.measured[1].tolist(),
        }


def call_for(collective: str, size: int, root: int, ranks: int) -> CollectiveCall:
    """Returns the call that the measuring program makes."""
    element = 8 if collective in REDUCTIONS else 1
    return CollectiveCall(collective, ranks, size - size % element, root, element)


def decomposed(decomposer: Decomposer, call: CollectiveCall, nodes: Array) -> tuple[Edges, str, str]:
    """Returns the call's messages, the library's name of the algorithm, and our schedules."""
    if call.collective == "alltoallv":
        call = CollectiveCall("alltoall", call.ranks, call.bytes)
        done = Decomposer(_Direct()).decompose(call)
    else:
        done = decomposer.decompose(call, nodes)
    edges = Edges.merge([done.edges, *(group.edges() for group in done.uniform)])
    return edges, done.algorithm, "; ".join(done.schedules)


class _Direct:
    """Returns one message for each block: an alltoallv, with any library."""

    name, leader = "direct", "first"

    def choose(self, call: CollectiveCall, nodes: Array | None, sub: str = "") -> libraries.LibraryAlgorithm:
        return libraries.LibraryAlgorithm("as the counts say", schedule="windowed")


def links(edges: Edges, nodes: Array) -> Array:
    """Returns the payload that each node sends and receives."""
    count = int(nodes.max()) + 1
    source, target = nodes[edges.source], nodes[edges.target]
    apart = source != target
    return np.array(
        [np.bincount(side[apart], weights=edges.bytes[apart], minlength=count) for side in (source, target)]
    )


def cases_for(
    collectives: Sequence[str], sizes: Sequence[int], ranks: int, nodes: Array, decomposer: Decomposer
) -> list[RepeatedCall]:
    """Returns each collective at each size; rooted ones have a root that is not the first rank."""
    cases = []
    for collective in collectives:
        root = (ranks * 3) // 8 if collective in ROOTED else 0
        for size in sizes:
            call = call_for(collective, size, root, ranks)
            busiest = links(decomposed(decomposer, call, nodes)[0], nodes).max(initial=0.0)
            calls = min(MOST_CALLS, max(LEAST_CALLS, round(AIM_BYTES / max(busiest, 1.0))))
            cases.append(RepeatedCall(collective, call.bytes, root, calls))
    return cases


def payload(measured: Mapping[str, Any]) -> tuple[float, float]:
    """Returns sent and received bytes of a node's counters, without headers."""
    sent, received = (
        measured[f"{way}_bytes"] - HEADER_BYTES * measured[f"{way}_packets"] for way in ("sent", "received")
    )
    return sent, received


def measure(
    testbed: Testbed, mpi: Mpi, n: int | None, arguments: Sequence[str], timeout_s: float
) -> list[dict[str, Any]]:
    """Runs the measuring program; returns a row for each case."""
    rows: list[dict[str, Any]] = []

    argv = [str(program("traffic", mpi.abi)), *arguments]
    ended = testbed.run(mpi, n, argv, preload=False, env={}, on_line=json_lines(rows.append), timeout_s=timeout_s)
    if ended.exit_code != 0:
        raise failure("the measurement", ended)
    if len(rows) != len(arguments):
        raise AntiphonError(f"{len(rows)} of {len(arguments)} cases were measured", exit_code=1)
    return rows


def verify(
    testbed: Testbed,
    mpi: Mpi,
    n: int | None,
    library: str,
    collectives: Sequence[str],
    sizes: Sequence[int],
    progress: Callable[[VerifiedCalls], None],
) -> list[VerifiedCalls]:
    """Measures one collective after the other."""
    chosen = libraries.for_library(library or mpi.label)
    decomposer = Decomposer(chosen)
    idle = measure(testbed, mpi, n, ["nothing:0:0:0"], 120)[0]
    nodes = np.array(idle["node_of_rank"], np.int64)
    if nodes.max() == 0:
        raise AntiphonError("all ranks are on one node: nothing crosses a link", hint="give --hostfile or --lab")
    silence = np.array([payload(node) for node in idle["nodes"]]).T
    rows: list[VerifiedCalls] = []
    for collective in collectives:
        cases = cases_for([collective], sizes, len(nodes), nodes, decomposer)
        found = measure(testbed, mpi, n, [case.argument() for case in cases], 300)
        for case, said in zip(cases, found, strict=True):
            call = call_for(case.collective, case.bytes, case.root, len(nodes))
            edges, algorithm, schedules = decomposed(decomposer, call, nodes)
            measured = np.array([payload(node) for node in said["nodes"]]).T - silence
            rows.append(VerifiedCalls(case, algorithm, schedules, links(edges, nodes) * case.calls, measured))
            progress(rows[-1])
    return rows
