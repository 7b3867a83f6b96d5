# SPDX-License-Identifier: Apache-2.0
"""What a run would use for a call, beside what the model expects: the one answer of `explain` and `predict`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from antiphon import core, model
from antiphon.explain.explanation import ExplainedCall
from antiphon.output.tables import time_text

#: A choice that the model expects within this factor of the fastest is as good: the model errs by more.
AS_GOOD = 1.05
#: At most this many ranks are evaluated for each algorithm, summed over all parameters that are tried.
EVALUATED_RANKS = 16384


@dataclass(frozen=True)
class Answer:
    """The choice that a run makes by its rules, and the model's ranking for the same call."""

    used: core.Choice
    #: None: the library's own, or nothing to predict from.
    used_s: float | None
    ranking: model.Sweep | None
    bytes: int

    @property
    def fastest(self) -> model.Prediction | None:
        """The model's first."""
        predicted = self.ranking.sizes[self.bytes] if self.ranking else ()
        return predicted[0] if predicted else None

    @property
    def agrees(self) -> bool | None:
        """Whether the model expects nothing faster than what a run uses; None where the two cannot be compared."""
        best = self.fastest
        if best is None or self.used.algorithm is None:
            return None
        return self.used_s is not None and self.used_s <= AS_GOOD * best.seconds

    def verdict(self) -> str:
        """Returns the model's opinion in a sentence."""
        best = self.fastest
        if best is None or self.ranking is None:
            return "knows too little of this machine: give --link-rate, or a --profile of `antiphon probe`"
        guess = " From a first guess of the machine." if self.ranking.first_guess else ""
        first = f"{best.choice} to be the fastest, {time_text(best.seconds)}"
        if self.used.algorithm is None:
            return f"expects, of Antiphon's algorithms, {first}.{guess}"
        used = f"{self.used.algorithm} takes {time_text(self.used_s)}"
        if self.agrees:
            same = best.choice == self.used.choice
            return f"agrees: {used}" + (f", the fastest.{guess}" if same else f"; it expects {first}.{guess}")
        return (
            f"disagrees: {used}, and it expects {first}.{guess} "
            "A run uses what is named first; `antiphon tune` measures which is right."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "used": asdict(self.used) | {"seconds": self.used_s},
            "fastest_by_model": asdict(self.fastest) if self.fastest else None,
            "agrees": self.agrees,
        }


def answer(call: ExplainedCall, profile: str | None, search: bool = True) -> Answer:
    """Asks the rules as a run does, and the model on the profile's machine or on one guessed from the links' rate."""
    used = core.choose(call.question(), profile, model=True)
    if profile is None and not call.link_bits_per_s:
        return Answer(used, None, None, call.bytes)
    machine = model.ModelledMachine(call.ranks, call.ranks_per_node, profile, call.link_bits_per_s)
    about: dict[str, Any] = {"root": call.root, "commutative": call.commutative}
    effort: dict[str, Any] = {"max_evaluations": evaluations(call.ranks), "max_pieces": model.QUICK_PIECES}
    ranking = model.predict(call.collective, [call.bytes], machine, search=search, **effort, **about)
    used_s = None
    if used.algorithm:
        own = model.predict(call.collective, [call.bytes], machine, choices=[used.choice], **about).sizes[call.bytes]
        used_s = own[0].seconds if own else None
    return Answer(used, used_s, ranking, call.bytes)


def evaluations(ranks: int) -> int:
    """Returns how many parameters are tried for each algorithm: fewer where each takes long, so that all end within
    seconds.
    """
    return min(64, max(1, EVALUATED_RANKS // ranks))
