# SPDX-License-Identifier: Apache-2.0
"""`antiphon explain --pattern FILE | --plan FILE`: shows phases as a table and a Gantt chart."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from antiphon import output, patterns
from antiphon.draw import gantt
from antiphon.errors import AntiphonError
from antiphon.explain.options import switch_counts
from antiphon.model.limits import PAYLOAD_SHARE
from antiphon.output import files
from antiphon.output.tables import bytes_text, new_table, print_wide, ratio_text, time_text
from antiphon.patterns import compiled
from antiphon.patterns.compiled import Bound, Compiled
from antiphon.plan import Plan, tables
from antiphon.units import rate_option

MAX_SHOWN_PHASES = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that only patterns and plans have."""
    group = parser.add_argument_group("patterns and plans, instead of a collective")
    group.add_argument(
        "--pattern", metavar="P", help=f"schedule a pattern: a file, or {', '.join(patterns.GENERATORS)}, each with "
        ":BYTES for its block and for --ranks ranks",
    )  # fmt: skip
    group.add_argument("--plan", type=Path, metavar="FILE", help="show a plan, of `antiphon plan` or `compile`")
    group.add_argument("--uplink-rate", metavar="RATE", help="of each switch's link to the others")
    group.add_argument("--seed", type=int, default=patterns.SEED, help="of a random pattern (default: %(default)s)")


def run(args: argparse.Namespace, link_bits_per_s: int) -> int:
    """Explains a pattern or a plan."""
    if args.plan:
        plan = Plan.load(args.plan)
        fabric = _fabric(args, link_bits_per_s, max((pattern["size"] for pattern in plan.patterns), default=1))
        shown = compiled.describe_plan(args.plan.read_text(encoding="utf-8"), fabric)
        document: Any = {**tables.to_json(plan), "patterns": [_json(c, bound) for c, bound in shown]}
    else:
        pattern = patterns.named(args.pattern, args.ranks or 16, args.seed)
        fabric = _fabric(args, link_bits_per_s, pattern.size)
        scheduled = compiled.schedule(pattern, fabric, build_times=True)
        shown = [(scheduled.candidates[0], scheduled.bound)]
        document = {"pattern": pattern.name, "small_bytes": scheduled.small_bytes, "bound": scheduled.bound._asdict(),
                    "candidates": [_json(c, scheduled.bound) for c in scheduled.candidates]}  # fmt: skip
    if args.svg:
        _write_svg(args.svg, shown)
    if args.json:
        output.print_json(document)
        return 0
    if not args.plan:
        _show_candidates(pattern, scheduled)
    elif plan.made_for:
        tables.show(plan)
    for one, bound in shown:
        _show(one, bound)
    if args.svg:
        output.stderr().print(f"wrote {args.svg}", soft_wrap=True)
    return 0


