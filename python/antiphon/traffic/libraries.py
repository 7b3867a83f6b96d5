# SPDX-License-Identifier: Apache-2.0
"""The decomposition knowledge base: which algorithm each MPI library uses for a call (paper 2, Section 4.1).

One TOML file a library and version in tables/; docs/reference/traffic.md explains their form.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.traffic.edges import Array

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLES = Path(__file__).with_name("tables")
SCHEMA = Path(__file__).parent.parent / "schemas" / "decomposition.schema.json"
#: Used where a library's own algorithm is not among our schedules.
OUR_BARRIER = "dissemination"
#: Fields of a rule that are conditions but bounds.
TRAITS = ("power_of_two", "commutative", "in_place", "spread", "balanced", "consecutive")
#: Families, by what their libraries say of themselves.
_OPEN_MPI = re.compile(r"open[ -]?mpi", re.IGNORECASE)
_OF_MPICH = re.compile(r"mpich|mvapich|intel|cray", re.IGNORECASE)


@dataclass(frozen=True)
class CollectiveCall:
    """A collective call as all of its ranks know it. `bytes`: of a block, as our schedules count it."""

    collective: str
    ranks: int
    bytes: int = 0
    root: int = 0
    element_bytes: int = 1
    commutative: bool = True
    in_place: bool = False
    #: Bytes of each rank's block, of irregular collectives; None: `bytes` each.
    counts: tuple[int, ...] | None = None
    #: How far apart in MPI_COMM_WORLD the ranks are, as rules say it; 0: differently far.
    stride: int = 1

    def total_bytes(self) -> int:
        """All blocks together."""
        return sum(self.counts) if self.counts is not None else self.bytes * self.ranks


@dataclass(frozen=True)
class RankLayout:
    """The facts about the nodes of a communicator's ranks that a rule may ask for."""

    spread: bool
    balanced: bool
    consecutive: bool

    @classmethod
    def of(cls, nodes: Array | None) -> RankLayout:
        """`nodes`: of each rank; None: all on one, or each on its own."""
        if nodes is None or len(nodes) < 2:
            return cls(False, True, True)
        counts = np.unique(nodes, return_counts=True)[1]
        changes = int(np.count_nonzero(nodes[1:] != nodes[:-1]))
        return cls(
            len(counts) > 1 and int(counts.max()) > 1, bool((counts == counts[0]).all()), changes == len(counts) - 1
        )


@dataclass(frozen=True)
class LibraryAlgorithm:
    """The answer of a table: the library's name of the algorithm, and either our schedule or steps."""

    name: str
    schedule: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    #: What the schedule does not show of the library's algorithm.
    note: str = ""


class Library:
    """A library's table."""

    def __init__(self, document: Mapping[str, Any], key: str) -> None:
        self.key = key
        self.about = document["library"]
        self.name: str = self.about["name"]
        self.leader: str = self.about.get("leader", "first")
        self.without = frozenset(self.about.get("without", ()))
        self._tables = document

    def choose(self, call: CollectiveCall, nodes: Array | None = None, sub: str = "") -> LibraryAlgorithm:
        """The algorithm for a call of ranks on these nodes; `sub`: of the table's part of that name."""
        layout = RankLayout.of(nodes)
        table = self._tables.get(call.collective)
        if table is None:
            raise AntiphonError(f"{self.name}: nothing is known of {call.collective}")
        table = table[sub] if sub else table
        size = measured(call, table.get("size", "block"))
        for rule in table["rules"]:
            if not self.without & rule.keys() and matches(rule, call, layout):
                named = next((name for limit, name in rule.get("below", ()) if size < limit), rule["use"])
                return self._resolved(table["algorithms"], named, call)
        raise AntiphonError(f"{self.name}: no rule for {call.collective} of {call.ranks} ranks, {call.bytes} bytes")

    def _resolved(self, algorithms: Mapping[str, Any], name: str, call: CollectiveCall) -> LibraryAlgorithm:
        value = algorithms[name]
        if isinstance(value, dict):
            least = value.get("least_elements")
            elements = call.total_bytes() if call.collective.startswith("reduce_scatter") else call.bytes
            if least is not None and elements // call.element_bytes < least_elements(least, call.ranks):
                return self._resolved(algorithms, value["otherwise"], call)
            value, note = value["use"], value.get("note", "")
        else:
            note = ""
        if isinstance(value, str):
            return LibraryAlgorithm(name, schedule=value, note=note)
        if isinstance(value[0], str):
            return LibraryAlgorithm(name, schedule=first_supported(call, tuple(value)), note=note)
        return LibraryAlgorithm(name, steps=tuple(value), note=note)


def least_elements(what: str, ranks: int) -> int:
    """How many elements an algorithm needs at least."""
    return ranks if what == "ranks" else 1 << (ranks.bit_length() - 1)


