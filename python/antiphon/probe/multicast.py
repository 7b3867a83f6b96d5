# SPDX-License-Identifier: Apache-2.0
"""Whether multicast works between the nodes, and how long it takes: by broadcasts of a program that uses it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon import benchmark
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi
from antiphon.places import Place

CHOICE = "multicast"
SIZES = (8, 1024, 4096, 16384, 65536, 262144)
#: For one size; there are six of them.
BUDGET_S = 0.3
#: What antiphon_chosen says of a choice whose group could not be opened (mpi/intercept.cpp).
WITHOUT = " without multicast: "


def measure(place: Place, mpi: Mpi, ranks: int) -> dict[str, Any] | None:
    """The samples, as they are kept; None where the accelerator does not run here."""
    plan = benchmark.Plan(("bcast",), SIZES, ("sync",), (f"bcast:{CHOICE}",), BUDGET_S)
    try:
        results = benchmark.run(place, mpi, ranks, plan, lambda _event: None)
    except AntiphonError as error:
        return {"error": str(error)}
    rows = [{"bytes": m.bytes, "chosen": m.chosen, "samples": list(m.samples)} for m in results.measurements]
    return {"nodes": results.nodes, "rows": rows}


def describe(kept: Mapping[str, Any] | None, latency_s: float) -> dict[str, Any] | None:
    """The profile's part. `latency_s`: of the links between nodes, which a multicast passes too."""
    if not kept or kept.get("nodes", 0) < 2:
        return None
    rows: Sequence[Mapping[str, Any]] = kept["rows"]
    refusal = next((row["chosen"].partition(WITHOUT)[2] for row in rows if WITHOUT in row["chosen"]), None)
    if refusal is not None or not rows:
        return {"works": False, "why_not": refusal or "no broadcast came to its end"}
    medians = sorted((row["bytes"], statistics.median(row["samples"])) for row in rows)
    # Of a short one most is the way there and the barrier before; a long one more takes what the wire needs for it.
    (less, before), (most, last) = medians[-2] if len(medians) > 1 else (0, latency_s), medians[-1]
    rate = (most - less) / max(last - before, 1e-9)
    return {
        "works": True,
        "nodes": kept["nodes"],
        "latency_s": float(f"{latency_s:.4g}"),
        "g_s": [[size, float(f"{size / rate:.4g}")] for size, _ in medians],
        "bytes_per_s": float(f"{rate:.4g}"),
    }
