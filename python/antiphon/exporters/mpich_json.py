# SPDX-License-Identifier: Apache-2.0
"""MPICH 4.2 to 5.0: the tree of MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE.

The file replaces the tree that is compiled into the library; a collective that it leaves out, or a leaf that it does
not reach, aborts the program. So the library's own tree is read from the library and completed: measured numbers of
ranks and sizes get the measured algorithm, everything else stays as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon import mpi
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.exporters import Exported, Options, version_of
from antiphon.exporters import _csel as csel
from antiphon.exporters import _measured as measured
from antiphon.exporters._csel import Tree
from antiphon.exporters._measured import ChosenAlgorithm, Decision

SUMMARY = "MPICH 4.2 to 5.0: collective selection tree"

USAGE = """\
mpiexec -genv MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE /absolute/path/of/FILE …
Algorithms forced by variables (MPIR_CVAR_BCAST_INTRA_ALGORITHM, …) go before it. It is for this version of MPICH
only."""

#: MPICH maps the file and reads it up to a zero byte, which is missing if the file fills its pages exactly.
_PAGE_BYTES = 4096

#: Conditions of an algorithm; where they do not hold, the library's own tree decides.
_NEEDS = {
    ("reduce", "reduce_scatter_gather"): ("built_in", "enough"),
    ("allreduce", "reduce_scatter_allgather"): ("built_in", "enough"),
    ("allreduce", "k_reduce_scatter_allgather"): ("commutative", "enough"),
    ("allreduce", "recursive_multiplying"): ("commutative",),
    ("allreduce", "ring"): ("commutative", "enough"),
    ("allreduce", "tree"): ("commutative",),
    ("reduce_scatter", "pairwise"): ("commutative",),
    ("reduce_scatter", "recursive_halving"): ("commutative",),
    ("reduce_scatter_block", "pairwise"): ("commutative",),
    ("reduce_scatter_block", "recursive_halving"): ("commutative",),
    ("bcast", "scatter_recursive_doubling_allgather"): ("power_of_two",),
    ("allgather", "recursive_doubling"): ("power_of_two",),
    ("allgatherv", "recursive_doubling"): ("power_of_two",),
}

#: Parameters of leaves: (key, the variable's name in a choice, the default value). MPICH would read a missing parameter
#: from uninitialised memory, so all are written.
_TOPOLOGY = (
    ("topo_overhead", "", 200),
    ("topo_diff_groups", "", 2800),
    ("topo_diff_switches", "", 1900),
    ("topo_same_switches", "", 1600),
)
_PARAMETERS: dict[tuple[str, str], tuple[tuple[str, str, int | str], ...]] = {
    ("bcast", "tree"): (
        ("tree_type", "tree_type", "kary"),
        ("k", "tree_kval", 2),
        ("is_non_blocking", "is_non_blocking", 1),
        *_TOPOLOGY,
    ),
    ("bcast", "pipelined_tree"): (
        ("tree_type", "tree_type", "kary"),
        ("k", "tree_kval", 2),
        ("is_non_blocking", "is_non_blocking", 1),
        ("chunk_size", "tree_pipeline_chunk_size", 8192),
        ("recv_pre_posted", "recv_pre_post", 0),
    ),
    ("allreduce", "tree"): (
        ("tree_type", "tree_type", "knomial_1"),
        ("k", "tree_kval", 2),
        ("chunk_size", "tree_pipeline_chunk_size", 0),
        ("buffer_per_child", "tree_buffer_per_child", 0),
        *_TOPOLOGY,
    ),
    ("allreduce", "recexch"): (("k", "recexch_kval", 2), ("single_phase_recv", "recexch_single_phase_recv", 0)),
    ("allreduce", "recursive_multiplying"): (("k", "recursive_multiplying_kval", 2),),
    ("allreduce", "k_reduce_scatter_allgather"): (
        ("k", "recexch_kval", 2),
        ("single_phase_recv", "recexch_single_phase_recv", 0),
    ),
    ("allgather", "k_brucks"): (("k", "brucks_kval", 2),),
    ("allgather", "recexch_doubling"): (
        ("k", "recexch_kval", 2),
        ("single_phase_recv", "recexch_single_phase_recv", 0),
    ),
    ("allgather", "recexch_halving"): (("k", "recexch_kval", 2), ("single_phase_recv", "recexch_single_phase_recv", 0)),
    ("alltoall", "k_brucks"): (("k", "brucks_kval", 2),),
    ("barrier", "k_dissemination"): (("k", "dissem_kval", 2),),
    ("barrier", "recexch"): (("k", "recexch_kval", 2), ("single_phase_recv", "recexch_single_phase_recv", 0)),
}


def export(profile: Mapping[str, Any], options: Options) -> Exported:
    """Returns the completed tree of the library that was measured."""
    known = measured.of_library(profile, "mpich")
    version = version_of(options.reader_version or known.version)
    if not (4, 2) <= version < (5, 1):
        raise AntiphonError(
            f"MPICH {'.'.join(map(str, version))}: this form of the tree is known for 4.2 to 5.0 only",
            hint="measure with, and export for, one of these",
        )
    if version[:2] != version_of(known.version)[:2]:
        raise AntiphonError(
            f"measured with {known.label}; MPICH {'.'.join(map(str, version))} has another tree and other algorithms",
            hint="`antiphon tune --for-export` with that library first",
        )
    tree = csel.built_in(options.libmpi or _installed(known.version))
    left_out: list[str] = []
    done = [c for c in dict.fromkeys(d.collective for d in known.decisions) if _complete(tree, c, known, left_out)]
    if not done:
        raise AntiphonError("nothing to export: the library's own choice was best everywhere", exit_code=1)
    text = padded(json.dumps(tree, indent=1) + "\n")
    _verify(text, known, done)
    return Exported(text, USAGE, left_out)


def _installed(version: str) -> Path:
    found = next((m for m in mpi.discover() if m.family == "mpich" and m.abi == "mpich" and m.version == version), None)
    if found is None:
        raise AntiphonError(
            f"MPICH {version}, whose tree is needed, was not found here", hint="name its libmpi.so.12 with --libmpi"
        )
    return found.libmpi.resolve()


def _complete(tree: Tree, collective: str, known: measured.MeasuredDecisions, left_out: list[str]) -> bool:
    """Puts a collective's decisions into the tree; returns False where there is nothing to put."""
    own = [d for d in known.decisions if d.collective == collective]
    if all(d.algorithm is None for d in own):
        return False
    key = f"collective={collective}"
    if key not in tree or "comm_type=intra" not in tree[key]:
        left_out.append(f"{collective}: this library's tree has no such branch")
        return False
    if collective != "barrier" and csel.at_most(collective, 1, 0) is None:
        left_out.append(
            f"{collective}: MPICH cannot tell its size alike on all ranks (gather and scatter leave out "
            "the datatype's size)"
        )
        return False
    before = tree[key]["comm_type=intra"]
    branches: Tree = {}
    for ranks in sorted({d.ranks for d in own}):
        spans = sorted((d for d in own if d.ranks == ranks), key=lambda d: d.bytes_low)
        if spans[0].ranks_low > 1 and not branches:
            branches[f"comm_size<={spans[0].ranks_low - 1}"] = before
        branches[f"comm_size<={spans[0].ranks_high}"] = _by_size(collective, spans, before)
    branches["comm_size=any"] = before
    if collective in ("alltoall", "alltoallv", "alltoallw"):
        # In-place calls need another algorithm. This key is asked at the call, hence below those on the communicator.
        branches = {
            k: v if v is before else {"is_sendbuf_inplace=yes": _in_place(before), "is_sendbuf_inplace=no": v}
            for k, v in branches.items()
        }
    tree[key]["comm_type=intra"] = branches
    return True


