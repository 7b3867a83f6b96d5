# SPDX-License-Identifier: Apache-2.0
"""Messages of schedules within a node: through shared memory, with one copy or two, or as the library's messages."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

Check = Callable[..., Any]
Run = Callable[..., Any]
PROGRAMS = Path(__file__).resolve().parent / "programs"
COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "scatter", "gather", "scan"]
#: The default table has rules for them on one node.
ON_ONE_NODE = ["allgather", "alltoall", "reduce_scatter_block"]
#: A rank that is killed ends the run within so many seconds.
SOON_S = 10


@pytest.mark.parametrize("n", [2, 5])
def test_one_node_by_default(native: Mpi, n: int, check: Check) -> None:
    """GIVEN no settings THEN results are right, and schedules do what gains, unless ranks are not to share memory."""
    names = [*COLLECTIVES, "reduce_scatter", "reduce_scatter_block"]
    result = check(native, n, "--quick", *names)
    for collective in ON_ONE_NODE:
        assert result.used(collective).keys() - {"library"}, collective
    assert result.used("barrier").keys() == {"library"}
    assert result.summary["within_nodes"]["shared_messages"] > 0
    assert check(native, n, "--quick", *names, ANTIPHON_SUMMARY="").summary == {}
    alone = check(native, n, "--quick", *ON_ONE_NODE, ANTIPHON_SHARED_MEMORY="off")
    assert all(row["algorithm"] == "library" for row in alone.summary["collectives"])


def test_ranks_that_share_cores_have_other_choices(native: Mpi, check: Check) -> None:
    """GIVEN more ranks than cores THEN MPICH's broadcasts are replaced, which are fast where each rank has a core."""
    cores = os.cpu_count() or 1
    if native.family != "mpich" or not 2 <= cores < 16:
        pytest.skip("there is a rule for up to 16 ranks with MPICH")
    assert check(native, 2, "--quick", "bcast").used("bcast").keys() == {"library"}
    assert check(native, cores + 1, "--quick", "bcast").used("bcast").keys() - {"library"}


def test_one_node_over_ucx(system: Mpi, check: Check) -> None:
    """GIVEN Open MPI over UCX, whose own messages within a node are faster THEN calls on one node are the library's."""
    if system.family != "openmpi":
        pytest.skip("Open MPI alone has several such layers")
    any_device = {"OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any"}
    assert check(system, 2, "--quick", *ON_ONE_NODE).used("allgather").keys() != {"library"}, "by its own shared memory"
    try:
        result = check(system, 2, "--quick", *ON_ONE_NODE, OMPI_MCA_pml="ucx", **any_device)
    except AssertionError as error:
        if "find-available" in str(error) or "PML ucx" in str(error):
            pytest.skip("it has no UCX")
        raise
    assert all(row["algorithm"] == "library" for row in result.summary["collectives"])


@pytest.mark.parametrize("way", ["on", "copy", "off"])
@pytest.mark.parametrize("n", [2, 5])
def test_results_and_summary(wheel: Mpi, n: int, way: str, check: Check) -> None:
    """GIVEN each way THEN results are right, and the summary says what moved the bytes."""
    if wheel.abi == "mpiabi" and n != 2:
        pytest.skip("the same library as mpich")
    result = check(wheel, n, "--quick", *COLLECTIVES, ANTIPHON_FORCE="*:on", ANTIPHON_SHARED_MEMORY=way)
    within = result.summary["within_nodes"]
    assert (within["shared_messages"] > 0) == (way != "off"), within
    # Elements with gaps between them are always the library's.
    assert (within["library_messages"] > within["shared_messages"]) == (way == "off"), within


