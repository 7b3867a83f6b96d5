# SPDX-License-Identifier: Apache-2.0
"""Whether multicast works between the nodes, and how long it takes: by broadcasts of a program that uses it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.bench import collectives
from antiphon.bench.results import WITHOUT_MULTICAST
from antiphon.bench.testbed import Testbed
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi

CHOICE = "multicast"
SIZES = (8, 1024, 4096, 16384, 65536, 262144)
#: Time for one of the six sizes.
BUDGET_S = 0.3
#: Each rank in turn multicasts a short message, which wakes all others up, again and again.
TURNS = collectives.RaceCell("allgather", 8, 0, ("throughput",), (f"{CHOICE}:senders=1",))
TURNS_BUDGET_S = 0.5
#: Fewer ranks on a core leave it idle between two messages.
LEAST_RANKS_PER_CORE = 2


def measure(testbed: Testbed, mpi: Mpi, ranks: int) -> dict[str, Any] | None:
    """The samples, as they are kept; None where the accelerator does not run here."""
    benchmark = collectives.CollectiveBenchmark(("bcast",), SIZES, ("sync",), (f"bcast:{CHOICE}",), BUDGET_S)
    try:
        results = collectives.run(testbed, mpi, ranks, benchmark, lambda _event: None)
    except AntiphonError as error:
        return {"error": str(error)}
    kept: dict[str, Any] = {"nodes": results.nodes, "rows": _rows(results), "wrong": results.reported(results.wrong)}
    # With several ranks on a node one receives the multicast and sends messages to the others: another measurement.
    if kept["rows"] and not kept["wrong"] and refusal(kept) is None and results.nodes == ranks:
        try:
            turns = collectives.Race((TURNS,), TURNS_BUDGET_S, TURNS_BUDGET_S)
            turned = collectives.run(testbed, mpi, ranks, turns, lambda _event: None)
            kept["turns"] = _rows(turned)
            kept["wrong"] = turned.reported(turned.wrong)
        except AntiphonError as error:
            kept["turns_error"] = str(error)
    return kept


def _rows(results: collectives.CollectiveResults) -> list[dict[str, Any]]:
    return [{"bytes": m.bytes, "chosen": m.chosen, "samples": list(m.samples)} for m in results.measurements]


def refusal(kept: Mapping[str, Any]) -> str | None:
    """Why the broadcasts went without multicast, if they did."""
    return next(
        (row["chosen"].partition(WITHOUT_MULTICAST)[2] for row in kept["rows"] if WITHOUT_MULTICAST in row["chosen"]),
        None,
    )


def crowded_s(kept: Mapping[str, Any], latency_s: float, ranks_per_core: float) -> float | None:
    """What a short multicast costs the cores, sender's and receiver's together, for each receiver.

    One rank's turn is its own half for each receiver, the latency, and then the receiver's half for those of its
    core that are woken up before the next sender: on average half of them.
    """
    samples: list[float] = [
        sample for row in kept.get("turns", ()) if WITHOUT_MULTICAST not in row["chosen"] for sample in row["samples"]
    ]
    if not samples or ranks_per_core < LEAST_RANKS_PER_CORE:
        return None
    nodes: int = kept["nodes"]
    turn_s = statistics.median(samples) / nodes
    return max(turn_s - latency_s, 0) / ((nodes - 1) / 2 + ranks_per_core / 4)


def describe(kept: Mapping[str, Any] | None, latency_s: float, ranks_per_core: float) -> dict[str, Any] | None:
    """The profile's part. `latency_s`: of the links between nodes, which a multicast passes too (receivers sleep)."""
    if not kept or kept.get("nodes", 0) < 2:
        return None
    rows: Sequence[Mapping[str, Any]] = kept["rows"]
    why_not = "a multicast brought wrong data" if kept.get("wrong") else refusal(kept)
    if why_not is not None or not rows:
        return {"works": False, "why_not": why_not or "no broadcast came to its end"}
    medians = sorted((row["bytes"], statistics.median(row["samples"])) for row in rows)
    # The time of a short one is mostly latency and the barrier before; a longer one adds its time on the wire.
    (less, before), (most, last) = medians[-2] if len(medians) > 1 else (0, latency_s), medians[-1]
    rate = (most - less) / max(last - before, 1e-9)
    crowded = crowded_s(kept, latency_s, ranks_per_core)
    return {
        "works": True,
        "nodes": kept["nodes"],
        "latency_s": float(f"{latency_s:.4g}"),
        "g_s": [[size, float(f"{size / rate:.4g}")] for size, _ in medians],
        "bytes_per_s": float(f"{rate:.4g}"),
        **({} if crowded is None else {"crowded_s": float(f"{crowded:.4g}")}),
    }
