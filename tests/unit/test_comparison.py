# SPDX-License-Identifier: Apache-2.0
"""Checks what `antiphon compare` concludes, with runs that take what the test says."""

from __future__ import annotations

import itertools
import os
import random
import signal
from collections.abc import Callable, Iterable

import pytest

from antiphon import run_summary
from antiphon.bench.comparison import ANTIPHON, PLAIN, Comparison, Ended

FINE: tuple[str, ...] = ("sum 4", "done")


def compared(
    times: Callable[[str, int], Ended], most: int = 5, *, max_time_s: float | None = None, warm_up: bool = False
) -> Comparison:
    """Compares runs that end as `times` says of each way and round."""
    comparison = Comparison(most)
    comparison.measure(lambda way, number, left_s: times(way, number), lambda *_: None, max_time_s=max_time_s,
                       warm_up=warm_up)  # fmt: skip
    return comparison


def ended(seconds: float, *, code: int = 0, lines: Iterable[str] = FINE, late: bool = False) -> Ended:
    return Ended(code, seconds, list(lines), [], late)


def noisy(generator: random.Random, way: str, gain: float) -> Ended:
    return ended(generator.lognormvariate(0, 0.03) / (gain if way == ANTIPHON else 1))


def test_ways_take_turns() -> None:
    """GIVEN three rounds THEN each begins with the way that was last, and the warm-up comes before them."""
    order: list[tuple[str, int]] = []

    def run(way: str, number: int) -> Ended:
        order.append((way, number))
        return ended(1 + number / 100 * (way == PLAIN))

    compared(run, 3, warm_up=True)
    assert order == [(PLAIN, 0), (ANTIPHON, 0), (PLAIN, 1), (ANTIPHON, 1), (ANTIPHON, 2), (PLAIN, 2), (PLAIN, 3),
                     (ANTIPHON, 3)]  # fmt: skip


@pytest.mark.parametrize(("gain", "verdict"), [(2.0, "gains"), (0.5, "loses")])
def test_a_clear_difference_ends_it_early(gain: float, verdict: str) -> None:
    generator = random.Random(1)
    found = compared(lambda way, number: noisy(generator, way, gain), 50)
    ratio = found.speed_up()
    assert (found.verdict, found.stopped) == (verdict, "clear") and len(found.rounds) < 6
    assert ratio is not None and ratio.ci_low < gain < ratio.ci_high and ratio.value == pytest.approx(gain, rel=0.1)


def test_looks_after_each_round_mislead_hardly_more_often_than_one() -> None:
    """GIVEN a program that Antiphon does nothing for THEN about one comparison in twenty finds a difference."""
    generator = random.Random(2)
    verdicts = [compared(lambda way, number: noisy(generator, way, 1), 12).verdict for _ in range(300)]
    assert 0.02 < 1 - verdicts.count("no difference") / 300 < 0.08


def test_more_rounds_are_told() -> None:
    """GIVEN gains of 2 %, as often none THEN about eight pairs tell them, and four are there already."""
    times = {PLAIN: iter([1.02, 1.0, 1.02, 1.0]), ANTIPHON: itertools.repeat(1.0)}
    found = compared(lambda way, number: ended(next(times[way])), 4)
    assert (found.verdict, found.more_rounds) == ("no difference", 7)


def test_no_number_of_rounds_finds_what_is_not_there() -> None:
    pairs = itertools.cycle([1.0, 1.1])
    found = compared(lambda way, number: ended(next(pairs)), 4)
    assert (found.verdict, found.more_rounds, found.stopped) == ("no difference", None, "rounds")


def test_a_failure_leaves_the_rounds_before_it() -> None:
    found = compared(lambda way, number: ended(1.0 + number / 7, code=3 * (number == 2 and way == ANTIPHON)))
    assert found.failure is not None and (found.failure.way, found.failure.number) == (ANTIPHON, 2)
    assert (len(found.rounds), found.stopped, found.verdict) == (1, "failed", None)
    assert found.to_json()["failure"]["exit_code"] == 3


def test_the_time_limit_leaves_the_rounds_before_it() -> None:
    """GIVEN a run that its time ended, or rounds that are longer than what is left THEN no further one is made."""
    late = compared(lambda way, number: ended(9.0, late=number == 3), max_time_s=1000)
    assert (len(late.rounds), late.stopped, late.verdict) == (2, "time", "no difference")
    long = compared(lambda way, number: ended(9.0), max_time_s=10)
    assert (len(long.rounds), long.stopped) == (1, "time")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"])
def test_an_interruption_leaves_the_rounds_before_it(number: signal.Signals, code: int) -> None:
    """GIVEN Ctrl-C, or what a batch system sends at the end of a job's time."""

    def run(way: str, round_number: int) -> Ended:
        if round_number == 3:
            os.kill(os.getpid(), number)
        return ended(1.0 + 0.1 * (way == PLAIN) * round_number)

    found = compared(run)
    assert (len(found.rounds), found.stopped, found.exit_code) == (2, "interrupted", code)
    assert found.speed_up() is not None


@pytest.mark.parametrize(("plain", "antiphon", "said"), [
    (["a b", "b a"], ["a b", "a b"], "same"),
    (["a b", "a b"], ["a c", "a c"], "differs"),
    (["a 1", "a 2"], ["a 3", "a 4"], "varies"),
    (["", ""], ["", ""], None),
])  # fmt: skip
def test_outputs_are_compared(plain: list[str], antiphon: list[str], said: str | None) -> None:
    """GIVEN the lines of runs THEN their order does not count, as ranks write them in any order."""
    lines = {PLAIN: iter([*plain, plain[0]]), ANTIPHON: iter([*antiphon, antiphon[0]])}
    assert compared(lambda way, number: ended(1.0, lines=next(lines[way]).split()), 3).output == said


def test_the_share_of_collectives_is_read() -> None:
    """GIVEN a summary THEN waiting and Antiphon's part are those of the calls' time, and the longest row says why."""
    row = {"collective": "bcast", "calls": 1, "bytes": 8, "max_time_s": 2.0, "share": 0.1, "least_bytes": 8,
           "most_bytes": 8, "least_ranks": 2, "most_ranks": 2}  # fmt: skip
    rows = [row | {"time_s": 1.0, "waiting_s": None, "algorithm": "library", "reason": "short"},
            row | {"time_s": 2.0, "waiting_s": 0.5, "algorithm": "library", "reason": "asked for"},
            row | {"time_s": 1.0, "waiting_s": 0.5, "algorithm": "chain", "reason": None}]  # fmt: skip
    document = {"version": 2, "ranks": 2, "run_s": 8.0, "collectives": rows}
    found = run_summary.share(document)
    assert found == run_summary.Share(8.0, 4.0, 1.0, 1.0, "asked for") and found.to_json()["share"] == 0.5
    nothing = run_summary.share(document | {"collectives": [], "nothing_seen": "it makes none"})
    assert (nothing.calls_s, nothing.reason) == (0.0, "it makes none")
