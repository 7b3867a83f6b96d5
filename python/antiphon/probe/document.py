# SPDX-License-Identifier: Apache-2.0
"""Makes the profile document of a survey's findings (docs/reference/profile.md)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antiphon import __version__, profile
from antiphon.probe import clusters, contention, curves, host, multicast
from antiphon.probe.curves import ClassCurves
from antiphon.probe.session import Event, of_kind
from antiphon.probe.survey import NEAR_SCOPES, Survey, uplink_label

NAMES = {
    "core": "same core",
    "socket": "same socket",
    "node": "same node",
    "switch": "same switch",
    "uplink": "across switches",
}
#: In vain, per message sent and received: two, unless ranks wait for the wire.
MOST_LOOKS = 2.0
#: Of a core's time. With more left packets hold nobody up, and it matters more what a look costs than what they do.
MOST_IDLE = 0.5
#: A link between switches is no bottleneck if it carries this share of the bytes that its pairs could send.
NO_BOTTLENECK = 0.9


def rounded(seconds: float) -> float:
    """The value with four digits, which is more than the precision of the measurements."""
    return float(f"{seconds:.4g}")


def build(survey: Survey, events: list[Event], source: Mapping[str, Any]) -> dict[str, Any]:
    """The whole document, without decisions. `source`: created, name, mpi and codecs, as the samples are kept with."""
    classes = {scope: curves.collect(events, scope) for scope in survey.scopes}
    outer = classes.get("switch") or classes.get("uplink")
    widest = outer or next(iter(classes.values()))
    hosts = host.rates(events, widest.bytes_per_s, survey.nodes_sharing > 1)
    port = max(widest.bytes_per_s, hosts.port if hosts.connection_way else 0.0)
    limits = host.profile_fields(hosts)
    document: dict[str, Any] = {
        "format": "antiphon-profile",
        "version": 1,
        "created": source["created"],
        "tool": f"antiphon {__version__}",
        "machine": machine(survey, source),
        "link_classes": link_classes(survey, events, classes, limits["link"]),
        "topology": topology(survey, events, port, widest.burst_bytes),
    }
    if "uplink" in classes:
        keep_order(document["link_classes"], survey.notes)
    document["processors"] = processors(survey, events) | limits["processors"]
    if outer is not None:
        document["contention"] = contended(events, outer, port, survey.notes)
        concurrency = contention.concurrency(events)
        if concurrency is not None:
            document["concurrency"] = concurrency
        latency_s = on_the_way_s(survey, events, document["link_classes"][-1])
        heard = multicast.describe(source.get("multicast"), latency_s, survey.ranks_per_core)
        if heard is not None:
            document["multicast"] = heard
    if source.get("codecs"):
        document["codecs"] = source["codecs"]
    document["measurements"] = quality(survey, classes, events)
    return document


def link_classes(
    survey: Survey, events: list[Event], classes: Mapping[str, ClassCurves], limits: dict[str, float]
) -> list[dict[str, Any]]:
    """The classes of links; `limits` are those of connections between nodes."""
    return [
        link_class(
            scope,
            found,
            eager_limit(scope, classes),
            crowded(survey, events, scope),
            saturated(survey, events, scope),
            told_next_turn(survey, events, scope),
            shared_memory(events) if scope in NEAR_SCOPES else {},
        )
        | (limits if scope in ("switch", "uplink") else {})
        for scope, found in classes.items()
    ]


def machine(survey: Survey, source: Mapping[str, Any]) -> dict[str, Any]:
    """Whose profile this is."""
    who = survey.identity
    sizes = {len(group) for group in survey.nodes}
    return {
        "name": source["name"],
        "nodes": len(survey.nodes),
        "ranks_per_node": max(sizes),
        "mpi": source["mpi"],
        "fingerprint": fingerprint(who, source["mpi"]["name"]),
        "details": {
            "library": who["library"],
            "hosts": [who["hosts"][rank] for rank in survey.heads],
            "cpu_models": sorted(set(who["cpu_models"])),
            "ranks": who["ranks"],
        },
    }


def fingerprint(identity: Event, mpi: str) -> str:
    """Tells the machine from others, by what its ranks say of themselves."""
    cores = Survey(identity).machine_cores
    return profile.fingerprint(mpi=mpi, cpu_model=identity["cpu_models"][0], cores=cores, hosts=identity["hosts"])


def curve(points: list[tuple[int, float]]) -> list[list[float]]:
    return [[size, rounded(seconds)] for size, seconds in points]


def keep_order(link_classes: list[dict[str, Any]], notes: list[str]) -> None:
    """A message across switches is not faster than one within. It seems so where ranks share cores, since fewer of them
    are awake while links between switches are measured.
    """
    latency = {entry["scope"]: entry for entry in link_classes}
    if "switch" in latency and latency["uplink"]["latency_s"] < latency["switch"]["latency_s"]:
        notes.append(
            f"across switches: L was {latency['uplink']['latency_s'] * 1e6:.3g} µs, less than on one switch, which "
            "cannot be: it counts as that"
        )
        latency["uplink"]["latency_s"] = latency["switch"]["latency_s"]


def eager_limit(scope: str, classes: Mapping[str, ClassCurves]) -> int | None:
    """Between nodes it is the library's, not the link's: the class that encloses it best says it for both."""
    own = classes[scope].eager_bytes
    between = [classes[name].eager_bytes or 0 for name in ("switch", "uplink") if name in classes]
    return max(between) if own is not None and scope in ("switch", "uplink") else own


def link_class(
    scope: str,
    found: ClassCurves,
    eager: int | None,
    crowd: list[tuple[int, float]],
    full: list[tuple[int, float]],
    told_later: bool | None,
    shared: dict[str, Any],
) -> dict[str, Any]:
    """pLogP of one class."""
    result: dict[str, Any] = {"name": NAMES[scope], "scope": scope, "latency_s": rounded(found.latency_s)}
    for key, quantity in (("os_s", "os"), ("or_s", "or"), ("g_s", "g")):
        result[key] = curve(found.curve(quantity))
    if crowd:
        result["crowded_s"] = curve(crowd)
    if crowd and full:
        result["saturated_s"] = curve(full)
    if told_later is not None:
        result["told_next_turn"] = told_later
    if eager is not None:
        result["eager_bytes"] = eager
    if scope in ("switch", "uplink") and found.send_buffer_bytes is not None:
        result["send_buffer_bytes"] = found.send_buffer_bytes
    if shared:
        result["shared_memory"] = shared
    details: dict[str, Any] = {"bytes_per_s": rounded(found.bytes_per_s), "one_way_s": curve(found.curve("one_way"))}
    if found.rested:
        details |= {"rested_s": curve(found.curve("rested")), "burst_bytes": found.burst_bytes}
    details["confidence"] = {name: rounded(value) for name, value in curves.widest_spreads(found).items()}
    return {**result, "details": details}


def shared_memory(events: list[Event]) -> dict[str, Any]:
    """A message through memory that two ranks share: the faster of two copies and one, by size. Empty: not possible."""
    times: dict[bool, dict[int, float]] = {False: {}, True: {}}
    for event in of_kind(events, "shared"):
        if event["round_ns"]:
            times[event["fetches"]][event["bytes"]] = statistics.median(event["round_ns"]) * 1e-9
    copied, fetched = times[False], times[True]
    if 0 not in copied:
        return {}
    flag_s = copied[0] / 2
    best = {size: min(value, fetched.get(size, value)) for size, value in sorted(copied.items())}
    slower = [size for size in copied if fetched.get(size, math.inf) > copied[size]]
    later = [size for size in sorted(copied) if size > max(slower, default=-1)]
    result: dict[str, Any] = {"latency_s": rounded(flag_s)}
    result["g_s"] = [[size, rounded(max(value - 2 * flag_s, 1e-9))] for size, value in best.items()]
    if later:
        result["fetched_from_bytes"] = later[0]
    rates = {"copied": copied, "fetched": fetched}
    long = {name: max(found) for name, found in rates.items() if found}
    result["details"] = {
        f"{name}_bytes_per_s": rounded(size / max(rates[name][size] - 2 * flag_s, 1e-9)) for name, size in long.items()
    }
    return result


def topology(survey: Survey, events: list[Event], port: float, burst_bytes: int) -> dict[str, Any]:
    """The tree of switches and nodes, and what was measured between each two of them."""
    groups = survey.switches or [survey.heads]
    tree = clusters.switch_tree(survey.uplink_rate, survey.inflow) if len(groups) > 1 else [(None, 0.0)]
    order = sorted(range(len(tree)), key=lambda i: tree[i][0] is not None)
    switches = []
    for i in order:
        parent, rate = tree[i]
        entry: dict[str, Any] = {"name": f"switch {i}"}
        if parent is not None:
            entry |= {"parent": f"switch {parent}", "uplink_bytes_per_s": rounded(rate)}
            labels = [uplink_label(x, y) for x, y in survey.uplink_rate if i in (x, y)]
            buffer_bytes = contention.uplink_buffer(events, labels, rate, port)
            if buffer_bytes is not None:
                entry["uplink_buffer_bytes"] = buffer_bytes
        switches.append(entry)
    switch_of = {rank: i for i, group in enumerate(groups) for rank in group}
    burst = {"burst_bytes": burst_bytes} if burst_bytes else {}
    nodes = [
        {
            "name": survey.identity["hosts"][rank],
            "switch": f"switch {switch_of[rank]}",
            "port_bytes_per_s": rounded(port),
            **burst,
        }
        for rank in survey.heads
    ]
    sure = {} if survey.confidence is None else {"confidence": rounded(survey.confidence)}
    return {"switches": switches, "nodes": nodes, **sure, "evidence": survey.evidence, "pairs": pairs(survey)}


def pairs(survey: Survey) -> dict[str, Any]:
    """Matrices between nodes; null where nothing was measured."""
    heads = survey.heads

    def latency(a: int, b: int) -> float | None:
        value = survey.latency_s.get((min(a, b), max(a, b)))
        return rounded(value) if value is not None and a != b else None

    def rate(a: int, b: int) -> float | None:
        value = survey.rate.get((a, b))
        return rounded(value) if value is not None else None

    return {
        "latency_s": [[latency(a, b) for b in heads] for a in heads],
        "bytes_per_s": [[rate(a, b) for b in heads] for a in heads],
    }


def contended(events: list[Event], outer: ClassCurves, port_bytes_per_s: float, notes: list[str]) -> dict[str, Any]:
    """γ, and what a port takes."""
    found = contention.incast(events, port_bytes_per_s)
    notes += [found.no_credit] if found.no_credit else []
    rows = contention.gamma(events, outer)
    result: dict[str, Any] = {"gamma": rows, "incast": found.rows, "details": {"by_senders": found.by_senders}}
    if found.credit_bytes is not None:
        result |= {"credit_bytes": found.credit_bytes, "port_buffer_bytes": found.port_buffer_bytes}
    if found.timeout_s is not None:
        result["retransmission_timeout_s"] = rounded(found.timeout_s)
    return result


def processors(survey: Survey, events: list[Event]) -> dict[str, Any]:
    """Cores, the ranks that share them, and the cost of a waiting rank for the others on its core."""
    result: dict[str, Any] = {"cores_per_node": survey.cores, "nodes_sharing": survey.nodes_sharing}
    # The nodes of an emulated cluster have no cores of their own.
    if survey.physical_cores and survey.nodes_sharing == 1:
        result["physical_cores"] = survey.physical_cores
    if survey.sockets_per_node:
        result["sockets_per_node"] = survey.sockets_per_node
    held = turns(survey, events)
    if held:
        result["turn_s"] = rounded(held[-1][1])
    if len(held) > 1:
        result["turns_s"] = [[ranks, rounded(seconds)] for ranks, seconds in held]
    return result


def turns(survey: Survey, events: list[Event]) -> list[tuple[float, float]]:
    """For how long a rank that waits holds a core, by the number of ranks on it; last, as many as there are."""
    held: dict[float, float] = {}
    for event in of_kind(events, "turns"):
        nodes = sum(1 for group in survey.nodes if group[0] in event.get("awake", ()))
        ranks = survey.ranks_on_core(nodes or survey.nodes_sharing)
        if ranks > 1:
            held[ranks] = statistics.median(event["away_ns"]) / (ranks - 1) * 1e-9
    return sorted(held.items())


def on_the_way_s(survey: Survey, events: list[Event], link: Mapping[str, Any]) -> float:
    """A link's latency without what a message waited for turns, as who sleeps does for none: half a round of a core's
    ranks, on average, and one more where the library gives the core away between taking a message in and saying so.
    """
    latency_s: float = link["latency_s"]
    held = turns(survey, events)
    if not held:
        return latency_s
    ranks, turn_s = held[-1]
    said_later = link["or_s"][0][1] - link["os_s"][0][1] > ranks * turn_s / 2
    return max(latency_s - (1.5 if said_later else 0.5) * ranks * turn_s, 0.0)


def crowded(survey: Survey, events: list[Event], scope: str) -> list[tuple[int, float]]:
    """What a message costs processors while all ranks send: a core's time without the looks in vain, of a turn each.

    Where ranks look more often than that, they wait for the wire, and nothing can be told.
    """
    steps = steps_of_crowd(survey, events, "node" if scope in ("core", "socket", "node") else "switch")
    return [(step.bytes, step.work_s) for step in steps if step.looks < MOST_LOOKS]


def saturated(survey: Survey, events: list[Event], scope: str) -> list[tuple[int, float]]:
    """The same of long messages, all that is done for packets included, where cores have hardly time left for looks."""
    if scope not in ("switch", "uplink"):
        return []
    steps = steps_of_crowd(survey, events, "full")
    return [(step.bytes, step.work_s) for step in steps if step.idle_share < MOST_IDLE]


def told_next_turn(survey: Survey, events: list[Event], scope: str) -> bool | None:
    """Whether a rank hears of what has come a turn after the one that found it: it looks in vain one and a half times a
    message, while all ranks send, instead of half a time. None: not known, or not between nodes.
    """
    steps = steps_of_crowd(survey, events, "switch") if scope in ("switch", "uplink") else []
    looks = [step.looks for step in steps if step.looks < MOST_LOOKS]
    return statistics.median(looks) > 1 if looks else None


@dataclass(frozen=True)
class CrowdStep:
    """Each rank sent a message and received one."""

    bytes: int
    looks: float
    work_s: float
    idle_share: float


def steps_of_crowd(survey: Survey, events: list[Event], label: str) -> list[CrowdStep]:
    held = turns(survey, events)
    steps: list[CrowdStep] = []
    for event in of_kind(events, "crowd", label) if held else ():
        # Of a core's time, what there is for a rank.
        own_s = statistics.mean(map(statistics.median, event["step_ns"])) * 1e-9 / survey.ranks_per_core
        looks = statistics.mean(map(statistics.median, event["looks"]))
        idle_s = looks * held[-1][1]
        steps.append(CrowdStep(event["bytes"], looks, max(own_s - idle_s, 1e-9), idle_s / own_s))
    return steps


def quality(survey: Survey, classes: dict[str, ClassCurves], events: list[Event]) -> dict[str, Any]:
    """How far the figures can be trusted."""
    held = [dict(row, link_class=scope) for scope, found in classes.items() for row in curves.held_out_errors(found)]
    points = [e for found in classes.values() for point in found.points.values() for e in point.values()]
    spread = {scope: curves.widest_spreads(found) for scope, found in classes.items()}
    notes = [*survey.notes, *noise_notes(spread, points)]
    return {
        "held_out": held,
        "samples_taken": sum(e.count for e in points),
        "outliers": sum(e.outliers for e in points),
        "seconds": {
            " ".join(filter(None, (e["experiment"], e["label"]))): rounded(e["seconds"])
            for e in of_kind(events, "done")
        },
        "notes": notes,
    }


def noise_notes(spread: dict[str, dict[str, float]], points: list[curves.Estimate]) -> list[str]:
    """Warnings that a user should read before trusting the figures."""
    notes = [
        f"{NAMES[scope]}: {name}(m) is only known to ±{100 * value:.0f} %"
        for scope, of_class in spread.items()
        for name, value in of_class.items()
        if value > 0.05
    ]
    outliers, count = sum(e.outliers for e in points), sum(e.count for e in points)
    if count and outliers / count > 0.05:
        notes.append(
            f"{100 * outliers / count:.0f} % of the samples are far from the rest: something else uses the network "
            "or the processors"
        )
    return notes
