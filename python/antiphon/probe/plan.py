# SPDX-License-Identifier: Apache-2.0
"""The tasks of the measuring program: experiments, and the ranks that measure together."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Pair = tuple[int, int]
Round = list[Pair]

#: How many partners take turns, as in collectives: repeated messages to the same rank cost less.
PARTNERS = 4
#: The longest word of a command line, with room to spare.
COMMAND_LINE_BYTES = 100_000


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
    """Pairs that measure at the same time, in the program's form: 0-1,2-3."""
    return ",".join(f"{a}-{b}" for a, b in pairs)


def rounds_text(rounds: Iterable[Round]) -> str:
    """Rounds one after the other: 0-1,2-3/0-2,1-3."""
    return "/".join(pairs_text(pairs) for pairs in rounds)


def all_rounds(members: Sequence[int]) -> list[Round]:
    """Every pair of the members once, in rounds in which no member occurs twice (the circle method)."""
    seats: list[int | None] = [*members, *([None] if len(members) % 2 else [])]
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        paired = zip(seats[:half], reversed(seats[half:]), strict=True)
        rounds.append([(a, b) for a, b in paired if a is not None and b is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds


def shuffled_rounds(members: Sequence[int], seed: int, times: int) -> list[Round]:
    """Every pair `times` times, each time beside other pairs."""
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


def fewer(nodes: Sequence[Sequence[int]]) -> list[list[int]]:
    """The ranks of a quarter, half, and three quarters of the nodes, as far as these are several."""
    counts = sorted({len(nodes) * quarters // 4 for quarters in (1, 2, 3)})
    return [[rank for group in nodes[:count] for rank in group] for count in counts if count > 1]


@dataclass(frozen=True)
class Crowd:
    """To whom each rank sends while all do: `to`, then to that one's, … as far as `partners`."""

    to: list[int]
    partners: int

    @property
    def values(self) -> dict[str, object]:
        return {"to": self.to, "partners": self.partners}


def crowds(nodes: Sequence[Sequence[int]]) -> dict[str, Crowd]:
    """ "switch": ranks of other nodes, and not always the one in the same place there; "node": of its own."""
    ranks = [rank for group in nodes for rank in group]
    most = max(len(group) for group in nodes)
    ways: dict[str, tuple[dict[int, int], int]] = {}

    def elsewhere(away: int) -> int:
        """How many are on other nodes, each so many ranks further."""
        places = (times * away % len(ranks) for times in range(1, PARTNERS + 1))
        return sum(1 for _ in itertools.takewhile(lambda place: most <= place <= len(ranks) - most, places))

    # With one rank per node all have the same position, and every second rank shares a core.
    away = max((most + 1, most) if most > 1 else (1,), key=lambda away: min(elsewhere(away), 2))
    if elsewhere(away) > 0:
        ways["switch"] = dict(zip(ranks, ranks[away:] + ranks[:away], strict=True)), elsewhere(away)
    if all(len(group) > 1 for group in nodes):
        own = {a: b for group in nodes for a, b in zip(group, [*group[1:], group[0]], strict=True)}
        ways["node"] = own, min(PARTNERS, *(len(group) - 1 for group in nodes))
    return {scope: Crowd([to[rank] for rank in sorted(ranks)], partners) for scope, (to, partners) in ways.items()}


def across(groups: Sequence[Sequence[int]], a: int, b: int, most: int = 16) -> Round:
    """Pairs between two groups that can measure at once."""
    return list(zip(groups[a], groups[b], strict=False))[:most]