def _fabric(args: argparse.Namespace, link_bits_per_s: int, ranks: int) -> dict[str, Any]:
    fabric: dict[str, Any] = {}
    if link_bits_per_s:
        fabric["link_bytes_per_s"] = int(link_bits_per_s * PAYLOAD_SHARE / 8)
    if args.ranks_per_node > 1:
        fabric["node_of_rank"] = [rank // args.ranks_per_node for rank in range(ranks)]
    if args.switches:
        uplink = rate_option("--uplink-rate", args.uplink_rate) if args.uplink_rate else link_bits_per_s
        counts = [min(count, ranks) for count in switch_counts(args.switches)]
        fabric["switch_of_node"] = [switch for switch, count in enumerate(counts) for _ in range(count)]
        fabric["uplink_bytes_per_s"] = int(uplink * PAYLOAD_SHARE / 8)
    return fabric


def _json(one: Compiled, bound: Bound) -> dict[str, Any]:
    return {
        "scheduler": one.scheduler, "synchronisation": one.synchronisation, "cut": list(one.cut), "size": one.size,
        "calls": one.calls, "messages": one.messages, "bytes": one.bytes, "expected_s": one.expected_s,
        "bound": bound._asdict(), "over_bound": _over(one.expected_s, bound), "seconds": dict(one.seconds),
        "build_s": one.build_s,
        "phases": [{"together": p.together, "bytes": p.bytes, "longest_bytes": p.longest_bytes, "senders": p.senders,
                    "parts": [list(part) for part in p.parts]} for p in one.phases],
        "time_line": [t._asdict() for t in one.time_line],
    }  # fmt: skip


def _over(seconds: float, bound: Bound) -> float | None:
    return seconds / bound.seconds if bound.seconds else None


def _show_candidates(pattern: patterns.Pattern, scheduled: compiled.Scheduled) -> None:
    console = output.stdout()
    bound, best = scheduled.bound, scheduled.candidates[0]
    console.print(f"{pattern.name}: {len(pattern.messages)} messages of {bytes_text(pattern.bytes)} in all, "
                  f"{pattern.size} "
                  f"ranks", style="bold", soft_wrap=True)  # fmt: skip
    limit = f"lower bound {time_text(bound.seconds)}: {bytes_text(bound.node_bytes)} at the busiest node"
    if bound.uplink_bytes:
        limit += f", {bytes_text(bound.uplink_bytes)} over the busiest uplink"
    console.print(limit, soft_wrap=True)
    console.print(f"messages shorter than {bytes_text(scheduled.small_bytes)} need no phase\n", soft_wrap=True)
    table = new_table()
    for heading in (
        "scheduler",
        "phases",
        "synchronised by",
        "expected",
        "× bound",
        "with barriers",
        "slower by",
        "took",
    ):
        table.add_column(heading, justify="left" if heading in ("scheduler", "synchronised by") else "right")
    for c in scheduled.candidates:
        slower = c.expected_s / best.expected_s - 1 if best.expected_s else 0
        table.add_row(c.scheduler, str(len(c.phases)), c.synchronisation, time_text(c.expected_s),
                      ratio_text(_over(c.expected_s, bound)), time_text(c.seconds["barrier"]),
                      "best" if c is best else f"{100 * slower:.1f} %", time_text(c.build_s))  # fmt: skip
    print_wide(table)


def _show(one: Compiled, bound: Bound) -> None:
    console = output.stdout()
    piece, window = one.cut
    console.print(f"{one.scheduler}: {one.messages} messages in {len(one.phases)} phases, synchronised by "
                  f"{one.synchronisation}, pieces of {bytes_text(piece)}, {window} under way"
                  + (f"; seen {one.calls} times" if one.calls else ""), style="bold", soft_wrap=True)  # fmt: skip
    table = new_table()
    for heading in ("phase", "parts", "bytes", "longest", "idle senders", "load"):
        table.add_column(heading, justify="right")
    shown = _shown(len(one.phases))
    for i, phase in enumerate(one.phases):
        if i not in shown:
            continue
        # This is how much of the phase's time its links are used, if the phase is as long as its longest part.
        load = phase.bytes / (phase.longest_bytes * phase.senders) if phase.bytes else 0
        label = f"{i + 1}{' together' if phase.together else ''}"
        table.add_row(label, str(len(phase.parts)), bytes_text(phase.bytes), bytes_text(phase.longest_bytes),
                      str(one.size - phase.senders), "" if phase.together else f"{100 * load:.0f} %")  # fmt: skip
    print_wide(table)
    if len(shown) < len(one.phases):
        console.print(f"… {len(one.phases) - len(shown)} more phases in the middle …\n", soft_wrap=True)
    end_s = max((part.end_s for part in one.time_line), default=0)
    if end_s:
        width = min(console.width, 160) if console.is_terminal else 120
        for line in [*gantt.lines(one.time_line, one.size, end_s, width), gantt.LEGEND]:
            console.print(line, soft_wrap=True, markup=False)
        idle = gantt.idle_share(one.time_line, one.size, end_s)
        console.print(f"sending links idle {100 * idle:.0f} % of the time; expected {time_text(one.expected_s)}, "
                      f"{ratio_text(_over(one.expected_s, bound))} the lower bound\n", soft_wrap=True)  # fmt: skip


def _shown(count: int) -> set[int]:
    if count <= MAX_SHOWN_PHASES:
        return set(range(count))
    return {*range(MAX_SHOWN_PHASES - 3), *range(count - 3, count)}


def _write_svg(path: Path, shown: Sequence[tuple[Compiled, Bound]]) -> None:
    if not shown or not shown[0][0].time_line:
        raise AntiphonError("--svg: there is nothing to draw")
    one, bound = shown[0]
    end_s = max(part.end_s for part in one.time_line)
    title = f"{one.scheduler}, {len(one.phases)} phases, {one.synchronisation}"
    files.write(path, gantt.svg(one.time_line, one.size, end_s, bound.seconds, title))
