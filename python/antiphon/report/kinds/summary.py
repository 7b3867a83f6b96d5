# SPDX-License-Identifier: Apache-2.0
"""Summaries of runs (--summary FILE.json): collectives by size with what they used, what compression did and saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon import run_summary
from antiphon.output.tables import bytes_text, share_text, time_text
from antiphon.report.page import Page, Section, Table, Text


def accepts(document: Any) -> bool:
    """Accepts the summary that the preload object writes at the end of a run."""
    return run_summary.is_summary(document)


def page(document: Mapping[str, Any], path: Path) -> Page:
    """Shows the collectives and, if messages were compressed, the result of compression."""
    sections = [_collectives(document)]
    if rows := document.get("compression"):
        sections.append(_compression(rows, int(document["ranks"])))
    return Page(f"Run {path.name}", run_summary.facts(document), sections)


def _collectives(document: Mapping[str, Any]) -> Section:
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
            row.used,
            row.reason,
        ]
        for row in run_summary.rows(document)
    ]
    headings = ["collective", "block", "calls", "bytes in all", "time", "share", "waiting", "longest rank", "done by"]
    headings += ["because"]
    intro = (
        f"{_run_text(document)}Calls: most of any rank. Time: in these calls, mean over ranks. Share: of the run's "
        "time. Waiting: the part of the time before the last rank came to the call."
    )
    nothing = Text([f"No collective call was seen: {document.get('nothing_seen', 'the program calls none')}."])
    return Section("Collectives", intro, [Table(headings, lines) if lines else nothing])


def _run_text(document: Mapping[str, Any]) -> str:
    seconds = document.get("run_s")
    return "" if seconds is None else f"The run took {time_text(seconds)} from MPI_Init to MPI_Finalize. "


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
