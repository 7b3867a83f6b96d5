# SPDX-License-Identifier: Apache-2.0
"""Holds the common part of both forms of Open MPI's rules: ids, and the meaning of each collective's message size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from antiphon.exporters._measured import ChosenAlgorithm, Decision, MeasuredDecisions

#: Maps collectives to their numbers in rules files.
COLLECTIVES = {
    "allgather": 0,
    "allgatherv": 1,
    "allreduce": 2,
    "alltoall": 3,
    "alltoallv": 4,
    "barrier": 6,
    "bcast": 7,
    "exscan": 8,
    "gather": 9,
    "reduce": 11,
    "reduce_scatter": 12,
    "reduce_scatter_block": 13,
    "scan": 14,
    "scatter": 15,
}

#: Algorithms by name: the place in the list, from 1, is the number. The names are those that
#: coll_tuned_<collective>_algorithm lists.
ALGORITHMS = {
    "allgather": ("linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc", "sparbit"),
    "allgatherv": ("default", "bruck", "ring", "neighbor", "two_proc", "sparbit"),
    "allreduce": ("basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"),
    "alltoall": ("linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"),
    "alltoallv": ("basic_linear", "pairwise"),
    "barrier": ("linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"),
    "bcast": (
        "basic_linear",
        "chain",
        "pipeline",
        "split_binary_tree",
        "binary_tree",
        "binomial",
        "knomial",
        "scatter_allgather",
        "scatter_allgather_ring",
    ),
    "exscan": ("linear", "recursive_doubling"),
    "gather": ("basic_linear", "binomial", "linear_sync"),
    "reduce": ("linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner"),
    "reduce_scatter": ("non-overlapping", "recursive_halving", "ring", "butterfly"),
    "reduce_scatter_block": ("basic_linear", "recursive_doubling", "recursive_halving", "butterfly"),
    "scan": ("linear", "recursive_doubling"),
    "scatter": ("basic_linear", "binomial", "linear_nb"),
}

#: Open MPI counts the size of these collectives with all ranks' blocks.
_OF_ALL_RANKS = frozenset({"allgather", "alltoall", "gather", "reduce_scatter", "reduce_scatter_block", "scatter"})
#: Open MPI looks these collectives up with size 0, whatever is sent.
SIZELESS = frozenset({"alltoallv", "barrier"})
#: Open MPI takes the size of these from an argument that the standard lets some ranks leave unset: scatter's send
#: count at all but the root, gather's at a root with MPI_IN_PLACE. With a border, ranks could run different algorithms.
_SIZE_NOT_ON_ALL_RANKS = frozenset({"gather", "scatter"})


def message_bytes(collective: str, ranks: int, size: int) -> int:
    """Returns the size that Open MPI compares with a rule's message size, for Antiphon's `size` of a block."""
    if collective in SIZELESS:
        return 0
    if collective in ("scan", "exscan"):
        return ranks  # Open MPI multiplies the element's size by the ranks, not by the count.
    return ranks * size if collective in _OF_ALL_RANKS else size


@dataclass(frozen=True)
class MessageRule:
    """Applies from `low` bytes on (as Open MPI counts them); algorithm 0 acts as if there were no rule."""

    low: int
    algorithm: int
    fanout: int = 0
    segment_bytes: int = 0
    requests: int = 0


@dataclass(frozen=True)
class CommRules:
    """The rules for communicators of `low` to `high` ranks."""

    low: int
    high: int
    rules: Sequence[MessageRule]


def tables(known: MeasuredDecisions, left_out: list[str], with_requests: bool) -> Iterator[tuple[str, list[CommRules]]]:
    """Yields each collective's rules, communicators ascending; decisions that cannot be expressed go to `left_out`."""
    for collective in dict.fromkeys(d.collective for d in known.decisions):
        if collective in ("scan", "exscan"):
            left_out.append(
                f"{collective}: Open MPI looks it up by the element's size times the ranks, not by the message's"
            )
            continue
        if collective not in COLLECTIVES:
            left_out.append(f"{collective}: Open MPI has one algorithm for it")
            continue
        own = [d for d in known.decisions if d.collective == collective]
        if all(d.algorithm is None for d in own):
            continue
        yield (
            collective,
            [
                CommRules(
                    low, high, _rules_for(collective, [d for d in own if d.ranks == ranks], left_out, with_requests)
                )
                for low, high, ranks in sorted({(d.ranks_low, d.ranks_high, d.ranks) for d in own})
            ],
        )


def _rules_for(
    collective: str, decisions: Sequence[Decision], left_out: list[str], with_requests: bool
) -> list[MessageRule]:
    """Returns the rules of one number of ranks."""
    rules = list(_rules(collective, decisions, left_out, with_requests))
    if collective not in _SIZE_NOT_ON_ALL_RANKS or len(rules) == 1:
        return rules
    left_out.append(
        f"{collective} on {decisions[0].ranks} ranks: no algorithm is best for all sizes, and Open MPI does not know "
        "the size on all ranks"
    )
    return [MessageRule(0, 0)]


def _rules(
    collective: str, decisions: Iterable[Decision], left_out: list[str], with_requests: bool
) -> Iterator[MessageRule]:
    last: MessageRule | None = None
    for decision in sorted(decisions, key=lambda d: d.bytes_low):
        low = 0 if last is None else message_bytes(collective, decision.ranks, decision.bytes_low)
        rule = _rule(collective, low, decision.algorithm, left_out, with_requests)
        if last is None or (rule.algorithm, rule.fanout, rule.segment_bytes, rule.requests) != (
            last.algorithm,
            last.fanout,
            last.segment_bytes,
            last.requests,
        ):
            yield rule
        last = rule


def _rule(
    collective: str, low: int, algorithm: ChosenAlgorithm | None, left_out: list[str], with_requests: bool
) -> MessageRule:
    if algorithm is None:
        return MessageRule(low, 0)
    if "knomial_radix" in algorithm.parameters:
        left_out.append(f"{collective} {algorithm.name}: a rule cannot say its radix")
        return MessageRule(low, 0)
    requests = algorithm.number("max_requests")
    if requests and not with_requests:
        left_out.append(
            f"{collective} {algorithm.name} with {requests} requests: rules of this version cannot say how many"
        )
        return MessageRule(low, 0)
    if algorithm.name not in ALGORITHMS[collective]:
        left_out.append(f"{collective} {algorithm.name}: its number in rules is not known")
        return MessageRule(low, 0)
    number = ALGORITHMS[collective].index(algorithm.name) + 1
    fanout = algorithm.number("chain_fanout") or algorithm.number("tree_fanout")
    return MessageRule(low, number, fanout, algorithm.number("segmentsize"), requests)


def intended(
    known: MeasuredDecisions, tables_: Sequence[tuple[str, list[CommRules]]]
) -> Iterator[tuple[str, int, int, MessageRule | None]]:
    """Yields (collective, ranks, Open MPI's message size, the rule that must be found) at every measured point and
    every border.
    """
    by_collective = dict(tables_)
    for d in known.decisions:
        comms = by_collective.get(d.collective)
        if comms is None:
            continue
        rules = next(c.rules for c in comms if c.low <= d.ranks <= c.high)
        for size in sorted({*d.measured, d.bytes_low, d.bytes_high or d.bytes_low}):
            message = message_bytes(d.collective, d.ranks, size)
            yield d.collective, d.ranks, message, [r for r in rules if r.low <= message][-1]
