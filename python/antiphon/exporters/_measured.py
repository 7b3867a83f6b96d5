# SPDX-License-Identifier: Apache-2.0
"""The measured decisions of a profile about algorithms that other software can run, for `antiphon export`.

Two sources: the library's own algorithms (`antiphon tune --for-export`), exact for that library; and Antiphon's
measured schedules, for readers with algorithms of the same kind that were not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.bench import stats
from antiphon.errors import AntiphonError
from antiphon.tune import decide


@dataclass(frozen=True)
class ChosenAlgorithm:
    """A choice in a reader's or in Antiphon's terms."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> ChosenAlgorithm:
        """Parses NAME[:PARAMETER=VALUE,…]."""
        name, _, rest = text.partition(":")
        return cls(name, dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair))

    def number(self, parameter: str, otherwise: int = 0) -> int:
        return int(self.parameters.get(parameter, otherwise))


@dataclass(frozen=True)
class Decision:
    """Decides one collective, a span of ranks and of sizes (bytes as Antiphon counts them; `high` None: and above)."""

    collective: str
    #: The number of ranks of the measurement, and the span that it decides for.
    ranks: int
    ranks_low: int
    ranks_high: int
    bytes_low: int
    bytes_high: int | None
    #: None: the reader's own default.
    algorithm: ChosenAlgorithm | None
    #: The measured sizes in the span, and how many times faster than the default each was (the least of the modes).
    measured: Mapping[int, float]


@dataclass(frozen=True)
class MeasuredDecisions:
    """Decisions of one library or of Antiphon, and where they were measured."""

    #: "openmpi", "mpich"
    family: str
    #: "5.0.11"
    version: str
    label: str
    nodes: int
    ranks_per_node: int
    decisions: Sequence[Decision]


def of_library(profile: Mapping[str, Any], family: str) -> MeasuredDecisions:
    """Returns decisions about the library's own algorithms. A cell's best counts beyond noise only, as in tuning."""
    evidence = _evidence(profile, family, "export")
    if evidence is None:
        raise AntiphonError(
            f"the profile has no measurements of {family}'s own algorithms",
            hint=f"`antiphon tune --for-export --mpi {family} --profile …` makes them",
        )
    return _decisions_in(evidence, lambda name: ChosenAlgorithm.parse(name.partition(":")[2]))


def of_antiphon(profile: Mapping[str, Any], known: Mapping[str, Mapping[str, str]]) -> MeasuredDecisions:
    """Returns the decisions about Antiphon's schedules that a reader has too: {collective: {ours: the reader's}}."""
    evidence = _evidence(profile, None, "decisions")
    if evidence is None:
        raise AntiphonError("the profile has no decisions of a tuning", hint="`antiphon tune --profile …` makes them")

    def translate(row: Mapping[str, Any]) -> bool:
        chosen = ChosenAlgorithm.parse(row["chosen"]).name
        return row["contender"] == decide.LIBRARY or chosen in known.get(row["collective"], {})

    rows = [row for row in evidence["cells"] if translate(row)]
    return _decisions_in({**evidence, "cells": rows}, ChosenAlgorithm.parse)


def _evidence(profile: Mapping[str, Any], family: str | None, purpose: str) -> Mapping[str, Any] | None:
    """Returns the last evidence of that kind; Antiphon's own schedules are the same under every library."""
    kept = [
        e
        for e in profile.get("measurements", {}).get("tune", [])
        if e.get("purpose") == purpose and family in (None, e.get("mpi"))
    ]
    return kept[-1] if kept else None


def _decisions_in(evidence: Mapping[str, Any], algorithm_of: Any) -> MeasuredDecisions:
    verdicts = [
        v for v in (decide.verdict(key, cell) for key, cell in _cells(evidence["cells"]).items()) if v is not None
    ]
    return MeasuredDecisions(
        evidence["mpi"],
        evidence["version"],
        evidence["library"],
        evidence["nodes"],
        evidence["ranks_per_node"],
        list(_decisions(verdicts, algorithm_of)),
    )


def _cells(rows: Iterable[Mapping[str, Any]]) -> dict[decide.Key, decide.MeasuredCell]:
    cells: dict[decide.Key, decide.MeasuredCell] = {}
    for row in rows:
        name = row["contender"] if row["contender"].partition(":")[0] == decide.LIBRARY else row["chosen"]
        cell = cells.setdefault((row["collective"], row["bytes"], row["ranks"]), decide.MeasuredCell())
        median, low, high = row["median_s"], row["ci_low_s"], row["ci_high_s"]
        cell.by_choice[name][row["mode"]] = stats.Summary(median, low, high, low, high, row["samples"])
    return cells


def _decisions(verdicts: Sequence[decide.Verdict], algorithm_of: Any) -> Iterable[Decision]:
    for place, span in decide.all_spans(verdicts):
        algorithm = None if span.choice in (decide.LIBRARY, decide.KEPT) else algorithm_of(span.choice)
        gained = {
            v.bytes: min(v.faster[span.choice].values()) if algorithm else 1.0
            for v in span.verdicts
            if not algorithm or span.choice in v.faster
        }
        yield Decision(
            span.verdicts[0].collective, place.ranks, place.low, place.high, span.low, span.high, algorithm, gained
        )
