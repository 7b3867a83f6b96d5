# SPDX-License-Identifier: Apache-2.0
"""Checks what calls on communicators that the program has just made do: what schedules need costs more than a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.mpi import Mpi

NODES = {"ANTIPHON_NODES": "a,b,c", "ANTIPHON_LINK_BITS_PER_S": "100000000", "ANTIPHON_ADAPT": "off"}
Verified = Callable[..., Any]


@pytest.mark.parametrize(("communicators", "calls", "first"), [(12, 3, 3), (3, 12, 5)])
def test_first_calls_are_the_library_s(
    wheel: Mpi, verified: Verified, communicators: int, calls: int, first: int
) -> None:
    """GIVEN broadcasts of 4 KiB on new communicators THEN the first five of each make nothing."""
    result = verified(wheel, 3, "short_lived.c", "bcast", communicators, calls, 512, **NODES)
    used = result.used("bcast")
    assert used.pop("library") == communicators * first, result.summary
    assert sum(used.values()) == communicators * (calls - first)
    assert "a new communicator: what its schedules need is made after 5 calls" in result.reasons("bcast")


def test_first_calls_of_many_sizes(wheel: Mpi, verified: Verified) -> None:
    """GIVEN broadcasts that become shorter from call to call, as in an elimination THEN all of them count as first."""
    result = verified(wheel, 3, "short_lived.c", "bcast", 2, 40, 512, 1, **NODES)
    assert 2 * 5 <= result.used("bcast")["library"] <= 2 * 8, result.summary


def test_long_calls_do_not_wait(wheel: Mpi, verified: Verified) -> None:
    """GIVEN calls that take longer than what they need THEN the first one makes it."""
    result = verified(wheel, 3, "short_lived.c", "bcast", 2, 3, 32768, **NODES)
    used = result.used("bcast")
    assert "library" not in used and sum(used.values()) == 6, result.summary


def test_sums_keep_their_order(wheel: Mpi, verified: Verified) -> None:
    """GIVEN sums of floating-point numbers on new communicators THEN the order of operations is that of the first."""
    result = verified(wheel, 3, "short_lived.c", "sums", 3, 40, 512, **NODES)
    assert list(result.used("allreduce").values()) == [120], result.summary


def test_sums_keep_their_order_on_one_node(native: Mpi, verified: Verified) -> None:
    """GIVEN sums on more communicators than are likely to live long THEN each goes one way from its first call on."""
    result = verified(native, 2, "short_lived.c", "sums", 20, 12, 8192)
    used = result.used("allreduce")
    assert used["library"] >= 12 * 12, result.summary
    assert all(calls % 12 == 0 for calls in used.values()), result.summary
    reason = "a new communicator on one node: its ranks share nothing for sums that keep their order"
    assert reason in result.reasons("allreduce")
