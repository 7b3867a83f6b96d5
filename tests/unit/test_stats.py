# SPDX-License-Identifier: Apache-2.0
"""Checks confidence intervals of medians against published ranks, and by counting how often they hold the median."""

from __future__ import annotations

import math
import random

import pytest

from antiphon.bench.stats import geometric_mean, median_ranks, paired_ratio, pairs_to_tell, student_t, summarize


@pytest.mark.parametrize(
    ("count", "ranks"),
    # Le Boudec, Performance Evaluation, table A.1 (places from 1): 6: 1–6, 10: 2–9, 20: 6–15, 50: 18–32 is not
    # symmetric
    [(1, (0, 0)), (3, (0, 2)), (6, (0, 5)), (9, (1, 7)), (10, (1, 8)), (20, (5, 14)), (31, (9, 21))],
)
def test_ranks(count: int, ranks: tuple[int, int]) -> None:
    assert median_ranks(count) == ranks


@pytest.mark.parametrize("count", [6, 13, 40])
def test_the_interval_holds_the_median_often_enough(count: int) -> None:
    generator = random.Random(7)
    held = 0
    for _ in range(1000):
        summary = summarize([generator.expovariate(1.0) for _ in range(count)])
        held += summary.ci_low <= 0.6931 <= summary.ci_high  # the median of this distribution is ln 2
    assert held / 1000 > 0.93


def test_summary() -> None:
    summary = summarize([3.0, 1.0, 2.0])
    assert (summary.median, summary.min, summary.max, summary.count) == (2.0, 1.0, 3.0, 3)
    assert summary.spread == pytest.approx(0.5)


def test_no_samples() -> None:
    with pytest.raises(ValueError, match="no samples"):
        summarize([])


def test_geometric_mean() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([]) is None


@pytest.mark.parametrize(
    ("freedom", "confidence", "value"),
    # Abramowitz and Stegun, table 26.10
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (3, 0.95, 3.182), (4, 0.95, 2.776), (9, 0.95, 2.262), (30, 0.95, 2.042),
     (2, 0.999, 31.599), (4, 0.999, 8.610), (9, 0.99, 3.250), (120, 0.95, 1.980)],
)  # fmt: skip
def test_student(freedom: int, confidence: float, value: float) -> None:
    assert student_t(freedom, confidence) == pytest.approx(value, abs=6e-4)


@pytest.mark.parametrize("pairs", [3, 5, 20])
def test_the_interval_holds_the_ratio_often_enough(pairs: int) -> None:
    """GIVEN times that vary together from pair to pair, and by themselves."""
    generator = random.Random(pairs)
    held = 0
    for _ in range(1000):
        disturbed = [generator.lognormvariate(0, 0.3) for _ in range(pairs)]
        after = [one * generator.lognormvariate(0, 0.02) for one in disturbed]
        before = [1.1 * one * generator.lognormvariate(0, 0.02) for one in disturbed]
        ratio = paired_ratio(before, after)
        held += ratio.ci_low <= 1.1 <= ratio.ci_high
    assert 0.93 < held / 1000 < 0.97


def test_a_paired_ratio() -> None:
    ratio = paired_ratio([2.0, 8.0], [1.0, 2.0])
    assert ratio.value == pytest.approx(math.sqrt(8)) and not ratio.excludes_one
    assert paired_ratio([2.0, 4.0, 6.0], [1.01, 2.0, 2.99]).excludes_one


def test_pairs_that_would_tell() -> None:
    """GIVEN a difference as large as its deviation THEN the usual eight pairs tell it, in four of five cases."""
    assert pairs_to_tell([math.e**2, 1.0, math.e], [1.0, 1.0, 1.0]) == pytest.approx(7.85, abs=0.01)
    assert pairs_to_tell([1.0, 2.0], [2.0, 1.0]) > 1e9
    generator = random.Random(8)
    found = [paired_ratio([generator.lognormvariate(0.5, 1) for _ in range(32)], [1.0] * 32) for _ in range(500)]
    assert 0.75 < sum(ratio.excludes_one for ratio in found) / 500 < 0.85