def measured(call: CollectiveCall, what: str) -> int:
    """The size that a table's thresholds are for."""
    if what == "total":
        return call.total_bytes()
    return call.total_bytes() // call.ranks if what == "mean" else call.bytes


def matches(rule: Mapping[str, Any], call: CollectiveCall, layout: RankLayout) -> bool:
    """Whether a rule's conditions hold."""
    low, high = rule.get("ranks", (0, "inf"))
    if call.ranks < low or (high != "inf" and call.ranks > high):
        return False
    traits = {
        "power_of_two": call.ranks & (call.ranks - 1) == 0,
        "commutative": call.commutative,
        "in_place": call.in_place,
        "spread": layout.spread,
        "balanced": layout.balanced,
        "consecutive": layout.consecutive,
    }
    return all(traits[name] == rule[name] for name in TRAITS if name in rule)


def first_supported(call: CollectiveCall, schedules: Sequence[str]) -> str:
    """The first of our schedules that can do it; the last one always can."""
    question = core.Question(
        call.collective, call.ranks, call.ranks, 1, call.bytes, call.element_bytes, call.commutative
    )
    able = _supported(question)
    return next((s for s in schedules if s.partition(":")[0] in able), schedules[-1])


@functools.lru_cache(maxsize=1024)
def _supported(question: core.Question) -> tuple[str, ...]:
    return core.supported(question)


@functools.lru_cache(maxsize=1)
def keys() -> tuple[str, ...]:
    """The names of all tables."""
    return tuple(sorted(path.stem for path in TABLES.glob("*.toml")))


@functools.lru_cache(maxsize=16)
def load(key: str) -> Library:
    """A library by its table's name."""
    if key not in keys():
        raise AntiphonError(f"there is no table for {key}", hint=f"there are: {', '.join(keys())}")
    return Library(_document(key), key)


def _document(key: str) -> dict[str, Any]:
    document = checked(tomllib.loads((TABLES / f"{key}.toml").read_text(encoding="utf-8")), key)
    like = document["library"].get("like")
    if like is None:
        return document
    other = _document(like)
    return {**other, **document, "library": {**other["library"], **document["library"]}}


def checked(document: dict[str, Any], key: str) -> dict[str, Any]:
    """The same, or an error that names the place."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for error in jsonschema.Draft202012Validator(schema).iter_errors(document):
        raise AntiphonError(f"{key}.toml: {'.'.join(map(str, error.absolute_path))}: {error.message}")
    for collective, table in document.items():
        for part in (table, *(v for v in table.values() if isinstance(v, dict) and "rules" in v)):
            used = {
                name for rule in part.get("rules", ()) for name in (rule["use"], *(n for _, n in rule.get("below", ())))
            }
            missing = used - part.get("algorithms", {}).keys()
            if missing:
                raise AntiphonError(f"{key}.toml: {collective}: no algorithm is called {', '.join(sorted(missing))}")
    return document


def is_known(text: str) -> bool:
    """Tells whether it names a table, or a library of a family that has tables."""
    return text in keys() or bool(_OPEN_MPI.search(text) or _OF_MPICH.search(text))


def for_library(text: str) -> Library:
    """The table for what a library says of itself ("Open MPI v5.0.11", "MPICH Version: 5.0.2"), or of that name."""
    if text in keys():
        return load(text)
    family = "openmpi" if _OPEN_MPI.search(text) else "mpich"
    found = re.search(r"(\d+(?:\.\d+)+)", text)
    version = found.group(1) if found else ""
    libraries = [load(key) for key in keys()]
    fitting = [
        lib
        for lib in libraries
        if lib.about["family"] == family and any(_is(version, v) for v in lib.about["versions"])
    ]
    if fitting:
        return max(fitting, key=lambda lib: max(len(v) for v in lib.about["versions"]))
    newest = {"openmpi": "openmpi-5.0", "mpich": "mpich-5"}[family]
    return load(newest)


def barrier(text: str, ranks: int, ranks_per_node: int = 1) -> list[dict[str, str]]:
    """The parts of a library's barrier, one after the other, on nodes of so many ranks in a row: after which a
    benchmark times its calls. Each part is a schedule `among` all ranks, each "node"'s, or the nodes' "leaders".
    """
    try:
        library = for_library(text)
        choice = library.choose(CollectiveCall("barrier", ranks), np.arange(ranks) // ranks_per_node)
        if not choice.steps:
            return [{"among": "all", "choice": choice.schedule}]
        members = {"node": ranks_per_node, "leaders": -(-ranks // ranks_per_node)}
        return [
            {"among": step["over"], "choice": library.choose(CollectiveCall("barrier", members[step["over"]])).schedule}
            for step in choice.steps
        ]
    except (AntiphonError, KeyError):
        return [{"among": "all", "choice": OUR_BARRIER}]


def _is(version: str, prefix: str) -> bool:
    return version == prefix or version.startswith(prefix + ".")
