# SPDX-License-Identifier: Apache-2.0
"""Nonblocking collectives as schedules: right results, many at a time, and in odd orders."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

Check = Callable[..., Any]
PROGRAMS = Path(__file__).resolve().parent / "programs"
INCLUDE = [f"-I{PROGRAMS.parents[2] / 'include'}"]

#: Each has a nonblocking form that becomes a schedule.
COLLECTIVES = [
    *("barrier", "bcast", "scatter", "gather", "allgather", "allgatherv", "alltoall", "alltoallv"),
    *("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
]
#: The rest is checked, too, whoever does it.
REST = ["scatterv", "gatherv", "alltoallw", "neighbours", "intercommunicators", "bottom", "wildcards"]

NONE_BESIDE = "no communicator of Antiphon's own beside this one"


def has_hook(mpi: Mpi) -> bool:
    """Returns whether the library calls others back from its progress."""
    return mpi.abi == "openmpi" or (mpi.abi == "mpich" and not mpi.version.startswith("4.0"))


def check_each_collective(mpi: Mpi, n: int, check: Check) -> None:
    """Checks that all results are right, and that schedules did the calls wherever the library calls back."""
    result = check(mpi, n, "--quick", *COLLECTIVES, *REST, nonblocking=True, ANTIPHON_FORCE="*:on")
    for collective in COLLECTIVES if n > 1 else []:
        used = result.used(f"i{collective}")
        assert used, collective
        assert (used.keys() - {"library"} != set()) == has_hook(mpi), f"{collective}: {used}"


@pytest.mark.parametrize("n", [1, 5])
def test_each_collective(native: Mpi, n: int, check: Check) -> None:
    """GIVEN nonblocking calls that Antiphon never leaves out THEN all results are right, and schedules did them."""
    check_each_collective(native, n, check)


def test_other_libraries(foreign: Mpi, check: Check) -> None:
    """GIVEN another ABI, or a library that the object was not compiled with THEN the same holds."""
    if not has_hook(foreign) and foreign.abi == "mpich":
        pytest.skip("MPICH 4.0's own nonblocking collectives fail, or hang in MPI_Finalize")
    check_each_collective(foreign, 2, check)


def test_normal_choice(native: Mpi, check: Check) -> None:
    """GIVEN the rules alone, on two assumed nodes, THEN all results are right."""
    nodes = {"ANTIPHON_NODES": "a,b,a", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    check(native, 3, "--quick", *COLLECTIVES, nonblocking=True, **nodes)


@pytest.mark.parametrize("way", ["rotated", "exchange_xor"])
def test_left_alone(native: Mpi, way: str, compiled: Callable[..., Path], run_ranks: Callable[..., Any]) -> None:
    """GIVEN ranks that compute meanwhile beside ranks that wait at once THEN results are right, however each sends."""
    program = compiled(native, [PROGRAMS / "left_alone.c"])
    nodes = {"ANTIPHON_NODES": "a,b,c,d", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    result = run_ranks(native, 4, [program], ANTIPHON_FORCE=f"alltoall:{way};alltoallv:on", **nodes)
    assert result.returncode == 0, result.text
    assert "0 wrong bytes" in result.text
    assert result.used("ialltoall").keys() == {way}
    assert result.used("ialltoallv").keys() == {"rotated"}


def test_attributes_are_not_copied(mpi: Mpi, verified: Check) -> None:
    """GIVEN attributes with copy functions THEN the program's own duplicates alone call them."""
    result = verified(mpi, 3, "attributes.c", ANTIPHON_FORCE="bcast:flat")
    assert (result.used("ibcast").keys() == {"flat"}) == has_hook(mpi)


