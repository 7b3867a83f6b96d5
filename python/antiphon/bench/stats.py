# SPDX-License-Identifier: Apache-2.0
"""Summaries of measured times that assume no distribution."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """A median with an interval that holds the true median with (at least) the requested confidence."""

    median: float
    ci_low: float
    ci_high: float
    min: float
    max: float
    count: int

    @property
    def spread(self) -> float:
        """Returns half the width of the interval, as a share of the median."""
        return (self.ci_high - self.ci_low) / 2 / self.median if self.median else 0.0


def median_ranks(count: int, confidence: float = 0.95) -> tuple[int, int]:
    """Returns the places (from 0) in the sorted samples between which the true median lies with this confidence.

    The number of samples below the median is binomial(count, 1/2) for every distribution. The result is the narrowest
    symmetric pair. Below 6 samples (at 95 %) even the outermost pair does not reach the confidence, but it is still the
    result.
    """
    if count < 1:
        raise ValueError("no samples")
    tail = (1 - confidence) / 2
    below, low = 0.0, 0
    for place in range(count // 2):
        below += math.comb(count, place) / 2**count
        if below > tail:
            break
        low = place
    return low, count - 1 - low


def summarize(samples: Sequence[float], confidence: float = 0.95) -> Summary:
    """Returns the median, its confidence interval, and the extremes."""
    ordered = sorted(samples)
    low, high = median_ranks(len(ordered), confidence)
    return Summary(statistics.median(ordered), ordered[low], ordered[high], ordered[0], ordered[-1], len(ordered))


def geometric_mean(values: Iterable[float]) -> float | None:
    """Returns the geometric mean, which fits ratios, or None if there are no values."""
    listed = list(values)
    return statistics.geometric_mean(listed) if listed else None
