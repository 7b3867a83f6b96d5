# SPDX-License-Identifier: Apache-2.0
"""Draws a time line as SVG: one row per rank, one arrow per message from its begin (sender) to its end (receiver)."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape

from antiphon.core import Transfer
from antiphon.explain.explanation import Explanation
from antiphon.model import limits
from antiphon.output.tables import bytes_text, ratio_text, time_text

WIDTH = 1000
LEFT, RIGHT, TOP, BOTTOM = 64, 36, 84, 60
#: With more pieces than this, whole messages are drawn in rounds, because single arrows would be indistinguishable.
MAX_PIECES = 600
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #333 }
  .title { font-size: 17px; font-weight: 600; fill: #111 }
  .faint { fill: #767676 }
  .lane { stroke: #d8d8d8 }
  .tick { stroke: #ececec }
  .limit { stroke: #b3261e; stroke-dasharray: 5 4 }
  .token { stroke-dasharray: 2 3; stroke: #999 }
  .node { fill: #f5f5f5 }
  .within { opacity: 0.45 }
  .page { fill: #fff }
  @media (prefers-color-scheme: dark) {
    text { fill: #c9ccd2 }
    .title { fill: #f2f3f5 }
    .faint { fill: #969ba5 }
    .lane { stroke: #454952 }
    .tick { stroke: #2f333b }
    .limit { stroke: #ff8a80 }
    .node { fill: #24272e }
    .page { fill: #16181d }
    g { filter: brightness(1.5) }
  }
"""


@dataclass(frozen=True)
class Scale:
    """The places of ranks and times on the page."""

    ranks: int
    end: float
    time_label: Callable[[float], str]
    axis: str
    ranks_per_node: int
    #: Time units in one unit of the axis, so that its ticks are round numbers.
    unit: float = 1

    @property
    def has_levels(self) -> bool:
        """Whether there are several nodes, with several ranks each."""
        return 1 < self.ranks_per_node < self.ranks

    def node(self, rank: int) -> int:
        return rank // self.ranks_per_node

    @property
    def row_height(self) -> float:
        return 32 if self.ranks <= 16 else max(12, 512 / self.ranks)

    @property
    def bottom(self) -> float:
        return TOP + (self.ranks - 1) * self.row_height

    def x(self, time: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * time / self.end

    def y(self, rank: int) -> float:
        return TOP + rank * self.row_height


def time_line(explanation: Explanation) -> str:
    """Returns the whole document, for an explanation that has single messages."""
    cost, call = explanation.cost, explanation.call
    assert cost is not None
    in_pieces = cost.wire.end > 0 and len(cost.wire.transfers) <= MAX_PIECES
    transfers = cost.wire.transfers if in_pieces else cost.rounds.transfers
    scale = _wire_scale(explanation) if in_pieces else Scale(
        call.ranks, cost.rounds.end, lambda t: f"{t:g}",
        "rounds, each port sending and receiving one message at a time", call.ranks_per_node,
    )  # fmt: skip
    limit = call.limit_bytes() if in_pieces else 0
    height = scale.bottom + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}">',
        f"<style>{STYLE}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        *_titles(explanation),
        *_nodes(scale),
        *_axes(scale, limit),
        *(_arrow(t, scale) for t in transfers),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _wire_scale(explanation: Explanation) -> Scale:
    cost, call = explanation.cost, explanation.call
    rate = call.link_bits_per_s
    assert cost is not None
    axis = "time on an ideal network"
    if not rate:
        axis += ", as bytes through a port"
        return Scale(call.ranks, cost.wire.end, lambda t: bytes_text(round(t)), axis, call.ranks_per_node)
    payload_bytes_per_s = rate * limits.PAYLOAD_SHARE / 8

    def label(time: float) -> str:
        return time_text(time / payload_bytes_per_s) if time else "0"

    return Scale(call.ranks, cost.wire.end, label, axis, call.ranks_per_node, payload_bytes_per_s)


def _titles(explanation: Explanation) -> Iterator[str]:
    call, cost = explanation.call, explanation.cost
    assert cost is not None
    size = "" if call.collective == "barrier" else f" of {bytes_text(call.bytes)}"
    size += f", root {call.root}" if call.root else ""
    nodes = f"{call.nodes} node{'s' * (call.nodes != 1)}"
    facts = [f"{call.ranks} ranks on {nodes}", f"{cost.rounds.end} rounds of whole messages"]
    ratio = cost.ratio(call.limit_bytes())
    if ratio is not None:
        facts.append(f"{ratio_text(ratio)} the limit on an ideal network")
    if 1 < call.ranks_per_node < call.ranks:
        facts.append("shaded: every other node; faint arrows stay within one")
    title = escape(f"{call.collective}{size}: {explanation.shown.choice}")
    yield f"<title>{title}</title>"
    yield f'<text class="title" x="{LEFT - 44}" y="28">{title}</text>'
    yield f'<text class="faint" x="{LEFT - 44}" y="48">{escape("; ".join(facts))}</text>'