@pytest.mark.parametrize(
    ("mode", "force"), [("blocking", ""), *((mode, "*:on") for mode in ("blocking", "duplicate", "idup", "threads"))]
)
def test_crossing_order(mpi: Mpi, mode: str, force: str, verified: Check) -> None:
    """GIVEN ranks that come to calls on two communicators in either order THEN all end, as the library's own do."""
    nodes = {"ANTIPHON_NODES": "a,b,c,d", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    result = verified(mpi, 4, "crossing.c", mode, limit_s=60, ANTIPHON_FORCE=force, **nodes)
    if mode == "idup" or not has_hook(mpi):
        return
    call = "alltoall" if mode == "threads" else "ialltoall"
    assert result.used(call).keys() - {"library"}, result.calls(call)
    # MPICH makes what calls of several threads need.
    none_beside = mode != "threads" or mpi.family == "openmpi"
    assert (NONE_BESIDE in result.reasons(call)) == none_beside


def test_first_call_after_each_constructor(mpi: Mpi, verified: Check) -> None:
    """GIVEN new communicators THEN schedules do their first nonblocking calls, and blocks come from the right ranks."""
    result = verified(mpi, 5, "constructors.c", ANTIPHON_FORCE="alltoall:rotated;alltoallv:on", limit_s=60)
    if has_hook(mpi):
        assert result.reasons("ialltoall") <= {"one rank alone, an intercommunicator, or processes of another job"}


@pytest.mark.parametrize("call", ["alltoall", "ialltoall"])
def test_most_communicators_that_there_can_be(mpi: Mpi, call: str, verified: Check) -> None:
    """GIVEN a program that needs most of MPICH's communicators THEN it gets them, and each call ends."""
    comms = 300 if mpi.abi == "openmpi" else 1750
    result = verified(mpi, 2, "many_exchanges.c", call, comms, ANTIPHON_FORCE="alltoall:rotated")
    if call == "alltoall" or has_hook(mpi):
        assert result.used(call)["rotated"] > 200


@pytest.mark.parametrize("use", ["nothing", "compress", "capture"])
def test_types_with_attributes(mpi: Mpi, use: str, tmp_path: Path, verified: Check) -> None:
    """GIVEN types with attributes, freed while in use, THEN no copy function runs, and each delete function once."""
    variables = {
        "compress": {"ANTIPHON_COMPRESS": "force"},
        "capture": {"ANTIPHON_CAPTURE": str(tmp_path / "captured")},
    }
    verified(mpi, 3, "type_attributes.c", ANTIPHON_FORCE="bcast:flat", **variables.get(use, {}))


def test_encoded(native: Mpi, check: Check) -> None:
    """GIVEN compression forced THEN results are right, and nonblocking collectives are encoded."""
    result = check(
        native, 3, "--quick", *COLLECTIVES, nonblocking=True, ANTIPHON_FORCE="*:on", ANTIPHON_COMPRESS="force"
    )
    if has_hook(native):
        assert any("encode=64" in row["algorithm"] for row in result.calls("iallgather"))


def test_encoded_where_that_pays(native: Mpi, check: Check) -> None:
    """GIVEN slow links THEN results are right, and nonblocking collectives are frames, encoded or stored."""
    nodes = {"ANTIPHON_NODES": "a,b,c", "ANTIPHON_LINK_BITS_PER_S": "100000000", "ANTIPHON_COMPRESS": "on"}
    result = check(native, 3, "--quick", *COLLECTIVES, nonblocking=True, ANTIPHON_FORCE="*:on", **nodes)
    if has_hook(native):
        assert any("encode=1024" in row["algorithm"] for row in result.calls("iallgather"))
        coded = next(row for row in result.summary["compression"] if row["class"] == "collectives")
        assert 0 < coded["encoded"] < coded["messages"]


def test_errors_keep_their_meaning(wheel: Mpi, check: Check) -> None:
    """GIVEN wrong arguments THEN each call returns the library's error class."""
    plain = check(wheel, 2, "errors", nonblocking=True, preload=False).lines("error class")
    assert len(plain) > 20
    assert check(wheel, 2, "errors", nonblocking=True, ANTIPHON_FORCE="*:on").lines("error class") == plain


def test_a_message_that_is_too_long(wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any]) -> None:
    """GIVEN ranks whose counts differ THEN each kind of call returns that class, and not that of several requests."""
    program = compiled(wheel, [PROGRAMS / "truncated.c"])
    nodes = {"ANTIPHON_NODES": "a,b"}
    result = run_ranks(wheel, 2, [program], ANTIPHON_FORCE="*:on;bcast:flat", limit_s=40, **nodes)
    assert result.returncode == 0, result.text
    kinds = result.text.split()
    if not has_hook(wheel):
        del kinds[1]  # of the library's own nonblocking call
    assert set(kinds) == {"truncated"} and len(kinds) >= 3, result.text


def test_threads(wheel: Mpi, check: Check) -> None:
    """GIVEN threads, each with its communicator THEN their collectives do not mix."""
    check(wheel, 3, "threads", nonblocking=True, ANTIPHON_FORCE="*:on")


def test_communicators_are_freed(native: Mpi, check: Check) -> None:
    """GIVEN more communicators than there can be at a time THEN none is missing, nor memory."""
    check(native, 2, "occupy", "communicators=400", nonblocking=True, ANTIPHON_FORCE="*:on")


