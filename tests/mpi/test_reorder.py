# SPDX-License-Identifier: Apache-2.0
"""Checks MPI's topology constructors with reorder = true: new ranks are near their neighbours, and all else holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi, discover

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
TWO_SWITCHES = HERE.parent / "data" / "two-switches.openmpi.json"

Compile = Callable[..., Path]
Run = Callable[..., Any]

#: There are two ranks on each node, as `--map-by node` would place them, so neighbours are never together.
ALTERNATING = "alpha,beta,alpha,beta"


#: Behaviour that does not depend on the library is tested with one that starts fast.
ONE = [m for m in discover() if m.abi == "mpich"][:1]
one = pytest.mark.parametrize("library", ONE, ids=lambda m: m.label)


def new_ranks(result: Any, what: str) -> dict[int, int]:
    """Returns new ranks by old rank, for those that got one; raises an error where one was given twice."""
    pairs = [line.split()[1:] for line in result.text.splitlines() if line.startswith(f"{what} ")]
    given = {int(old): int(new) for old, new in pairs if int(new) >= 0}
    assert sorted(given.values()) == list(range(len(given))), result.text
    return given


def crossings(result: Any, what: str, places: Sequence[str], wraps: bool = True) -> int:
    """Returns how many neighbours in a ring, or in a line, are on different nodes."""
    place = {new: places[old] for old, new in new_ranks(result, what).items()}
    n = len(place)
    return sum(place[r] != place[(r + 1) % n] for r in range(n if wraps else n - 1))


def test_all_constructors(mpi: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN neighbours on different nodes THEN every constructor brings them together, with the library's semantics."""
    program = compiled(mpi, [PROGRAMS / "reorder.c"])
    result = run_ranks(mpi, 4, [program], ANTIPHON_REORDER="1", ANTIPHON_NODES=ALTERNATING)
    assert result.returncode == 0, result.text
    assert "verified" in result.text
    nodes = ALTERNATING.split(",")
    assert crossings(result, "ring", nodes) == 2
    assert crossings(result, "graph", nodes) == 2
    assert crossings(result, "line", nodes, wraps=False) == 1
    assert len(new_ranks(result, "smaller")) == 3
    assert crossings(result, "smaller", nodes) == 2
    for kind in ("grid", "adjacent", "adjacent_weighted", "distributed", "distributed_weighted"):
        assert len(new_ranks(result, kind)) == 4


