# SPDX-License-Identifier: Apache-2.0
"""The MPI library's own algorithms as contenders, for users who can configure their library but cannot preload.

A choice is "library:NAME[:PARAMETER=VALUE,…]", with the names of the library's own variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from antiphon.tune.grid import Point

#: Not worth a try: they hand over to others, or need hardware or a layout of their own.
_LEFT_OUT = {
    "openmpi": {"two_proc", "ignore"},
    "mpich": {"auto", "nb", "smp", "ccl", "pairwise_sendrecv_replace", "noncommutative"},
}

#: Open MPI: algorithms that cut messages, by collective, and the tree or chain they need said.
_OPENMPI_SEGMENTED = {
    "bcast": {"chain": "chain_fanout=4", "pipeline": "", "split_binary_tree": "", "binary_tree": "", "binomial": ""},
    "reduce": {"chain": "chain_fanout=4", "pipeline": "", "binary": "", "binomial": ""},
    "allreduce": {"segmented_ring": ""},
}
_SEGMENT_BYTES = (4096, 16384)
#: Open MPI: how many messages each way `linear_sync` keeps under way.
_WINDOWS = (1, 4)

#: MPICH: its own trees, with parameters; a 1-ary tree is a chain. Their types are read once at start, and stay as
#: they are: kary for bcast, knomial_1 for allreduce.
_MPICH_TREES = {
    ("bcast", "pipelined_tree"): [
        "tree_kval=1,tree_pipeline_chunk_size=2048,is_non_blocking=1,recv_pre_post=1",
        "tree_kval=1,tree_pipeline_chunk_size=4096,is_non_blocking=1,recv_pre_post=1",
        "tree_kval=2,tree_pipeline_chunk_size=4096,is_non_blocking=1,recv_pre_post=1",
    ],
    ("bcast", "tree"): ["tree_kval=2,is_non_blocking=1", "tree_kval=3,is_non_blocking=1"],
    ("allreduce", "tree"): [
        "tree_kval=1,tree_pipeline_chunk_size=4096,tree_buffer_per_child=0",
        "tree_kval=2,tree_pipeline_chunk_size=8192,tree_buffer_per_child=0",
    ],
    ("allreduce", "recexch"): [
        "recexch_kval=2,recexch_single_phase_recv=0",
        "recexch_kval=4,recexch_single_phase_recv=0",
    ],
    ("allreduce", "recursive_multiplying"): ["recursive_multiplying_kval=4"],
    ("allreduce", "k_reduce_scatter_allgather"): ["recexch_kval=2,recexch_single_phase_recv=0"],
    ("allgather", "k_brucks"): ["brucks_kval=4"],
    ("allgather", "recexch_doubling"): ["recexch_kval=4,recexch_single_phase_recv=0"],
    ("allgather", "recexch_halving"): ["recexch_kval=4,recexch_single_phase_recv=0"],
    ("alltoall", "k_brucks"): ["brucks_kval=4"],
    ("barrier", "k_dissemination"): ["dissem_kval=2", "dissem_kval=4"],
    ("barrier", "recexch"): [
        "recexch_kval=2,recexch_single_phase_recv=0",
        "recexch_kval=4,recexch_single_phase_recv=0",
    ],
}


def choices(point: Point, family: str, listed: Mapping[str, Sequence[str]]) -> list[str]:
    """The library's algorithms at a point, of those that it lists."""
    names = [name for name in listed.get(point.collective, []) if name not in _LEFT_OUT[family]]
    if family == "openmpi":
        return [f"library:{choice}" for name in names for choice in _openmpi(point, name)]
    return [f"library:{choice}" for name in names for choice in _mpich(point, name)]


def _openmpi(point: Point, name: str) -> list[str]:
    if point.collective == "alltoall" and name == "linear_sync":
        return [f"{name}:max_requests={window}" for window in _WINDOWS]
    fixed = _OPENMPI_SEGMENTED.get(point.collective, {}).get(name)
    if fixed is None:
        return [name]
    segments = [f"segmentsize={size}" for size in _SEGMENT_BYTES if size < point.bytes] or ["segmentsize=0"]
    return [f"{name}:{','.join(filter(None, [fixed, segment]))}" for segment in segments]


def _mpich(point: Point, name: str) -> list[str]:
    needs_power = name == "recursive_doubling" and point.collective in ("allgather", "allgatherv")
    if (needs_power or name == "scatter_recursive_doubling_allgather") and point.ranks & (point.ranks - 1):
        return []  # MPICH would quietly run another algorithm.
    parameters = _MPICH_TREES.get((point.collective, name), [""])
    if "tree" in name:
        parameters = [p for p in parameters if "chunk_size" not in p or point.bytes > 4096] or []
    return [f"{name}:{p}" if p else name for p in parameters]
