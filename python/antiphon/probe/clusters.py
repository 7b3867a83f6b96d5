# SPDX-License-Identifier: Apache-2.0
"""Finds the ranks of one node, by latency, and the nodes of one switch, by the bandwidth that they share."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

Pair = tuple[int, int]
Groups = list[list[int]]

#: The least factor between two levels of latency; a border between them must divide the ranks into groups.
LEVEL_RATIO = 1.8
#: Nodes on different switches get this much less, when all nodes talk in pairs, than those on one.
SHARED_LOSS = 0.2
#: With more nodes than this, a node that keeps the rate with one node of a switch counts as on that switch.
MANY_NODES = 96


def levels(latency_s: Mapping[Pair, float], least_ratio: float = LEVEL_RATIO) -> list[float]:
    """Latencies between which there are gaps, widest gap first: candidates for a border between near and far."""
    values = sorted(set(latency_s.values()))
    gaps = [(high / low, (low * high) ** 0.5) for low, high in itertools.pairwise(values) if low > 0]
    return [middle for ratio, middle in sorted(gaps, reverse=True) if ratio >= least_ratio]


def components(members: Iterable[int], near: Iterable[Pair]) -> Groups:
    """Members that are connected by near pairs, each group sorted, groups by their first member."""
    leader = {member: member for member in members}

    def find(member: int) -> int:
        while leader[member] != member:
            leader[member] = leader[leader[member]]
            member = leader[member]
        return member

    for a, b in near:
        leader[max(find(a), find(b))] = min(find(a), find(b))
    groups: dict[int, list[int]] = {}
    for member in sorted(leader):
        groups.setdefault(find(member), []).append(member)
    return sorted(groups.values())


def groupings(
    members: Sequence[int], latency_s: Mapping[Pair, float], least_ratio: float = LEVEL_RATIO
) -> Iterator[Groups]:
    """Groups whose members are much nearer to one another than to others, widest gap first.

    A border counts if the pairs below it form complete groups: all members of a group are near one another.
    """
    for border in levels(latency_s, least_ratio):
        near = [pair for pair, value in latency_s.items() if value < border]
        groups = components(members, near)
        inside = sum(len(group) * (len(group) - 1) // 2 for group in groups)
        if len(groups) > 1 and inside >= len(near) >= 0.9 * inside and near:
            yield groups


def sides(groups: Groups, latency_s: Mapping[Pair, float]) -> tuple[list[float], list[float]]:
    """Latencies of pairs inside groups, and of pairs between them."""
    home = {member: i for i, group in enumerate(groups) for member in group}
    inside = [value for (a, b), value in latency_s.items() if home[a] == home[b]]
    return inside, [value for (a, b), value in latency_s.items() if home[a] != home[b]]


def confirmed(groups: Groups, latency_s: Mapping[Pair, float]) -> bool:
    """Whether members of groups found by other means are nearer to one another: as a whole, not pair by pair."""
    inside, between = sides(groups, latency_s)
    return bool(inside and between and statistics.median(inside) < statistics.median(between) / LEVEL_RATIO)


def misfit(groups: Groups, latency_s: Mapping[Pair, float]) -> float:
    """How far pairs are from the median of their side, mean over all pairs, as the logarithm of the factor."""
    return statistics.fmean(
        abs(math.log(value / middle))
        for side in sides(groups, latency_s)
        if side and (middle := statistics.median(side)) > 0
        for value in side
        if value > 0
    )


def node_groups(
    members: Sequence[int], least_s: Mapping[Pair, float], bulk_s: Mapping[Pair, float], named: Groups
) -> Groups | None:
    """Ranks of a node, from round trips of short and of long messages; None if there is one level only.

    On busy machines single pairs are far from what they should be, so of all candidates, the hosts' names among them,
    the one that fits all pairs best is taken. Latency must agree with it: two switches differ in bulk alone. Names are
    evidence of their own: for them, either will do.
    """
    candidates = [*groupings(members, least_s)]
    candidates += [groups for groups in groupings(members, bulk_s) if confirmed(groups, least_s)]
    candidates += [named] if confirmed(named, least_s) or confirmed(named, bulk_s) else []
    fit = lambda groups: misfit(groups, least_s) + misfit(groups, bulk_s)  # noqa: E731
    return min(candidates, key=fit, default=None)


def switch_groups(members: Sequence[int], rate: Mapping[Pair, float]) -> Groups:
    """Nodes on one switch: pairs of them keep their rate when everybody talks.

    Average linkage suggests groups, few or many. Of those that lose enough to one another, the likeliest are taken.

    `rate`: bytes per second of each pair (a < b) while all nodes talked in pairs.
    """
    full = statistics.median(sorted(rate.values(), reverse=True)[: max(1, len(members) // 2)])
    if len(members) > MANY_NODES:
        return components(members, [pair for pair, value in rate.items() if value > (1 - SHARED_LOSS) * full])
    clipped = {pair: min(value / full, 1.0) for pair, value in rate.items()}
    suggested = [*_linked(members, clipped)]
    settled = [_settled(groups, clipped) for _, groups in suggested if 2 * len(groups) <= max(4, len(members))]
    likeliest = min([[sorted(members)], *settled], key=lambda groups: _unlikeliness(groups, clipped))
    if len(likeliest) > 1:
        return likeliest
    # A suggestion that proves nothing is still worth trials of its own.
    return next((groups for nearest, groups in suggested if nearest < 1 - SHARED_LOSS), likeliest)


def _linked(members: Sequence[int], rate: Mapping[Pair, float]) -> Iterator[tuple[float, Groups]]:
    """Groups by average linkage, ever fewer, down to two, each with the mean rate between its two nearest groups."""
    groups = {member: [member] for member in members}
    #: The sum of rates, and the number of pairs, between two groups, which are named by their first members.
    between = {pair: (rate.get(pair, 0.0), float(pair in rate)) for pair in itertools.combinations(sorted(members), 2)}

    def mean(pair: Pair) -> float:
        return between[pair][0] / max(1.0, between[pair][1])

    while len(groups) > 1:
        kept, gone = max(between, key=mean)
        yield mean((kept, gone)), sorted(sorted(group) for group in groups.values())
        groups[kept] += groups.pop(gone)
        del between[kept, gone]
        for other in groups:
            if other != kept:
                mine, its = (min(kept, other), max(kept, other)), (min(gone, other), max(gone, other))
                total, count = between.pop(its)
                between[mine] = (between[mine][0] + total, between[mine][1] + count)


def _settled(groups: Groups, rate: Mapping[Pair, float]) -> Groups:
    """Moves nodes to the group that they have the best rates with: linkage keeps two together that one pair joined."""
    home = {node: i for i, group in enumerate(groups) for node in group}
    for _ in home:
        moved = False
        for node, own in home.items():
            found: list[list[float]] = [[] for _ in groups]
            for other, at in home.items():
                if (pair := (min(node, other), max(node, other))) in rate:
                    found[at].append(rate[pair])
            best = max(range(len(groups)), key=lambda i: _mean(found[i]))
            if found[own] and best != own:
                home[node], moved = best, True
        if not moved:
            break
    return sorted(sorted(node for node, at in home.items() if at == i) for i in set(home.values()))


def _unlikeliness(groups: Groups, rate: Mapping[Pair, float]) -> float:
    """Akaike's criterion, with a mean inside and one for each two groups; infinite if these lose little."""
    home = {node: i for i, group in enumerate(groups) for node in group}
    inside: list[float] = []
    between: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for (a, b), value in rate.items():
        (inside if home[a] == home[b] else between[tuple(sorted((home[a], home[b])))]).append(value)
    parts = [inside, *between.values()]
    lost = [1 - _mean(part) / max(_mean(inside), 1e-9) for part in between.values()]
    if lost and (min(lost) < SHARED_LOSS / 2 or _mean(lost) < SHARED_LOSS):
        return math.inf
    squares = sum((value - mean) ** 2 for part in parts for mean in [_mean(part)] for value in part)
    return len(rate) * math.log(max(squares / len(rate), 1e-9)) + 2 * len(parts)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def switch_tree(capacity: Mapping[Pair, float], inflow: Mapping[int, float]) -> list[tuple[int | None, float]]:
    """Each switch's parent and the rate of the link to it, the first being the root.

    `capacity`: bytes per second between two switches alone; `inflow`: into one switch from all others at once. A switch
    that takes in more than any other alone can send it has several links, so it is in the middle. Where all are alike,
    the one in the middle has no nodes: it is added as the root, with the index len(inflow).
    """
    switches = sorted(inflow)
    if len(switches) == 1:
        return [(None, 0.0)]

    def between(a: int, b: int) -> float:
        return capacity[min(a, b), max(a, b)]

    widest = {s: max(between(s, other) for other in switches if other != s) for s in switches}
    middle = max(switches, key=lambda s: inflow[s] / widest[s])
    if len(switches) > 2 and inflow[middle] < 1.3 * widest[middle]:
        return [(len(switches), widest[s]) for s in switches] + [(None, 0.0)]
    root = middle if len(switches) > 2 else switches[0]
    return [(None, 0.0) if s == root else (root, between(s, root)) for s in switches]
