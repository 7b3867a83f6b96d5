# SPDX-License-Identifier: Apache-2.0
"""Checks confidence intervals of medians against published ranks, and by counting how often they hold the median."""

from __future__ import annotations

import random

import pytest

from antiphon.bench.stats import geometric_mean, median_ranks, summarize


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
