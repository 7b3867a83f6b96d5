# SPDX-License-Identifier: Apache-2.0
"""Draws a matrix as coloured squares."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

#: Colours from little to much: even steps of lightness, readable without colour (after the "viridis" idea).
STOPS = ((247, 251, 255), (158, 202, 225), (49, 130, 189), (8, 48, 107))
UNKNOWN = "#e6e6e6"


def colour(share: float) -> str:
    """Returns the colour of a value between 0 (least) and 1 (most)."""
    place = min(max(share, 0.0), 1.0) * (len(STOPS) - 1)
    i = min(int(place), len(STOPS) - 2)
    mixed = (round(a + (b - a) * (place - i)) for a, b in zip(STOPS[i], STOPS[i + 1], strict=True))
    return f"#{''.join(f'{part:02x}' for part in mixed)}"


def svg(values: Sequence[Sequence[float | None]], labels: Sequence[str], texts: Sequence[Sequence[str]]) -> str:
    """Returns the drawing; pointing at a square shows its text."""
    known = [value for row in values for value in row if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    span = (high - low) or 1.0
    # Values that differ by a few percent get one colour, so that noise is not exaggerated.
    if high > 0 and span < 0.1 * high:
        low, span = high * 0.9, high * 0.1
    n = max(len(values), 1)
    side = max(4, min(26, 460 // n))
    margin = 74 if n <= 40 else 8
    extent = margin + n * side + 2
    parts = [f'<svg class="heat" viewBox="0 0 {extent} {extent}" width="{extent}" role="img">']
    for r, row in enumerate(values):
        for c, value in enumerate(row):
            fill = UNKNOWN if value is None else colour((value - low) / span)
            parts.append(
                f'<rect x="{margin + c * side}" y="{margin + r * side}" width="{side - 0.5}" height="{side - 0.5}" '
                f'fill="{fill}"><title>{escape(texts[r][c])}</title></rect>'
            )
    if n <= 40:
        for i, label in enumerate(labels):
            middle = margin + (i + 0.65) * side
            parts.append(f'<text x="{margin - 5}" y="{middle:.1f}" text-anchor="end">{escape(label)}</text>')
            parts.append(f'<text transform="translate({middle:.1f} {margin - 5}) rotate(-90)">{escape(label)}</text>')
    return "".join([*parts, "</svg>"])
