# SPDX-License-Identifier: Apache-2.0
"""Hosts: what they are called, and how many ranks each takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

Hosts = Sequence[tuple[str, int]]


def short(host: str) -> str:
    """A host's name without its domain."""
    return host.partition(".")[0]


def merged(entries: Iterable[tuple[str, int]]) -> Hosts:
    """Hosts in the order of their first entry, each with all its slots; those without any are left out."""
    slots: Counter[str] = Counter()
    for host, count in entries:
        slots[host] += count
    return tuple((host, count) for host, count in slots.items() if count > 0)
