# SPDX-License-Identifier: Apache-2.0
"""Collectives predicted message by message, which shows what the sum of all messages cannot.

A gather along a tree brings as many bytes to every link in block as in cyclic order; but who passes on half of all
blocks had better be near the root. So placements that cost the same by the sum are judged by the model of schedules,
where there are roots; in exchanges among all, measured times follow the sum better (docs/measurements/placement.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from antiphon import core
from antiphon.traffic.decompose import DIRECT
from antiphon.traffic.graph import Made, Part

ROOTED = ("bcast", "scatter", "gather", "reduce")
#: Larger communicators' collectives count by the sum of their messages.
MOST_RANKS = 256
#: How many of the different calls of a kind (sizes, roots) stand for all of them.
MOST_CALLS = 16
#: The same where ranks do not come at once: such a prediction takes longer.
MOST_RANKS_LATE = 128
MOST_CALLS_LATE = 4
#: Ranks come from this barrier one after another: the last message of several rounds releases each.
BARRIER = "dissemination"
#: Predictions that trying regular orders may take, at 64 ranks.
MOST_PREDICTIONS = 400
#: Regular orders that are tried.
MOST_ORDERS = 80


class Stages:
    """Asks the model of one profile, and remembers its answers."""

    #: Before each call; None: all begin at once.
    barrier: str | None = None

    def __init__(self, profile: str, nodes: Sequence[int]) -> None:
        self._profile = profile
        #: The profile's number of each node of the machine.
        self._nodes = nodes
        self._known: dict[tuple[object, ...], float | None] = {}

    def seconds(self, part: Part, node_of_rank: Sequence[int]) -> float | None:
        """The time of a part's calls; None where the model has no prediction."""
        if part.name not in ROOTED:
            return None
        return self._sum(sampled(part.made), node_of_rank)

    def _sum(self, made: Iterator[tuple[Made, float]], node_of_rank: Sequence[int]) -> float | None:
        total = None
        for one, calls in made:
            seconds = self.call(one, node_of_rank)
            if seconds is None:
                return None
            total = (total or 0.0) + calls * seconds
        return total

    def call(self, made: Made, node_of_rank: Sequence[int]) -> float | None:
        """The time of one of these calls."""
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
        request |= {"barrier": self.barrier} if self.barrier else {}
        try:
            found = core.query("predict", profile=self._profile, **request)["sizes"][0]["candidates"]
        except core.CoreError:  # too many messages to go through
            return None
        return float(found[0]["seconds"]) if found else None


class Late(Stages):
    """The same, of calls to which ranks come one after another, as they do in programs, and the links not rested."""

    barrier = BARRIER

    def seconds(self, part: Part, node_of_rank: Sequence[int]) -> float | None:
        """Also without a root, but not what goes from all to all at once, which overflows wherever ranks are."""
        if any(m.call.ranks > MOST_RANKS_LATE or m.schedule.partition(":")[0] in DIRECT for m in part.made):
            return super().seconds(part, node_of_rank)
        return self._sum(sampled(part.made, MOST_CALLS_LATE), node_of_rank)


def sampled(made: Sequence[Made], most: int = MOST_CALLS) -> Iterator[tuple[Made, float]]:
    """Few enough, each with the calls that it stands for; the same ones whatever the placement."""
    ordered = sorted(made, key=lambda m: (m.call.bytes, m.call.root, m.members))
    step = -(-len(ordered) // most) or 1
    for first in range(0, len(ordered), step):
        group = ordered[first : first + step]
        yield group[len(group) // 2], float(sum(m.calls for m in group))


def _with_bits_in(order: Sequence[int], rank: int) -> int:
    """The rank's number with its bits moved: order[i] becomes bit i."""
    return sum((rank >> bit & 1) << i for i, bit in enumerate(order))


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
                yield sorted(range(ranks), key=partial(_with_bits_in, order))
