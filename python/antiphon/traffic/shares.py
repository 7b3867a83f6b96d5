# SPDX-License-Identifier: Apache-2.0
"""What each kind of call contributes to a run's traffic: the numbers that the command line and the page show alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.traffic.graph import Part, Traffic


@dataclass(frozen=True)
class Contribution:
    """One part's bytes, and its shares of all parts' bytes; None where there are none to share."""

    part: Part
    payload_bytes: int
    crossing_bytes: int
    payload_share: float | None
    crossing_share: float | None


def contributions(traffic: Traffic) -> list[Contribution]:
    """Returns those of all parts: by phase, and the longest way between nodes first."""
    places = traffic.node_of_rank
    payload = [part.total_bytes() for part in traffic.parts]
    crossing = [part.crossing(places)[1] for part in traffic.parts]
    found = [
        Contribution(part, size, out, _share(size, payload), _share(out, crossing))
        for part, size, out in zip(traffic.parts, payload, crossing, strict=True)
    ]
    return sorted(found, key=lambda c: (c.part.phase, -c.crossing_bytes, -c.payload_bytes))


def _share(part: int, parts: Sequence[int]) -> float | None:
    return part / sum(parts) if sum(parts) else None
