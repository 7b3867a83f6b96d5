# SPDX-License-Identifier: Apache-2.0
"""Summaries of runs (--summary FILE.json): collectives by size with what they used, what compression did and saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon import run_summary
from antiphon.model import limits
from antiphon.output.tables import bytes_text, share_text, time_text
from antiphon.report.page import Bar, Bars, Page, Section, Table, Text

#: Of more rows, the longest are drawn.
MOST_BARS = 12


def accepts(document: Any) -> bool:
    """Accepts the summary that the preload object writes at the end of a run."""
    return run_summary.is_summary(document)


def page(document: Mapping[str, Any], path: Path) -> Page:
    """Shows where the time went, what was chosen and why, and what else the run knows of itself."""
    ranks = int(document["ranks"])
    found = run_summary.rows(document)
    sections = [_time(document, found), _chosen(document, found), _turns(document), _basis(document)]
    if rows := document.get("compression"):
        sections.append(_compression(rows, ranks))
    return Page(f"Run {path.name}", run_summary.facts(document), [part for part in sections if part.blocks])


def _time(document: Mapping[str, Any], rows: list[run_summary.Row]) -> Section:
    """Compares waiting, moving and everything else, for the run and for its longest collectives."""
    title = "Where the time went"
    run_s = document.get("run_s")
    if not run_s or not rows:
        return Section(title)
    waiting_s = sum(row.waiting_s or 0.0 for row in rows)
    moving_s = sum(row.time_s for row in rows) - waiting_s
    rest_s = max(0.0, float(run_s) - waiting_s - moving_s)
    parts = [moving_s, waiting_s, rest_s]
    texts = [f"{time_text(part)}, {share_text(part / run_s)}" for part in parts]
    whole = Bars("The run", "", ["moving data", "waiting", "all else"], [Bar("run", parts, texts)])
    bars = [
        Bar(f"{row.collective} {row.size} by {row.used}", [row.moving_s, row.waiting_s or 0.0],
            [time_text(row.moving_s), time_text(row.waiting_s)])
        for row in rows[:MOST_BARS]
    ]  # fmt: skip
    longest = Bars("Collectives that took longest", "collective", ["moving data", "waiting"], bars)
    verdict = _run_text(document) + _verdict(waiting_s, moving_s, float(run_s)) + _least(rows)
    return Section(title, verdict, [whole, longest])


def _verdict(waiting_s: float, moving_s: float, run_s: float) -> str:
    """Says what there is to gain, and by what."""
    calls_s = waiting_s + moving_s
    words = f"Collectives took {share_text(calls_s / run_s)} of it. "
    if calls_s and waiting_s > 0.5 * calls_s:
        words += (
            f"{share_text(waiting_s / calls_s)} of that was waiting for ranks that came late, which no algorithm "
            "shortens: give the ranks equal work between the calls. "
        )
    return (
        words + f"A faster network or algorithm can gain {time_text(moving_s)} at most: the time in which data moved."
    )


def _least(rows: list[run_summary.Row]) -> str:
    """Says what of the time the links themselves need, in the calls of which that is known."""
    known = [(row.moving_s, row.limit_s) for row in rows if row.limit_s]
    if not known:
        return ""
    moving_s, least_s = (sum(part) for part in zip(*known, strict=True))
    return (
        f" Calls of all ranks with blocks of one size moved data for {time_text(moving_s)}; the nodes' links need at "
        f"least {time_text(least_s)} for them."
    )


def _chosen(document: Mapping[str, Any], rows: list[run_summary.Row]) -> Section:
    lines = [
        [
            row.collective,
            row.size,
            str(row.calls),
            bytes_text(row.bytes),
            time_text(row.time_s),
            share_text(row.share),
            share_text(row.waiting_share),
            time_text(row.max_time_s),
            limits.ratio_text(row.moving_s, row.limit_s),
            row.used,
            row.reason,
        ]
        for row in rows
    ]
    headings = ["collective", "block", "calls", "bytes in all", "time", "share", "waiting", "longest rank", "× limit"]
    headings += ["done by", "because"]
    intro = (
        "Calls: most of any rank. Time: in these calls, mean over ranks. Share: of the run's time. Waiting: the part "
        "of the time before the last rank came to the call. × limit: the time without waiting, as a multiple of what "
        "the nodes' links need at least; –: not known, short, or not a call of all ranks. Because: why the library did "
        "it."
    )
    nothing = Text([f"No collective call was seen: {document.get('nothing_seen', 'the program calls none')}."])
    return Section("What was chosen, and why", intro, [Table(headings, lines) if lines else nothing])


def _turns(document: Mapping[str, Any]) -> Section:
    """Shows which ways took turns, and which is in use at the end."""
    lines = [
        [
            row["collective"],
            "?" if row["most_bytes"] is None else f"≤ {bytes_text(row['most_bytes'])}",
            f"{row['ranks']} on {row['nodes']}",
            row["in_use"],
            time_text(row["in_use_s"]),
            row["tried"],
            time_text(row["tried_s"]),
            str(row["pairs"]),
            "yes" if row["decided"] else "not yet",
            share_text(row["lost"]),
        ]
        for row in document.get("tried") or []
    ]
    headings = ["collective", "block", "ranks on nodes", "in use", "its time", "tried", "time of that", "pairs"]
    headings += ["decided", "lost by trying"]
    intro = "Calls of the run took turns with another way, and the faster one stayed. Times are the slowest rank's."
    return Section("What the run tried", intro, [Table(headings, lines)] if lines else [])


def _basis(document: Mapping[str, Any]) -> Section:
    """Lists the facts that choices rest on."""
    lines = [[str(fact[key]) for key in ("name", "value", "source")] for fact in document.get("facts") or []]
    intro = "A choice is as good as these facts. A wrong one can be set right: `antiphon run` has a setting for each."
    return Section("What choices rest on", intro, [Table(["fact", "value", "source"], lines)] if lines else [])


def _run_text(document: Mapping[str, Any]) -> str:
    return f"The run took {time_text(document['run_s'])} from MPI_Init to MPI_Finalize. "


def _compression(rows: list[Mapping[str, Any]], ranks: int) -> Section:
    raw, wire = (sum(row[key] for row in rows) for key in ("bytes", "wire_bytes"))
    coding_s = sum(row["encode_s"] + row["decode_s"] for row in rows)
    saved_s = sum(row["saved_s"] for row in rows)
    lines = [
        [
            row["communicator"],
            row["class"],
            str(row["messages"]),
            str(row["encoded"]),
            bytes_text(row["bytes"]),
            bytes_text(row["wire_bytes"]),
            f"{row['rate']:.3f}",
            time_text(row["encode_s"]),
            time_text(row["decode_s"]),
            _signed(row["saved_s"]),
        ]
        for row in sorted(rows, key=lambda row: -row["bytes"])
    ]
    headings = [
        "communicator",
        "class",
        "messages",
        "encoded",
        "bytes before",
        "after",
        "rate",
        "encode",
        "decode",
        "saved",
    ]
    total = (
        f"{bytes_text(raw)} travelled as {bytes_text(wire)}, {raw / max(1, wire):.2f} times shorter. Each rank spent "
        f"{time_text(coding_s / ranks)} in codecs and saved an estimated {_signed(saved_s / ranks)}, codecs already "
        "taken off."
    )
    intro = "Messages and pieces of collectives that are long enough. Times are sums over all ranks."
    return Section("Compression", intro, [Text([total]), Table(headings, lines)])


def _signed(seconds: float) -> str:
    return f"−{time_text(-seconds)}" if seconds < 0 else time_text(seconds)
