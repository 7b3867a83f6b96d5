# SPDX-License-Identifier: Apache-2.0
"""pLogP from samples: curves with their confidence, jumps kept, outliers counted (paper 5, section 2).

From round trips of m bytes there and 0 bytes back, on a link that is kept busy: RTT(m) = L + g(m) + L + g(0), with g
from saturation; hence L = RTT(0) / 2 − g(0), as the MPI LogP benchmark has it.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.bench import stats
from antiphon.probe.session import Event, of_kind

QUANTITIES = {"round": "round_ns", "os": "os_ns", "g": "g_ns", "or": "or_ns"}
#: Neighbouring sizes this close, with times this far from in proportion, have a jump between them.
CLOSE_SIZES, JUMP = 1.2, 1.35
#: A message was disturbed if it takes this many times as long as a longer one.
DISTURBED = 1.5


@dataclass(frozen=True)
class Estimate:
    """One quantity at one size, in seconds."""

    median: float
    low: float
    high: float
    count: int
    outliers: int

    @property
    def spread(self) -> float:
        """Half the confidence interval's width over the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0


@dataclass
class ClassCurves:
    """All measurements of one class of links, by size."""

    points: dict[int, dict[str, Estimate]] = field(default_factory=dict)
    #: Time of a message on a link that has rested, by size; and round trips at sizes that no curve was made from.
    rested: dict[int, Estimate] = field(default_factory=dict)
    held_out: dict[int, Estimate] = field(default_factory=dict)
    held_out_rested: dict[int, Estimate] = field(default_factory=dict)

    @property
    def latency_s(self) -> float:
        """L. What a processor does for an empty message may exceed half its round trip; L is never below zero."""
        first = self.points[min(self.points)]
        return max(first["round"].median / 2 - first["g"].median, 1e-9)

    def curve(self, quantity: str) -> list[tuple[int, float]]:
        """[(bytes, seconds)]: os, or, g with their jumps; one_way: the time of a message on a busy link."""
        reply = self.points[min(self.points)]["round"].median / 2
        if quantity == "one_way":
            points = [(m, max(p["round"].median - reply, 1e-9)) for m, p in sorted(self.points.items())]
        elif quantity == "rested":
            half = self.rested[min(self.rested)].median / 2
            points = [(m, max(e.median - half, 1e-9)) for m, e in sorted(self.rested.items())]
        else:
            points = undisturbed([(m, p[quantity].median) for m, p in sorted(self.points.items())])
        return with_jumps(points, self.latency_s)

    @property
    def bytes_per_s(self) -> float:
        """Payload rate of a stream of long messages: of sizes from 64 KiB, or of the longest, the fastest one's median.

        What else uses the processors or the link makes a stream slower, never faster.
        """
        long = [size for size in self.points if size >= 65536] or [max(self.points)]
        return max(size / self.points[size]["g"].median for size in long)

    @property
    def eager_bytes(self) -> int | None:
        """The longest message that comes before it is asked for: beyond, a delayed receive waits for the transfer. Or,
        where receivers fetch what is in memory that they share, the longest whose send does not wait for that.
        """
        sizes = sorted(self.points)
        waits = {size: self.points[size]["or"].median > 0.3 * self.points[size]["g"].median for size in sizes}
        fetched = {size: self.points[size]["os"].median > 0.5 * self.points[size]["g"].median for size in sizes}
        for name, late in (("or", waits), ("os", fetched)):
            for i, (a, b) in enumerate(itertools.pairwise(sizes)):
                before, after = self.points[a][name], self.points[b][name]
                jumps = a > 0 and after.median / before.median > 1.5 * b / a and after.low > before.high
                if jumps and all(late[size] for size in sizes[i + 1 :]):
                    return a
        return None

    @property
    def send_buffer_bytes(self) -> int | None:
        """The bytes that the system buffers. A send of a longer message ends only when the rest has left."""
        found = [
            size - point["os"].median * self.bytes_per_s
            for size, point in self.points.items()
            if size >= 65536 and point["os"].median > 0.15 * point["g"].median
        ]
        return int(min(found)) if found and min(found) > 4096 else None

    @property
    def burst_bytes(self) -> int:
        """The bytes that a rested link takes at once, beyond its rate (a token bucket, a shallow queue)."""
        if not self.rested:
            return 0
        half = self.rested[min(self.rested)].median / 2
        burst = 0.0
        for size in sorted(self.rested):
            ahead_s = at(self.curve("g"), size) - (self.rested[size].median - 2 * half)
            burst = ahead_s * self.bytes_per_s
            # A message that is shorter than the burst does not show all of it; one that is much longer waits for more
            # than the link, as TCP's window opens.
            if size >= max(2 * burst, 16384):
                break
        return int(burst) if burst > 1024 else 0


