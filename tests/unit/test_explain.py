# SPDX-License-Identifier: Apache-2.0
"""Checks what `antiphon explain` finds about a call in the evidence of a tuned profile."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from antiphon import core, model
from antiphon.explain import evidence
from antiphon.explain.answer import answer
from antiphon.explain.explanation import ExplainedCall
from antiphon.model import limits
from antiphon.tune import document

DATA = Path(__file__).resolve().parents[1] / "data"
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


def test_a_search_ends_after_so_many_pieces() -> None:
    """GIVEN a limit that one evaluation exceeds THEN each algorithm has its first parameters, as with just one."""
    machine = model.ModelledMachine(16, 4)
    first, limited, all_ = (
        [(p.choice, p.seconds) for p in model.predict("allgather", [65536], machine, **effort).sizes[65536]]
        for effort in ({"max_evaluations": 1}, {"max_pieces": 1}, {})
    )
    plain = [one for one in first if not one[0].startswith("nested")]  # Its ways count as one evaluation.
    assert {*plain} <= {*limited} and len(limited) == len(all_) and limited[0][1] > all_[0][1]


def test_the_answer_for_many_ranks_comes_soon() -> None:
    """GIVEN long messages of 64 ranks, of which each evaluation takes long THEN the answer takes seconds of processor
    time, which other programs do not change: it had taken minutes.
    """
    text = model.read_profile(DATA / "two-racks-16x4.openmpi.json")
    rate = int(core.query("profile", text=text)["link_bits_per_s"])
    began_s = time.process_time()
    found = answer(ExplainedCall("allgather", 64, 4, 262144, link_bits_per_s=rate, mpi="openmpi"), text)
    assert time.process_time() - began_s < 20
    assert found.fastest is not None and found.fastest.algorithm == "ring"
