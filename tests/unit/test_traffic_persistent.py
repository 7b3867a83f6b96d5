# SPDX-License-Identifier: Apache-2.0
"""Checks what of a trace's persistent requests is in its traffic."""

from __future__ import annotations

import pytest

from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace
from antiphon.traffic.of_trace import Window, of_trace

WORLD = Communicator(1, "MPI_COMM_WORLD", tuple(range(4)))
START = Shape("MPI_Start", None, requests=1)
TO_NEXT = Shape("MPI_Send_init", WORLD, peer=1, tag=0, send_count=5, send_size=1)


@pytest.mark.parametrize(
    ("shapes", "messages", "said", "unsaid"),
    [
        ([START, START], [0, 0], "left out", "persistent sends"),
        ([TO_NEXT, START, START], [1, 1], "count as theirs", "left out"),
        ([START, TO_NEXT, START], [0, 1], "left out", "absent"),
        ([TO_NEXT, TO_NEXT], [0, 0], "", "persistent"),
    ],
)
def test_starts_of_persistent_requests(shapes: list[Shape], messages: list[int], said: str, unsaid: str) -> None:
    """GIVEN starts before a rank has persistent messages THEN they are no messages, and what is missing is told; GIVEN
    phases THEN messages are in those in which they were started.
    """
    ranks = [RankTrace(0, [WORLD], shapes, [Call(s, 100 * i, 10) for i, s in enumerate(shapes)], 0, 500)]
    phases = [Window(0, 200), Window(200, 500)]
    found = of_trace(Trace(4, ("MPI_Send_init", "MPI_Start"), {"mpi": "Open MPI v5.0.11"}, ranks), windows=phases)
    sent = {part.phase: part.total_messages() for part in found.parts}
    assert [sent.get(phase, 0) for phase in (0, 1)] == messages
    notes = "; ".join(part.approximation for part in found.parts)
    assert said in notes and unsaid not in notes and bool(said) == bool(notes)
