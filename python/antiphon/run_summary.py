# SPDX-License-Identifier: Apache-2.0
"""Reads the summary of a run (`antiphon run --summary=FILE.json`, docs/reference/summary.md), also an older one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.output.tables import bytes_text

#: The newest version that is understood. Version 1 had no waiting, no reasons and nothing about the run.
VERSION = 2


@dataclass(frozen=True)
class Row:
    """Calls of one collective, one class of block sizes, and one way to do them."""

    collective: str
    #: The size of a block: "64 KiB", "≤ 64 KiB" where sizes differ within a class, "1 KiB … 64 KiB" without classes.
    size: str
    #: Most calls of any rank.
    calls: int
    bytes: int
    #: Mean over ranks, and most of any rank.
    time_s: float
    max_time_s: float
    #: Of the run's time; None in an older file.
    share: float | None
    #: The part of time_s before the last rank came to the call; None where it is not known.
    waiting_s: float | None
    #: An algorithm, or "library", and then why.
    used: str
    reason: str

    @property
    def waiting_share(self) -> float | None:
        """The part of the time that was waiting."""
        return None if self.waiting_s is None else self.waiting_s / self.time_s if self.time_s else 0.0


def is_summary(document: Any) -> bool:
    """Returns whether this is the summary of a run, of any version."""
    return isinstance(document, Mapping) and {"version", "ranks", "collectives"} <= document.keys()


def rows(document: Mapping[str, Any]) -> list[Row]:
    """Returns the rows, with the longest time first."""
    version = document["version"]
    if version not in (1, VERSION):
        raise AntiphonError(
            f"the summary has version {version}, and this Antiphon knows 1 and {VERSION}",
            hint="read it with the Antiphon that wrote it, or a newer one",
        )
    found = [_row_of_version_1(row) if version == 1 else _row(row) for row in document["collectives"]]
    return sorted(found, key=lambda row: -row.time_s)


def facts(document: Mapping[str, Any]) -> str:
    """Returns in one line what run it was; of an older summary, no more than its ranks."""
    ranks, nodes = int(document["ranks"]), document.get("nodes")
    words = [f"{ranks} rank{'' if ranks == 1 else 's'}"]
    words[0] += f" on {nodes} node{'' if nodes == 1 else 's'}" if nodes else ""
    words += [str(document[key]) for key in ("mpi", "program", "started") if document.get(key)]
    return ", ".join(words)


def _row(row: Mapping[str, Any]) -> Row:
    return Row(row["collective"], _size(row), row["calls"], row["bytes"], row["time_s"], row["max_time_s"],
               row["share"], row["waiting_s"], row["algorithm"], row["reason"] or "")  # fmt: skip


def _row_of_version_1(row: Mapping[str, Any]) -> Row:
    """Sizes were those of whole buffers, which the text says."""
    return Row(row["collective"], f"{row['size_class']} (buffer)", row["calls"], row["bytes"], row["time_s"],
               row["max_time_s"], None, None, row["algorithm"], "")  # fmt: skip


def _size(row: Mapping[str, Any]) -> str:
    if row["most_bytes"] is None:
        return "?"
    if row["collective"] == "barrier" and not row["most_bytes"]:
        return ""
    least, most = row["least_bytes"], row["most_bytes"]
    if least == most:
        return bytes_text(most)
    return ("≤ " if 2 * least > most else f"{bytes_text(least)} … ") + bytes_text(most)
