# SPDX-License-Identifier: Apache-2.0
"""Checks what `antiphon explain` finds about a call in the evidence of a tuned profile."""

from __future__ import annotations

import json

import pytest

from antiphon.explain import evidence
from antiphon.explain.explanation import ExplainedCall
from antiphon.model import limits
from antiphon.tune import document

NETWORK = limits.Network.blocks(16, 1, 95.6e6)


def profile() -> str:
    def row(contender: str, median_s: float, size: int = 65536) -> dict[str, object]:
        common = {"collective": "bcast", "bytes": size, "ranks": 16, "mode": "sync", "samples": 9, "limit_s": 0.5}
        name = contender.removeprefix("antiphon:")
        return {
            **common,
            "contender": contender,
            "chosen": name,
            "median_s": median_s,
            "ci_low_s": 0,
            "ci_high_s": 9,
        }

    cells = [row("library", 4.0), row("antiphon:chain:segment_bytes=4096,window=8", 1.0), row("library", 1.0, 8)]
    evidence = {
        "purpose": "decisions",
        "mpi": "openmpi",
        "library": "Open MPI 5",
        "ranks_per_node": 1,
        "cells": cells,
    }
    document_ = document.first_guess("lab", NETWORK.node_of_rank, NETWORK)
    document.put_evidence(document_, evidence)
    return json.dumps(document_)


def test_measured_beside_the_limit() -> None:
    found = evidence.measured_contenders(ExplainedCall("bcast", 16, 1, 65536), profile())
    assert found is not None
    assert [c.choice for c in found.contenders] == ["chain:segment_bytes=4096,window=8", "library"]
    assert found.contenders[0].faster == pytest.approx(4.0)
    assert found.contenders[1].faster is None
    assert found.contenders[0].limit_s == 0.5


def test_the_nearest_size_that_was_measured() -> None:
    found = evidence.measured_contenders(ExplainedCall("bcast", 16, 1, 100000), profile())
    assert found is not None
    assert found.bytes == 65536
    assert evidence.measured_contenders(ExplainedCall("bcast", 16, 1, 1000), profile()) is None


@pytest.mark.parametrize(
    "call",
    [
        ExplainedCall("bcast", 8, 1, 65536),
        ExplainedCall("gather", 16, 1, 65536),
        ExplainedCall("bcast", 16, 4, 65536),
        ExplainedCall("bcast", 16, 1, 65536, mpi="mpich"),
    ],
)
def test_what_was_not_measured(call: ExplainedCall) -> None:
    assert evidence.measured_contenders(call, profile()) is None


def test_disagreement() -> None:
    def contender(predicted_s: float | None) -> evidence.Contender:
        return evidence.Contender("chain", "sync", 1.0, 1.0, 1.0, predicted_s, 1.0, None)

    assert contender(2.0).disagrees
    assert contender(0.5).disagrees
    assert not contender(1.2).disagrees
    assert not contender(None).disagrees
