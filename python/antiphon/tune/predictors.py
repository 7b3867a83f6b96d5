# SPDX-License-Identifier: Apache-2.0
"""What a choice would take at a point, before it is measured."""

from __future__ import annotations

import functools
from typing import Any

from antiphon import core, limits
from antiphon.errors import AntiphonError
from antiphon.tune.contenders import Machine, Predictor
from antiphon.tune.grid import Point

#: Where no profile says it: a message's latency on Ethernet, and what a piece costs its two ranks.
_LATENCY_S = 6e-5
_PIECE_S = 1.5e-5


def from_links(machine: Machine) -> Predictor:
    """Without a profile, from the links' rate alone: rounds of latency, bytes on an ideal wire, and the work on
    pieces.
    """
    bytes_per_s = (machine.link_bits_per_s or 1e9) * limits.PAYLOAD_SHARE / 8

    @functools.cache
    def predict(point: Point, choice: str) -> float | None:
        element = 8 if point.bytes % 8 == 0 and point.bytes else 1
        case = core.Case(point.collective, choice, point.ranks, point.bytes, element_bytes=element)
        try:
            wire = core.replay(case, "bytes", machine.ranks_per_node, transfers=False)
            rounds = core.replay(case, "rounds", machine.ranks_per_node, transfers=False)
        except AntiphonError:
            return None
        pieces = max((r.sent_messages + r.received_messages for r in wire.ranks), default=0)
        # A small window waits for answers between pieces.
        window = core.parse(point.collective, choice).parameters.get("window", 4)
        return rounds.end * _LATENCY_S + wire.end / bytes_per_s + pieces * _PIECE_S * (1 + 1 / window)

    return predict


def of(profile: dict[str, Any], machine: Machine) -> Predictor:
    """The model of a profile."""
    return from_links(machine)