@pytest.mark.parametrize("between", [[], ["sh", "-c", '"$@"; exit $?', "sh"]], ids=["launcher", "shell"])
@pytest.mark.parametrize("scope", ["0", "1"])
def test_single_copy_under_yama(
    native: Mpi, scope: str, between: list[str], compiled: Callable[..., Path], run_ranks: Run, tmp_path: Path
) -> None:
    """GIVEN a kernel that asks whom a process lets in THEN ranks let in the fewest that they need, and read."""
    guard = compiled(native, [PROGRAMS / "guarded.c"], "-shared", "-fPIC")
    program = compiled(native, [PROGRAMS / "shared.c"])
    file = tmp_path / "proc/sys/kernel/yama/ptrace_scope"
    file.parent.mkdir(parents=True)
    file.write_text(f"{scope}\n")
    two_copies = {"OMPI_MCA_smsc": "^cma", "MPIR_CVAR_CH4_CMA_ENABLE": "0"}  # of the libraries' own messages
    variables = {"ANTIPHON_SYSTEM_ROOT": str(tmp_path), "GUARDED": str(tmp_path), "ANTIPHON_FORCE": "*:on"}
    result = run_ranks(native, 3, [*between, program], before=[guard], **variables, **two_copies)
    assert result.returncode == 0, result.text
    found = sorted(name.suffix for name in tmp_path.glob("[0-9]*.*"))
    allowed = ".user" if between else ".siblings"
    assert found == ([] if scope == "0" else sorted([*[allowed] * 3, *[".reads"] * 3])), result.text


def test_calls_on_one_node_are_the_library_s_where_ranks_cannot_share_memory(
    native: Mpi, check: Check, compiled: Callable[..., Path]
) -> None:
    """GIVEN a system that refuses what ranks would share THEN no call on one node is done, and the summary says why."""
    guard = compiled(native, [PROGRAMS / "memory_files.c"], "-shared", "-fPIC")
    result = check(native, 2, "--quick", *ON_ONE_NODE, before=[guard], MEMORY_FILES="none")
    assert all(row["algorithm"] == "library" for row in result.summary["collectives"])
    for collective in ON_ONE_NODE:
        assert "all ranks are on one node, and cannot share memory there" in result.reasons(collective)
    forced = check(native, 2, "--quick", "bcast", before=[guard], MEMORY_FILES="none", ANTIPHON_FORCE="*:on")
    assert forced.used("bcast").keys() - {"library"}


@pytest.mark.parametrize(("communicators", "calls", "done"), [(20, 1, 0), (2, 12, 8)])
def test_ranks_share_nothing_for_the_first_calls_of_a_new_communicator(
    native: Mpi, verified: Callable[..., Any], communicators: int, calls: int, done: int
) -> None:
    """GIVEN communicators that the program has made on one node THEN only what goes on on them is done."""
    result = verified(native, 2, "short_lived.c", "allreduce", communicators, calls, 8192)
    used = result.used("allreduce")
    assert used.pop("library") == communicators * calls - done, result.summary
    assert sum(used.values()) == done
    assert result.reasons("allreduce") == {"a new communicator on one node: what its ranks share is made after 8 calls"}


def test_shared_memory_that_nobody_executes(native: Mpi, check: Check, compiled: Callable[..., Path]) -> None:
    """GIVEN a system that gives no other memory, as vm.memfd_noexec=2 THEN ranks share it."""
    guard = compiled(native, [PROGRAMS / "memory_files.c"], "-shared", "-fPIC")
    result = check(native, 2, "--quick", *ON_ONE_NODE, before=[guard], MEMORY_FILES="sealed")
    assert result.summary["within_nodes"]["shared_messages"] > 0


