# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the placement file (docs/reference/placement.md): each rank's node, and its core on that node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon import __version__, profile
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.output import files

FORMAT = "antiphon-placement"
#: A plan (antiphon.plan) has a placement within.
PLAN_FORMAT = "antiphon-plan"
VERSION = 1
HINT = "`antiphon map TRACE MACHINE.json -o FILE` writes placements"
MAX_RANKS = 1 << 24


@dataclass(frozen=True)
class Node:
    """A node of the machine, as its launcher calls it."""

    name: str
    #: Ranks that it may take.
    slots: int
    #: Processors that a rank can be bound to; 0 means unknown, so ranks are not bound.
    cores: int = 0


@dataclass(frozen=True)
class Placement:
    """A place for every rank."""

    nodes: Sequence[Node]
    node_of_rank: Sequence[int]
    #: The core within the node; ranks that share a core have the same one.
    core_of_rank: Sequence[int]
    #: How the placement was made: "method", "machine", "program", "library", "predicted", "current", …
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses nodes that are not there, which would make a file that nothing reads."""
        for rank, node in enumerate(self.node_of_rank):
            if not 0 <= node < len(self.nodes):
                raise AntiphonError(f"rank {rank} is on node {node}, and there are {len(self.nodes)}")

    @property
    def ranks(self) -> int:
        """Returns how many ranks there are."""
        return len(self.node_of_rank)

    @property
    def hosts(self) -> list[str]:
        """Returns the node of each rank, by name."""
        return [self.nodes[node].name for node in self.node_of_rank]

    def used(self) -> list[Node]:
        """Returns the nodes that have ranks, in the machine's order."""
        taken = set(self.node_of_rank)
        return [node for index, node in enumerate(self.nodes) if index in taken]

    def ranks_on(self) -> list[list[int]]:
        """Returns the ranks of each node, ascending."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for rank, node in enumerate(self.node_of_rank):
            found[node].append(rank)
        return found

    def to_json(self) -> dict[str, Any]:
        """Returns the file's document."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "tool": f"antiphon {__version__}",
            **self.about,
            "ranks": self.ranks,
            "nodes": [{"name": n.name, "slots": n.slots, "cores": n.cores} for n in self.nodes],
            "node_of_rank": list(self.node_of_rank),
            "core_of_rank": list(self.core_of_rank),
        }

    def text(self) -> str:
        """Returns the file's text."""
        return profile.json_text(self.to_json()) + "\n"

    def save(self, path: Path) -> None:
        """Writes the file, in one step."""
        files.write(path, self.text())

    @classmethod
    def load(cls, path: Path) -> Placement:
        """Reads a file, or that part of a plan; an error says what is wrong with it."""
        try:
            document = parse_json(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise AntiphonError(f"{path}: {error.strerror}", hint=HINT) from None
        except (ValueError, RecursionError) as error:
            raise AntiphonError(f"{path} is no placement: {error}", hint=HINT) from None
        if isinstance(document, dict) and document.get("format") == PLAN_FORMAT:
            document = document.get("placement") or {}
            if not document:
                raise AntiphonError(f"{path}: this plan places no ranks", hint="`antiphon explain --plan` shows a plan")
        try:
            return cls.of_json(document)
        except AntiphonError as error:
            raise AntiphonError(f"{path}: {error.message}", hint=error.hint or HINT) from None

    @classmethod
    def of_json(cls, document: Any) -> Placement:
        """Reads a document."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise AntiphonError("this is not a placement")
        if document.get("version") != VERSION:
            raise AntiphonError(f"version {document.get('version')!r}; this Antiphon reads version {VERSION}")
        nodes = [_node(entry, f"nodes[{i}]") for i, entry in enumerate(_list(document, "nodes"))]
        node_of_rank = _numbers(document, "node_of_rank", len(nodes))
        core_of_rank = _numbers(document, "core_of_rank", MAX_RANKS)
        if document.get("ranks") != len(node_of_rank) or len(core_of_rank) != len(node_of_rank) or not node_of_rank:
            raise AntiphonError("ranks, node_of_rank and core_of_rank do not have the same number of ranks")
        known = ("format", "version", "tool", "ranks", "nodes", "node_of_rank", "core_of_rank")
        about = {key: value for key, value in document.items() if key not in known}
        made = cls(nodes, node_of_rank, core_of_rank, about)
        for node, ranks in zip(nodes, made.ranks_on(), strict=True):
            if len(ranks) > node.slots:
                raise AntiphonError(f"{node.name} has {node.slots} slots, and {len(ranks)} ranks are for it")
        return made


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    if not isinstance(value, list) or len(value) > MAX_RANKS:
        raise AntiphonError(f"{key} is no list")
    return value


def _numbers(document: Mapping[str, Any], key: str, limit: int) -> list[int]:
    values = _list(document, key)
    for index, value in enumerate(values):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
            raise AntiphonError(f"{key}[{index}] is {value!r}")
    return values


def _node(entry: Any, where: str) -> Node:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise AntiphonError(f"{where} has no name")
    name = entry["name"]
    if not name or any(c.isspace() or c in ",:=*#" for c in name):
        raise AntiphonError(f"{where}: {name!r} is no name of a node that launchers could read")
    counts = [entry.get("slots"), entry.get("cores", 0)]
    if any(not isinstance(c, int) or isinstance(c, bool) or c < 0 for c in counts):
        raise AntiphonError(f"{where}: slots and cores are numbers")
    return Node(name, *counts)
