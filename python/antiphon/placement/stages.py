# SPDX-License-Identifier: Apache-2.0
"""Collectives predicted message after message: what the sum of all messages cannot tell.

A gather along a tree brings as many bytes to every link in block as in cyclic order; but who passes on half of all
blocks had better be near the root. So placements that cost the same by the sum are judged by the model of schedules,
where there are roots; in exchanges among all, measured times follow the sum better (docs/measurements/placement.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from antiphon import core
from antiphon.traffic.graph import Made, Part

ROOTED = ("bcast", "scatter", "gather", "reduce")
#: Larger communicators' collectives count by the sum of their messages.
MOST_RANKS = 256
#: Of the different calls of a kind (sizes, roots), so many stand for all.
MOST_CALLS = 16
#: Predictions that trying regular orders may take, at 64 ranks.
MOST_PREDICTIONS = 400
#: Regular orders that are tried.
MOST_ORDERS = 80


class Stages:
    """Asks the model of one profile; what was asked before is known."""

    def __init__(self, profile: str, nodes: Sequence[int]) -> None:
        self._profile = profile
        #: The profile's number of each node of the machine.
        self._nodes = nodes
        self._known: dict[tuple[object, ...], float | None] = {}

    def seconds(self, part: Part, node_of_rank: Sequence[int]) -> float | None:
        """What a part's calls take; None where the model cannot say."""
        if part.name not in ROOTED:
            return None
        total = 0.0
        for made, calls in sampled(part.made):
            one = self.call(made, node_of_rank)
            if one is None:
                return None
            total += calls * one
        return total if part.made else None

    def call(self, made: Made, node_of_rank: Sequence[int]) -> float | None:
        """One call of them."""
        nodes = tuple(self._nodes[node_of_rank[m]] for m in made.members)
        key = (made.call, made.schedule, nodes)
        if made.call.ranks > MOST_RANKS or made.call.counts is not None:
            return None
        if key not in self._known:
            self._known[key] = self._predicted(made, nodes)
        return self._known[key]

    def _predicted(self, made: Made, nodes: tuple[int, ...]) -> float | None:
        call = made.call
        request = {"collective": call.collective, "ranks": call.ranks, "bytes": [call.bytes], "root": call.root}
        request |= {"element_bytes": call.element_bytes, "node_of_rank": list(nodes), "choices": [made.schedule]}
        try:
            found = core.query("predict", profile=self._profile, **request)["sizes"][0]["candidates"]
        except core.CoreError:  # too many messages to go through
            return None
        return float(found[0]["seconds"]) if found else None


def sampled(made: Sequence[Made]) -> Iterator[tuple[Made, float]]:
    """Few enough, each with the calls that it stands for; the same ones whatever the placement."""
    ordered = sorted(made, key=lambda m: (m.call.bytes, m.call.root, m.members))
    step = -(-len(ordered) // MOST_CALLS) or 1
    for first in range(0, len(ordered), step):
        group = ordered[first : first + step]
        yield group[len(group) // 2], float(sum(m.calls for m in group))


def regular_orders(ranks: int, most: int) -> Iterator[list[int]]:
    """Ranks in the order of their numbers' bits, some of them moved to the low end: those that then differ only there
    share a node. And another bit to the high end: it parts the machine's halves."""
    bits = (ranks - 1).bit_length()
    seen: set[tuple[int, ...]] = set()
    tried = 0
    for width in range(1, bits):
        for low in range(bits - width + 1):
            for high in range(bits):
                if low <= high < low + width:
                    continue
                rest = [b for b in range(bits) if b != high and not low <= b < low + width]
                order = (*range(low, low + width), *rest, high)
                if order in seen or order == tuple(range(bits)):
                    continue
                seen.add(order)
                tried += 1
                if tried > most:
                    return
                yield sorted(range(ranks), key=lambda r: sum((r >> b & 1) << i for i, b in enumerate(order)))  # noqa: B023
