# SPDX-License-Identifier: Apache-2.0
"""Who sends how much to whom in a recorded run: point-to-point, and collectives as the messages that they are made of.

`of_trace` makes it, `Traffic.load` and `Traffic.save` keep it in a file (docs/reference/traffic.md).
"""

from antiphon.traffic.graph import Edges, Part, Traffic, Uniform

__all__ = ["Edges", "Part", "Traffic", "Uniform"]
