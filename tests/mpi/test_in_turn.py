# SPDX-License-Identifier: Apache-2.0
"""Messages in turn: what a program sends to all ranks again and again goes in another order, and means the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_nonblocking import has_hook

from antiphon.mpi import Mpi

Verified = Callable[..., Any]
FOUR_NODES = {"ANTIPHON_NODES": "a,b,c,d", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
TIMES = 12


def held(result: Any) -> int:
    """Returns how many messages were held."""
    return result.summary.get("in_turn", {"messages": 0})["messages"]  # type: ignore[no-any-return]


def encoded(result: Any) -> int:
    """Returns how many messages between ranks were encoded."""
    return sum(row["encoded"] for row in result.summary["compression"] if row["class"] == "between nodes")


@pytest.mark.parametrize("form", ["all", "any", "some"])
def test_ways_to_wait(mpi: Mpi, form: str, verified: Verified) -> None:
    """GIVEN each way to wait for messages THEN these are held wherever the library calls back, and arrive in order."""
    result = verified(mpi, 4, "in_turn.c", form, TIMES, **FOUR_NODES)
    assert (held(result) > 0) == has_hook(mpi), result.summary


@pytest.mark.parametrize("form", ["barrier", "fence", "free", "cancel", "comm"])
def test_what_was_not_expected(native: Mpi, form: str, verified: Verified) -> None:
    """GIVEN messages that are held WHEN the program goes on in another way than before THEN they go at once."""
    one_sided = {"OMPI_MCA_osc": "^ucx"}  # this component complains where there is no network for it
    assert held(verified(native, 4, "in_turn.c", form, TIMES, **FOUR_NODES, **one_sided)) > 0


def test_a_program_that_tests(native: Mpi, verified: Verified) -> None:
    """GIVEN a program that tests its messages, since it has other work THEN they go when it sends them."""
    assert held(verified(native, 4, "in_turn.c", "test", TIMES, **FOUR_NODES)) == 0


def test_fortran(system: Mpi, verified: Verified) -> None:
    """GIVEN a program in Fortran THEN its messages are held as in C, and its requests end."""
    assert (held(verified(system, 4, "in_turn.f90", **FOUR_NODES)) > 0) == has_hook(system)


def test_threads(native: Mpi, verified: Verified) -> None:
    """GIVEN a program whose threads may all send THEN the messages of one of them are held."""
    assert held(verified(native, 4, "in_turn.c", "threads", TIMES, **FOUR_NODES)) > 0


def test_where_nothing_is_held(native: Mpi, verified: Verified) -> None:
    """GIVEN two nodes or the setting THEN the program's messages go when it sends them."""
    two_nodes = FOUR_NODES | {"ANTIPHON_NODES": "a,a,b,b"}
    for variables in (two_nodes, FOUR_NODES | {"ANTIPHON_ORDER_MESSAGES": "off"}):
        assert held(verified(native, 4, "in_turn.c", "all", TIMES, **variables)) == 0, variables


@pytest.mark.parametrize("form", ["all", "some", "barrier", "free", "cancel", "comm", "threads"])
def test_with_compression(native: Mpi, form: str, verified: Verified) -> None:
    """GIVEN messages that are held and encoded WHEN they go, by whatever call THEN they arrive as they were."""
    result = verified(native, 4, "in_turn.c", form, TIMES, **FOUR_NODES, ANTIPHON_COMPRESS="force")
    assert held(result) > 0 and encoded(result) > 0, result.summary
