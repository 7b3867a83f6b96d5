# SPDX-License-Identifier: Apache-2.0
"""The probe itself: latencies, then bandwidths between nodes, then the rest, each planned from what came before."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from antiphon.probe import clusters, evidence, host, nodes, plan
from antiphon.probe.clusters import Groups
from antiphon.probe.evidence import Finding, Judge
from antiphon.probe.session import Event, Pair, RecordedSession, Session, directed_medians, of_kind, pair_samples

#: Long enough for TCP to find its rate and for pairs to be at it together, in pieces that no port's buffer minds.
STREAM = {"bytes": 262144, "piece": 8192, "window": 2}
CURVE_SIZES = (0, 64, 1024, 4096, 16384, 65536, 262144, 1048576)
RESTED_SIZES = (0, 1024, 4096, 8192, 16384, 32768, 65536, 262144)
HELD_OUT_SIZES = (3000, 24000, 100000, 400000)
HELD_OUT_RESTED_SIZES = (2500, 10000, 24000, 50000)
#: The share of the time for each part; scaled to the time that is left.
SHARES = {
    "switch": 16,
    "uplink": 10,
    "node": 5,
    "socket": 4,
    "rested": 3.5,
    "held out": 4,
    "incast": 7,
    "uplink incast": 9,
    "all_to_all": 5,
    "concurrency": 3,
    "turns": 0.1,
    "shared": 0.2,
    "crowd": 0.6,
    "full": 1,
    "streams": 2,
    "host": 0.4,
}
#: Through shared memory; copied or fetched, and one of them from some size on.
SHARED_SIZES = (0, 64, 1024, 4096, 8192, 16384, 32768, 65536, 262144, 1048576)
#: Ranks that may share memory.
NEAR_SCOPES = ("core", "socket", "node")
#: While all ranks send: between nodes what the wire lets pass at once, within a node what is fetched, too.
CROWD_SIZES = {"switch": (0, 64, 256), "node": (0, 64, 256, 1024, 4096, 16384)}
#: … and what keeps all ports full.
FULL_SIZES = (16384,)
FULL_STEPS = 24
#: How often candidates for switches are tried, as far as this share of the time allows.
TRIALS, TRIALS_SHARE = 15, 0.1
#: Share of the time for overruns of single experiments, launches and computing.
USABLE = 0.9


@dataclass
class Survey:
    """The findings of a probe, from which the profile is made."""

    identity: Event = field(default_factory=dict)
    latency_s: dict[Pair, float] = field(default_factory=dict)
    least_s: dict[Pair, float] = field(default_factory=dict)
    #: Ranks by node; nodes are numbered in the order of their first ranks, which stand for them.
    nodes: Groups = field(default_factory=list)
    #: Nodes' first ranks by switch, how sure that is, and by what.
    switches: Groups = field(default_factory=list)
    confidence: float | None = None
    evidence: str = "none"
    rate: dict[Pair, float] = field(default_factory=dict)
    crowded_rate: dict[Pair, float] = field(default_factory=dict)
    uplink_rate: dict[Pair, float] = field(default_factory=dict)
    inflow: dict[int, float] = field(default_factory=dict)
    scopes: dict[str, plan.Round] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    #: Parts of each node whose ranks are nearer to one another, if all are equally large.
    sockets_per_node: int = 0

    @property
    def cores(self) -> int:
        """Those that the first rank and the others under its kernel may run on, together."""
        who = self.identity
        if "cores" in who:  # samples of before
            return int(who["cores"][0])
        allowed: set[int] = set()
        for kernel, cores in zip(who["kernels"], who["allowed_cores"], strict=True):
            if kernel == who["kernels"][0]:
                for part in cores.split(","):
                    first, _, last = part.partition("-")
                    allowed.update(range(int(first), int(last or first) + 1))
        return len(allowed)

    @property
    def machine_cores(self) -> int:
        """All that the first rank's machine has, wherever its ranks are bound to."""
        return int(self.identity.get("machine_cores", self.cores))

    @property
    def physical_cores(self) -> int:
        """Those of the node with the fewest, wherever ranks are bound to; 0: not known, as of samples of before."""
        return int(self.identity.get("physical_cores", 0))

    @property
    def nodes_sharing(self) -> int:
        """Nodes under one kernel."""
        hosts, kernels = self.identity["hosts"], self.identity["kernels"]
        return max(len({hosts[i] for i, k in enumerate(kernels) if k == kernel}) for kernel in set(kernels))

    @property
    def ranks_per_core(self) -> float:
        return self.ranks_on_core(self.nodes_sharing)

    def ranks_on_core(self, nodes: int) -> float:
        """With ranks on so many of the nodes that share cores."""
        return nodes * max(len(group) for group in self.nodes) / self.cores

    @property
    def heads(self) -> list[int]:
        """One rank of each node."""
        return [group[0] for group in self.nodes]


