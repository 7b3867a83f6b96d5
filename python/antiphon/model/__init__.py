# SPDX-License-Identifier: Apache-2.0
"""The model (docs/concepts/model.md): what collectives take on a machine that a profile describes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon import core, packed
from antiphon.documents import parse_json, without_nulls
from antiphon.errors import AntiphonError

#: Reductions are predicted for doubles where the size allows it.
_ELEMENT_BYTES = 8
#: Parts of a profile that the core does not read, or not always.
_SECTIONS = ("machine", "processors", "decisions", "measurements")
#: So many pieces of messages are simulated within about five seconds of a processor.
QUICK_PIECES = 1_000_000
#: With more ranks than these, parameters are not searched at every size of a sweep.
MAX_SEARCHED_RANKS = 128


@dataclass(frozen=True)
class ModelledMachine:
    """Ranks on a machine: a profile, or a rate of links to guess one from."""

    ranks: int
    ranks_per_node: int = 1
    #: The profile's JSON text; None: guessed from the links' rate.
    profile: str | None = None
    link_bits_per_s: float = 1e9
    #: Where each rank is, if not `ranks_per_node` consecutive ones on each node.
    node_of_rank: Sequence[int] | None = None

    def fields(self) -> dict[str, Any]:
        """As the core's requests have it."""
        fields: dict[str, Any] = {"ranks": self.ranks, "ranks_per_node": min(self.ranks_per_node, self.ranks)}
        if self.node_of_rank is not None:
            fields["node_of_rank"] = list(self.node_of_rank)
        if self.profile is None:
            return fields | {"link_bits_per_s": self.link_bits_per_s}
        return fields | {"profile": self.profile}


@dataclass(frozen=True)
class Prediction:
    """One algorithm with parameters, and the time that the model expects."""

    algorithm: str
    #: "ALGORITHM[:PARAMETER=VALUE,…]".
    choice: str
    parameters: Mapping[str, int]
    seconds: float
    #: "evaluated", "symmetric" (one period of ranks stands for all) or "extrapolated" (from fewer ranks).
    method: str
    #: By the papers' formula, where there is one.
    closed_form_s: float | None = None


@dataclass(frozen=True)
class LeftOut:
    """A choice that the model cannot evaluate on this machine, and the reason."""

    choice: str
    why: str


def complaints(left_out: Iterable[tuple[str, str]]) -> list[str]:
    """Returns a line for each reason, from choices and the reasons why the model cannot evaluate them."""
    names: dict[str, Counter[str]] = {}
    for choice, why in left_out:
        names.setdefault(why, Counter())[choice.partition(":")[0]] += 1
    return [
        f"left out, as the model cannot evaluate it ({why}): "
        + ", ".join(name + (f" ({count} choices)" if count > 1 else "") for name, count in of.items())
        for why, of in names.items()
    ]


@dataclass(frozen=True)
class Sweep:
    """Predictions for several sizes, fastest first each."""

    machine: str
    #: The profile is a guess.
    first_guess: bool
    sizes: Mapping[int, Sequence[Prediction]]
    left_out: Mapping[int, Sequence[LeftOut]] = field(default_factory=dict)

    def complaints(self) -> list[str]:
        """Returns a line for each reason, with the algorithms that are left out for it."""
        return complaints((one.choice, one.why) for _, failed in sorted(self.left_out.items()) for one in failed)

    def winners(self) -> list[tuple[int, int, str]]:
        """Runs of sizes with the same fastest algorithm: (from, to, algorithm)."""
        runs: list[tuple[int, int, str]] = []
        for size, predictions in sorted(self.sizes.items()):
            if not predictions:
                continue
            best = predictions[0].algorithm
            if runs and runs[-1][2] == best:
                runs[-1] = (runs[-1][0], size, best)
            else:
                runs.append((size, size, best))
        return runs


def read_profile(path: Path | None, *, packed_too: bool = False) -> str | None:
    """The text of a profile that the core can read; an error names the field that is wrong.

    `packed_too`: it may be compressed, as samples are. A preload object reads plain profiles only."""
    if path is None:
        return None
    try:
        text = packed.read_text(path) if packed_too else path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise AntiphonError(f"--profile {path}: {getattr(error, 'strerror', None) or error}") from error
    hint = "`antiphon probe` writes a profile of this machine"
    try:
        core.query("profile", text=text)
    except core.CoreError as error:
        raise AntiphonError(f"{path}: {error.message}", hint=hint) from None
    given = parse_json(text)
    document = without_nulls(given)
    for name in _SECTIONS:
        if not isinstance(document.get(name, {}), dict):
            raise AntiphonError(f"{path}: {name}: expected an object", hint=hint)
    return text if document == given else json.dumps(document)


