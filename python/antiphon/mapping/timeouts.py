# SPDX-License-Identifier: Apache-2.0
"""What placements cost where bursts overflow the links between switches: TCP's timeouts, which the sum of all messages
does not know.

Many ranks that send over one link in one phase of a collective may bring more than its port holds; then some message
waits for a timeout, which is often more than all the rest. The model of schedules knows it where the profile has the
ports' buffers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from antiphon.documents import parse_json
from antiphon.mapping.stages import Stages, sampled
from antiphon.traffic.decompose import DIRECT
from antiphon.traffic.graph import Made, Part

#: Larger communicators take too long to go through.
MOST_RANKS = 128
ENDLESS_BYTES = 1 << 50


class Timeouts:
    """Asks the model of one profile how much later calls are done than if nothing were lost."""

    def __init__(self, profile: str, nodes: Sequence[int], share: float = 1.0) -> None:
        """`share`: of what the ports hold."""
        document = parse_json(profile)
        links = [s for s in document["topology"]["switches"] if s.get("parent")]
        port = document.get("contention", {}).get("port_buffer_bytes", 0)
        holds = [s.get("uplink_buffer_bytes") or port for s in links]

        def stages(buffers: Sequence[float]) -> Stages:
            for link, size in zip(links, buffers, strict=True):
                link["uplink_buffer_bytes"] = int(size)
            return Stages(json.dumps(document), nodes)

        #: Where no buffer is known, nothing is assumed lost.
        self._real = stages([share * size for size in holds]) if any(holds) else None
        self._endless = stages([ENDLESS_BYTES] * len(links))

    def seconds(self, part: Part, node_of_rank: Sequence[int]) -> float:
        """The delay of a part's calls; each communicator is looked at by itself."""
        return sum(calls * self._late(made, node_of_rank) for made, calls in sampled(part.made))

    def _late(self, made: Made, node_of_rank: Sequence[int]) -> float:
        # An exchange among all ranks overflows ports wherever the ranks are.
        if self._real is None or made.call.ranks > MOST_RANKS or made.schedule.partition(":")[0] in DIRECT:
            return 0.0
        real, endless = self._real.call(made, node_of_rank), self._endless.call(made, node_of_rank)
        return 0.0 if real is None or endless is None else max(0.0, real - endless)
