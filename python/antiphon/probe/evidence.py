# SPDX-License-Identifier: Apache-2.0
"""Tells whether nodes are on several switches, from measurements made for that question once there are candidates.

Noise makes groups of any nodes. So groups count only with evidence of their own: an uplink that binds under load in
repeated trials, or a latency step beyond the noise of both sides. Without, there is one switch.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.probe import clusters, plan
from antiphon.probe.clusters import Groups
from antiphon.probe.plan import Pair, Round
from antiphon.probe.session import Event, of_kind

#: Evidence less sure than this does not count.
SURE = 0.95
#: Streams between switches must lose at least this share of what as many streams within switches carry.
LOSS = clusters.SHARED_LOSS
#: A latency step is beyond the noise if it is this many times the spread of both sides, …
STEP_SPREADS = 3.0
#: … and this share of all pairs of latencies are in its order.
STEP_ORDER = 0.95
#: A candidate for a step: the least factor between the latencies below and above it.
STEP_RATIO = 1.02
#: More than this share of the nodes are dealt in turn.
MOSTLY = 0.75
#: The standard deviations beyond which an order is not chance.
WRONG_ORDER = -3.0


@dataclass(frozen=True)
class Finding:
    """Nodes by switch, how sure that is (None: not known), and by what."""

    groups: Groups
    confidence: float | None
    #: "none", "uplink", "latency", or "uplink and latency".
    evidence: str = "none"


def sureness(hits: int, trials: int) -> float:
    """Returns how sure it is that more than half of all trials would be hits (the sign test: it assumes no
    distribution).
    """
    return 1 - sum(math.comb(trials, k) for k in range(hits, trials + 1)) / 2**trials if trials else 0.0


def without_single_nodes(groups: Groups, rate: Mapping[Pair, float]) -> Groups:
    """Adds nodes that are alone to the group they have the best rate with: a slow node is not a switch."""
    groups = [list(group) for group in groups]
    while len(groups) > 1 and any(len(group) == 1 for group in groups):
        single = next(group for group in groups if len(group) == 1)
        groups.remove(single)
        node = single[0]

        def to(group: Sequence[int], node: int = node) -> float:
            known = [rate[min(node, b), max(node, b)] for b in group if (min(node, b), max(node, b)) in rate]
            return statistics.fmean(known) if known else 0.0

        best = max(groups, key=to)
        best[:] = sorted([*best, node])
    return sorted(groups)


def by_bandwidth(members: Sequence[int], rate: Mapping[Pair, float]) -> Groups:
    """Returns the groups that shared bandwidth suggests; one group: it suggests nothing."""
    return without_single_nodes(clusters.switch_groups(members, rate), rate)


def by_latency(members: Sequence[int], latency_s: Mapping[Pair, float]) -> Groups:
    """Returns the groups that latencies suggest; one group: they suggest nothing."""
    for groups in clusters.groupings(members, latency_s, STEP_RATIO):
        if min(len(group) for group in groups) > 1:
            return groups
    return [list(members)]


def trials(groups: Groups) -> dict[str, list[Round]]:
    """Returns what is to be measured: for each two groups, as many streams within them as between them."""
    rounds = {}
    for x, y in itertools.combinations(range(len(groups)), 2):
        inside = [pair for both in itertools.zip_longest(plan.neighbours(groups[x]), plan.neighbours(groups[y]))
                  for pair in both if pair is not None]  # fmt: skip
        between = plan.across(groups, x, y)
        count = min(len(inside), len(between))
        if count > 0:
            rounds[label(x, y)] = [inside[:count], between[:count]]
    return rounds


def label(x: int, y: int) -> str:
    """The label of trials with two groups."""
    return f"load {x} {y}"


def shares(events: Sequence[Event], of: str) -> list[float]:
    """Returns, for each repetition, the rate of the streams between the groups over that of those within."""
    rates: dict[int, dict[int, float]] = {}
    for event in of_kind(events, "pairs", of):
        values = [value for _, _, both in event["pairs"] for value in both if value > 0]
        rates.setdefault(event["repeat"], {})[event["round"]] = statistics.fmean(values) if values else 0.0
    return [found[1] / found[0] for found in rates.values() if len(found) == 2 and found[0] > 0]


def order(groups: Groups, latency_s: Mapping[Pair, float]) -> float:
    """Returns in which share of all comparisons a pair between groups is farther than one within them."""
    inside, between = clusters.sides(groups, latency_s)
    if not inside or not between:
        return 0.5
    return sum((b > a) + 0.5 * (b == a) for a in inside for b in between) / (len(inside) * len(between))


def deviations(groups: Groups, latency_s: Mapping[Pair, float]) -> float:
    """Returns by how many standard deviations that differs from chance (the rank-sum test)."""
    inside, between = clusters.sides(groups, latency_s)
    count = len(inside), len(between)
    return (order(groups, latency_s) - 0.5) * math.sqrt(12 * count[0] * count[1] / (sum(count) + 1))


def step_sureness(groups: Groups, latency_s: Mapping[Pair, float]) -> float:
    """Returns how sure a latency step between the groups is; 0 if it is within the noise of either side.

    The groups were chosen by the same latencies, so chance is counted once for each way to form such groups.
    """
    inside, between = clusters.sides(groups, latency_s)
    if len(inside) < 2 or len(between) < 2 or order(groups, latency_s) < STEP_ORDER:
        return 0.0
    step = statistics.median(between) - statistics.median(inside)
    if step < STEP_SPREADS * (_spread(inside) + _spread(between)):
        return 0.0
    chance = 0.5 * math.erfc(deviations(groups, latency_s) / math.sqrt(2))
    return max(0.0, 1 - chance * _ways(groups))


def _spread(values: Sequence[float]) -> float:
    """Returns the median distance from the median."""
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values)


def _ways(groups: Groups) -> float:
    """Returns in how many ways nodes can form groups of these sizes."""
    sizes = [len(group) for group in groups]
    logarithm = math.lgamma(sum(sizes) + 1) - sum(math.lgamma(size + 1) for size in sizes)
    logarithm -= sum(math.lgamma(sizes.count(size) + 1) for size in set(sizes))
    return math.exp(min(logarithm, 700.0))


def alternate(groups: Groups) -> bool:
    """Whether most nodes are dealt to the groups in turn, as they are to cores or hosts that they share."""
    members = sorted(node for group in groups for node in group)
    dealt = [set(members[i :: len(groups)]) for i in range(len(groups))]
    left, alike = [set(group) for group in groups], 0
    for hand in dealt:
        nearest = max(left, key=lambda group: len(group & hand))
        alike += len(nearest & hand)
        left.remove(nearest)
    return len(groups) > 1 and alike > MOSTLY * len(members)


@dataclass(frozen=True)
class Judge:
    """Weighs candidates with what else is known of the nodes."""

    latency_s: Mapping[Pair, float]
    #: Nodes run on the same cores: those that share one are slower, or nearer, together.
    share_cores: bool

    def by_load(self, groups: Groups, events: Sequence[Event]) -> Finding:
        """Joins the groups between which nothing binds, in trials of their own; says how sure the result is."""
        members = [node for group in groups for node in group]
        joined, refused, bound = [], [], []
        for x, y in itertools.combinations(range(len(groups)), 2):
            found = shares(events, label(x, y))
            hits = sum(share < 1 - LOSS for share in found)
            if sureness(hits, len(found)) >= SURE:
                bound.append(sureness(hits, len(found)))
            else:
                joined.append((x, y))
                refused.append(sureness(len(found) - hits, len(found)))
        parts = clusters.components(range(len(groups)), joined)
        result = sorted(sorted(node for x in part for node in groups[x]) for part in parts)
        if len(result) > 1 and self.possible(result):
            return Finding(result, min(bound), "uplink")
        return Finding([sorted(members)], min(refused, default=0.0))

    def possible(self, groups: Groups) -> bool:
        """Whether latencies and cores allow these switches: none is faster across switches, and where nodes are dealt
        to them in turn, there is a step that shared cores do not explain.
        """
        if deviations(groups, self.latency_s) < WRONG_ORDER:
            return False
        return not alternate(groups) or (not self.share_cores and step_sureness(groups, self.latency_s) >= SURE)

    def decide(self, suggested: Groups, by_step: Groups, events: Sequence[Event]) -> Finding | None:
        """Returns what the evidence says of the candidates; None if there were none."""
        loaded = self.by_load(suggested, events) if len(suggested) > 1 else None
        if loaded and len(loaded.groups) > 1:
            step = step_sureness(loaded.groups, self.latency_s) >= SURE
            return Finding(loaded.groups, loaded.confidence, "uplink and latency" if step else "uplink")
        step_sure = step_sureness(by_step, self.latency_s) if len(by_step) > 1 else 0.0
        if step_sure >= SURE and self.possible(by_step):
            return Finding(by_step, step_sure, "latency")
        return loaded


def one_switch(members: Sequence[int], passes: int) -> Finding:
    """Without a candidate, as a whole or in any of so many passes over all pairs; few nodes can tell nothing."""
    return Finding([sorted(members)], sureness(passes, passes) if passes and len(members) > 3 else None)