def test_several_nodes(wheel: Mpi, check: Check) -> None:
    """GIVEN ranks dealt out over assumed nodes THEN only those of a node share memory, and results are right."""
    nodes = {"ANTIPHON_NODES": "a,b,a,b,a", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    result = check(wheel, 5, "--quick", *COLLECTIVES, ANTIPHON_FORCE="*:on", **nodes)
    assert result.summary["within_nodes"]["shared_messages"] > 0
    apart = {"ANTIPHON_NODES": "a,b,c", "ANTIPHON_LINK_BITS_PER_S": "100000000"}
    result = check(wheel, 3, "--quick", "bcast", ANTIPHON_FORCE="*:on", **apart)
    assert "within_nodes" not in result.summary


def test_beside_nonblocking_calls(native: Mpi, verified: Run) -> None:
    """GIVEN operations on many communicators from several threads, beside blocking calls, THEN all end right."""
    verified(native, 3, "outstanding.c", "threads", ANTIPHON_FORCE="*:on")


@pytest.mark.parametrize("way", ["on", "copy"])
def test_communicators_leave_nothing(wheel: Mpi, way: str, compiled: Callable[..., Path], run_ranks: Run) -> None:
    """GIVEN communicators that come and go THEN results are right and no file stays open."""
    program = compiled(wheel, [PROGRAMS / "shared.c"])
    result = run_ranks(wheel, 4, [program], ANTIPHON_FORCE="*:on", ANTIPHON_SHARED_MEMORY=way)
    assert result.returncode == 0, result.text
    assert len(re.findall(r"0 wrong, 0 more files", result.text)) == 4, result.text


@pytest.mark.parametrize(
    ("call", "force", "nodes", "said"),
    [
        ("scatterv", "scatterv:flat", "a,a", "rank 0 sent a message of 1000 bytes, one of"),
        ("alltoallv", "alltoallv:credit", "a,b", "rank 1 waits for"),
    ],
)
def test_counts_that_do_not_match(
    wheel: Mpi, call: str, force: str, nodes: str, said: str, compiled: Callable[..., Path], run_ranks: Run
) -> None:
    """GIVEN a rank that expects more than is sent to it THEN the error is of MPI's class for that, and names both."""
    program = compiled(wheel, [PROGRAMS / "unlike_counts.c"])
    sent = 1000 if call == "scatterv" else 300_000
    expected = 100_000 if call == "scatterv" else 1_000_000
    result = run_ranks(wheel, 2, [program, call, sent, expected], ANTIPHON_FORCE=force, ANTIPHON_NODES=nodes)
    assert result.returncode != 0
    assert f": truncated: Antiphon: counts do not match: {said}" in result.text, result.text


def started(folder: Path, n: int) -> list[int]:
    """Waits until all ranks are at work; returns their processes."""
    files = [folder / f"rank-{rank}.pid" for rank in range(n)]
    limit = time.monotonic() + 60
    while not all(file.is_file() and file.read_text().endswith("\n") for file in files):
        assert time.monotonic() < limit, "ranks did not start"
        time.sleep(0.05)
    time.sleep(0.2)
    return [int(file.read_text()) for file in files]


def segments_in_use() -> list[str]:
    """Returns the processes that have a segment of ours mapped or open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            maps = (process / "maps").read_text(errors="replace")
            files = [os.readlink(file) for file in (process / "fd").iterdir()]
        except OSError:
            continue  # The process has ended, or is another user's.
        if "memfd:antiphon-" in maps + "".join(files):
            found.append(process.name)
    return found


@pytest.mark.parametrize("victims", [[1], [0, 1, 2, 3]], ids=["one", "all"])
def test_killed(native: Mpi, victims: list[int], compiled: Callable[..., Path], run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN ranks killed in the middle of long calls THEN the run ends soon, and nothing is left of shared memory."""
    program = compiled(native, [PROGRAMS / "shared.c"])
    results: list[Any] = []
    run = threading.Thread(
        target=lambda: results.append(run_ranks(native, 4, [program, "for", "ever"], ANTIPHON_FORCE="*:on"))
    )
    run.start()
    processes = started(tmp_path, 4)
    assert {str(process) for process in processes} <= set(segments_in_use())
    for rank in victims:
        with contextlib.suppress(ProcessLookupError):  # the launcher ends the others
            os.kill(processes[rank], signal.SIGKILL)
    began = time.monotonic()
    run.join()
    assert time.monotonic() - began < SOON_S
    assert results[0].returncode != 0
    assert not {str(process) for process in processes} & set(segments_in_use())
    # What the libraries leave there is theirs.
    assert not [name for name in os.listdir("/dev/shm") if "antiphon" in name]


def test_what_long_columns_are_packed_into_is_given_back(
    native: Mpi, compiled: Callable[..., Path], run_ranks: Any
) -> None:
    """GIVEN columns of 128 MiB in all that are gathered THEN the root keeps no second copy of them."""
    variables = {"ANTIPHON_NODES": "a,b", "ANTIPHON_FORCE": "gather:flat"}
    result = run_ranks(native, 2, [compiled(native, [PROGRAMS / "columns.c"])], **variables)
    found = re.search(r"^0 wrong, (-?\d+) KiB more$", result.text, re.MULTILINE)
    assert found and int(found[1]) < 64 << 10, result.text
    assert result.used("gather").keys() == {"flat"}
