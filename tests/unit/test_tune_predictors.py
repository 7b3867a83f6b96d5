# SPDX-License-Identifier: Apache-2.0
"""Checks what tuning asks its predictor where the time for predictions ends before the last of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from antiphon.tune import contenders, predictors
from antiphon.tune.grid import Point

MACHINE = contenders.TunedMachine(16, 4, 100_000_000, "openmpi")


class Asked:
    """A predictor that takes a second for each choice, and keeps what it was asked."""

    def __init__(self) -> None:
        self.choices: list[str] = []

    def now_s(self) -> float:
        return float(len(self.choices))

    def __call__(self, _point: Point, choices: Sequence[str]) -> dict[str, float]:
        self.choices += choices
        return dict.fromkeys(choices, 1.0)


def algorithms(choices: Sequence[str]) -> set[str]:
    return {choice.partition(":")[0] for choice in choices}


@pytest.mark.parametrize("collective", ["allgather", "bcast", "reduce_scatter_block"])
def test_every_algorithm_has_a_turn_before_the_time_ends(collective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point, every, some = Point(collective, 65536, 64), Asked(), Asked()
    contenders.choices(point, MACHINE, every, 99)
    assert len(every.choices) > 100
    monkeypatch.setattr(predictors.time, "monotonic", some.now_s)
    found = contenders.choices(point, MACHINE, predictors.within(some, 24.0), 99)
    assert len(some.choices) == 24
    assert algorithms(some.choices) == algorithms(every.choices)
    assert set(found) <= set(some.choices)


def test_with_enough_time_nothing_changes() -> None:
    point, every, some = Point("bcast", 65536, 64), Asked(), Asked()
    assert contenders.choices(point, MACHINE, every, 9) == contenders.choices(
        point, MACHINE, predictors.within(some, 600.0), 9
    )
    assert some.choices == every.choices


def test_without_time_the_rules_own_choice_is_left() -> None:
    asked = Asked()
    assert len(contenders.choices(Point("bcast", 65536, 64), MACHINE, predictors.within(asked, 0), 9)) == 1
    assert asked.choices == []
