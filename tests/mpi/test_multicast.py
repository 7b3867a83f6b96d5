# SPDX-License-Identifier: Apache-2.0
"""The life of multicast groups: their numbers, budget and tags, and what a freed communicator leaves of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

Verified = Callable[..., Any]
HERE = Path(__file__).resolve().parent
INCLUDE = [f"-I{HERE.parents[1] / 'include'}", "-ldl"]


def by_multicast(nodes: str, groups: int = 20, **others: str) -> dict[str, str]:
    return {
        "ANTIPHON_NODES": nodes,
        "ANTIPHON_FORCE": "bcast:multicast;allreduce:on",
        "ANTIPHON_MULTICAST_INTERFACE": "lo",
        "ANTIPHON_MULTICAST_GROUPS": str(groups),
    } | others


#: What some of the modes have besides: without its thread, or with it, the program looks for that.
MODES_WITH = {
    "late": {"ANTIPHON_MULTICAST_KEEPER": "1"},
    "pending": {"ANTIPHON_MULTICAST_KEEPER": "0"},
    "many": {"ANTIPHON_MULTICAST_LOSS": "0.03", "ANTIPHON_MULTICAST_SEED": "7"},
    "unclosed": {"ANTIPHON_MULTICAST_STRATEGY": "ack"},
}


@pytest.mark.parametrize(
    ("mode", "ranks", "groups"),
    [("numbers", 4, 2), ("late", 3, 20), ("pending", 2, 20), ("many", 3, 2), ("threads", 2, 3), ("freed", 3, 20),
     ("unclosed", 3, 20)],
)  # fmt: skip
def test_groups(native: Mpi, mode: str, ranks: int, groups: int, verified: Verified) -> None:
    """GIVEN communicators freed early, late and in threads, and few groups THEN no rank hangs, and data are right."""
    settings = by_multicast(",".join("abcd"[:ranks]), groups, **MODES_WITH.get(mode, {}))
    result = verified(native, ranks, "multicast_groups.c", mode, options=INCLUDE, limit_s=60, **settings)
    found = result.summary["multicast"]
    assert found["data_packets_sent"] > 0
    if mode != "threads":  # there, none may be free
        assert found["refused"] == 0
    if mode in ("numbers", "threads"):
        assert found["evicted"] > 0
    assert mode != "many" or found["repaired_packets"] > 0


@pytest.mark.parametrize("spare", [0, -1])
def test_greatest_tags(native: Mpi, spare: int, compiled: Callable[..., Path], verified: Verified) -> None:
    """GIVEN a library with as many tags as ranks need, or one less, THEN they use them all, or have no groups."""
    ranks = 5
    greatest = f"-DGREATEST={32767 + ranks + spare}"
    few = compiled(native, [HERE / "programs" / "few_tags.c"], "-shared", "-fPIC", "-ldl", greatest)
    settings = by_multicast("a*2,b*3", ANTIPHON_FORCE="bcast:multicast;allgather:multicast:senders=2")
    result = verified(native, ranks, "multicast_groups.c", "tags", options=INCLUDE, before=[few], **settings)
    found = result.summary["multicast"]
    assert found["opened"] == (ranks if spare == 0 else 0)
    assert ("fewer tags" in found.get("refusal", "")) == (spare < 0)


def test_pieces_from_other_ranks_of_a_node_keep_their_order(native: Mpi, check: Verified) -> None:
    """GIVEN senders that do not lead their nodes, with many pieces under way THEN all ranks get these in order."""
    force = "allgather:multicast:senders=1,segment_bytes=64,window=16"
    settings = by_multicast("a*3,b*3", ANTIPHON_FORCE=force)
    found = check(native, 6, "--quick", **settings).summary["multicast"]
    assert found["data_packets_sent"] > 0
