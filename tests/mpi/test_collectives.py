# SPDX-License-Identifier: Apache-2.0
"""Checks every collective on real MPI libraries: left to the library, by Antiphon's choice, and by each algorithm."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from antiphon import core
from antiphon.mpi import Mpi
from antiphon.trace import Trace

Check = Callable[..., Any]
PROGRAMS = Path(__file__).resolve().parent / "programs"
INCLUDE = f"-I{PROGRAMS.parents[2] / 'include'}"

COLLECTIVES = [c.name for c in core.collectives()]
AROUND = ["alltoallw", "neighbours", "intercommunicators", "bottom", "wildcards"]


def rounds() -> list[list[core.Algorithm]]:
    """Covers all algorithms in as few runs as possible: the first of each collective, the second of each, …"""
    columns = [core.algorithms(name) for name in COLLECTIVES]
    return [[algorithm for algorithm in row if algorithm] for row in zip_longest(*columns)]


@pytest.mark.parametrize("n", [1, 4])
def test_normal_choice(wheel: Mpi, n: int, check: Check) -> None:
    """GIVEN the rules alone THEN all results are right."""
    check(wheel, n, "--quick", *COLLECTIVES, *AROUND)


@pytest.mark.parametrize("n", [1, 4, 5])
def test_own_choice_everywhere(wheel: Mpi, n: int, check: Check) -> None:
    """GIVEN that Antiphon never stays out THEN all results are right, and it did handle what it can."""
    if wheel.abi == "mpiabi" and n == 5:
        pytest.skip("the same library as mpich")
    # Every type, count and root is for five ranks: their halves are of three and two.
    density = [] if n == 5 else ["--quick"]
    result = check(wheel, n, *density, *COLLECTIVES, *AROUND, ANTIPHON_FORCE="*:on")
    if n > 1:
        for collective in ("bcast", "allreduce", "alltoall", "allgather", "barrier"):
            assert result.used(collective).keys() - {"library"}, collective


def test_system_libraries(system: Mpi, check: Check) -> None:
    """GIVEN an MPI that the object was not compiled with THEN all results are right."""
    check(system, 3, "--quick", *COLLECTIVES, *AROUND, ANTIPHON_FORCE="*:on")


@pytest.mark.parametrize("algorithms", rounds()[:2], ids=lambda row: f"{len(row)}-{row[0].name}")
def test_encoded_messages(native: Mpi, algorithms: list[core.Algorithm], check: Check) -> None:
    """GIVEN algorithms with all messages encoded THEN results are right, and messages were really encoded."""
    rest = [a for a in algorithms if a.collective != "barrier"]
    result = check(
        native,
        3,
        "--quick",
        *(a.collective for a in rest),
        ANTIPHON_FORCE=";".join(f"{a.collective}:{a.name}:encode=1" for a in rest),
    )
    for a in rest:
        if a.supports_all:
            assert any("encode=1" in row["algorithm"] for row in result.calls(a.collective)), a.name


@pytest.mark.parametrize("encode", ["", ",encode=1"])
def test_granted_chains(native: Mpi, encode: str, check: Check) -> None:
    """GIVEN chains whose ranks say what has come in THEN results are right, of many short segments and encoded ones."""
    chains = ["bcast", "reduce", "scan", "exscan"]
    parameters = f"segment_bytes=500,window=2,granted=1{encode}"
    result = check(
        native, 4, "--quick", *chains, ANTIPHON_FORCE=";".join(f"{name}:chain:{parameters}" for name in chains)
    )
    for name in chains:
        assert any("granted=1" in row["algorithm"] for row in result.calls(name)), name


@pytest.mark.parametrize("algorithms", rounds(), ids=lambda row: f"{len(row)}-{row[0].name}")
def test_each_algorithm(native: Mpi, algorithms: list[core.Algorithm], check: Check) -> None:
    """GIVEN an algorithm forced for each collective THEN results are right, and it was used where it always can be."""
    # Halves of the world have two ranks each, or three and two. All sizes are tests/unit_cpp/algorithms_test.cpp's.
    n = 4 if native.family == "openmpi" else 5
    force = ";".join(f"{a.collective}:{a.name}" for a in algorithms)
    result = check(native, n, "--quick", *(a.collective for a in algorithms), ANTIPHON_FORCE=force)
    for a in algorithms:
        used = result.used(a.collective)
        assert used, f"no call of {a.collective} was seen"
        if a.supports_all:
            assert a.name in used, f"{a.collective}: {used} instead of {a.name}"


def test_ranks_dealt_over_nodes(native: Mpi, check: Check, tmp_path: Path) -> None:
    """GIVEN ranks dealt out over two nodes THEN algorithms that put them along the nodes give the right results, and a
    trace says on which switch each node is."""
    nodes = {"ANTIPHON_NODES": "a,b,a,b,a", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    nested = {a.collective: a.name for a in core.algorithms() if a.name == "nested"}
    result = check(
        native, 5, "--quick", *nested, ANTIPHON_FORCE=";".join(f"{c}:{name}" for c, name in nested.items()), **nodes
    )
    assert all("nested" in result.used(collective) for collective in nested)
    along = {"bcast": "chain", "reduce": "chain", "allreduce": "switch_rings", "allgather": "ring",
             "allgatherv": "switch_rings", "reduce_scatter": "switch_rings",
             "reduce_scatter_block": "pairwise"}  # fmt: skip
    force = ";".join(f"{collective}:{name}" for collective, name in along.items())
    trace = tmp_path / "run.trace"
    told = {"ANTIPHON_TOPOLOGY": "x=b;y=a", "ANTIPHON_TRACE": str(trace)}
    forced = check(native, 5, "--quick", *along, ANTIPHON_FORCE=force, **told, **nodes)
    recorded = Trace.load(trace)
    switches = recorded.header["switches"]
    assert [switches["names"][s] for s in recorded.switch_of_node or []] == ["y", "x"]
    assert (switches["above"], switches["source"]) == ([-1, 0, 0], "ANTIPHON_TOPOLOGY")
    for collective, name in along.items():
        assert name in forced.used(collective), collective
    chosen = check(native, 5, "--quick", *along, **nodes)
    assert any(chosen.used(collective).keys() - {"library"} for collective in along)


def test_types_whose_data_lie_elsewhere(wheel: Mpi, verified: Check) -> None:
    """GIVEN reductions of types without gaps that do not begin at their address THEN results are right."""
    verified(wheel, 4, "shifted.c", ANTIPHON_FORCE="*:on")


def test_types_of_kinds_and_arguments_of_the_root(native: Mpi, verified: Check) -> None:
    """GIVEN types of Fortran's kinds, and arguments that are rubbish elsewhere than at the root THEN nobody minds.

    MPICH's MPI-5 ABI ends by itself over such types.
    """
    verified(native, 4, "kinds.c", ANTIPHON_FORCE="*:on")


def test_structures(native: Mpi, verified: Check) -> None:
    """GIVEN structures and vectors with and without gaps THEN collectives bring what MPI_Pack reads of them."""
    verified(native, 4, "structures.c", ANTIPHON_FORCE="*:on", ANTIPHON_NODES="a,a,b,b")


def test_elements_longer_than_an_int_counts(native: Mpi, verified: Callable[..., Any]) -> None:
    """GIVEN a rank whose elements are of more than 2 GiB with gaps THEN it goes the way of all other ranks."""
    result = verified(native, 3, "long_elements.c", ANTIPHON_FORCE="*:on", ANTIPHON_NODES="a,b,c", limit_s=40)
    for collective in ("alltoallv", "neighbor_alltoallv"):
        assert "library" not in result.used(collective), result.calls(collective)


def test_more_communicators_than_the_library_can_make_twice(wheel: Mpi, verified: Check) -> None:
    """GIVEN communicators that leave no room for Antiphon's own THEN the library does the calls on the others."""
    result = verified(wheel, 2, "many_comms.c", 1400, options=[INCLUDE], ANTIPHON_FORCE="bcast:flat")
    assert result.used("bcast").keys() >= {"flat"}
    # Two ranks' parts of a communicator's memory are 128 KiB each and a little, and 16 MiB a process is the most.
    within, most = result.summary["within_nodes"], 128 * 80_000
    assert 0 < within["shared_bytes"] < most and within["library_bytes"] > 0, within


