# SPDX-License-Identifier: Apache-2.0
"""Checks compression that chooses by itself, without a profile: it measures the codecs, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

REPEATS = Path(__file__).resolve().parent / "programs" / "repeats.c"
TWO_NODES = {"ANTIPHON_NODES": "a,b"}

Run = Callable[..., Any]


def test_encodes_where_links_are_slow(native: Mpi, verified: Run) -> None:
    """GIVEN links of 100 Mb/s and no profile THEN codecs are measured, and messages encoded."""
    rate = {"ANTIPHON_LINK_BITS_PER_S": "100000000"}
    result = verified(native, 2, "repeats.c", ANTIPHON_COMPRESS="auto", **TWO_NODES, **rate)
    assert "messages and collectives are encoded where that pays" in result.summary["compressing"]
    assert "measured at the start" in result.summary["compressing"]
    rows = [row for row in result.summary["compression"] if row["class"] == "between nodes"]
    assert sum(row["encoded"] for row in rows) > 0


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({**TWO_NODES, "ANTIPHON_LINK_BITS_PER_S": "100000000000"}, "could not pay"),
        (TWO_NODES, "do not surely travel by TCP"),
        ({}, "all ranks are on one node"),
    ],
    ids=["fast links", "unknown links", "one node"],
)
def test_says_why_nothing_is_encoded(native: Mpi, verified: Run, variables: dict[str, str], why: str) -> None:
    """GIVEN nothing to gain THEN nothing is encoded, and the summary says why in one line."""
    result = verified(native, 2, "repeats.c", ANTIPHON_COMPRESS="auto", **variables)
    assert result.summary["compressing"].startswith("nothing is encoded")
    assert why in result.summary["compressing"]
    assert "compression" not in result.summary or not result.summary["compression"]


def test_is_opt_in(native: Mpi, verified: Run) -> None:
    """GIVEN slow links but no wish THEN nothing is encoded, nor said about it."""
    result = verified(native, 2, "repeats.c", ANTIPHON_LINK_BITS_PER_S="100000000", **TWO_NODES)
    assert "compressing" not in result.summary and not result.summary.get("compression")


def test_is_said_in_a_text(native: Mpi, compiled: Run, run_ranks: Run) -> None:
    """GIVEN a summary for people THEN the line is in it."""
    result = run_ranks(native, 2, [compiled(native, [REPEATS])], ANTIPHON_COMPRESS="auto", ANTIPHON_SUMMARY="1")
    assert "antiphon: compression: nothing is encoded: all ranks are on one node" in result.text