@one
def test_nothing_changes_unless_asked_for(library: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN no ANTIPHON_REORDER THEN the library decides, and all keep their ranks."""
    program = compiled(library, [PROGRAMS / "reorder.c"])
    result = run_ranks(library, 4, [program], ANTIPHON_NODES=ALTERNATING)
    assert result.returncode == 0, result.text
    for kind in ("ring", "graph", "adjacent", "distributed"):
        assert new_ranks(result, kind) == {r: r for r in range(4)}


@one
def test_measured_topology(library: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a profile THEN neighbours come to the same switch; GIVEN nodes that it does not know THEN it says so."""
    program = compiled(library, [PROGRAMS / "reorder.c"])
    nodes = ["node01", "node09", "node02", "node10", "node03"]
    variables = {"ANTIPHON_REORDER": "1", "ANTIPHON_PROFILE": str(TWO_SWITCHES), "ANTIPHON_VERBOSE": "1"}
    result = run_ranks(library, 5, [program], ANTIPHON_NODES=",".join(nodes), **variables)
    assert result.returncode == 0, result.text
    switches = ["one" if node < "node09" else "two" for node in nodes]
    assert crossings(result, "ring", switches) == 2
    assert "MPI_Cart_create of 5 ranks on 5 nodes" in result.text
    other = run_ranks(library, 4, [program], ANTIPHON_NODES=ALTERNATING, **variables)
    assert other.returncode == 0, other.text
    assert "the profile does not know the node alpha" in other.text
    assert crossings(other, "ring", ALTERNATING.split(",")) == 2


@one
def test_sockets(library: Mpi, compiled: Compile, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a profile with sockets THEN neighbours come to the same one; GIVEN uneven ones THEN nothing changes."""
    program = compiled(library, [PROGRAMS / "reorder.c"])
    profile = json.loads(TWO_SWITCHES.read_text())
    on_switch = next(c for c in profile["link_classes"] if c["scope"] == "switch")
    nearer = [
        {**on_switch, "name": scope, "scope": scope, "latency_s": latency_s, "g_s": [[0, 1e-6], [65536, 65536 / rate]]}
        for scope, latency_s, rate in (("socket", 2e-7, 1e10), ("node", 6e-7, 2e9))
    ]
    profile["link_classes"] = nearer + profile["link_classes"]
    profile["processors"] |= {"cores_per_node": 4, "sockets_per_node": 2}
    file = tmp_path / "sockets.json"
    file.write_text(json.dumps(profile))
    variables = {"ANTIPHON_REORDER": "1", "ANTIPHON_PROFILE": str(file)}
    places = ["node01/0", "node01/1"] * 2
    result = run_ranks(library, 4, [program], ANTIPHON_NODES=",".join(places), **variables)
    assert result.returncode == 0, result.text
    assert crossings(result, "ring", places) == 2
    uneven = run_ranks(library, 4, [program], ANTIPHON_NODES="node01/0,node01/1*3", **variables)
    assert uneven.returncode == 0, uneven.text
    assert new_ranks(uneven, "ring") == {r: r for r in range(4)}


@pytest.mark.parametrize("binding", ["mpif", "mpi", "f08"])
def test_fortran(mpi: Mpi, binding: str, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN a Fortran binding THEN its constructors are seen, with their logicals and the sentinels of weights."""
    flags = [f"-I{PROGRAMS}", "-fallow-argument-mismatch"]
    program = compiled(mpi, [PROGRAMS / f"reorder_{binding}.f90"], *flags)
    result = run_ranks(mpi, 4, [program], ANTIPHON_REORDER="1", ANTIPHON_NODES=ALTERNATING)
    assert result.returncode == 0, result.text
    assert "verified" in result.text
    for kind in ("ring", "graph", "adjacent", "adjacent_weighted", "distributed"):
        assert crossings(result, kind, ALTERNATING.split(",")) == 2, kind


@one
def test_placement_is_checked(library: Mpi, compiled: Compile, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a placement THEN the run says whether its ranks are there, and ends if it must be so."""
    program = compiled(library, [PROGRAMS / "api.c"], f"-I{HERE.parents[1] / 'include'}")
    file = tmp_path / "placement.json"
    file.write_text(
        '{"format": "antiphon-placement", "version": 1, "ranks": 4, "node_of_rank": [0, 0, 1, 1], "core_of_rank": '
        '[0, 1, 0, 1], "nodes": [{"name": "alpha.cluster", "slots": 2}, {"name": "beta", "slots": 2}]}'
    )
    variables = {"ANTIPHON_PLACEMENT": str(file), "ANTIPHON_VERBOSE": "1"}
    right = run_ranks(library, 4, [program], ANTIPHON_NODES="alpha*2,beta*2", **variables)
    assert right.returncode == 0, right.text
    assert "all 4 ranks are where the placement wants them" in right.text
    renamed = run_ranks(library, 4, [program], ANTIPHON_NODES="x*2,y*2", **variables)
    assert "all 4 ranks are where" in renamed.text
    wrong = run_ranks(library, 4, [program], ANTIPHON_NODES=ALTERNATING, **variables)
    assert wrong.returncode == 0, wrong.text
    assert "not honoured: rank 1 is on beta instead of alpha, rank 2 is on alpha instead of beta" in wrong.text
    strict = run_ranks(library, 4, [program], ANTIPHON_NODES=ALTERNATING, ANTIPHON_PLACEMENT_STRICT="1", **variables)
    assert strict.returncode != 0
    unread = {"ANTIPHON_PLACEMENT": str(tmp_path / "of another node"), "ANTIPHON_PLACEMENT_STRICT": "1"}
    unknown = run_ranks(library, 4, [program], **unread)
    assert unknown.returncode != 0 and "rank 0 found none" in unknown.text
    fewer = run_ranks(library, 2, [program], ANTIPHON_NODES="alpha*2", **variables)
    assert "it is for 4 ranks, and there are 2" in fewer.text