@pytest.mark.parametrize("mode", ["many", "threads", "cross", "lifetimes", "late"])
def test_outstanding(mpi: Mpi, mode: str, verified: Check) -> None:
    """GIVEN operations that are under way together, in odd orders THEN every byte is right."""
    if not has_hook(mpi) and mpi.abi == "mpich":
        pytest.skip("MPICH 4.0 hangs in MPI_Finalize")
    if mpi.abi == "mpiabi" and mode not in ("threads", "lifetimes"):
        pytest.skip("the library does these calls alone, which is MPICH's own")
    result = verified(mpi, 4, "outstanding.c", mode, ANTIPHON_FORCE="*:on;gatherv:binomial", limit_s=60)
    if not has_hook(mpi):
        return
    if mode == "lifetimes":
        assert list(result.used("igatherv")) == ["binomial"]
        assert "library" not in result.used("iallreduce")
    else:
        assert result.used("ialltoall").keys() - {"library"}


def test_partitioned_messages_beside(mpi: Mpi, verified: Check) -> None:
    """GIVEN a collective under way THEN a wait for partitioned messages ends, though MPICH cannot test for those."""
    if not has_hook(mpi) and mpi.abi == "mpich":
        pytest.skip("MPICH 4.0 hangs in MPI_Finalize")
    verified(mpi, 3, "partitions.c", ANTIPHON_FORCE="*:on", ANTIPHON_NODES="a,b,c", limit_s=40)


def test_counts_of_one_rank_after_all_ranks_counts(native: Mpi, verified: Check) -> None:
    """GIVEN a call that takes all counts THEN later ones on the communicator, whose root knows them, are right."""
    force = "*:on;alltoallv:nested;scatterv:binomial;gatherv:binomial"
    result = verified(native, 4, "outstanding.c", "counts", ANTIPHON_FORCE=force, ANTIPHON_NODES="a,a,b,b", limit_s=40)
    for call, way in {"alltoallv": "nested", "scatterv": "binomial", "gatherv": "binomial"}.items():
        assert not has_hook(native) or result.used(f"i{call}").keys() == {way}


@pytest.mark.parametrize("mode", ["limits", "ways"])
def test_choices_that_change_beside_calls(native: Mpi, mode: str, verified: Check) -> None:
    """GIVEN calls of two choices that end in another order on each rank THEN all ranks do the next call alike."""
    nodes = {"ANTIPHON_NODES": "a,b,c", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    result = verified(native, 3, "choices.c", mode, options=INCLUDE, ANTIPHON_FORCE="alltoallv:on", limit_s=40, **nodes)
    assert not has_hook(native) or "library" not in result.used("ialltoallv")


def test_progress_thread(wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any]) -> None:
    """GIVEN a core that no rank uses and MPI_THREAD_MULTIPLE THEN operations end while all ranks sleep."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    program = compiled(wheel, [PROGRAMS / "sleeper.c"])
    bound = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    free = run_ranks(wheel, 3, [*bound, program], ANTIPHON_FORCE="*:on", ANTIPHON_PROGRESS="thread")
    assert free.returncode == 0 and "ended while asleep" in free.text, free.text
    assert free.used("iallreduce").keys() - {"library"}


def test_progress_thread_refused(wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any]) -> None:
    """GIVEN a program without MPI_THREAD_MULTIPLE THEN there is no thread, and one line says why."""
    program = compiled(wheel, [PROGRAMS / "sleeper.c"])
    result = run_ranks(wheel, 3, [program, "single"], ANTIPHON_FORCE="*:on", ANTIPHON_PROGRESS="thread")
    assert result.returncode == 0, result.text
    assert result.text.count("no progress thread: the program has not got MPI_THREAD_MULTIPLE") == 1, result.text


def test_few_neighbours(native: Mpi, compiled: Callable[..., Path], run_ranks: Check) -> None:
    """GIVEN ranks with few neighbours THEN the library exchanges their blocks, or a schedule if that is asked for."""
    if not has_hook(native):
        pytest.skip("the library does all nonblocking collectives")
    program = compiled(native, [PROGRAMS.parents[2] / "examples" / "neighbours.c"])
    nodes = {"ANTIPHON_NODES": "a,b,a,b", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    result = run_ranks(native, 4, [program, "sparse", "50", "2"], **nodes)
    assert {row["reason"] for row in result.calls("ineighbor_alltoallv")} == {
        "each rank has few neighbours, who contend little"
    }
    result = run_ranks(native, 4, [program, "sparse", "50", "2"], ANTIPHON_FORCE="*:on", **nodes)
    assert "library" not in result.used("ineighbor_alltoallv")
