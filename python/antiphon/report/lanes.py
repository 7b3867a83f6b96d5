# SPDX-License-Identifier: Apache-2.0
"""Draws the lanes of a timeline: in each slice of time the calls' shares are stacked from below."""

from __future__ import annotations

from collections.abc import Sequence

#: The height of a lane, in units of its drawing.
HEIGHT = 100


def lane(shares: Sequence[Sequence[float]], series: int) -> str:
    """Returns the SVG of one row: a path for each series, with equal neighbours drawn as one."""
    paths = "".join(f'<path class="f{i % 8}" d="{path}"/>' for i in range(series) if (path := _path(shares, i)))
    return (
        f'<svg viewBox="0 0 {max(1, len(shares))} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">{paths}</svg>'
    )


def _path(shares: Sequence[Sequence[float]], series: int) -> str:
    """Returns the outlines of a series' parts, each above the parts of the series before it."""
    drawn: list[list[int]] = []
    for place, parts in enumerate(shares):
        below, height = (round(HEIGHT * min(1.0, part)) for part in (sum(parts[:series]), parts[series]))
        if height == 0:
            continue
        if drawn and drawn[-1][0] + drawn[-1][1] == place and drawn[-1][2:] == [below, height]:
            drawn[-1][1] += 1
        else:
            drawn.append([place, 1, below, height])
    return "".join(f"M{x} {HEIGHT - below}h{width}v-{height}h-{width}z" for x, width, below, height in drawn)
