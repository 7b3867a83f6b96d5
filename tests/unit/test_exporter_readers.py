# SPDX-License-Identifier: Apache-2.0
"""Gives altered texts to the readers of what exporters write: they find something, or say in one line what is wrong."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import core, exporters, mpi
from antiphon.errors import AntiphonError
from antiphon.exporters import Options, _csel, _goal_reader, goal, intel, mpich_json, openmpi_json, openmpi_rules, ucc

#: Each entry is (collective, bytes, ranks, the best algorithm: None for the library's own choice).
Found = tuple[str, int, int, "str | None"]

OPENMPI: list[Found] = [
    ("bcast", 8, 16, None),
    ("bcast", 8192, 16, "library:chain:chain_fanout=4,segmentsize=4096"),
    ("bcast", 65536, 4, "library:binomial:segmentsize=0"),
    ("alltoall", 1024, 16, "library:linear_sync:max_requests=4"),
]
OWN: list[Found] = [
    ("bcast", 8, 16, "antiphon:binomial:segment_bytes=16384,window=4"),
    ("allgather", 65536, 16, "antiphon:ring:segment_bytes=16384,window=4"),
]


def profile(family: str, version: str, found: Iterable[Found], purpose: str = "export") -> dict[str, Any]:
    """Returns a profile in which the library takes 2 s and the best algorithm 1 s."""
    cells = []
    for collective, size, ranks, best in found:
        where = {
            "collective": collective,
            "bytes": size,
            "ranks": ranks,
            "mode": "sync",
            "samples": 20,
            "limit_s": None,
        }
        for contender, median in (("library", 2.0), *([(best, 1.0)] if best else [])):
            times = {"median_s": median, "ci_low_s": 0.99 * median, "ci_high_s": 1.01 * median}
            cells.append(where | times | {"contender": contender, "chosen": contender.removeprefix("antiphon:")})
    about = {"purpose": purpose, "mpi": family, "library": f"{family} {version}", "version": version}
    evidence = about | {"ranks": 16, "nodes": 16, "ranks_per_node": 1, "cells": cells}
    return {"format": "antiphon-profile", "version": 1, "measurements": {"tune": [evidence]}}


TREE = {
    "collective=bcast": {
        "comm_type=intra": {
            "comm_size<=8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            "comm_size=any": {
                "avg_msg_size<=1024": {"algorithm=MPIR_Bcast_intra_tree": {"tree_type=kary": {}, "k=4": {}}},
                "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            },
        }
    }
}


def search_tree(text: str) -> None:
    tree = json.loads(text)
    _csel.check(tree)
    _csel.search(tree, _csel.ReaderQuestion("bcast", 16, 65536))


TEXTS: dict[str, tuple[Callable[[], str], Callable[[str], Any]]] = {
    "openmpi-rules": (
        lambda: openmpi_rules.export(profile("openmpi", "5.0.11", OPENMPI), Options()).text,
        lambda text: openmpi_rules.lookup(text, (5, 0, 11), "bcast", 16, 65536),
    ),
    "openmpi-json": (
        lambda: openmpi_json.export(profile("openmpi", "6.0.0", OPENMPI), Options()).text,
        lambda text: openmpi_json.lookup(text, "bcast", 16, 65536),
    ),
    "mpich-json": (lambda: json.dumps(TREE), search_tree),
    "ucc": (
        lambda: ucc.export(profile("mpich", "5.0.2", OWN, purpose="decisions"), Options()).text,
        lambda text: ucc.lookup(text, "bcast", 16, 65536),
    ),
    "intel": (
        lambda: intel.export(profile("mpich", "5.0.2", OWN, purpose="decisions"), Options()).text,
        lambda text: intel.lookup(text, "bcast", 16, 65536),
    ),
    "goal": (
        lambda: goal.render(core.build(core.Case("allgather", "ring", 4, 64))),
        _goal_reader.run,
    ),
}

#: Says where, how many characters go, and what comes instead; single characters and words that the formats know.
CHANGES = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 12),
        st.one_of(
            st.text(max_size=3),
            st.sampled_from(["-1", "0", "99999999999999999999", "null", "{}", "[]", '"', ":", "inf", "\n", "any"]),
        ),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("name", TEXTS)
def test_changed_texts(name: str) -> None:
    make, read = TEXTS[name]
    text = make()
    read(text)

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(CHANGES)
    def changed(changes: list[tuple[float, int, str]]) -> None:
        broken = text
        for where, gone, instead in changes:
            at = int(where * len(broken))
            broken = broken[:at] + instead + broken[at + gone :]
        try:
            read(broken)
        except (ValueError, AntiphonError) as error:
            assert str(error)

    changed()


@pytest.mark.parametrize("name", ["openmpi-json", "mpich-json"])
def test_every_part_replaced_by_something_else(name: str) -> None:
    """Makes valid JSON of a wrong shape."""
    make, read = TEXTS[name]
    document = json.loads(make())

    def variants(node: Any) -> list[Any]:
        replaced: list[Any] = [None, 7, "x", [], {}]
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, below in inner:
            for variant in variants(below):
                copy = dict(node) if isinstance(node, dict) else list(node)
                copy[key] = variant
                replaced.append(copy)
        return replaced

    for variant in variants(document):
        try:
            read(json.dumps(variant))
        except (ValueError, AntiphonError) as error:
            assert str(error)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    st.lists(
        st.tuples(
            st.just("bcast"),
            st.sampled_from([8, 1024, 8192, 65536, 1 << 20]),
            st.sampled_from([4, 8, 16]),
            st.sampled_from([None, "library:chain:chain_fanout=4,segmentsize=4096", "library:binomial"]),
        ),
        min_size=1,
        max_size=8,
        unique_by=lambda found: found[1:3],
    )
)
def test_any_measurements_are_exported_as_meant_or_refused(found: list[Found]) -> None:
    """The exporter reads its own text back, here for every order and every gap of measurements."""
    for export, version in ((openmpi_rules.export, "5.0.11"), (openmpi_json.export, "6.0.0")):
        try:
            export(profile("openmpi", version, found), Options())
        except AntiphonError as error:
            assert "best everywhere" in error.message


@pytest.mark.parametrize("name", exporters.names())
def test_the_usage_names_the_file(name: str) -> None:
    """GIVEN a file THEN only what stands for it is replaced, whole: no variable's name, and no path before it."""
    usage = exporters.load(name).USAGE
    with_file = exporters.Exported("", usage).usage_of(Path("/home/u/my tree.json"))
    assert "/absolute/path/of" not in with_file and not re.search(r"(?<!_)FILE", with_file)
    assert with_file.count("'/home/u/my tree.json'") == (name != "ucc")
    assert ("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE '/" in with_file) == (name == "mpich-json")


def test_mpich_starts_with_the_variable_that_is_printed(tmp_path: Path) -> None:
    """GIVEN an installed MPICH THEN it reads the file that the usage names, and does not start with a broken one."""
    found = [m for m in mpi.discover() if m.label == "MPICH 5.0.2" and m.abi == "mpich"]
    if not found:
        pytest.skip("no MPICH 5.0.2 here")
    file = tmp_path / "it is's.json"
    exported = mpich_json.export(profile("mpich", "5.0.2", [("reduce", 65536, 16, "library:reduce_scatter_gather")]),
                                 Options(libmpi=found[0].libmpi))  # fmt: skip
    _mpiexec, _genv, variable, value, _rest = shlex.split(exported.usage_of(file).splitlines()[0])
    start = f"import ctypes; m = ctypes.CDLL({str(found[0].libmpi)!r}); m.MPI_Init(None, None); m.MPI_Finalize()"
    for text, starts in ((exported.text, True), ('{"collective=bcast": {}}', False)):
        file.write_text(text)
        ended = subprocess.run([sys.executable, "-c", start], env={**os.environ, variable: value},
                               capture_output=True, timeout=60, check=False)  # fmt: skip
        assert (ended.returncode == 0) == starts, ended.stderr
