# SPDX-License-Identifier: Apache-2.0
"""Predicted times of choices at a point, before they are measured."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence

from antiphon import core
from antiphon.core import CoreError
from antiphon.model import limits
from antiphon.tune.contenders import Predictor, TunedMachine
from antiphon.tune.grid import Point

#: Where no profile says it: a message's latency on Ethernet, and what a piece costs its two ranks.
_LATENCY_S = 6e-5
_PIECE_S = 1.5e-5


def element_bytes(point: Point) -> int:
    """As the benchmark reduces: doubles, where the size allows."""
    return 8 if point.bytes % 8 == 0 and point.bytes else 1


#: Is told the point, the choice, and why the model cannot evaluate it.
OnLeftOut = Callable[[Point, str, str], None]


def from_model(
    profile: str, machine: TunedMachine, sync: bool = False, on_left_out: OnLeftOut = lambda *_: None
) -> Predictor:
    """The model's predictions from a profile's text. `sync`: with a barrier before each call, else back to back."""
    from antiphon.traffic import libraries

    def predict(point: Point, choices: Sequence[str]) -> Mapping[str, float]:
        per_node = min(machine.ranks_per_node, point.ranks)
        answer = core.query(
            "predict",
            profile=profile,
            collective=point.collective,
            ranks=point.ranks,
            ranks_per_node=per_node,
            bytes=[point.bytes],
            element_bytes=element_bytes(point),
            choices=list(choices),
            barrier=libraries.barrier(machine.mpi, point.ranks, per_node) if sync else None,
        )
        given = {core.parse(point.collective, choice).choice: choice for choice in choices}
        size = answer["sizes"][0]
        for one in size["left_out"]:
            on_left_out(point, given.get(one["choice"], one["choice"]), one["why"])
        return {given[c["choice"]]: c["seconds"] for c in size["candidates"] if c["choice"] in given}

    return predict


def from_links(machine: TunedMachine) -> Predictor:
    """From the links' rate alone: rounds of latency, bytes on an ideal wire, and the work on pieces."""
    bytes_per_s = (machine.link_bits_per_s or 1e9) * limits.PAYLOAD_SHARE / 8

    @functools.cache
    def seconds(point: Point, choice: str) -> float | None:
        per_node = min(machine.ranks_per_node, point.ranks)
        case = core.Case(
            point.collective, choice, point.ranks, point.bytes, 0, element_bytes(point), ranks_per_node=per_node
        )
        try:
            wire = core.replay(case, "bytes", transfers=False)
            rounds = core.replay(case, "rounds", transfers=False)
        except CoreError:
            return None
        pieces = max((r.sent_messages + r.received_messages for r in wire.ranks), default=0)
        # A small window waits for answers between pieces.
        window = core.parse(point.collective, choice).parameters.get("window", 4)
        return rounds.end * _LATENCY_S + wire.end / bytes_per_s + pieces * _PIECE_S * (1 + 1 / window)

    def predict(point: Point, choices: Sequence[str]) -> Mapping[str, float]:
        known = ((choice, seconds(point, choice)) for choice in choices)
        return {choice: time for choice, time in known if time is not None}

    return predict


def of(profile: str, machine: TunedMachine, on_left_out: OnLeftOut = lambda *_: None) -> Predictor:
    """Predictions by the profile's model, or from the links' rate where the model has none. What the model fails on
    takes forever.
    """
    links = from_links(machine)

    def predict(point: Point, choices: Sequence[str]) -> Mapping[str, float]:
        failed: dict[str, float] = {}

        def take(where: Point, choice: str, why: str) -> None:
            failed[choice] = math.inf
            on_left_out(where, choice, why)

        try:
            return {**from_model(profile, machine, on_left_out=take)(point, choices), **failed}
        except CoreError:
            return links(point, choices)

    return predict


def within(predictor: Predictor, seconds: float) -> Predictor:
    """The predictor for so many seconds in all, in the order of the choices: what comes later takes forever. Among many
    ranks each prediction takes long, and there are hundreds of them.
    """
    ends_s = time.monotonic() + seconds

    def predict(point: Point, choices: Sequence[str]) -> Mapping[str, float]:
        predicted: dict[str, float] = {}
        done, some = 0, 1
        while done < len(choices) and (began_s := time.monotonic()) < ends_s:
            predicted |= predictor(point, choices[done : done + some])
            done += some
            some = 2 * some if time.monotonic() - began_s < seconds / 20 else 1
        return predicted | dict.fromkeys(choices[done:], math.inf)

    return predict
