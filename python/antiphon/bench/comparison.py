# SPDX-License-Identifier: Apache-2.0
"""Runs a user's program without Antiphon and with it, by turns, and says whether it gains."""

from __future__ import annotations

import hashlib
import math
import signal
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.bench import running, stats
from antiphon.errors import EXIT_INTERRUPTED
from antiphon.mpi import waiting

PLAIN, ANTIPHON = "plain", "antiphon"
WAYS = (PLAIN, ANTIPHON)
LEAST_ROUNDS = 3
#: Before the last round only this sure a difference ends the comparison: then many looks hardly mislead more often than
#: one does (the rule of Haybittle and Peto).
EARLY_CONFIDENCE = 0.999
#: Nobody makes more rounds than this to find a difference.
MOST_ROUNDS = 100
#: Of a failed run's output, the JSON has so many lines at the end.
TAIL_LINES = 100


@dataclass(frozen=True)
class Ended:
    """How one run of the program went; `wall_s` is the launcher's time from its start to its end."""

    exit_code: int
    wall_s: float
    stdout: Sequence[str]
    stderr: Sequence[str]
    timed_out: bool = False

    @property
    def fingerprint(self) -> str:
        """Returns what equal lines of output have in common, in any order: those of several ranks mix by chance."""
        return hashlib.sha256("\n".join(sorted(self.stdout)).encode()).hexdigest()


@dataclass(frozen=True)
class Failure:
    """A run that ended with an error; round 0 is the warm-up."""

    way: str
    number: int
    ended: Ended

    def to_json(self) -> dict[str, Any]:
        return {
            "way": self.way, "round": self.number, "exit_code": self.ended.exit_code,
            "stdout": self.ended.stdout[-TAIL_LINES:], "stderr": self.ended.stderr[-TAIL_LINES:],
        }  # fmt: skip


#: Runs the program in one of the ways, in a round (0: the warm-up), for so many seconds at most.
Run = Callable[[str, int, "float | None"], Ended]


class _Stopped(Exception):
    """The comparison ends before its time."""


@dataclass
class Comparison:
    """Rounds of one run in each way; the next round begins with the other way."""

    most_rounds: int
    #: Seconds of each way's run, for each whole round.
    rounds: list[Mapping[str, float]] = field(default_factory=list)
    #: Fingerprints of the output of each way's runs, those of the warm-up, too.
    outputs: dict[str, list[str]] = field(default_factory=lambda: {way: [] for way in WAYS})
    #: Why no further round follows: "clear", "rounds", "time", "failed" or "interrupted".
    stopped: str = ""
    failure: Failure | None = None
    #: What a shell is told of an interruption, else 0.
    exit_code: int = 0

    def times_s(self, way: str) -> list[float]:
        """Returns the times of a way's runs."""
        return [one[way] for one in self.rounds]

    def speed_up(self, confidence: float = 0.95) -> stats.Ratio | None:
        """Returns how many times as fast the program is with Antiphon; None below two rounds."""
        if len(self.rounds) < 2:
            return None
        return stats.paired_ratio(self.times_s(PLAIN), self.times_s(ANTIPHON), confidence)

    @property
    def is_clear(self) -> bool:
        """Returns whether further rounds would tell nothing new."""
        ratio = self.speed_up(EARLY_CONFIDENCE)
        return len(self.rounds) >= LEAST_ROUNDS and ratio is not None and ratio.excludes_one

    @property
    def verdict(self) -> str | None:
        """Returns "gains", "loses" or "no difference" beyond noise; None where there are too few rounds to say."""
        ratio = self.speed_up()
        if ratio is None:
            return None
        return "no difference" if not ratio.excludes_one else "gains" if ratio.value > 1 else "loses"

    @property
    def more_rounds(self) -> int | None:
        """Returns about how many more rounds would tell a difference as it seems now; None for too many of them."""
        if self.verdict != "no difference":
            return None
        needed = stats.pairs_to_tell(self.times_s(PLAIN), self.times_s(ANTIPHON))
        return None if needed > MOST_ROUNDS else max(1, math.ceil(needed) - len(self.rounds))

    @property
    def output(self) -> str | None:
        """Returns whether standard output was the "same" in all runs, "differs" with Antiphon alone, or "varies" also
        without it; None without any.
        """
        plain, all_runs = set(self.outputs[PLAIN]), {one for way in WAYS for one in self.outputs[way]}
        if not self.outputs[ANTIPHON] or all_runs == {Ended(0, 0.0, (), ()).fingerprint}:
            return None
        return "same" if len(all_runs) == 1 else "differs" if len(plain) == 1 else "varies"

    def measure(
        self, run: Run, on_run: Callable[[str, int, Ended], None], *, max_time_s: float | None, warm_up: bool
    ) -> None:
        """Runs the program until the difference is clear, or there were enough rounds; a failure or an interruption
        leaves the rounds before it.
        """
        deadline = None if max_time_s is None else time.monotonic() + max_time_s

        def one(way: str, number: int) -> float:
            ended = run(way, number, None if deadline is None else max(0.0, deadline - time.monotonic()))
            if ended.timed_out:
                raise _Stopped("time")
            on_run(way, number, ended)
            if ended.exit_code != 0:
                self.failure = Failure(way, number, ended)
                raise _Stopped("failed")
            self.outputs[way].append(ended.fingerprint)
            return ended.wall_s

        try:
            with waiting.handling({signal.SIGTERM: running.leave, signal.SIGHUP: running.leave}):
                self._measure(one, deadline, warm_up)
        except _Stopped as why:
            self.stopped = str(why)
        except KeyboardInterrupt:
            self.stopped, self.exit_code = "interrupted", EXIT_INTERRUPTED
        except SystemExit as why:
            self.stopped, self.exit_code = "interrupted", int(why.code or 0)

    def _measure(self, one: Callable[[str, int], float], deadline: float | None, warm_up: bool) -> None:
        for way in WAYS if warm_up else ():
            one(way, 0)
        while len(self.rounds) < self.most_rounds and not self.is_clear:
            longest_s = max((sum(times.values()) for times in self.rounds), default=0.0)
            if deadline is not None and time.monotonic() + longest_s > deadline:
                raise _Stopped("time")
            number = len(self.rounds) + 1
            self.rounds.append({way: one(way, number) for way in (WAYS if number % 2 else WAYS[::-1])})
        self.stopped = "clear" if self.is_clear else "rounds"

    def to_json(self) -> dict[str, Any]:
        """Returns what was found, and the times of all runs."""
        ratio = self.speed_up()
        return {
            "verdict": self.verdict,
            "speed_up": ratio and {"ratio": ratio.value, "ci_low": ratio.ci_low, "ci_high": ratio.ci_high},
            "more_rounds": self.more_rounds,
            "stopped": self.stopped,
            **{way: _times_json(self.times_s(way)) for way in WAYS},
            "output": self.output,
            "failure": self.failure and self.failure.to_json(),
        }


def _times_json(samples: Sequence[float]) -> dict[str, Any] | None:
    if not samples:
        return None
    return {"median_s": statistics.median(samples), "min_s": min(samples), "max_s": max(samples), "samples": samples}
