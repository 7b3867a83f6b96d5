# SPDX-License-Identifier: Apache-2.0
"""GOAL: one call's schedule for LogGOPSim, ATLAHS and other simulators that read this language.

Every piece of a message is a message of its own with a tag of its own, so that nothing depends on the order of
arrival. A permission to send (a message without bytes) has one byte, since LogGOPSim's cost of a message of s bytes
is (s − 1) G. Copying and reducing become `calc` in nanoseconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.explain.options import call_of_options
from antiphon.exporters import Exported, _goal_reader
from antiphon.simulate.pieces import matches, requirements, sizes_of, tags_of, window_of

SUMMARY = "GOAL: a collective's schedule for LogGOPSim and other simulators"

USAGE = """\
txt2bin -i FILE -o schedule.bin && LogGOPSim -f schedule.bin"""

#: The cost of copying and of reducing in memory, in nanoseconds per byte.
_COPY_NS, _REDUCE_NS = 0.25, 0.5
#: Larger files than this are of no use.
_MOST_PIECES = 4_000_000


def export_schedule(args: argparse.Namespace) -> Exported:
    """Returns the schedule that the options name."""
    if args.collective is None or args.ranks is None:
        raise AntiphonError(
            "--to goal needs a collective and --ranks", hint="antiphon export --to goal alltoall --ranks 16 --bytes 64k"
        )
    call = call_of_options(
        argparse.Namespace(
            collective=args.collective,
            ranks=args.ranks,
            ranks_per_node=1,
            switches=None,
            bytes=args.bytes,
            root=args.root,
            element_bytes=None,
            ordered=False,
            algorithm=args.algorithm,
            link_rate=None,
            mpi="",
            transport="tcp",
            nonblocking=False,
            shared_cores=False,
        )
    )
    algorithm = args.algorithm or core.choose(call.question(), own=True).choice
    plan = core.build(call.case(algorithm))
    text = render(plan)
    wanted = with_tokens(core.matrix(call.case(algorithm)).bytes, plan)
    if wanted != _goal_reader.run(text).bytes:
        raise AntiphonError("the file would be misread: it moves other bytes than the schedule", exit_code=1)
    return Exported(text, USAGE)


def with_tokens(sent: Sequence[Sequence[int]], plan: Mapping[str, Any]) -> list[list[int]]:
    """Counts the bytes that a schedule sends, and one for each message without bytes."""
    total = [list(row) for row in sent]
    for rank, schedule in enumerate(plan["schedules"]):
        for op in schedule["ops"]:
            if op["op"] == "send":
                total[rank][op["peer"]] += sum(size == 0 for size in _pieces(op))
    return total


def render(plan: Mapping[str, Any]) -> str:
    """Returns the text of a plan (docs/reference/plan-format.md)."""
    size, schedules = plan["size"], plan["schedules"]
    pieces = sum(len(_pieces(op)) for schedule in schedules for op in schedule["ops"])
    if pieces > _MOST_PIECES:
        raise AntiphonError(
            f"the schedule has {pieces} pieces of operations; at most {_MOST_PIECES} are written",
            hint="ask for fewer ranks, or larger pieces with --algorithm",
        )
    tags = tags_of(matches(schedules, "GOAL"))
    lines = [
        f"num_ranks {size}",
        "",
        f"// {plan['collective']} of {plan['bytes']} bytes by {plan['algorithm']}, antiphon export",
    ]
    for rank, schedule in enumerate(schedules):
        lines += ["", f"rank {rank} {{", *_rank_lines(rank, schedule["ops"], tags), "}"]
    return "\n".join(lines) + "\n"


def _pieces(op: Mapping[str, Any]) -> list[int]:
    return sizes_of(op, "GOAL")


def _rank_lines(rank: int, ops: Sequence[Mapping[str, Any]], tags: Mapping[tuple[int, int, int], int]) -> Iterator[str]:
    counts = [len(_pieces(op)) for op in ops]
    for number, op in enumerate(ops):
        sizes = _pieces(op)
        for k, size in enumerate(sizes):
            yield f"o{number}p{k}: {_operation(op, size, tags.get((rank, number, k), 0))}"
        window = window_of(op)
        for k in range(len(sizes)):
            if k > 0:
                yield f"o{number}p{k} irequires o{number}p{k - 1}"
            if 0 < window <= k:
                yield f"o{number}p{k} requires o{number}p{k - window}"
            for other, piece in requirements(k, op.get("after", []), counts):
                yield f"o{number}p{k} requires o{other}p{piece}"


def _operation(op: Mapping[str, Any], size: int, tag: int) -> str:
    if op["op"] == "send":
        return f"send {max(size, 1)}b to {op['peer']} tag {tag}"
    if op["op"] == "recv":
        return f"recv {max(size, 1)}b from {op['peer']} tag {tag}"
    return f"calc {round(size * (_REDUCE_NS if op['op'] == 'reduce' else _COPY_NS))}"
