# SPDX-License-Identifier: Apache-2.0
"""Summaries of measured times. Medians and their intervals assume no distribution."""

from __future__ import annotations

import functools
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


@dataclass(frozen=True)
class Ratio:
    """How many times as fast something is, with an interval that holds the true ratio with some confidence."""

    value: float
    ci_low: float
    ci_high: float

    @property
    def excludes_one(self) -> bool:
        """Returns whether there is a difference at all, as sure as the interval is."""
        return not self.ci_low <= 1 <= self.ci_high


def paired_ratio(before_s: Sequence[float], after_s: Sequence[float], confidence: float = 0.95) -> Ratio:
    """Returns the geometric mean of `before_s` over `after_s`, measured in pairs, at least two of them.

    The interval is Student's, of the ratios' logarithms: it needs fewer pairs than the intervals of medians.
    """
    mean, deviation, count = _logarithms(before_s, after_s)
    half = student_t(count - 1, confidence) * deviation / math.sqrt(count)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def pairs_to_tell(before_s: Sequence[float], after_s: Sequence[float], confidence: float = 0.95) -> float:
    """Returns about how many pairs show, in four of five cases, a difference as large as these pairs have."""
    mean, deviation, _ = _logarithms(before_s, after_s)
    normal = statistics.NormalDist()
    sure = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(0.8)
    return (sure * deviation / mean) ** 2 if mean else math.inf


def _logarithms(before_s: Sequence[float], after_s: Sequence[float]) -> tuple[float, float, int]:
    """Returns the mean and the deviation of the ratios' logarithms, and their number."""
    logs = [math.log(before / after) for before, after in zip(before_s, after_s, strict=True)]
    return statistics.fmean(logs), statistics.stdev(logs), len(logs)


@functools.cache
def student_t(freedom: int, confidence: float) -> float:
    """Returns the t for which Student's distribution lies within -t … t with this probability."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _student_within(freedom, angle) < confidence else (low, angle)
    return math.sqrt(freedom) * math.tan(high)


def _student_within(freedom: int, angle: float) -> float:
    """Returns the probability within -t … t for t = sqrt(freedom) tan(angle): Abramowitz and Stegun, 26.7.3 and 4."""
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for power in range(odd + 2, freedom - 1, 2):
        term *= (power - 1) / power * math.cos(angle) ** 2
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def geometric_mean(values: Iterable[float]) -> float | None:
    """Returns the geometric mean, which fits ratios, or None if there are no values."""
    listed = list(values)
    return statistics.geometric_mean(listed) if listed else None