def element_bytes(collective: str, size: int) -> int:
    """Of a reduction's elements: doubles, unless the size is no multiple."""
    reduces = next(c.is_reduction for c in core.collectives() if c.name == collective)
    return _ELEMENT_BYTES if reduces and size % _ELEMENT_BYTES == 0 else 1


def predict(
    collective: str,
    sizes: Sequence[int],
    machine: ModelledMachine,
    *,
    choices: Sequence[str] | None = None,
    root: int = 0,
    commutative: bool = True,
    search: bool = True,
    barrier: Sequence[Mapping[str, str]] | None = None,
    max_evaluations: int = 64,
    max_pieces: int | None = None,
) -> Sweep:
    """Every algorithm with its best parameters, or the `choices` as they are; `barrier`: as a benchmark in `sync`
    mode would see it, with a barrier of these parts (`libraries.barrier`) before each call. `max_pieces`: after about
    so many simulated pieces of messages, for all algorithms and sizes together, no more parameters are tried.
    """
    element = min((element_bytes(collective, size) for size in sizes), default=1)
    answer = core.query(
        "predict",
        collective=collective,
        bytes=list(sizes),
        root=root,
        element_bytes=element,
        commutative=commutative,
        search=search,
        barrier=barrier,
        choices=choices,
        max_evaluations=max_evaluations,
        max_pieces=max_pieces and max(1, max_pieces // (len(core.algorithms(collective)) * len(sizes))),
        **machine.fields(),
    )
    found = {
        entry["bytes"]: tuple(sorted((Prediction(**c) for c in entry["candidates"]), key=lambda p: p.seconds))
        for entry in answer["sizes"]
    }
    left_out = {entry["bytes"]: tuple(LeftOut(**one) for one in entry["left_out"]) for entry in answer["sizes"]}
    return Sweep(answer["machine"], answer["first_guess"], found, left_out)


@dataclass(frozen=True)
class LibraryPrediction:
    """What an MPI library's own collective takes; `seconds` is None where nothing is known of it."""

    seconds: float | None
    #: "COLLECTIVE:ALGORITHM[:PARAMETER=VALUE,…]" of each part.
    algorithms: Sequence[str]


def predict_library(
    collective: str, sizes: Sequence[int], machine: ModelledMachine, library: str, root: int = 0
) -> Mapping[int, LibraryPrediction]:
    """The library's own collective by the tables of its algorithms; `library` as "openmpi-4.1"."""
    element = min((element_bytes(collective, size) for size in sizes), default=1)
    answer = core.query(
        "predict_library",
        collective=collective,
        bytes=list(sizes),
        root=root,
        element_bytes=element,
        library=library,
        **machine.fields(),
    )
    return {
        entry["bytes"]: LibraryPrediction(entry["seconds"], tuple(entry["algorithms"])) for entry in answer["sizes"]
    }


def choose(question: core.Question, machine: ModelledMachine) -> core.Choice | None:
    """What the model alone would use; None where the size is unknown."""
    fields = core.fields(question) | {k: v for k, v in machine.fields().items() if k in ("profile", "link_bits_per_s")}
    answer = core.query("choose_by_model", **fields)
    if answer["choice"] is None:
        return None
    parsed = core.parse(question.collective, answer["choice"])
    return core.Choice(parsed.choice, parsed.algorithm, parsed.parameters, answer["reason"])


def closed_forms(
    collective: str, sizes: Sequence[int], machine: ModelledMachine, segment_bytes: int = 0
) -> list[dict[str, Any]]:
    """The papers' formulas for the collective, evaluated: name, formula, source, seconds for each size."""
    answer = core.query(
        "closed_forms", collective=collective, bytes=list(sizes), segment_bytes=segment_bytes, **machine.fields()
    )
    return list(answer["forms"])


def crossovers(sweep: Sweep, winner: Callable[[int], str], steps: int = 6) -> list[tuple[int, str, str]]:
    """Between which sizes one algorithm overtakes another: (size, before, after), narrowed down by halving."""
    found = []
    ordered = sorted(size for size, predictions in sweep.sizes.items() if predictions)
    for low, high in zip(ordered, ordered[1:], strict=False):
        before, after = sweep.sizes[low][0].algorithm, sweep.sizes[high][0].algorithm
        if before == after:
            continue
        for _ in range(steps):
            middle = (low + high) // 2 // 8 * 8
            if not low < middle < high:
                break
            if winner(middle) == before:
                low = middle
            else:
                high = middle
        found.append((high, before, after))
    return found
