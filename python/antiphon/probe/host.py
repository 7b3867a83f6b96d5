# SPDX-License-Identifier: Apache-2.0
"""What binds before the wire: a connection each way and both ways, and what one rank moves over all its connections.

pattern   flows at once                       what it shows
both      a → b, b → a                        one connection, both directions together
ring      a → b → c → a                       a rank that sends and receives: its core
out       a → b, c, …                         a rank's several connections: its port, or its core
ranks     each rank of a node → one of another   a node's port, whoever's connections fill it
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.probe.session import Event, Pair, of_kind

#: Long pieces, several of each flow under way: what binds is not the latency.
STREAM = {"piece": 65536, "window": 4}
#: To so many ranks one sends at once.
MOST_PARTNERS = 8
#: A rate below this share of what the wire would pass is bound by something else.
BINDS = 0.9


def patterns(nodes: Sequence[Sequence[int]], heads: Sequence[int]) -> dict[str, list[Pair]]:
    """Returns the flows of each pattern among nodes on one switch, by their first ranks; few nodes have fewer."""
    if len(heads) < 2:
        return {}
    a, b, *others = heads
    found = {"both": [(a, b), (b, a)]}
    if others:
        found["ring"] = [(a, b), (b, others[0]), (others[0], a)]
        found["out"] = [(a, to) for to in heads[1 : MOST_PARTNERS + 1]]
    ranks = {group[0]: group for group in nodes}
    pairs = list(zip(ranks[a], ranks[b], strict=False))
    if len(pairs) > 1:
        found["ranks"] = pairs
    return found


@dataclass(frozen=True)
class HostRates:
    """Bytes per second; 0: the wire binds first, or it was not measured."""

    #: What a node's port passes one way, over as many connections as it takes; 0: not measured.
    port: float = 0.0
    #: One connection, one way.
    connection_way: float = 0.0
    #: One connection, both directions together.
    connection: float = 0.0
    #: One rank, both directions and all connections together.
    rank: float = 0.0


def rates(events: Sequence[Event], one_bytes_per_s: float, shared_cores: bool) -> HostRates:
    """Returns what the patterns show beside the rate of one stream. Where nodes share cores, these are not what a host
    of its own would do: then only a single connection counts, which needs hardly any of them.
    """
    seen = {event["label"]: float(statistics.median(event["together"])) for event in of_kind(events, "flows")}
    if "both" not in seen:
        return HostRates()
    one = seen["one"] = one_bytes_per_s
    port = max(seen[label] for label in ("one", "out", "ranks") if label in seen)
    way = one if one < BINDS * port else 0.0
    if shared_cores:
        return HostRates(port, way)
    both = seen["both"] if seen["both"] < BINDS * 2 * one else 0.0
    return HostRates(port, way, both, _rank(seen, port))


def _rank(seen: Mapping[str, float], port: float) -> float:
    """In a ring each of three ranks moves two thirds of all bytes; its core binds if that is less than what the same
    connections carry alone.
    """
    if "ring" not in seen:
        return 0.0
    ring = seen["ring"] / 3
    moved = max(2 * ring, seen["out"])
    return moved if ring < BINDS * min(seen["one"], port) or seen["out"] < BINDS * port else 0.0


def profile_fields(found: HostRates) -> dict[str, dict[str, float]]:
    """Returns what binds, as fields of a link class and of the processors (docs/reference/profile.md)."""
    link = {"connection_bytes_per_s": found.connection, "connection_way_bytes_per_s": found.connection_way}
    return {
        "link": {name: float(f"{value:.4g}") for name, value in link.items() if value},
        "processors": {"rank_bytes_per_s": float(f"{found.rank:.4g}")} if found.rank else {},
    }
