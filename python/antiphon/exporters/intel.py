# SPDX-License-Identifier: Apache-2.0
"""Intel MPI 2019 to 2021.12: I_MPI_ADJUST_… variables, from Antiphon's measured schedules of the kinds that it has too.

`I_MPI_ADJUST_BCAST="1:0-2047@3-16;3:2048-2147483647@3-16"`: algorithm, sizes, ranks, bounds inclusive. From 2021.13
on the numbers name presets instead of algorithms, so they would mean something else: refused. What Intel calls a
message's size is documented for no collective; it is taken as the bytes that one rank passes for another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.exporters import Exported, Options, version_of
from antiphon.exporters import _measured as measured
from antiphon.exporters._measured import Decision

SUMMARY = "Intel MPI 2019 to 2021.12: I_MPI_ADJUST variables"

USAGE = """\
source FILE before mpirun. The algorithms were measured as Antiphon's schedules, not as Intel's code; I_MPI_DEBUG=4
shows what it takes."""

_PRESETS_SINCE = (2021, 13)
_MOST = 2**31 - 1

#: Maps {collective: {Antiphon's algorithm: Intel's number}}, where both do the same.
KNOWN = {
    "allgather": {"recursive_doubling": "1", "bruck": "2", "ring": "3"},
    "allreduce": {"recursive_doubling": "1", "rabenseifner": "2", "reduce_bcast": "3", "ring": "8"},
    "alltoall": {"bruck": "1", "windowed": "2", "rotated": "3", "exchange_xor": "3"},
    "alltoallv": {"windowed": "1"},
    "barrier": {"dissemination": "1"},
    "bcast": {"binomial": "1", "scatter_allgather_recursive_doubling": "2", "scatter_allgather_ring": "3"},
    "gather": {"binomial": "1"},
    "reduce": {"binomial": "2", "rabenseifner": "5"},
    "reduce_scatter": {"recursive_halving": "1", "pairwise": "2"},
    "scatter": {"binomial": "1"},
}

_LINE = re.compile(r'export I_MPI_ADJUST_([A-Z_]+)="([^"]*)"')
_CONDITION = re.compile(r"(\d+):(\d+)-(\d+)@(\d+)-(\d+)")


def export(profile: Mapping[str, Any], options: Options) -> Exported:
    """Returns lines for a shell."""
    if options.reader_version and version_of(options.reader_version) >= _PRESETS_SINCE:
        raise AntiphonError(
            f"Intel MPI {options.reader_version} numbers presets, of which there are "
            "more than algorithms: these numbers would mean others",
            hint="its own tuner is I_MPI_TUNING_MODE=auto",
        )
    known = measured.of_antiphon(profile, KNOWN)
    decisions = [d for d in known.decisions if d.collective in KNOWN and d.algorithm is not None]
    if not decisions:
        raise AntiphonError(
            "nothing to export: no algorithm that Intel MPI has too was faster than the library's", exit_code=1
        )
    lines = [f"# by antiphon export, from measurements under {known.label} on {known.nodes} nodes"]
    for collective in dict.fromkeys(d.collective for d in decisions):
        conditions = ";".join(_condition(d) for d in decisions if d.collective == collective)
        lines.append(f'export I_MPI_ADJUST_{collective.upper()}="{conditions}"')
    text = "\n".join(lines) + "\n"
    for d in decisions:
        for size in d.measured:
            found = lookup(text, d.collective, d.ranks, size)
            if d.algorithm and found != KNOWN[d.collective][d.algorithm.name]:
                raise AntiphonError(
                    f"the lines would be misread: {d.collective} of {size} bytes on {d.ranks} ranks: {found}",
                    exit_code=1,
                )
    return Exported(text, USAGE, ["window and pieces: Intel MPI has no such parameters"])


def _condition(d: Decision) -> str:
    assert d.algorithm is not None
    low, high = (0 if d.bytes_low <= 1 else d.bytes_low), (_MOST if d.bytes_high is None else d.bytes_high)
    return f"{KNOWN[d.collective][d.algorithm.name]}:{low}-{min(high, _MOST)}@{d.ranks_low}-{d.ranks_high}"


def lookup(text: str, collective: str, ranks: int, message: int) -> str | None:
    """Returns the number that Intel MPI takes, or None for its own choice. Raises ValueError for a bad variable."""
    for name, value in _LINE.findall(text):
        if name != collective.upper():
            continue
        for part in value.split(";"):
            match = _CONDITION.fullmatch(part)
            if match is None:
                raise ValueError(f"Intel MPI would not understand {part!r}")
            number, low, high, first, last = match.groups()
            if int(low) <= message <= int(high) and int(first) <= ranks <= int(last):
                return str(number)
    return None
