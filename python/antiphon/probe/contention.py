# SPDX-License-Identifier: Apache-2.0
"""Many senders at once: γ (paper 5, section 5), incast and the credit, concurrency (paper 4, section 4.1)."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.probe.curves import ClassCurves, at
from antiphon.probe.session import Event, of_kind

#: If the bounds differ by less than this share of the upper one, a time's position between them means nothing.
TELLING = 0.1
#: Sending messages at once is worth it if each then takes less of the time by this factor.
WORTH = 0.93


def bounds_s(curves: ClassCurves, ranks: int, size: int) -> tuple[float, float]:
    """Paper 5, table 3: the least and the most that an exchange among P ranks takes."""
    send, receive, gap = (at(curves.curve(name), size) for name in ("os", "or", "g"))
    others = ranks - 1
    return others * (send + receive) + curves.latency_s, others * (gap + receive) + curves.latency_s


def gamma(events: Sequence[Event], curves: ClassCurves) -> list[dict[str, Any]]:
    """γ by number of ranks: least squares over the sizes, each weighted as a share of its upper bound."""
    cells: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for event in of_kind(events, "all_to_all"):
        cells[event["ranks"]].append((event["bytes"], statistics.median(event["ns"]) * 1e-9))
    rows = []
    for ranks, measured in sorted(cells.items()):
        top = bottom = 0.0
        by_size = []
        for size, seconds in measured:
            lower, upper = bounds_s(curves, ranks, size)
            if upper - lower < TELLING * upper:
                continue
            top += (seconds - lower) * (upper - lower) / upper**2
            bottom += ((upper - lower) / upper) ** 2
            by_size.append(
                {
                    "bytes": size,
                    "seconds": seconds,
                    "lower_s": lower,
                    "upper_s": upper,
                    "gamma": (seconds - lower) / (upper - lower),
                }
            )
        if bottom > 0:
            rows.append({"ranks": ranks, "gamma": top / bottom, "details": {"sizes": by_size}})
    return rows


@dataclass
class Incast:
    """Times of one port that receives from several senders at once."""

    credit_bytes: int | None = None
    port_buffer_bytes: int | None = None
    timeout_s: float | None = None
    #: Why there is no credit although packets were lost; "" where there is one, or nothing was lost.
    no_credit: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    by_senders: list[dict[str, Any]] = field(default_factory=list)


def incast(events: Sequence[Event], bytes_per_s: float) -> Incast:
    """k senders fill a port's buffer with all but the k-th part of what they send: that part has left meanwhile.

    So from the most that k senders could send without loss follows the buffer, and that many bytes may be under way
    whatever the number of senders: the credit. Of several k the least counts.
    """
    result = Incast()
    tried: dict[int, list[Event]] = defaultdict(list)
    for event in of_kind(events, "incast"):
        if event.get("label"):  # of a link between switches
            continue
        tried[event["senders"]].append(event)
        expected_s = event["total_bytes"] / bytes_per_s
        ratio = statistics.median(event["seconds"]) / expected_s
        result.rows.append(
            {
                "senders": event["senders"],
                "bytes": event["total_bytes"] // event["senders"],
                "ratio": ratio,
                "lost": event["lost"],
                "trials": event["trials"],
            }
        )
    buffers = []
    for senders, attempts in sorted(tried.items()):
        kept, lost = _kept_and_lost(attempts)
        result.by_senders.append({"senders": senders, "kept_bytes": kept, "lost_bytes": lost})
        if lost is not None and kept == 0:
            result.no_credit = (
                f"even {lost} bytes at once from {senders} nodes lost packets on the way to one: there is no credit, "
                "as no port is that small"
            )
        elif lost is not None:
            buffers.append(kept * (1 - 1 / senders))
    if buffers and not result.no_credit:
        result.credit_bytes = result.port_buffer_bytes = int(min(buffers))
    result.timeout_s = _timeout(tried, bytes_per_s)
    return result


def _kept_and_lost(attempts: Sequence[Event]) -> tuple[int, int | None]:
    """The largest burst without loss that is smaller than the smallest burst with loss."""
    lost = min((e["total_bytes"] for e in attempts if not e["passed"]), default=None)
    kept = (e["total_bytes"] for e in attempts if e["passed"] and (lost is None or e["total_bytes"] < lost))
    return max(kept, default=0), lost


def uplink_buffer(events: Sequence[Event], labels: Sequence[str], uplink_rate: float, port_rate: float) -> int | None:
    """The bytes that the port of a link between switches holds; None if nothing was lost.

    Nodes that all send to as many others fill it with what the link does not pass meanwhile.
    """
    buffers = []
    for label in labels:
        attempts = [event for event in of_kind(events, "incast") if event.get("label") == label]
        kept, lost = _kept_and_lost(attempts)
        if lost is not None:
            nodes = math.isqrt(attempts[0]["senders"])
            buffers.append(kept * (1 - uplink_rate / (nodes * port_rate)))
    return int(min(buffers)) if buffers and min(buffers) > 0 else None


def _timeout(tried: dict[int, list[Event]], bytes_per_s: float) -> float | None:
    """What a loss cost where it cost a timeout: the usual excess over the transfer, if beyond a tenth of a second."""
    excess = [
        e["seconds"][-1] - e["total_bytes"] / bytes_per_s for attempts in tried.values() for e in attempts if e["lost"]
    ]
    long = [value for value in excess if value > 0.1]
    return statistics.median(long) if long else None


def concurrency(events: Sequence[Event]) -> dict[str, Any] | None:
    """The index worth using: with how many messages at once each costs noticeably less than alone, at every size."""
    times: dict[int, dict[str, float]] = defaultdict(dict)
    for event in of_kind(events, "concurrency"):
        times[event["bytes"]][event["pattern"]] = statistics.median(event["ns"]) * 1e-9
    times = {size: cells for size, cells in times.items() if "one" in cells and "two" in cells}
    if not times:
        return None
    sizes = sorted(times)
    longer = [size for size in sizes if size >= 16384] or sizes
    index, least = 1, 1.0
    for count, name in ((2, "two"), (4, "four")):
        ratios = [times[s][name] / times[s]["one"] / count for s in longer if name in times[s]]
        if ratios and max(ratios) < WORTH * least:
            index, least = count, max(ratios)
    two = statistics.median(times[s]["two"] / times[s]["one"] for s in longer)
    ways = [times[s]["one"] / times[s]["one_way"] for s in longer if "one_way" in times[s]]
    return {
        "index": index,
        "two_destinations_ratio": two,
        **({"two_directions_ratio": statistics.median(ways)} if ways else {}),
        "details": {"sizes": [{"bytes": size, "seconds": times[size]} for size in sizes]},
    }
