# SPDX-License-Identifier: Apache-2.0
"""The communication topology graph of a run: its parts, one for each kind of call, and the file they are kept in."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.output import files
from antiphon.traffic.edges import Array, Edges, Uniform
from antiphon.traffic.libraries import CollectiveCall

FORMAT = "antiphon-traffic"
VERSION = 1
POINT_TO_POINT = "point-to-point"
#: Groups with more pairs than this stay groups in `Traffic.total`.
MOST_LISTED_PAIRS = 1 << 24
#: Of such a group, each member's partners that stand for all in a mapping file.
MOST_PARTNERS = 64


@dataclass(frozen=True)
class Made:
    """Equal calls of one communicator that run as one schedule."""

    call: CollectiveCall
    schedule: str
    members: tuple[int, ...]
    calls: int


@dataclass
class Part:
    """The traffic of one kind of call: point-to-point messages, or a collective by one algorithm."""

    #: "point-to-point", or the collective, such as "allreduce".
    name: str
    edges: Edges
    uniform: list[Uniform] = field(default_factory=list)
    #: What the library calls the algorithm, and our schedules that send the same; "": point-to-point.
    algorithm: str = ""
    schedules: str = ""
    #: Of its communicators: a name that they share, ranks of each, how many.
    communicator: str = ""
    communicator_ranks: int = 0
    communicators: int = 1
    #: Calls of one rank's view (of a collective), or messages sent.
    calls: int = 0
    #: Mean over ranks of the time spent in these calls.
    seconds: float = 0.0
    phase: int = 0
    #: Why it is not exact; "": it is.
    approximation: str = ""
    #: The calls, where all of them are known as schedules; not kept in files.
    made: list[Made] = field(default_factory=list)

    @property
    def collective(self) -> bool:
        """Whether the part is a collective; else it is point-to-point."""
        return self.name != POINT_TO_POINT

    def total_bytes(self) -> int:
        """All payload."""
        return self.edges.total_bytes() + sum(u.pairs() * u.bytes for u in self.uniform)

    def total_messages(self) -> int:
        """All messages."""
        return self.edges.total_messages() + sum(u.pairs() * u.messages for u in self.uniform)

    def crossing(self, node_of_rank: Array) -> tuple[int, int]:
        """Messages and bytes that leave their node, of however many nodes."""
        apart = node_of_rank[self.edges.source] != node_of_rank[self.edges.target]
        messages, size = int(self.edges.messages[apart].sum()), int(self.edges.bytes[apart].sum())
        for group in self.uniform:
            _, here = np.unique(node_of_rank[group.members], return_counts=True)
            pairs = len(group.members) ** 2 - int((here**2).sum())
            messages, size = messages + pairs * group.messages, size + pairs * group.bytes
        return messages, size

    def between(self, node_of_rank: Array, nodes: int) -> tuple[Array, Array]:
        """Messages and bytes from node to node, as matrices for few nodes; what groups stand for is not listed."""
        cells = node_of_rank[self.edges.source].astype(np.int64) * nodes + node_of_rank[self.edges.target]
        square = (nodes, nodes)

        def sums(weights: Array) -> Array:
            # In doubles: exact below 2^53 bytes.
            return np.bincount(cells, weights=weights, minlength=nodes * nodes).reshape(square)

        messages, size = sums(self.edges.messages), sums(self.edges.bytes)
        for group in self.uniform:
            here = np.bincount(node_of_rank[group.members], minlength=nodes).astype(float)
            pairs = np.outer(here, here) - np.diag(here)
            messages, size = messages + pairs * group.messages, size + pairs * group.bytes
        return messages, size


@dataclass
class Traffic:
    """A run's traffic. Payload only: what a library sends to control a transfer is not in it."""

    ranks: int
    parts: list[Part]
    #: "program", "mpi", "library" (whose table was used), "nodes" (of each rank, in the run), "hosts", "phases".
    header: dict[str, Any] = field(default_factory=dict)

    @property
    def node_of_rank(self) -> Array:
        """Where the run had its ranks; each its own node where that is unknown."""
        nodes = self.header.get("nodes")
        known = isinstance(nodes, list) and len(nodes) == self.ranks
        return np.array(nodes if known else range(self.ranks), np.int64)

    def mean_bytes(self) -> float:
        """The mean length of a message, around which a machine's costs are linear."""
        return sum(part.total_bytes() for part in self.parts) / max(1, sum(p.total_messages() for p in self.parts))

    def selected(self, keep: Callable[[Part], bool]) -> Traffic:
        """With some of its parts."""
        return Traffic(self.ranks, [part for part in self.parts if keep(part)], self.header)

    def total(self, most_pairs: int = MOST_LISTED_PAIRS) -> tuple[Edges, list[Uniform]]:
        """All parts together: edges, and the groups that have too many pairs to list them."""
        lists = [part.edges for part in self.parts]
        groups: list[Uniform] = []
        left = most_pairs
        for group in sorted((g for part in self.parts for g in part.uniform), key=Uniform.pairs):
            if group.pairs() <= left:
                left -= group.pairs()
                lists.append(group.edges())
            else:
                groups.append(group)
        return Edges.merge(lists), groups

    def crossing(self) -> tuple[int, int]:
        """Messages and bytes that leave their node, where the run had its ranks."""
        places = self.node_of_rank
        counted = [part.crossing(places) for part in self.parts]
        return sum(messages for messages, _ in counted), sum(size for _, size in counted)

    def between(self, node_of_rank: Array | None = None, nodes: int | None = None) -> tuple[Array, Array]:
        """Messages and bytes from node to node, as matrices; without arguments, where the run had its ranks."""
        places = self.node_of_rank if node_of_rank is None else node_of_rank
        count = int(places.max()) + 1 if nodes is None else nodes
        messages: Array = np.zeros((count, count))
        size: Array = np.zeros((count, count))
        for part in self.parts:
            more, longer = part.between(places, count)
            messages, size = messages + more, size + longer
        return messages, size

    def save(self, path: Path) -> None:
        """Writes the file (docs/reference/traffic.md)."""
        groups = [group for part in self.parts for group in part.uniform]
        document = {
            **self.header,
            "format": FORMAT,
            "version": VERSION,
            "ranks": self.ranks,
            "parts": _described(self.parts),
        }
        arrays = {name: _joined([getattr(p.edges, name) for p in self.parts], name) for name in Edges.columns()}
        arrays["members"] = _joined([group.members.astype(np.int32) for group in groups], "source")
        buffer = io.BytesIO()
        header = np.frombuffer(json.dumps(document).encode(), np.uint8)
        np.savez_compressed(buffer, header=header, **arrays)  # type: ignore[arg-type]
        files.write(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Traffic:
        """Reads such a file."""
        hint = "`antiphon traffic TRACE -o FILE` writes such files"
        if path.is_file() and path.open("rb").read(2) != b"PK":
            raise AntiphonError(f"{path} is neither a trace nor the traffic of one", hint=hint)
        try:
            with np.load(path, allow_pickle=False) as stored:
                document = parse_json(bytes(stored["header"]))
                arrays = {name: stored[name] for name in (*Edges.columns(), "members")}
        except FileNotFoundError:
            raise AntiphonError(f"{path} is not there", hint=hint) from None
        except Exception as error:  # noqa: BLE001 (NumPy and zipfile meet damage with errors of many kinds)
            raise AntiphonError(f"{path} is no traffic: {error}", hint=hint) from None
        try:
            return _assembled(document, arrays)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise AntiphonError(f"{path} is damaged: {error}", hint=hint) from None

    def mapping_file(self, path: Path) -> bool:
        """Writes what the core's mapping reads (docs/reference/mapping-files.md); False: some group was thinned out."""
        edges, groups = self.total()
        edges = Edges.merge([edges, *(group.spread_out(MOST_PARTNERS) for group in groups)])
        first = np.searchsorted(edges.source, np.arange(self.ranks + 1)).astype("<i8")
        sizes = np.array([self.ranks, len(edges)], "<i8")
        columns = (sizes, first, edges.messages.astype("<f8"), edges.bytes.astype("<f8"), edges.target.astype("<i4"))
        path.write_bytes(b"APTRAFF1" + b"".join(column.tobytes() for column in columns))
        return not groups

    def to_json(self) -> dict[str, Any]:
        """All of it, for programs that read JSON; large for many ranks."""
        parts = _described(self.parts)
        for part, row in zip(self.parts, parts, strict=True):
            row["edges"] = [
                list(e) for e in zip(*(getattr(part.edges, c).tolist() for c in Edges.columns()), strict=True)
            ]
            row["uniform"] = [
                {"members": u.members.tolist(), "messages": u.messages, "bytes": u.bytes} for u in part.uniform
            ]
        return {**self.header, "format": FORMAT, "version": VERSION, "ranks": self.ranks, "parts": parts}


#: Fields of a part that are said in words and numbers.
_WORDS = tuple(name for name in Part.__dataclass_fields__ if name not in ("edges", "uniform", "made"))


def _described(parts: Sequence[Part]) -> list[dict[str, Any]]:
    rows = []
    for part in parts:
        row: dict[str, Any] = {name: getattr(part, name) for name in _WORDS}
        row["edges"] = len(part.edges)
        row["uniform"] = [{"members": len(u.members), "messages": u.messages, "bytes": u.bytes} for u in part.uniform]
        rows.append(row)
    return rows


def _joined(arrays: Sequence[Array], like: str) -> Array:
    return np.concatenate(arrays) if arrays else getattr(Edges.empty(), like)


def _assembled(document: Mapping[str, Any], arrays: Mapping[str, Array]) -> Traffic:
    if document["format"] != FORMAT or document["version"] != VERSION:
        raise ValueError(f"{document['format']} of version {document['version']}")
    ranks = int(document["ranks"])
    if any(
        len(a) and (a.min() < 0 or a.max() >= ranks) for a in (arrays["source"], arrays["target"], arrays["members"])
    ):
        raise ValueError("a rank that does not exist")
    parts, at, member = [], 0, 0
    for row in document["parts"]:
        end = at + int(row["edges"])
        edges = Edges(*(arrays[name][at:end] for name in Edges.columns()))
        if len(edges) != row["edges"]:
            raise ValueError("fewer messages than its header says")
        at, groups = end, []
        for group in row["uniform"]:
            groups.append(
                Uniform(arrays["members"][member : member + group["members"]], group["messages"], group["bytes"])
            )
            member += group["members"]
        parts.append(Part(edges=edges, uniform=groups, **{name: row[name] for name in _WORDS}))
    known = ("format", "version", "ranks", "parts")
    return Traffic(ranks, parts, {key: value for key, value in document.items() if key not in known})


__all__ = ["FORMAT", "POINT_TO_POINT", "VERSION", "Edges", "Made", "Part", "Traffic", "Uniform"]
