# SPDX-License-Identifier: Apache-2.0
"""UCC: the score string of UCC_TL_UCP_TUNE, from Antiphon's measured schedules of the kinds that UCC has too.

`collective:sizes:memory:[team]:score:@algorithm`, tokens separated by `#`. Sizes are ranges; where two meet, the
size belongs to the second if their scores are equal. UCC counts a size as its own arguments do: all ranks' blocks
for allgather and alltoall, the message for bcast and allreduce, and its scatter has no algorithms at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.exporters import Exported, Options
from antiphon.exporters import _measured as measured
from antiphon.exporters._measured import Decision

SUMMARY = "UCC: UCC_TL_UCP_TUNE"

USAGE = """\
export UCC_TL_UCP_TUNE='…the line…'; with Open MPI also --mca coll_ucc_enable 1 --mca coll_ucc_priority 100
UCC_LOG_LEVEL=info prints the scores it understood. The algorithms were measured as Antiphon's schedules, not as
UCC's code."""

#: Maps {collective: {Antiphon's algorithm: UCC's}}, where both do the same.
KNOWN = {
    "allgather": {"ring": "ring", "bruck": "bruck", "neighbour_exchange": "neighbor", "recursive_doubling": "knomial"},
    "allreduce": {"recursive_doubling": "knomial", "rabenseifner": "sra_knomial", "ring": "ring"},
    "alltoall": {"rotated": "pairwise", "windowed": "pairwise", "bruck": "bruck"},
    "bcast": {"binomial": "knomial", "scatter_allgather_recursive_doubling": "sag_knomial", "binary": "dbt"},
    "reduce": {"binomial": "knomial", "rabenseifner": "srg"},
}

_OF_ALL_RANKS = frozenset({"allgather", "alltoall"})
_SCORE = 100
_TOKEN = re.compile(r"(\w+):(\d+)-(\d+|inf):host:\[(\d+)-(\d+)\]:(\d+):@(\w+)")


def export(profile: Mapping[str, Any], _options: Options) -> Exported:
    """Returns one line."""
    known = measured.of_antiphon(profile, KNOWN)
    decisions = [d for d in known.decisions if d.collective in KNOWN and d.algorithm is not None]
    if not decisions:
        raise AntiphonError(
            "nothing to export: no algorithm that UCC has too was faster than the library's", exit_code=1
        )
    left_out = ["scatter: UCC has no algorithms of its own for it", "window and pieces: UCC has no such parameters"]
    text = "#".join(_token(d) for d in decisions) + "\n"
    for d in decisions:
        for size in d.measured:
            found = lookup(text, d.collective, d.ranks, message_bytes(d.collective, d.ranks, size))
            if d.algorithm and found != KNOWN[d.collective][d.algorithm.name]:
                raise AntiphonError(
                    f"the line would be misread: {d.collective} of {size} bytes on {d.ranks} ranks: {found}",
                    exit_code=1,
                )
    return Exported(text, USAGE, left_out)


def _token(d: Decision) -> str:
    assert d.algorithm is not None
    high = "inf" if d.bytes_high is None else str(message_bytes(d.collective, d.ranks, d.bytes_high + 1))
    low = 0 if d.bytes_low <= 1 else message_bytes(d.collective, d.ranks, d.bytes_low)
    name = KNOWN[d.collective][d.algorithm.name]
    return f"{d.collective}:{low}-{high}:host:[{d.ranks_low}-{d.ranks_high}]:{_SCORE}:@{name}"


def message_bytes(collective: str, ranks: int, size: int) -> int:
    """Returns the size that UCC compares with a range."""
    return ranks * size if collective in _OF_ALL_RANKS else size


def lookup(text: str, collective: str, ranks: int, message: int) -> str | None:
    """Returns the algorithm that UCC chooses, or None if its own scores decide."""
    ranges = sorted(
        (low, high, name) for who, low, high, teams, name in _tokens(text) if who == collective and ranks in teams
    )
    for i, (low, high, name) in enumerate(ranges):
        shared = i + 1 < len(ranges) and ranges[i + 1][0] == high
        if low <= message and (message < high or message == high and not shared):
            return name
    return None


def _tokens(text: str) -> Iterator[tuple[str, int, float, range, str]]:
    for token in text.strip().split("#"):
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise ValueError(f"UCC would not understand {token!r}")
        collective, low, high, first, last, _, name = match.groups()
        yield collective, int(low), float(high), range(int(first), int(last) + 1), name