def _in_place(before: Tree) -> Tree:
    return dict(before.get("is_sendbuf_inplace=yes", before))


def _by_size(collective: str, spans: Sequence[Decision], before: Tree) -> Tree:
    if collective == "barrier":
        return _leaf(collective, spans[0], before)
    node: Tree = {}
    for span in spans:
        key = None if span.bytes_high is None else csel.at_most(collective, span.ranks, span.bytes_high)
        node[key or f"{'avg' if collective in csel.AVERAGE else 'total'}_msg_size=any"] = _leaf(
            collective, span, before
        )
    return node


def _leaf(collective: str, span: Decision, before: Tree) -> Tree:
    """Returns the algorithm, guarded by its conditions; else, or where the library was best, the library's branch."""
    if span.algorithm is None:
        return before
    tree = {
        f"algorithm=MPIR_{collective.capitalize()}_intra_{span.algorithm.name}": _parameters(collective, span.algorithm)
    }
    for need in reversed(_NEEDS.get((collective, span.algorithm.name), ())):
        if need == "built_in":
            tree = {"is_op_built_in=yes": tree, "is_op_built_in=no": before}
        elif need == "commutative":
            tree = {"is_commutative=yes": tree, "is_commutative=no": before}
        elif need == "enough":
            tree = {"count<pow2": before, "count=any": tree}
        else:
            tree = {"comm_size=pow2": tree, "comm_size=any": before}
    return tree


def _parameters(collective: str, algorithm: ChosenAlgorithm) -> Tree:
    listed = _PARAMETERS.get((collective, algorithm.name), ())
    return {f"{key}={algorithm.parameters.get(variable, otherwise)}": {} for key, variable, otherwise in listed}


def padded(text: str) -> str:
    """Adds a last line that keeps the size off a multiple of a page."""
    return text + "\n" if len(text.encode()) % _PAGE_BYTES == 0 else text


def _verify(text: str, known: measured.MeasuredDecisions, done: Sequence[str]) -> None:
    """Reads the text as MPICH does and checks that every measured point and border finds its decision."""
    if len(text.encode()) % _PAGE_BYTES == 0:
        raise AntiphonError("the file would fill its pages, and MPICH read on behind it", exit_code=1)
    tree = parse_json(text)
    csel.check(tree)
    for d in known.decisions:
        for size in sorted({*d.measured, d.bytes_low, d.bytes_high or d.bytes_low}) if d.collective in done else ():
            for ordinary in (True, False):
                element = 8 if size % 8 == 0 else 1
                call = csel.ReaderQuestion(
                    d.collective, d.ranks, size, element, commutative=ordinary, built_in=ordinary, in_place=False
                )
                found = csel.search(tree, call)
                if found is None:
                    raise AntiphonError(
                        f"MPICH would abort: {d.collective} on {d.ranks} ranks, {size} bytes", exit_code=1
                    )
                wanted = d.algorithm and f"MPIR_{d.collective.capitalize()}_intra_{d.algorithm.name}"
                if ordinary and wanted and found[0] != wanted and _possible(d, call):
                    raise AntiphonError(
                        f"the file would be misread: {d.collective} on {d.ranks} ranks, {size} bytes: "
                        f"{found[0]} for {wanted}",
                        exit_code=1,
                    )


def _possible(d: Decision, call: csel.ReaderQuestion) -> bool:
    needs = _NEEDS.get((d.collective, d.algorithm.name if d.algorithm else ""), ())
    enough = "enough" not in needs or call.count >= 1 << (call.ranks.bit_length() - 1)
    return enough and ("power_of_two" not in needs or call.ranks & (call.ranks - 1) == 0)
