# SPDX-License-Identifier: Apache-2.0
"""Puts prediction, measurement and limit of a call's contenders side by side, from a tuned profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from antiphon.core import CoreError
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.explain.explanation import ExplainedCall
from antiphon.tune import decide, document, predictors
from antiphon.tune.contenders import TunedMachine
from antiphon.tune.grid import Point

#: A difference between prediction and measurement by more than this factor is reported.
DISAGREE = 1.25
#: A measured size is still evidence for a call if it is within this factor of the call's size.
_NEAR = 4


@dataclass(frozen=True)
class Contender:
    """One way to do the call."""

    #: "library", or Antiphon's choice in full.
    choice: str
    mode: str
    measured_s: float
    ci_low_s: float
    ci_high_s: float
    #: None: the library's own algorithm, or no data to predict from.
    predicted_s: float | None
    #: How many times faster it is than the library.
    faster: float | None
    limit_s: float | None

    @property
    def disagrees(self) -> bool:
        """Returns whether prediction and measurement disagree."""
        if self.predicted_s is None or self.measured_s <= 0 or self.predicted_s <= 0:
            return False
        return not 1 / DISAGREE <= self.predicted_s / self.measured_s <= DISAGREE


@dataclass(frozen=True)
class MeasuredContenders:
    """A measured cell, and where it was measured."""

    library: str
    ranks: int
    #: The measured size that is nearest to the call's.
    bytes: int
    contenders: Sequence[Contender]

    def to_json(self) -> dict[str, Any]:
        return {
            "library": self.library,
            "ranks": self.ranks,
            "bytes": self.bytes,
            "contenders": [asdict(c) | {"disagrees": c.disagrees} for c in self.contenders],
        }


def measured_contenders(call: ExplainedCall, profile_text: str) -> MeasuredContenders | None:
    """Returns the contenders that the profile's tuning measured near `call`, or None if there are none."""
    try:
        return _measured_near(call, parse_json(profile_text))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise AntiphonError(f"the profile's measurements.tune is damaged ({type(error).__name__}: {error})",
                            hint="`antiphon tune` measures anew") from None  # fmt: skip


def _measured_near(call: ExplainedCall, profile: Mapping[str, Any]) -> MeasuredContenders | None:
    for evidence in profile.get("measurements", {}).get("tune", []):
        fits = evidence.get("purpose") == "decisions" and call.mpi in ("", evidence.get("mpi"))
        fits = fits and evidence.get("blocked", True)
        if fits and evidence.get("ranks_per_node") == min(call.ranks_per_node, call.ranks):
            rows = _nearest(evidence["cells"], call)
            if rows:
                return _contenders_in(call, profile, evidence, rows)
    return None


def _nearest(cells: Sequence[Mapping[str, Any]], call: ExplainedCall) -> list[Mapping[str, Any]]:
    """Returns the rows at the measured size nearest to the call's, on as many ranks."""
    rows = [r for r in cells if r["collective"] == call.collective and r["ranks"] == call.ranks]

    def distance(size: int) -> float:
        low, high = sorted((max(size, 1), max(call.bytes, 1)))
        return high / low

    nearest = min({r["bytes"] for r in rows}, key=distance, default=None)
    if nearest is None or distance(nearest) > _NEAR:
        return []
    return [r for r in rows if r["bytes"] == nearest]


def _contenders_in(
    call: ExplainedCall, profile: Mapping[str, Any], evidence: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> MeasuredContenders:
    size = rows[0]["bytes"]
    machine = TunedMachine(call.nodes, min(call.ranks_per_node, call.ranks), call.link_bits_per_s, evidence["mpi"])
    point = Point(call.collective, size, call.ranks)
    library = {r["mode"]: r["median_s"] for r in rows if r["contender"] == decide.LIBRARY}
    contenders = []
    for mode in dict.fromkeys(r["mode"] for r in rows):
        own = [r for r in rows if r["mode"] == mode]
        predicted = _predicted(profile, machine, point, [r["chosen"] for r in own], mode)
        for r in sorted(own, key=lambda r: r["median_s"]):
            is_library = r["contender"] == decide.LIBRARY
            faster = library[mode] / r["median_s"] if mode in library and not is_library and r["median_s"] else None
            name = decide.LIBRARY if is_library else r["chosen"]
            contenders.append(
                Contender(
                    name, mode, r["median_s"], r["ci_low_s"], r["ci_high_s"], predicted.get(name), faster, r["limit_s"]
                )
            )
    return MeasuredContenders(evidence["library"], call.ranks, size, contenders)


def _predicted(
    profile: Mapping[str, Any], machine: TunedMachine, point: Point, choices: Sequence[str], mode: str
) -> Mapping[str, float]:
    own = [choice for choice in dict.fromkeys(choices) if choice != decide.LIBRARY]
    try:
        return predictors.from_model(document.model_text(profile), machine, sync=mode == "sync")(point, own)
    except CoreError:
        return {}
