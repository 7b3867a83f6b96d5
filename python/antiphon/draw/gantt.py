# SPDX-License-Identifier: Apache-2.0
"""Draws Gantt charts of phases in the terminal and as SVG: one row per node's sending link, with time to the right."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from antiphon.output.tables import bytes_text, time_text
from antiphon.patterns.compiled import TimedPart

#: More rows than this are left out in the terminal.
MAX_ROWS = 32
IDLE = "·"
LEGEND = f"each row what a rank sends: the receiver's number where a part begins, ─ while it goes on, {IDLE} idle"


def lines(parts: Sequence[TimedPart], ranks: int, end_s: float, width: int) -> list[str]:
    """Returns the chart as text of at most `width` columns."""
    label = max(len(str(ranks - 1)), 4) + 1
    columns = max(width - label, 10)
    rows: dict[int, list[str]] = {rank: [IDLE] * columns for rank in range(ranks)}
    for part in sorted(parts, key=lambda p: p.begin_s):
        _put(rows[part.source], part, columns / end_s if end_s else 0)
    shown = [f"{'rank':<{label}}0{time_text(end_s):>{columns - 1}}"]
    shown += [f"{rank:<{label}}{''.join(row)}" for rank, row in list(rows.items())[:MAX_ROWS]]
    if ranks > MAX_ROWS:
        shown.append(f"… {ranks - MAX_ROWS} more ranks …")
    return shown


def _put(row: list[str], part: TimedPart, columns_per_s: float) -> None:
    begin = min(int(part.begin_s * columns_per_s), len(row) - 1)
    end = min(max(round(part.end_s * columns_per_s), begin + 1), len(row))
    text = str(part.target)
    for i, column in enumerate(range(begin, end)):
        row[column] = text[i] if i < len(text) and end - begin >= len(text) else "─"


def idle_share(parts: Sequence[TimedPart], ranks: int, end_s: float) -> float:
    """Returns the share of the time that sending links are idle until the end."""
    busy = sum(part.end_s - part.begin_s for part in parts)
    return 1 - min(busy / (end_s * ranks), 1) if end_s and ranks else 0


_COLORS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#999999")
_ROW, _LEFT, _TOP, _WIDTH = 18, 56, 46, 1100
_STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #333 }
  .title { font-size: 14px; fill: #111 }
  .target { fill: #fff }
  .page { fill: #fff }
  .lane { fill: #eee }
  .bound { stroke: #111; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #c9ccd2 }
    .title { fill: #f2f3f5 }
    .page { fill: #16181d }
    .lane { fill: #2a2e36 }
    .bound { stroke: #f2f3f5 }
  }
"""


def svg(parts: Sequence[TimedPart], ranks: int, end_s: float, bound_s: float, title: str) -> str:
    """Returns the chart as SVG: colours by phase, the lower bound as a line, and each part's text when pointed at."""
    scale = _WIDTH / max(end_s, bound_s, 1e-12)
    height = _TOP + ranks * _ROW + 30
    width = _LEFT + _WIDTH + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
        f'<text class="title" x="{_LEFT}" y="16">{html.escape(title)}</text>',
    ]
    for rank in range(ranks):
        y = _TOP + rank * _ROW
        out.append(f'<text x="{_LEFT - 6}" y="{y + 13}" text-anchor="end">{rank}</text>')
        out.append(f'<rect class="lane" x="{_LEFT}" y="{y + 2}" width="{end_s * scale:.1f}" height="{_ROW - 4}"/>')
    for part in parts:
        out += _bar(part, scale)
    x, bottom = _LEFT + bound_s * scale, _TOP + ranks * _ROW
    anchor = "end" if bound_s * scale > _WIDTH / 2 else "start"
    out += [
        f'<line class="bound" x1="{x:.1f}" y1="{_TOP - 8}" x2="{x:.1f}" y2="{bottom + 4}"/>',
        f'<text x="{x:.1f}" y="{_TOP - 12}" text-anchor="{anchor}">lower bound {time_text(bound_s)}</text>',
        f'<text x="{_LEFT}" y="{bottom + 18}">rows: what a rank sends; end {time_text(end_s)}</text></svg>\n',
    ]
    return "\n".join(out)


def _bar(part: TimedPart, scale: float) -> Iterator[str]:
    """Yields a part's bar, with its receiver where there is room."""
    x, y = _LEFT + part.begin_s * scale, _TOP + part.source * _ROW + 2
    width = max((part.end_s - part.begin_s) * scale, 0.5)
    tip = f"{part.source} → {part.target}, {bytes_text(part.bytes)}, phase {part.phase + 1}"
    tip += f", from {time_text(part.begin_s)}"
    color = _COLORS[part.phase % len(_COLORS)]
    yield (
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 4}" fill="{color}" '
        f'stroke="white" stroke-width="0.5"><title>{html.escape(tip)}</title></rect>'
    )
    if width > 16:
        yield f'<text class="target" x="{x + width / 2:.1f}" y="{y + 11}" text-anchor="middle">{part.target}</text>'
