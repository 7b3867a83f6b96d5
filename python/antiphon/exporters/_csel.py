# SPDX-License-Identifier: Apache-2.0
"""Reads MPICH's trees of collective selection: the built-in one of a library, and the reader's own way through a tree.

A node is an object of keys that are asked in order (the first that holds is followed, and never gone back on); a
leaf names an algorithm. The reader is src/mpi/coll/src/csel.c of MPICH 4.2 to 5.0; its semantics are described in
docs/guides/export.md; nothing of it is copied here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.documents import parse_json
from antiphon.errors import AntiphonError

Tree = dict[str, Any]

#: The reader can tell an average size for these collectives; it aborts at any other use of the key.
AVERAGE = frozenset({"bcast", "reduce", "allreduce", "alltoall"})
#: For gather and scatter the total leaves out the datatype's size, and for alltoallv it differs from rank to rank.
TOTAL = frozenset({"allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block"})


@dataclass(frozen=True)
class ReaderQuestion:
    """The properties of a collective call that the reader looks at."""

    collective: str
    ranks: int
    #: A block, or the message (as Antiphon counts).
    bytes: int
    element_bytes: int = 8
    commutative: bool = True
    built_in: bool = True
    in_place: bool = False
    hierarchy: bool = False

    @property
    def count(self) -> int:
        return self.bytes // self.element_bytes


def built_in(libmpi: Path) -> Tree:
    """Returns the tree compiled into a library at its MPIR level, which is the one that a file replaces."""
    try:
        data = libmpi.read_bytes()
    except OSError as error:
        raise AntiphonError(f"cannot read {libmpi}: {error.strerror}") from None
    for match in re.finditer(rb'\{"collective=[^\0]+\0', data):
        try:
            tree = parse_json(match.group()[:-1])
        except ValueError:
            continue
        if b'"algorithm=MPIR_' in match.group():
            return dict(tree)
    raise AntiphonError(
        f"{libmpi} has no selection tree compiled in",
        hint="it must be the libmpi of MPICH 4.2 to 5.0 itself: name it with --libmpi",
    )


def search(tree: Tree, call: ReaderQuestion) -> tuple[str, Tree] | None:
    """Returns the (algorithm, its parameters) that the reader finds, or None if it would abort. Raises ValueError for a
    key that the reader does not know.
    """
    return _follow(
        _pruned(tree[f"collective={call.collective}"], call) if f"collective={call.collective}" in tree else None, call
    )


def _follow(node: Tree | None, call: ReaderQuestion) -> tuple[str, Tree] | None:
    while node is not None:
        leaf = next((key for key in node if key.startswith("algorithm=")), None)
        if leaf is not None:
            return leaf.removeprefix("algorithm="), node[leaf]
        node = next((below for key, below in node.items() if _holds(key, call, when_called=True)), None)
    return None


def _pruned(node: Tree | None, call: ReaderQuestion) -> Tree | None:
    """Decides what depends only on the communicator, when it is made, down to the first key that depends on more."""
    while node is not None:
        keys = list(node)
        for i, key in enumerate(keys):
            if not key.startswith(("comm_", "any")) and not key.endswith("=any"):
                # Sibling keys before this one did not hold, so the rest of the keys remain.
                return {k: node[k] for k in keys[i:]}
            if _holds(key, call, when_called=False):
                node = node[key]
                break
        else:
            return None
    return None


def _holds(key: str, call: ReaderQuestion, when_called: bool) -> bool:
    if key == "any" or key.endswith("=any"):
        return True
    limit = re.fullmatch(r"(comm_size|avg_msg_size|total_msg_size|count|comm_avg_ppn)(<=?)(\d+)", key)
    if limit:
        name, relation, number = limit.groups()
        value = _value(name, call)
        # The reader has a bug here: comm_size<N means <= once it is asked at the call.
        inclusive = relation == "<=" or (name == "comm_size" and when_called)
        return value <= int(number) if inclusive else value < int(number)
    flags = {
        "is_commutative": call.commutative,
        "is_op_built_in": call.built_in,
        "is_sendbuf_inplace": call.in_place,
        "is_node_consecutive": True,
        "is_block_regular": True,
        "is_multi_threaded": False,
    }
    name, _, value_text = key.partition("=")
    if name in flags:
        return flags[name] == (value_text == "yes")
    if name == "comm_hierarchy":
        return call.hierarchy == (value_text == "parent")
    fixed = {
        "comm_type=intra": True,
        "comm_type=inter": False,
        "comm_size=pow2": call.ranks & (call.ranks - 1) == 0,
        "comm_size=node_comm_size": False,
        "count<pow2": call.count < 1 << (call.ranks.bit_length() - 1),
    }
    if key not in fixed:
        raise ValueError(f"unknown key {key!r}: MPICH would abort")
    return fixed[key]


def _value(name: str, call: ReaderQuestion) -> int:
    if name == "comm_size":
        return call.ranks
    if name == "avg_msg_size":
        if call.collective not in AVERAGE:
            raise ValueError(f"avg_msg_size for {call.collective}: MPICH would abort")
        return call.bytes
    if name == "total_msg_size":
        if call.collective not in TOTAL | AVERAGE:
            raise ValueError(f"total_msg_size for {call.collective}: MPICH counts something else")
        return call.bytes * call.ranks
    if name == "count":
        return call.count
    return 1


def at_most(collective: str, ranks: int, size: int) -> str | None:
    """Returns the key that holds up to this size, or None where no key can express it."""
    if collective in AVERAGE:
        return f"avg_msg_size<={_number(size)}"
    if collective in TOTAL:
        return f"total_msg_size<={_number(size * ranks)}"
    return None


def _number(value: int) -> int:
    return min(value, 2**31 - 1)  # The reader uses atoi.


def check(tree: Tree) -> None:
    """Checks what the reader asserts of any tree: only objects, and a sibling to fall back to beside numeric keys."""
    if not isinstance(tree, Mapping):
        raise ValueError("the tree is not an object: MPICH would abort")
    for key, below in tree.items():
        if not isinstance(below, Mapping):
            raise ValueError(f"{key!r} is not an object: MPICH would abort")
        if key.startswith("algorithm="):
            continue
        if not below:
            raise ValueError(f"nothing below {key!r}: MPICH would abort")
        check(dict(below))
    numeric = [key for key in tree if re.search(r"<|pow2|node_comm_size", key)]
    if numeric and (list(tree)[-1] in numeric):
        raise ValueError(f"nothing beside {numeric[-1]!r}: MPICH would abort where it does not hold")
    for key in list(tree)[:-1]:
        if key == "any" or key.endswith("=any"):
            raise ValueError(f"{key!r} is not the last of its level: MPICH would abort")
