# SPDX-License-Identifier: Apache-2.0
"""How much each rank sends to each other in a recorded run: point-to-point messages, and those of collectives.

`of_trace` makes it, `Traffic.load` and `Traffic.save` keep it in a file (docs/reference/traffic.md).
"""

from antiphon.traffic.graph import Edges, Part, Traffic, Uniform

__all__ = ["Edges", "Part", "Traffic", "Uniform"]
