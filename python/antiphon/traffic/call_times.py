# SPDX-License-Identifier: Apache-2.0
"""How long a recorded run's collective calls took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from antiphon.trace.calls import Shape, moved_by
from antiphon.traffic.libraries import CollectiveCall
from antiphon.traffic.of_trace import ROOT_TELLS, Counted, call_of, collective_of, usable

#: By rank.
Seconds = dict[int, float]


def seconds_in_calls(counted: Mapping[int, Mapping[Shape, Counted]]) -> dict[CollectiveCall, Seconds]:
    """Returns how long each rank was in all equal calls, waiting for others included.

    Only blocking calls have such a time, and only those whose sizes each rank knows.
    """
    by_rank: dict[CollectiveCall, Seconds] = defaultdict(lambda: defaultdict(float))
    unknown: set[CollectiveCall] = set()
    for rank, calls in counted.items():
        for shape, count in calls.items():
            collective, comm = collective_of(shape), shape.comm
            if collective is None or collective in ROOT_TELLS or comm is None or not usable(comm):
                continue
            call = replace(call_of(collective, shape, comm.size, comm.members.index(rank)), stride=comm.stride)
            by_rank[call][rank] += count.seconds
            if moved_by(shape.function) != shape.function.removeprefix("MPI_").lower():
                unknown.add(call)
    return {call: seconds for call, seconds in by_rank.items() if call not in unknown}
