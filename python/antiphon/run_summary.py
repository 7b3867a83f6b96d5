# SPDX-License-Identifier: Apache-2.0
"""Reads the summary of a run (`antiphon run --summary=FILE.json`, docs/reference/summary.md), also an older one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.model import limits
from antiphon.output.tables import bytes_text

#: The newest version that is understood. Version 1 had no waiting, no reasons and nothing about the run.
VERSION = 2
#: Shorter calls wait for latencies, not for links.
LEAST_LIMIT_S = 1e-4


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
    #: The least time of these calls that the nodes' links allow; None where it is not known (`limit_s`).
    limit_s: float | None = None

    @property
    def moving_s(self) -> float:
        """The time without what is known to be waiting."""
        return self.time_s - (self.waiting_s or 0.0)

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
    found = [
        _row_of_version_1(row) if version == 1 else _row(row, limit_s(row, document)) for row in document["collectives"]
    ]
    return sorted(found, key=lambda row: -row.time_s)


@dataclass(frozen=True)
class Share:
    """What collectives took of a run, mean over ranks."""

    run_s: float
    calls_s: float
    waiting_s: float
    #: Of the calls that Antiphon did.
    own_s: float
    #: Why the library did what took it longest; of a run without collectives, what that may mean.
    reason: str

    def to_json(self) -> dict[str, float]:
        """Returns the seconds, and the share of the run."""
        return {"share": self.calls_s / self.run_s, "run_s": self.run_s, "calls_s": self.calls_s,
                "waiting_s": self.waiting_s, "antiphon_s": self.own_s}  # fmt: skip


def share(document: Mapping[str, Any]) -> Share:
    """Returns what collectives took of a run; the summary has this version."""
    found = rows(document)
    own_s = sum(row.time_s for row in found if row.used != "library")
    reasons = [row.reason for row in found if row.used == "library"] + [str(document.get("nothing_seen", ""))]
    return Share(float(document["run_s"]), sum(row.time_s for row in found),
                 sum(row.waiting_s or 0.0 for row in found), own_s, reasons[0])  # fmt: skip


def facts(document: Mapping[str, Any]) -> str:
    """Returns in one line what run it was; of an older summary, no more than its ranks."""
    ranks, nodes = int(document["ranks"]), document.get("nodes")
    words = [f"{ranks} rank{'' if ranks == 1 else 's'}"]
    words[0] += f" on {nodes} node{'' if nodes == 1 else 's'}" if nodes else ""
    words += [str(document[key]) for key in ("mpi", "program", "started") if document.get(key)]
    return ", ".join(words)


def limit_s(row: Mapping[str, Any], document: Mapping[str, Any]) -> float | None:
    """Returns the time that the nodes' links need at least for a row's calls; None where it is not known.

    It is known of calls of all ranks of the run with blocks of one size, on nodes with equally many ranks and links of
    a known rate. Short calls have none, and nor have nonblocking ones, beside which the program computes.
    """
    ranks, nodes = int(document["ranks"]), int(document.get("nodes") or 0)
    rate = (document.get("network") or {}).get("link_bits_per_s") or 0
    everybody = row.get("least_ranks") == row.get("most_ranks") == ranks
    if not everybody or not rate or nodes < 2 or ranks % nodes or row["least_bytes"] != row["most_bytes"]:
        return None
    network = limits.Network.blocks(ranks, ranks // nodes, rate * limits.PAYLOAD_SHARE)
    try:
        one_s = limits.limit_s(row["collective"], row["most_bytes"] or 0, network)
    except ValueError:
        return None
    return one_s * int(row["calls"]) if one_s and one_s >= LEAST_LIMIT_S else None


def _row(row: Mapping[str, Any], least_s: float | None) -> Row:
    return Row(row["collective"], _size(row), row["calls"], row["bytes"], row["time_s"], row["max_time_s"],
               row["share"], row["waiting_s"], row["algorithm"], row["reason"] or "", least_s)  # fmt: skip


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