def measure(session: Session | RecordedSession) -> Survey:
    """Three launches: groups of near ranks, nodes that share a switch, and all parameters."""
    survey = Survey()
    _find_nodes(session, survey)
    if len(survey.nodes) > 1:
        _find_switches(session, survey)
    _parameters(session, survey)
    return survey


def _find_nodes(session: Session | RecordedSession, survey: Survey) -> None:
    found = nodes.find(session)
    survey.identity, survey.nodes, survey.notes = found.identity, found.nodes, [*survey.notes, *found.notes]
    survey.latency_s, survey.least_s = found.latency_s, found.least_s


def _find_switches(session: Session | RecordedSession, survey: Survey) -> None:
    heads = survey.heads
    rounds = plan.shuffled_rounds(heads, seed=1, times=3 if len(heads) > 2 else 1)
    # All pairs of very many nodes would neither fit a command line nor the time: then a sample of them.
    rounds = rounds[: max(8, plan.COMMAND_LINE_BYTES // (10 * len(heads)))]
    events = session.run(
        [
            plan.task("streams", label="warm", rounds=plan.rounds_text(plan.all_rounds(heads)[:3]), **STREAM),
            plan.task("streams", label="crowded", rounds=plan.rounds_text(rounds), **STREAM),
        ]
    )
    survey.crowded_rate = directed_medians(events, "crowded")
    # Pairs that share a link do not meet on it each time, and now and then anything is slow: the lower quartile.
    rates = {pair: sorted(found)[len(found) // 4] for pair, found in pair_samples(events, "crowded").items()}
    whole = evidence.by_bandwidth(heads, rates)
    passes = [evidence.by_bandwidth(heads, own) for own in _passes(events, len(heads))]
    suggested = next((groups for groups in [whole, *passes] if len(groups) > 1), whole)
    least = {pair: value for pair, value in survey.least_s.items() if set(pair) <= set(heads)}
    judge = Judge(least, survey.nodes_sharing > 1)
    wanted = evidence.trials(suggested)
    if wanted and not session.has_label(*wanted):  # samples of before, when the first impression was all
        found: Finding | None = Finding(whole, None)
    else:
        found = judge.decide(suggested, evidence.by_latency(heads, least), _trials(session, wanted))
    found = found or evidence.one_switch(heads, len(passes))
    survey.switches, survey.confidence, survey.evidence = found.groups, found.confidence, found.evidence
    if len(whole) > len(found.groups):
        survey.notes.append(
            f"bandwidth suggested {len(whole)} switches; trials show no link between them that binds, so there is "
            f"{'one' if len(found.groups) == 1 else len(found.groups)}"
        )


def _trials(session: Session | RecordedSession, rounds: Mapping[str, Sequence[plan.Round]]) -> list[Event]:
    """Measures streams within the switches that were suggested, and between them, in turn."""
    if not rounds:
        return []
    often = {"repeat": TRIALS, "budget": TRIALS_SHARE * session.budget_s / len(rounds)}
    return session.run(
        [
            plan.task("streams", label=label, rounds=plan.rounds_text(pairs), **often, **STREAM)
            for label, pairs in rounds.items()
        ]
    )


def _passes(events: Sequence[Event], nodes: int) -> list[dict[Pair, float]]:
    """The rates of each pass over all pairs by itself."""
    rounds = nodes - 1 + nodes % 2
    passes: dict[int, list[Event]] = defaultdict(list)
    for event in of_kind(events, "pairs", "crowded"):
        passes[event["round"] // rounds].append(event)
    whole = [own for own in passes.values() if len({event["round"] for event in own}) == rounds]
    return [{pair: min(values) for pair, values in pair_samples(own, "crowded").items()} for own in whole]


def _parameters(session: Session | RecordedSession, survey: Survey) -> None:
    survey.scopes = _scopes(survey)
    left_s = USABLE * (session.budget_s - session.elapsed_s) - 1.5
    parts = _parts(survey)
    weight = sum(SHARES[share] for share, _, _ in parts)
    unit = max(left_s, 0.2 * session.budget_s) / weight
    events = session.run([plan.task(name, **values, budget=unit * SHARES[share]) for share, name, values in parts])
    _take_rates(survey, events)


def _scopes(survey: Survey) -> dict[str, plan.Round]:
    """Classes of links, and the pairs of each that will measure: none of them disturbs another."""
    scopes: dict[str, plan.Round] = {}
    parts = _parts_of_nodes(survey)
    if parts:
        scopes["socket"] = [pair for node in parts for part in node for pair in plan.neighbours(part)[:1]]
        scopes["node"] = [(node[0][0], node[1][0]) for node in parts]
        if len({len(part) for node in parts for part in node}) == 1:
            survey.sockets_per_node = len(parts[0])
    elif any(len(group) > 1 for group in survey.nodes):
        scopes["node"] = [pair for group in survey.nodes for pair in plan.neighbours(group)[:1]]
    if len(survey.nodes) > 1:
        on_switch = [pair for group in survey.switches for pair in plan.neighbours(group)]
        if on_switch:
            scopes["switch"] = on_switch
        if len(survey.switches) > 1:
            # Links between switches may be shared: one pair over each.
            firsts = [group[0] for group in survey.switches]
            scopes["uplink"] = plan.neighbours(firsts)
    return scopes


def _parts_of_nodes(survey: Survey) -> list[Groups] | None:
    """Ranks of a node that are nearer to one another than to the rest of it (sockets), if all are divided alike."""
    found: list[Groups] = []
    for group in survey.nodes:
        members = set(group)
        own = {pair: value for pair, value in survey.least_s.items() if members.issuperset(pair)}
        if found and not own and len(group) == len(survey.nodes[0]):
            # Of many ranks only the first node's pairs are measured: the others have the same places.
            found.append([[group[survey.nodes[0].index(rank)] for rank in part] for part in found[0]])
            continue
        parts = next(clusters.groupings(group, own), None) if len(group) >= 4 else None
        if parts is None or min(len(part) for part in parts) < 2:
            return None
        found.append(parts)
    alike = len({tuple(len(part) for part in parts) for parts in found}) == 1
    return found if alike else None


Part = tuple[str, str, dict[str, object]]


def _parts(survey: Survey) -> list[Part]:
    """(share, experiment, values) of all that is measured in the last launch."""
    parts: list[Part] = []
    for scope, pairs in survey.scopes.items():
        parts.append((scope, "curves", {"label": scope, "pairs": plan.pairs_text(pairs), "sizes": CURVE_SIZES}))
        held = {"pairs": plan.pairs_text(pairs), "refine": 0}
        if scope in ("switch", "uplink"):
            parts += [
                (
                    "rested",
                    "curves",
                    {"label": f"{scope} rested", **held, "refine": 1, "pause_us": 3000, "sizes": RESTED_SIZES},
                ),
                ("held out", "curves", {"label": f"{scope} held out", **held, "pause_us": 0, "sizes": HELD_OUT_SIZES}),
                (
                    "rested",
                    "curves",
                    {"label": f"{scope} held out rested", **held, "pause_us": 3000, "sizes": HELD_OUT_RESTED_SIZES},
                ),
            ]
    near = next((scope for scope in NEAR_SCOPES if scope in survey.scopes), None)
    if near is not None:
        node_of = {rank: index for index, group in enumerate(survey.nodes) for rank in group}
        told = {"pairs": plan.pairs_text(survey.scopes[near][:1]), "nodes": [node_of[rank] for rank in sorted(node_of)]}
        parts.append(("shared", "shared", {**told, "sizes": SHARED_SIZES}))
    parts.append(("turns", "turns", {}))
    if survey.ranks_per_core > 1 and survey.nodes_sharing == len(survey.nodes):
        parts += [("turns", "turns", {"awake": awake}) for awake in plan.fewer(survey.nodes)]
    for scope, crowd in plan.crowds(survey.nodes).items() if survey.ranks_per_core > 1 else ():
        parts.append(("crowd", "crowd", {"label": scope, **crowd.values, "sizes": CROWD_SIZES[scope]}))
        if scope == "switch":
            full = {"label": "full", **crowd.values, "sizes": FULL_SIZES, "steps": FULL_STEPS}
            parts.append(("full", "crowd", full))
    heads = survey.heads
    if len(heads) > 1:
        parts += _between_nodes(survey, heads)
    return parts


def _between_nodes(survey: Survey, heads: Sequence[int]) -> list[Part]:
    parts: list[Part] = []
    rate = statistics.median(survey.crowded_rate.values())
    group = max(survey.switches, key=len)
    if len(group) > 2:
        parts.append(("incast", "incast", {"receivers": group[:1], "senders": group[1:], "rate": rate}))
    counts = sorted({count for count in (2, 4, 8, 16, 32, 64, len(heads)) if 2 < count <= len(heads)} or {2})
    parts.append(("all_to_all", "all_to_all", {"members": heads, "counts": counts, "sizes": (1024, 16384, 65536)}))
    for label, flows in host.patterns(survey.nodes, group).items():
        parts.append(("host", "flows", {"label": label, "flows": plan.pairs_text(flows), **host.STREAM}))
    if len(heads) > 2:
        parts.append(("concurrency", "concurrency", {"members": heads, "sizes": (1024, 16384, 65536)}))
    return parts + _over_uplinks(survey)


def uplink_label(x: int, y: int) -> str:
    """The label of measurements between two switches."""
    return f"uplink {x} {y}"


def _over_uplinks(survey: Survey) -> list[Part]:
    """Streams between switches: alone, as many as there can be at once, and into one switch from all others."""
    groups = survey.switches
    if len(groups) < 2:
        return []
    parts: list[Part] = []
    crossing = [(a, b) for x, y in itertools.combinations(groups, 2) for a in x for b in y]
    some = crossing[:: max(1, len(crossing) // 64)]
    parts.append(
        ("streams", "streams", {**STREAM, "label": "alone", "rounds": plan.rounds_text([[pair] for pair in some])})
    )
    careful = {"bytes": 262144, "piece": 8192, "window": 1, "repeat": 3}
    for x, y in itertools.combinations(range(len(groups)), 2):
        pairs = plan.across(groups, x, y)
        parts.append(
            ("streams", "streams", {**careful, "label": uplink_label(x, y), "rounds": plan.rounds_text([pairs])})
        )
    # Of each switch one link. Short messages from each to each: a window that is still small holds none of them back.
    for x, y in itertools.pairwise(range(len(groups))):
        pairs = plan.across(groups, x, y)
        senders, receivers = zip(*pairs, strict=True)
        # Each sends to one rank, then each to the next one, and so on.
        flows = [pair for i in range(len(pairs)) for pair in zip(senders, receivers[i:] + receivers[:i], strict=True)]
        senders, receivers = zip(*flows, strict=True)
        told = {"label": uplink_label(x, y), "senders": senders, "receivers": receivers, "least": len(flows)}
        shared = len(pairs) * min(survey.crowded_rate.values())
        parts.append(("uplink incast", "incast", {**told, "rate": shared}))
    for x in range(len(groups)) if len(groups) > 2 else []:
        others = list(
            itertools.chain.from_iterable(itertools.zip_longest(*(g for i, g in enumerate(groups) if i != x)))
        )
        pairs = list(zip([rank for rank in others if rank is not None], groups[x], strict=False))
        parts.append(("streams", "streams", {**careful, "label": f"into {x}", "rounds": plan.rounds_text([pairs])}))
    return parts


def _take_rates(survey: Survey, events: Sequence[Event]) -> None:
    """Rates of pairs where nothing else disturbed them, and what the links between switches carry in all."""
    survey.rate = {**survey.crowded_rate, **directed_medians(events, "alone")}
    groups = survey.switches
    same = {rank: i for i, group in enumerate(groups) for rank in group}
    alone = directed_medians(events, "alone")
    if len(groups) > 1:
        survey.rate = {
            pair: value for pair, value in survey.rate.items() if pair in alone or same[pair[0]] == same[pair[1]]
        }
    for x, y in itertools.combinations(range(len(groups)), 2):
        survey.uplink_rate[x, y] = _together(events, uplink_label(x, y))
    for x in range(len(groups)):
        survey.inflow[x] = _together(events, f"into {x}") if len(groups) > 2 else survey.uplink_rate.get((0, 1), 0.0)


def _together(events: Sequence[Event], label: str) -> float:
    """Bytes per second of all streams of a label together: as many times the harmonic mean as there are streams."""
    rates = [statistics.median(values) for values in pair_samples(events, label).values()]
    return len(rates) * statistics.harmonic_mean(rates) if rates else 0.0
