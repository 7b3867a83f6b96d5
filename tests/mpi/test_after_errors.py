# SPDX-License-Identifier: Apache-2.0
"""What follows an error: of a program's counts, of a message that is lost, or of memory that is out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

Compile = Callable[..., Path]
Run = Callable[..., Any]
PROGRAMS = Path(__file__).resolve().parent / "programs"


def test_only_its_communicator_hears_of_an_error(wheel: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a receive that is too short, and a later one that builds on its message and is awaited first THEN each says
    what is wrong with it, no other communicator's error handler hears of that, and MPI ends well."""
    result = run_ranks(wheel, 2, [compiled(wheel, [PROGRAMS / "asked_early.c"])], ANTIPHON_COMPRESS="force", limit_s=40)
    assert result.returncode == 0 and result.lines("verified") == ["verified"], result.text
    assert "builds on an earlier one that was not decoded here" in result.text, result.text


def test_more_messages_than_tags(native: Mpi, verified: Run) -> None:
    """GIVEN a message that looks like a frame, received after 32767 later ones that do THEN each begins as sent."""
    verified(native, 2, "many_tagged.c", ANTIPHON_COMPRESS="force")


@pytest.mark.parametrize(
    ("call", "force", "nodes"), [("gather", "gather:flat", "a,a,b"), ("alltoallv", "alltoallv:credit", "a,b,c")]
)
def test_what_is_under_way_keeps_its_memory(wheel: Mpi, call: str, force: str, nodes: str, verified: Run) -> None:
    """GIVEN a call that fails while a message of it is under way THEN that and the next call do not mix."""
    verified(wheel, 3, "after_error.c", call, ANTIPHON_FORCE=force, ANTIPHON_NODES=nodes, limit_s=40)


def test_pieces_that_never_come(wheel: Mpi, verified: Run) -> None:
    """GIVEN a root that sends fewer pieces than are expected THEN nobody waits for them, and the next call is right."""
    verified(wheel, 3, "short_pieces.c", ANTIPHON_FORCE="scatterv:flat", ANTIPHON_NODES="a,b,c", limit_s=40)


def test_messages_without_memory(mpi: Mpi, verified: Run) -> None:
    """GIVEN no memory for a buffer THEN the message travels as it is or its receive fails, and later ones arrive."""
    verified(mpi, 2, "out_of_memory.c", options=["-rdynamic"], ANTIPHON_COMPRESS="force", limit_s=40)


def test_a_rank_without_memory_at_its_start(native: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a rank that gets no memory in MPI_Init THEN the run ends: the others do not wait for it."""
    program = compiled(native, [PROGRAMS / "repeats.c"])
    lacks = compiled(native, [PROGRAMS / "no_memory.c"], "-shared", "-fPIC")
    variables = {"LACKS": "1", "AFTER": "300", "ANTIPHON_FORCE": "*:on"}
    result = run_ranks(native, 3, [program], before=[lacks], limit_s=30, **variables)
    assert result.returncode not in (0, 124), result.text
    assert "antiphon: a rank has no memory left at its start" in result.text, result.text
