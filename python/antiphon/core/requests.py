# SPDX-License-Identifier: Apache-2.0
"""The core's requests as Python functions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from antiphon.core.library import query
from antiphon.core.values import (
    Algorithm,
    Case,
    Choice,
    Collective,
    Matrix,
    NodeTraffic,
    Parameter,
    Question,
    RankTraffic,
    Replay,
    RoundTraffic,
    Transfer,
)


def version() -> str:
    """Returns the core's version."""
    return str(query("version")["version"])


def processor_quota() -> float | None:
    """Returns how many cores' time this process's control groups allow it; None if they set no limit."""
    cores: float | None = query("processor_quota")["cores"]
    return cores


@functools.lru_cache(maxsize=1)
def collectives() -> tuple[Collective, ...]:
    """Returns all collectives that Antiphon schedules, in the order of the C++ enumeration."""
    return tuple(Collective(**c) for c in query("collectives")["collectives"])


@functools.lru_cache(maxsize=32)
def algorithms(collective: str | None = None) -> tuple[Algorithm, ...]:
    """Returns all algorithms, or those of one collective, sorted by name."""
    listed = query("algorithms", collective=collective)["algorithms"]
    return tuple(Algorithm(**{**a, "parameters": tuple(Parameter(**p) for p in a["parameters"])}) for a in listed)


def choose(question: Question, profile: str | None = None, own: bool = False, model: bool = False) -> Choice:
    """Returns the choice for `question` by the default table, or first by the decisions of `profile` (JSON text).

    With `own`, the answer "library" is skipped: the result is what Antiphon would use if it must. With `model`, it is
    what a run uses: the rules' choice, put to the model of the profile's machine, or of one with these links.
    """
    return Choice(**query("choose", profile=profile, own=own, model=model, **fields(question)))


def parse(collective: str, choice: str) -> Choice:
    """Reads "library" or "ALGORITHM[:PARAMETER=VALUE,…]" and fills in the defaults."""
    return Choice(**query("parse", collective=collective, choice=choice))


def supported(question: Question, switch_sizes: Sequence[int] = ()) -> tuple[str, ...]:
    """Returns the algorithms that can solve what `question` asks for; `switch_sizes` as in Case."""
    return tuple(query("supported", switch_sizes=list(switch_sizes), **fields(question))["algorithms"])


def build(case: Case) -> dict[str, Any]:
    """Returns all ranks' schedules, in the form of docs/reference/plan-format.md."""
    return dict(query("build", **asdict(case))["plan"])


def schedule_text(case: Case, rank: int) -> str:
    """Returns one rank's schedule, one line per operation."""
    return str(query("build", rank=rank, **asdict(case))["text"])


def check(case: Case) -> str | None:
    """Runs all ranks in this process, on random data and in random order; returns what is wrong, if anything."""
    wrong = query("check", **asdict(case))["wrong"]
    return None if wrong is None else str(wrong)


def matrix(case: Case) -> Matrix:
    """Returns the messages (pieces and tokens) and bytes that every rank sends to every other."""
    answer = query("matrix", **asdict(case))
    return Matrix(_rows(answer["messages"], case.size), _rows(answer["bytes"], case.size))


def replay(case: Case, clock: Literal["rounds", "bytes"], transfers: bool = True) -> Replay:
    """Runs the schedules on an ideal network; returns when each message was under way."""
    answer = query("replay", clock=clock, transfers=transfers, **asdict(case))
    return Replay(
        end=answer["end"],
        scratch_bytes=answer["scratch_bytes"],
        ranks=tuple(RankTraffic(*r) for r in answer["ranks"]),
        nodes=tuple(NodeTraffic(*n) for n in answer["nodes"]),
        rounds=tuple(RoundTraffic(*r) for r in answer["rounds"]),
        transfers=tuple(Transfer(*t) for t in answer["transfers"]),
    )


def fields(question: Question) -> dict[str, Any]:
    """Returns a question as the fields of a request."""
    return {**asdict(question), "bytes": -1 if question.bytes is None else question.bytes}


def _rows(cells: Sequence[int], size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(cells[row * size : (row + 1) * size]) for row in range(size))
