# SPDX-License-Identifier: Apache-2.0
"""The core (libantiphon_core.so) as Python functions: algorithms, choices, schedules, what they send to whom.

The core answers JSON requests through ctypes, so that one build serves every Python.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    import ctypes

LIBRARY = Path(__file__).parent / "lib" / "libantiphon_core.so"


class CoreError(AntiphonError):
    """The core says that a request makes no sense."""


@dataclass(frozen=True)
class Collective:
    """A collective that Antiphon schedules."""

    name: str
    has_root: bool
    is_reduction: bool
    #: Sizes differ from block to block.
    is_irregular: bool


@dataclass(frozen=True)
class Parameter:
    """A tunable number of an algorithm."""

    name: str
    default: int
    min: int
    max: int
    #: One line, with the unit.
    meaning: str


@dataclass(frozen=True)
class Algorithm:
    """One algorithm for one collective."""

    collective: str
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    #: False: it cannot solve every problem (see `supported`).
    supports_all: bool
    #: Every rank must have the root's counts, which are exchanged first (scatterv, gatherv).
    needs_all_counts: bool


@dataclass(frozen=True)
class Question:
    """What a choice may depend on: only what all ranks know to be equal."""

    collective: str
    ranks: int
    nodes: int
    max_ranks_per_node: int
    #: Bytes of a block; None where ranks cannot know it alike (alltoallv, scatterv, gatherv).
    bytes: int | None = None
    element_bytes: int = 1
    commutative: bool = True
    #: Rate of a node's link; 0 where it is unknown.
    link_bits_per_s: int = 0


@dataclass(frozen=True)
class Choice:
    """What to use for a collective call."""

    #: "library" or "ALGORITHM[:PARAMETER=VALUE,…]".
    choice: str
    #: None: the library's own collective.
    algorithm: str | None
    parameters: Mapping[str, int]
    #: Why: the rule that matched.
    reason: str


@dataclass(frozen=True)
class Case:
    """A collective call as seen from outside."""

    collective: str
    size: int
    bytes: int = 0
    root: int = 0
    #: Reductions: the element's size.
    element_bytes: int = 1
    commutative: bool = True
    in_place: bool = False
    #: Irregular collectives draw their sizes from it; `bytes` is the mean. 0: every block has `bytes`.
    seed: int = 0
    parameters: Mapping[str, int] = field(default_factory=dict)


def query(request: str, **fields: Any) -> dict[str, Any]:
    """Asks the core; a refusal becomes a CoreError."""
    library = _library()
    text = json.dumps({"request": request, **fields}).encode()
    pointer = library.antiphon_core_query(text)
    if not pointer:
        raise CoreError("the core is out of memory", hint="ask for fewer ranks", exit_code=1)
    try:
        answer = _string_at(pointer)
    finally:
        library.antiphon_core_free(pointer)
    response: dict[str, Any] = json.loads(answer)
    if not response.pop("ok"):
        raise CoreError(response["error"])
    return response


def version() -> str:
    """The core's version."""
    return str(query("version")["version"])


@functools.lru_cache(maxsize=1)
def collectives() -> tuple[Collective, ...]:
    """All collectives that Antiphon schedules, in the order of the C++ enumeration."""
    return tuple(Collective(**c) for c in query("collectives")["collectives"])


@functools.lru_cache(maxsize=32)
def algorithms(collective: str | None = None) -> tuple[Algorithm, ...]:
    """All algorithms, or those of one collective, sorted by name."""
    listed = query("algorithms", collective=collective)["algorithms"]
    return tuple(
        Algorithm(**{**a, "parameters": tuple(Parameter(**p) for p in a["parameters"])}) for a in listed
    )


def choose(question: Question, profile: str | None = None, own: bool = False) -> Choice:
    """What is used for `question` by the default table, or first by the decisions of `profile` (a profile's JSON text).

    With `own`, the answer "library" is skipped: what Antiphon would use if it must.
    """
    fields = asdict(question)
    fields["bytes"] = -1 if question.bytes is None else question.bytes
    return Choice(**query("choose", profile=profile, own=own, **fields))


def _string_at(pointer: int) -> bytes:
    import ctypes

    return ctypes.string_at(pointer)


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    import ctypes

    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        what = f"cannot load {LIBRARY}: {error}" if LIBRARY.exists() else f"{LIBRARY} is missing: Antiphon's core is not built"
        raise AntiphonError(what, hint="`make setup` builds and installs it into .venv") from None
    library.antiphon_core_query.argtypes = [ctypes.c_char_p]
    library.antiphon_core_query.restype = ctypes.c_void_p
    library.antiphon_core_free.argtypes = [ctypes.c_void_p]
    library.antiphon_core_free.restype = None
    return library