def test_a_library_starts_and_ends_mpi(
    wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any], verified: Check
) -> None:
    """GIVEN a library that ends MPI in its destructor THEN calls are taken over; GIVEN one that starts it in its
    constructor THEN they are left, as a line says."""
    if wheel.family == "mpich":
        pytest.skip("UCX may end such a program by a signal, without Antiphon too")
    library = compiled(wheel, [PROGRAMS / "library.c"], "-shared", "-fPIC")
    nodes = {"ANTIPHON_NODES": "a,b,c", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    result = verified(wheel, 3, "of_library.c", options=[str(library)], **nodes)
    assert result.used("bcast").keys() - {"library"}
    program = compiled(wheel, [PROGRAMS / "of_library.c"], str(library))
    early = run_ranks(wheel, 3, [program], START_EARLY="1", **nodes)
    assert early.returncode == 0, early.text
    assert "verified" in early.text and "starts MPI while the program is loaded" in early.text, early.text


def test_errors_keep_their_meaning(mpi: Mpi, check: Check) -> None:
    """GIVEN wrong arguments THEN each call returns the library's error class."""
    plain = check(mpi, 2, "errors", preload=False).lines("error class")
    assert len(plain) > 20
    assert check(mpi, 2, "errors", ANTIPHON_FORCE="*:on").lines("error class") == plain
    assert check(mpi, 2, "errors").lines("error class") == plain


def test_cores_that_are_kept(native: Mpi, check: Check) -> None:
    """GIVEN a library whose waiting ranks keep their cores THEN results are right: schedules then give them away."""
    keeps = {"OMPI_MCA_mpi_yield_when_idle": "0"}
    check(native, 2, "--quick", "bcast", "allreduce", "alltoallv", ANTIPHON_FORCE="*:on", **keeps)


def test_threads(wheel: Mpi, check: Check) -> None:
    """GIVEN threads, each with its communicator THEN their collectives do not mix."""
    check(wheel, 3, "threads", ANTIPHON_FORCE="*:on")


def test_communicators_are_freed(wheel: Mpi, check: Check) -> None:
    """GIVEN more communicators, one after the other, than there can be at a time THEN none is missing, nor memory."""
    check(wheel, 2, "occupy", "communicators=400", ANTIPHON_FORCE="*:on")


def test_many_sizes(native: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any]) -> None:
    """GIVEN more sizes than decisions are kept for THEN all results are right, and like sizes go the same way."""
    nodes = {"ANTIPHON_NODES": "a,b,c", "ANTIPHON_LINK_BITS_PER_S": "100000000", "ANTIPHON_ADAPT": "off"}
    result = run_ranks(native, 3, [compiled(native, [PROGRAMS / "many_sizes.c"])], **nodes)
    assert result.returncode == 0 and "0 wrong numbers" in result.text, result.text
    long = [row for row in result.calls("bcast") if row["least_bytes"] >= 3072 and row["most_bytes"] < 5120]
    assert sum(row["calls"] for row in long) == 2 * 512
    assert {row["algorithm"].split(":")[0] for row in long} == {"split_binary"}


