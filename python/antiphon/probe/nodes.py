# SPDX-License-Identifier: Apache-2.0
"""Finds the ranks of each node: by round trips between all pairs, or, of very many ranks, by the hosts' names, which
round trips between some pairs confirm.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from antiphon.errors import AntiphonError
from antiphon.probe import clusters, plan
from antiphon.probe.clusters import Groups
from antiphon.probe.plan import Pair, Round
from antiphon.probe.session import Event, RecordedSession, Session, of_kind, pair_samples

BULK_BYTES = 32768
#: With more ranks than these, pairs are measured less often, and not all of them.
FEW_RANKS, MANY_RANKS = 32, 128


@dataclass
class Found:
    """Who takes part, and the ranks by node: nodes are numbered in the order of their first ranks."""

    identity: Event
    nodes: Groups
    latency_s: dict[Pair, float]
    least_s: dict[Pair, float]
    notes: list[str] = field(default_factory=list)


def find(session: Session | RecordedSession) -> Found:
    """Measures in one launch, or, with many ranks, in two: which pairs of these tell most depends on the hosts."""
    many = session.ranks > MANY_RANKS
    events = session.run([plan.task("identify"), *([] if many else _round_trips(session))])
    identity = of_kind(events, "identity")[0]
    session.ranks = int(identity["ranks"])
    if session.ranks < 2:
        raise AntiphonError("one rank cannot measure a network", hint="give at least two with -n, or a hostfile")
    named = _by_name(identity["hosts"])
    if not of_kind(events, "pairs"):  # samples of before have all pairs of however many ranks
        events = session.run(_round_trips(session, rounds=plan.rounds_text(_sample(named))))
    samples = pair_samples(events, "latency")
    latency_s = {pair: statistics.median(values) / 2e9 for pair, values in samples.items()}
    # The least of many tries is the network's time; the rest is waiting for a processor.
    least_s = {pair: min(values) / 2e9 for pair, values in samples.items()}
    bulk_s = {pair: min(values) / 2e9 for pair, values in pair_samples(events, "bulk").items()}
    groups, notes = _nodes(session.ranks, least_s, bulk_s, named)
    return Found(identity, groups, latency_s, least_s, notes)


def _round_trips(session: Session | RecordedSession, **which: object) -> list[str]:
    """Tasks with short and with long messages, between all pairs or in the `rounds` given."""
    ranks = session.ranks
    reps = 3 if ranks > MANY_RANKS else 12
    often = {"reps": reps, "repeat": 1 if ranks > FEW_RANKS else 2, "budget": 0.05 * session.budget_s}
    return [
        # The first round does not count: connections are made at the first message.
        plan.task("round_trips", label="warm", reps=1, **which),
        plan.task("round_trips", label="latency", at_once=max(1, ranks // 12), **often, **which),
        # Ranks that share memory also move long messages faster, however busy the processors are.
        plan.task("round_trips", label="bulk", bytes=BULK_BYTES, reps=3, **which),
    ]


def _by_name(hosts: Sequence[str]) -> Groups:
    """The ranks of each host, in the order of the first ones."""
    groups: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        groups.setdefault(host, []).append(rank)
    return list(groups.values())


def _sample(named: Groups) -> list[Round]:
    """All pairs of the hosts' first ranks, and all within the first host, as far as a command line takes them."""
    both = itertools.zip_longest(plan.all_rounds([group[0] for group in named]), plan.all_rounds(named[0]))
    rounds = [one for pair in both for one in pair if one]
    ends = itertools.accumulate(len(plan.pairs_text(one)) + 1 for one in rounds)
    return [one for one, end in zip(rounds, ends, strict=True) if end <= plan.COMMAND_LINE_BYTES]


def _nodes(
    ranks: int, least_s: Mapping[Pair, float], bulk_s: Mapping[Pair, float], named: Groups
) -> tuple[Groups, list[str]]:
    """The groups, and what is to be said of them."""
    members = sorted({rank for pair in least_s for rank in pair})
    measured = set(members)
    seen = [own for group in named if (own := [rank for rank in group if rank in measured])]
    found = clusters.node_groups(members, least_s, bulk_s, seen)
    if found is None:
        # One level only: all on one node, or each on its own. Latency alone cannot tell which.
        found = [members] if len(named) == 1 else [[rank] for rank in members]
    sampled = len(least_s) < ranks * (ranks - 1) // 2
    groups = named if sampled else found
    if found == seen:
        return groups, []
    follows = "names, as not all pairs of so many ranks were measured" if sampled else "latency"
    who = f"{len(members)} of the ranks are on {len(found)} nodes" if sampled else f"there are {len(found)} nodes"
    return groups, [f"by latency {who}, by their names {len(seen)}: the profile follows the {follows}"]
