# SPDX-License-Identifier: Apache-2.0
"""What placements cost where bursts overflow the links between switches: TCP's timeouts, which the sum of all messages
does not know.

Many ranks that send over one link in one phase of a collective may bring more than its port holds; then some message
waits for a timeout, which is often more than all the rest. Near the buffer's size it is chance: bursts meet more or
less in each call. So the model is asked with several buffers, and what is expected is the mean
(docs/measurements/placement.md has how often it was seen).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from antiphon.placement.stages import Stages, sampled
from antiphon.traffic.decompose import DIRECT
from antiphon.traffic.graph import Made, Part

#: Of the buffer, equally likely, the smallest first: what is lost in none of these is lost in no larger one.
SHARES = (0.5, 0.75, 1.0, 1.5)
#: Larger communicators take too long to go through.
MOST_RANKS = 128
ENDLESS_BYTES = 1 << 50


class Timeouts:
    """Asks the model of one profile."""

    def __init__(self, profile: str, nodes: Sequence[int]) -> None:
        document = json.loads(profile)
        links = [s for s in document["topology"]["switches"] if s.get("parent")]
        port = document.get("contention", {}).get("port_buffer_bytes") or 0
        holds = [s.get("uplink_buffer_bytes") or port for s in links]
        self._free: Stages | None = None
        if not any(holds):
            return

        def stages(buffers: Sequence[float]) -> Stages:
            for link, size in zip(links, buffers, strict=True):
                link["uplink_buffer_bytes"] = int(size) or ENDLESS_BYTES
            return Stages(json.dumps(document), nodes)

        self._free = stages([ENDLESS_BYTES] * len(links))
        self._held = [stages([share * size for size in holds]) for share in SHARES]

    def seconds(self, part: Part, node_of_rank: Sequence[int]) -> float:
        """By how much a part's calls are expected to be late, each communicator's by itself."""
        if self._free is None:
            return 0.0
        return sum(calls * self._late(made, node_of_rank) for made, calls in sampled(part.made))

    def _late(self, made: Made, node_of_rank: Sequence[int]) -> float:
        # What all send to all overflows wherever they are.
        if self._free is None or made.call.ranks > MOST_RANKS or made.schedule.partition(":")[0] in DIRECT:
            return 0.0
        free, total = self._free.call(made, node_of_rank), 0.0
        for held in self._held:
            seconds = held.call(made, node_of_rank)
            if free is None or seconds is None or seconds <= free:
                break
            total += seconds - free
        return total / len(SHARES)
