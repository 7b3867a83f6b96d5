# SPDX-License-Identifier: Apache-2.0
"""Draws a matrix as coloured squares. Shades are classes h0 … h15, whose colours fit a light or a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

#: Colours from little to much: even steps of lightness, readable without colour (after the "viridis" idea).
STOPS = ((247, 251, 255), (158, 202, 225), (49, 130, 189), (8, 48, 107))
DARK_STOPS = ((28, 36, 46), (29, 72, 120), (62, 137, 209), (222, 239, 255))
SHADES = 16


def shade(share: float) -> int:
    """Returns the shade of a value between 0 (least) and 1 (most)."""
    return round(min(max(share, 0.0), 1.0) * (SHADES - 1))


def style(stops: Sequence[tuple[int, int, int]]) -> str:
    """Returns the shades as variables of a style sheet."""
    return "".join(f"--h{i}:{_colour(stops, i / (SHADES - 1))};" for i in range(SHADES))


def classes() -> str:
    """Returns what makes an element with the class of a shade have its colour."""
    return "".join(f".h{i}{{fill:var(--h{i})}}" for i in range(SHADES))


def _colour(stops: Sequence[tuple[int, int, int]], share: float) -> str:
    place = share * (len(stops) - 1)
    i = min(int(place), len(stops) - 2)
    mixed = (round(a + (b - a) * (place - i)) for a, b in zip(stops[i], stops[i + 1], strict=True))
    return f"#{''.join(f'{part:02x}' for part in mixed)}"


def svg(values: Sequence[Sequence[float | None]], labels: Sequence[str], texts: Sequence[Sequence[str]],
        words: str) -> str:  # fmt: skip
    """Returns the drawing; pointing at a square shows its text, and `words` say what it shows."""
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
    parts = [
        f'<svg class="heat" viewBox="0 0 {extent} {extent}" width="{extent}" role="img" aria-label="{escape(words)}">'
    ]
    for r, row in enumerate(values):
        for c, value in enumerate(row):
            name = "unknown" if value is None else f"h{shade((value - low) / span)}"
            parts.append(
                f'<rect class="{name}" x="{margin + c * side}" y="{margin + r * side}" width="{side - 0.5}" '
                f'height="{side - 0.5}"><title>{escape(texts[r][c])}</title></rect>'
            )
    if n <= 40:
        for i, label in enumerate(labels):
            middle = margin + (i + 0.65) * side
            parts.append(f'<text x="{margin - 5}" y="{middle:.1f}" text-anchor="end">{escape(label)}</text>')
            parts.append(f'<text transform="translate({middle:.1f} {margin - 5}) rotate(-90)">{escape(label)}</text>')
    return "".join([*parts, "</svg>"])
