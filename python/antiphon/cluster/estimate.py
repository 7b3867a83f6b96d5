# SPDX-License-Identifier: Apache-2.0
"""What collectives take on a described cluster: the library's way, Antiphon's way, the least, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon import core, model
from antiphon.cluster import bounds, profile
from antiphon.cluster.hosts import VARIANTS
from antiphon.cluster.spec import ClusterSpec

#: Sizes that are shown unless others are named.
USUAL_BYTES = (1024, 65536, 1 << 20)


@dataclass(frozen=True)
class Range:
    """A time with fast, typical and slow hosts. The three need not be in order."""

    fast_s: float
    typical_s: float
    slow_s: float

    @property
    def low_s(self) -> float:
        return min(self.fast_s, self.typical_s, self.slow_s)

    @property
    def high_s(self) -> float:
        return max(self.fast_s, self.typical_s, self.slow_s)

    def to_json(self) -> dict[str, float]:
        return {"typical_s": self.typical_s, "low_s": self.low_s, "high_s": self.high_s}


@dataclass(frozen=True)
class Way:
    """An algorithm of Antiphon's with typical hosts."""

    choice: str
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {"choice": self.choice, "typical_s": self.seconds}


@dataclass(frozen=True)
class Estimate:
    """One collective of one size."""

    collective: str
    bytes: int
    ranks: int
    #: None: the tables of the library's algorithms do not say.
    library: Range | None
    library_algorithms: Sequence[str]
    #: What a run uses without tuning: "library", or Antiphon's choice in full.
    at_once: str
    #: What the model finds best, which `antiphon tune --model` decides for: that, or the library.
    choice: str
    #: None: the library's way, which is not known.
    antiphon: Range | None
    bound: bounds.Bound | None
    #: The best of Antiphon's algorithms that serve ranks one by one, and of those that serve a node's together.
    flat: Way | None = None
    nested: Way | None = None

    @property
    def gain(self) -> Range | None:
        """How many times faster Antiphon's way is."""
        if self.library is None or self.antiphon is None:
            return None
        pairs = [(getattr(self.library, f"{v}_s"), getattr(self.antiphon, f"{v}_s")) for v in VARIANTS]
        return Range(*(library_s / own_s if own_s > 0 else 1.0 for library_s, own_s in pairs))

    def to_json(self) -> dict[str, Any]:
        gain = self.gain
        return {
            "collective": self.collective,
            "bytes": self.bytes,
            "ranks": self.ranks,
            "library": self.library.to_json() if self.library else None,
            "library_algorithms": list(self.library_algorithms),
            "used_without_tuning": self.at_once,
            "choice": self.choice,
            "antiphon": self.antiphon.to_json() if self.antiphon else None,
            "flat": self.flat.to_json() if self.flat else None,
            "nested": self.nested.to_json() if self.nested else None,
            "gain": {"typical": gain.typical_s, "low": gain.low_s, "high": gain.high_s} if gain else None,
            "limit_s": self.bound.seconds if self.bound else None,
            "limit_binds": self.bound.binds if self.bound else None,
        }


class Estimator:
    """Predicts on one cluster; profiles of fast, typical and slow hosts are made once."""

    def __init__(self, spec: ClusterSpec, ranks: int, library: str, root: int = 0) -> None:
        self.spec = spec
        self.ranks = ranks
        self.root = root
        self.library = library
        self.per_node = min(spec.ranks_per_node, ranks)
        self._machines = {
            variant: model.ModelledMachine(ranks, self.per_node, profile.text_of(spec, variant), spec.rate_bits_per_s)
            for variant in VARIANTS
        }

    def machine(self, variant: str = "typical") -> model.ModelledMachine:
        return self._machines[variant]

    def estimate(self, collective: str, size: int, ranking: Sequence[model.Prediction] | None = None) -> Estimate:
        """Predicts the library's own way, and the best of Antiphon's if it is faster: with usual parameters, or of a
        ranking that was made with typical hosts.
        """
        own = [
            model.predict_library(collective, [size], self._machines[v], self.library, self.root)[size]
            for v in VARIANTS
        ]
        seconds = [one.seconds for one in own if one.seconds is not None]
        library = self._bounded(collective, size, seconds) if len(seconds) == len(VARIANTS) else None
        at_once = self.at_once(collective, size)
        ways = self.ways(collective, size, at_once, ranking)
        best = min(ways, key=_seconds_of, default=None)
        choice = best.choice if best and not (library and library.typical_s <= best.seconds) else "library"
        antiphon = library if choice == "library" else self._predicted(collective, size, choice)
        return Estimate(
            collective,
            size,
            self.ranks,
            library,
            own[1].algorithms,
            at_once,
            choice,
            antiphon,
            self.bound(collective, size),
            *(
                min((way for way in ways if (_algorithm_of(way) == "nested") is nests), key=_seconds_of, default=None)
                for nests in (False, True)
            ),
        )

    def bound(self, collective: str, size: int, variant: str = "typical") -> bounds.Bound | None:
        """Returns what no algorithm can beat."""
        return bounds.bound_of(collective, size, self.spec, self.ranks, variant, self.root)

    def ways(
        self, collective: str, size: int, at_once: str, ranking: Sequence[model.Prediction] | None = None
    ) -> list[Way]:
        """Returns all of Antiphon's algorithms with usual parameters, each with what suits it best among nodes, and
        what a run uses without tuning.
        """
        machine = self.machine()
        found = list(
            ranking or model.predict(collective, [size], machine, root=self.root, max_evaluations=1).sizes[size]
        )
        if at_once != "library":
            found += model.predict(collective, [size], machine, choices=[at_once], root=self.root).sizes[size]
        bound = self.bound(collective, size)
        least_s = bound.seconds if bound else 0.0
        return [Way(prediction.choice, max(prediction.seconds, least_s)) for prediction in found]

    def at_once(self, collective: str, size: int) -> str:
        """Returns what a run that knows this cluster would use without tuning."""
        unknown = collective in ("alltoallv", "scatterv", "gatherv")
        question = core.Question(
            collective,
            self.ranks,
            -(-self.ranks // self.per_node),
            self.per_node,
            None if unknown else size,
            model.element_bytes(collective, size),
            link_bits_per_s=self.spec.rate_bits_per_s,
            mpi=self.library,
        )
        return core.choose(question, self.machine().profile, model=True).choice

    def _predicted(self, collective: str, size: int, choice: str) -> Range | None:
        found = []
        for variant in VARIANTS:
            machine = self._machines[variant]
            predictions = model.predict(collective, [size], machine, choices=[choice], root=self.root).sizes[size]
            if not predictions:
                return None
            found.append(predictions[0].seconds)
        return self._bounded(collective, size, found)

    def _bounded(self, collective: str, size: int, seconds: Sequence[float]) -> Range:
        """Extrapolations may miss what the links between switches must carry: nothing is faster than the bound."""
        found = [self.bound(collective, size, variant) for variant in VARIANTS]
        return Range(*(max(s, b.seconds if b else 0) for s, b in zip(seconds, found, strict=True)))


def _algorithm_of(way: Way) -> str:
    return way.choice.partition(":")[0]


def _seconds_of(way: Way) -> float:
    return way.seconds


def estimates(estimator: Estimator, collectives: Sequence[str], sizes: Sequence[int]) -> Iterator[Estimate]:
    """Yields an estimate for each collective and size, as they are done; a barrier has no size."""
    for collective in collectives:
        for size in [0] if collective == "barrier" else sizes:
            yield estimator.estimate(collective, size)