def _nodes(scale: Scale) -> Iterator[str]:
    """Shades the rows of every other node."""
    for first in range(0, scale.ranks if scale.has_levels else 0, 2 * scale.ranks_per_node):
        rows = min(scale.ranks_per_node, scale.ranks - first)
        y, height = scale.y(first) - scale.row_height / 2, rows * scale.row_height
        yield f'<rect class="node" x="{LEFT}" y="{y:.1f}" width="{WIDTH - LEFT - RIGHT}" height="{height:.1f}"/>'


def _axes(scale: Scale, limit: float) -> Iterator[str]:
    top, bottom = TOP - 14, scale.bottom + 14
    for time in _ticks(scale):
        x = scale.x(time)
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom:.1f}"/>'
        label = escape(scale.time_label(time))
        yield f'<text class="faint" x="{x:.1f}" y="{bottom + 14:.1f}" text-anchor="middle">{label}</text>'
    for rank in range(scale.ranks):
        y = scale.y(rank)
        yield f'<line class="lane" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{rank}</text>'
    yield f'<text class="faint" x="{LEFT - 44}" y="{TOP - 12}">rank</text>'
    yield f'<text class="faint" x="{WIDTH - RIGHT}" y="{bottom + 34:.1f}" text-anchor="end">{escape(scale.axis)}</text>'
    if 0 < limit <= scale.end:
        x = scale.x(limit)
        yield f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom:.1f}"/>'
        yield f'<text x="{x:.1f}" y="{top - 4}" text-anchor="{"end" if x > WIDTH / 2 else "middle"}">limit</text>'


def _ticks(scale: Scale) -> list[float]:
    """Returns five to ten round numbers; rounds are whole."""
    end = scale.end / scale.unit
    step = 10.0 ** math.floor(math.log10(end / 10))
    step = next(step * factor for factor in (1, 2, 5, 10) if end / (step * factor) <= 10)
    if scale.axis.startswith("rounds"):
        step = max(round(step), 1)
    elif scale.unit == 1:
        step = 2 ** math.ceil(math.log2(end / 10))
    return [i * step * scale.unit for i in range(int(end / step * (1 + 1e-9)) + 1)]


def _arrow(t: Transfer, scale: Scale) -> str:
    x1, y1, x2, y2 = scale.x(t.begin), scale.y(t.source), scale.x(t.end), scale.y(t.target)
    color = _color(t.source)
    what = bytes_text(t.bytes) if t.bytes else "token"
    within = scale.has_levels and scale.node(t.source) == scale.node(t.target)
    times = f"{scale.time_label(t.begin)} to {scale.time_label(t.end)}"
    tip = f"<title>{t.source} → {t.target}: {what}, {times}{', within the node' * within}</title>"
    kind = f'stroke="{color}" stroke-width="1.2"' if t.bytes else 'class="token"'
    line = f'<line {kind} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
    group = '<g class="within">' if within else "<g>"
    return f'{group}{tip}{line}<path d="{_head(x1, y1, x2, y2)}" fill="{color if t.bytes else "#999"}"/></g>'


def _color(rank: int) -> str:
    """Returns golden-angle hues, which give neighbouring ranks colours that are easy to tell apart."""
    rgb = colorsys.hls_to_rgb(rank * 137.5 % 360 / 360, 0.42, 0.62)
    return "#" + "".join(f"{round(255 * c):02x}" for c in rgb)


def _head(x1: float, y1: float, x2: float, y2: float) -> str:
    """Draws an arrow's head at (x2, y2)."""
    length = math.hypot(x2 - x1, y2 - y1) or 1
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    back_x, back_y = x2 - 6 * dx, y2 - 6 * dy
    return (f"M{x2:.1f} {y2:.1f}L{back_x - 2.4 * dy:.1f} {back_y + 2.4 * dx:.1f}"
            f"L{back_x + 2.4 * dy:.1f} {back_y - 2.4 * dx:.1f}Z")  # fmt: skip