def estimate(samples_ns: Sequence[float]) -> Estimate:
    """Median and its 95 % interval; outliers are beyond the quartiles by three times their distance, and stay in."""
    s = stats.summarize(samples_ns)
    ordered = sorted(samples_ns)
    low, high = ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]
    reach = 3 * (high - low)
    outliers = sum(not low - reach <= value <= high + reach for value in ordered)
    return Estimate(s.median * 1e-9, s.ci_low * 1e-9, s.ci_high * 1e-9, s.count, outliers)


def undisturbed(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """No message costs much more than a longer one: one that seems to was disturbed, and gets the longer one's time."""
    result: list[tuple[int, float]] = []
    least = math.inf
    for size, seconds in reversed(points):
        result.append((size, seconds if seconds <= DISTURBED * least else least))
        least = min(least, seconds)
    return result[::-1]


def with_jumps(points: Sequence[tuple[int, float]], least_s: float) -> list[tuple[int, float]]:
    """Where close sizes are far apart in time, the smaller one occurs twice: what is longer has the higher time.

    A jump is a message more on the way, so it takes at least `least_s`, the latency; what is less is a bend, or noise.
    """
    result = list(points[:1])
    for (a, before), (b, after) in itertools.pairwise(points):
        step = after - before * b / a if a > 0 else 0.0
        if a > 0 and b / a < CLOSE_SIZES and step > least_s and after / before > JUMP * b / a:
            result.append((a, after * a / b))
        result.append((b, after))
    return result


def at(curve: Sequence[tuple[int, float]], size: int) -> float:
    """Its value, as the profile defines it: lines between points, of two of a size the first; the last line goes on."""
    if size <= curve[0][0] or len(curve) == 1:
        return curve[0][1]
    for (a, before), (b, after) in itertools.pairwise(curve):
        if size <= b and b > a:
            return before + (after - before) * (size - a) / (b - a)
    steps = [(a, b) for a, b in itertools.pairwise(curve) if b[0] > a[0]]
    (a, before), (b, after) = steps[-1]
    return after + (after - before) * (size - b) / (b - a)


def collect(events: Sequence[Event], label: str) -> ClassCurves:
    """The curves of one label of the program's points; "LABEL rested", "LABEL held out" … go with it."""
    result = ClassCurves()
    for event in of_kind(events, "point", label):
        result.points[event["bytes"]] = {name: estimate(event[key]) for name, key in QUANTITIES.items()}
    for what, into in (
        ("rested", result.rested),
        ("held out", result.held_out),
        ("held out rested", result.held_out_rested),
    ):
        for event in of_kind(events, "point", f"{label} {what}"):
            into[event["bytes"]] = estimate(event["round_ns"])
    return result


def held_out_errors(curves: ClassCurves) -> list[dict[str, Any]]:
    """Round trips at sizes that the curves were not made from: predicted from the curves, and measured."""
    rows = []
    for name, curve, held in (
        ("busy link", "one_way", curves.held_out),
        ("rested link", "rested", curves.held_out_rested),
    ):
        if not held:
            continue
        source: Mapping[int, Any] = curves.points if curve == "one_way" else curves.rested
        first = source[min(source)]
        reply = (first["round"] if curve == "one_way" else first).median / 2
        for size, measured in sorted(held.items()):
            predicted = at(curves.curve(curve), size) + reply
            rows.append(
                {
                    "link": name,
                    "bytes": size,
                    "predicted_s": predicted,
                    "measured_s": measured.median,
                    "error": predicted / measured.median - 1,
                }
            )
    return rows


def widest_spreads(curves: ClassCurves) -> dict[str, float]:
    """How well each parameter is known: the median over sizes of half the confidence interval over the median."""
    return {
        name: statistics.median(point[name].spread for point in curves.points.values())
        for name in ("round", "os", "or", "g")
    }