def test_calls_that_go_to_the_library_again(wheel: Mpi, verified: Check, tmp_path: Path) -> None:
    """GIVEN like calls that go to the library, without a report WHEN their size, type, communicator, override or what
    is under way changes THEN what they use does too.
    """
    chosen = [
        ("bcast", [2, 2], 1024, "library"),
        ("bcast", [3, None], 1024, "chain"),
        ("allreduce", None, 1024, "ring"),
    ]
    rules = [{"collective": c, "ranks": ranks, "bytes": [least, None], "use": use} for c, ranks, least, use in chosen]
    rules += [{"collective": collective, "use": "library"} for collective in ("bcast", "allreduce")]
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"decisions": {"version": 1, "rules": rules}}))
    variables = {"ANTIPHON_NODES": "a,b,c,d", "ANTIPHON_PROFILE": str(profile), "ANTIPHON_ADAPT": "off"}
    verified(wheel, 4, "passed.c", options=[INCLUDE], ANTIPHON_SUMMARY="", **variables)


def test_switched_off(wheel: Mpi, check: Check) -> None:
    """GIVEN ANTIPHON=off THEN nothing is counted, and the program runs."""
    result = check(wheel, 2, "bcast", "errors", ANTIPHON="off", ANTIPHON_FORCE="*:on")
    assert not result.calls("bcast")


@pytest.mark.parametrize("n", [2, 3])
def test_compressed(wheel: Mpi, n: int, check: Check) -> None:
    """GIVEN compression forced THEN results are right, and collectives are encoded (but not types with gaps)."""
    if wheel.abi == "mpiabi" and n == 2:
        pytest.skip("the same library as mpich")
    density = [] if n == 2 else ["--quick"]
    result = check(wheel, n, *density, *COLLECTIVES, *AROUND, ANTIPHON_FORCE="*:on", ANTIPHON_COMPRESS="force")
    for collective in ("bcast", "allreduce", "alltoall", "allgather"):
        assert any("encode=64" in row["algorithm"] for row in result.calls(collective)), collective
    coded = [row for row in result.summary["compression"] if row["class"] == "collectives"]
    assert coded and coded[0]["encoded"] > 0
