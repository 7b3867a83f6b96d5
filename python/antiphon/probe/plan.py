# SPDX-License-Identifier: Apache-2.0
"""What the measuring program is told: experiments, and which ranks measure together."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

Pair = tuple[int, int]
Round = list[Pair]


def task(experiment: str, **values: object) -> str:
    """One `--do` of the program: EXPERIMENT;KEY=VALUE;…"""
    return ";".join([experiment, *(f"{key}={_text(value)}" for key, value in values.items())])


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(int(value)) if isinstance(value, bool) else str(value)


def pairs_text(pairs: Iterable[Pair]) -> str:
    """As the program reads pairs that measure at the same time: 0-1,2-3."""
    return ",".join(f"{a}-{b}" for a, b in pairs)


def rounds_text(rounds: Iterable[Round]) -> str:
    """Rounds one after the other: 0-1,2-3/0-2,1-3."""
    return "/".join(pairs_text(pairs) for pairs in rounds)


def all_rounds(members: Sequence[int]) -> list[Round]:
    """Every pair of the members once, in rounds in which nobody is twice (the circle method)."""
    seats: list[int | None] = [*members, *([None] if len(members) % 2 else [])]
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        paired = zip(seats[:half], reversed(seats[half:]), strict=True)
        rounds.append([(a, b) for a, b in paired if a is not None and b is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds


def shuffled_rounds(members: Sequence[int], seed: int, times: int) -> list[Round]:
    """Every pair `times` times, each time in other company."""
    chooser = random.Random(seed)
    rounds = []
    for _ in range(times):
        order = list(members)
        chooser.shuffle(order)
        rounds += all_rounds(order)
    return rounds


def neighbours(members: Sequence[int]) -> Round:
    """As many pairs as can measure at once."""
    return list(zip(members[::2], members[1::2], strict=False))


def crowds(nodes: Sequence[Sequence[int]]) -> dict[str, list[int]]:
    """To whom each rank sends while all do: "switch", a rank of another node; "node", the next one of its own."""
    ranks = [rank for group in nodes for rank in group]
    most = max(len(group) for group in nodes)
    ways: dict[str, dict[int, int]] = {}
    if len(ranks) >= 2 * most:
        ways["switch"] = dict(zip(ranks, ranks[most:] + ranks[:most], strict=True))
    if all(len(group) > 1 for group in nodes):
        ways["node"] = {a: b for group in nodes for a, b in zip(group, [*group[1:], group[0]], strict=True)}
    return {scope: [to[rank] for rank in sorted(ranks)] for scope, to in ways.items()}


def across(groups: Sequence[Sequence[int]], a: int, b: int, most: int = 16) -> Round:
    """Pairs between two groups that can measure at once."""
    return list(zip(groups[a], groups[b], strict=False))[:most]


def packed(pairs: Iterable[Pair]) -> list[Round]:
    """The same pairs in rounds in which nobody is twice, first come, first served."""
    rounds: list[tuple[Round, set[int]]] = []
    for pair in pairs:
        for taken, busy in rounds:
            if busy.isdisjoint(pair):
                taken.append(pair)
                busy.update(pair)
                break
        else:
            rounds.append(([pair], set(pair)))
    return [taken for taken, _ in rounds]
