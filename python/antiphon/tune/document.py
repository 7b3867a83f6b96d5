# SPDX-License-Identifier: Apache-2.0
"""The profile's document as tuning changes it: decisions and their evidence come in, everything else stays as it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from antiphon import __version__, profile
from antiphon.model import limits
from antiphon.output import files
from antiphon.tune.known import Knowledge, is_modelled

RULES_VERSION = 1


def first_guess(name: str, node_of_rank: Sequence[int], network: limits.Network) -> dict[str, Any]:
    """A profile from the links' rate alone: what Ethernet of that rate usually does, until a probe says better."""
    nodes = len(set(node_of_rank))
    bytes_per_s = network.node_bits_per_s / 8
    latency_s = 5e-5
    return {
        "format": profile.FORMAT,
        "version": profile.VERSION,
        "created": now(),
        "tool": f"antiphon {__version__}",
        "machine": {"name": name, "nodes": nodes, "ranks_per_node": max(1, len(node_of_rank) // nodes)},
        "link_classes": [
            {
                "name": "a guess from the links' rate",
                "scope": "switch",
                "latency_s": latency_s,
                "os_s": [[0, 5e-6], [65536, 2e-5]],
                "or_s": [[0, 5e-6], [65536, 2e-5]],
                "g_s": [[0, 1e-5], [1 << 20, 1e-5 + (1 << 20) / bytes_per_s]],
            },
        ],
        "topology": {
            "switches": [{"name": "a"}],
            "nodes": [{"switch": "a", "port_bytes_per_s": bytes_per_s, "count": nodes}],
        },
    }


def model_text(document: Mapping[str, Any]) -> str:
    """The part of a profile that the model needs: all but decisions and evidence."""
    return json.dumps({key: value for key, value in document.items() if key not in ("decisions", "measurements")})


def put_rules(document: dict[str, Any], rules: Sequence[Mapping[str, Any]]) -> None:
    """Replaces the decisions about the same collectives, library, placement and numbers of ranks; others stay, behind
    the new ones."""
    spans: dict[tuple[Any, ...], list[int]] = {}
    for rule in rules:
        span = spans.setdefault(_subject_of(rule), list(rule["ranks"]))
        span[:] = [min(span[0], rule["ranks"][0]), max(span[1], rule["ranks"][1])]

    def replaced(rule: Mapping[str, Any]) -> bool:
        span = spans.get(_subject_of(rule))
        low, high = rule.get("ranks", (0, None))
        return span is not None and span[0] <= low and high is not None and high <= span[1]

    kept = [rule for rule in document.get("decisions", {}).get("rules", []) if not replaced(rule)]
    document["decisions"] = {"version": RULES_VERSION, "rules": [*rules, *kept]}


def _subject_of(rule: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a tuning's rule is about, but for sizes and the number of ranks."""
    per_node = tuple(rule.get("ranks_per_node", ()))
    return rule.get("collective"), rule.get("mpi"), per_node, rule.get("blocked", True)


def put_modelled(
    document: dict[str, Any],
    rules: Sequence[Mapping[str, Any]],
    collectives: Iterable[str],
    known: Knowledge,
    family: str,
    ranks_per_node: int,
) -> None:
    """Replaces what a model has decided before about these collectives. All other rules stay, and come first, with
    those that runs have learned: the profile is now newer than these."""
    wanted = set(collectives)

    def replaced(rule: Mapping[str, Any]) -> bool:
        same = rule.get("mpi") == family and rule.get("ranks_per_node") == [ranks_per_node, ranks_per_node]
        return is_modelled(rule) and same and rule.get("collective") in wanted

    modelled = [r for r in document.get("decisions", {}).get("rules", []) if is_modelled(r) and not replaced(r)]
    measured = [dict(rule) for _, rule in known.rules]
    first = [rule for i, rule in enumerate(measured) if rule not in measured[:i]]
    document["decisions"] = {"version": RULES_VERSION, "rules": [*first, *rules, *modelled]}


def in_order(blocked: bool) -> dict[str, bool]:
    """What evidence says of the order of ranks: nothing where those of a node follow one another."""
    return {} if blocked else {"blocked": False}


def put_evidence(document: dict[str, Any], evidence: Mapping[str, Any]) -> None:
    """Adds a tuning's evidence, instead of an older one of the same library, placement and purpose."""
    measurements = document.setdefault("measurements", {})

    def subject(e: Mapping[str, Any]) -> tuple[Any, ...]:
        return e.get("mpi"), e.get("ranks_per_node"), e.get("blocked", True), e.get("purpose")

    kept = [e for e in measurements.get("tune", []) if subject(e) != subject(evidence)]
    measurements["tune"] = [*kept, dict(evidence)]


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Checks the document, then writes it whole or not at all."""
    profile.check(document, str(path))
    files.write(path, render(document) + "\n")


def update(path: Path, begun: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the profile as it is now: another tuning may have written it since. Where there is none, `begun` is."""
    with files.locked(path):
        newest = profile.load(path) if path.exists() else begun
        change(newest)
        write(path, newest)


def render(value: Any, depth: int = 0) -> str:
    """JSON for people: one entry per line; an entry without nested values stays on its line."""
    nested = isinstance(value, (dict, list)) and any(
        isinstance(v, (dict, list)) for v in (value.values() if isinstance(value, dict) else value)
    )
    numbers = isinstance(value, list) and all(
        isinstance(v, list) and not any(isinstance(x, (dict, list)) for x in v) for v in value
    )
    rule = isinstance(value, dict) and "use" in value
    if not nested or numbers or rule:
        return json.dumps(value)
    pad, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, dict):
        return "{" + ",".join(f"{pad}{json.dumps(key)}: {render(v, depth + 1)}" for key, v in value.items()) + end + "}"
    return "[" + ",".join(pad + render(v, depth + 1) for v in value) + end + "]"


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
