# SPDX-License-Identifier: Apache-2.0
"""Checks that point-to-point calls keep their meaning with every binding."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

PROGRAMS = Path(__file__).resolve().parent / "programs"
INCLUDE = f"-I{PROGRAMS.parents[2] / 'include'}"
PROFILES = Path(__file__).resolve().parents[1] / "data"

Compile = Callable[..., Path]
Run = Callable[..., Any]


@pytest.mark.parametrize("binding", ["MPIF_H", "USE_MPI", "USE_MPI_F08"])
def test_fortran(mpi: Mpi, binding: str, verified: Run) -> None:
    """GIVEN a Fortran binding THEN data, statuses, flags, indices and handles are what the library alone gives."""
    if mpi.family == "mpich" and mpi.version.startswith("4.0") and binding == "USE_MPI_F08":
        pytest.skip("MPICH 4.0's own mpi_f08 counts the indices of waitany and waitsome from 0")
    options = [f"-D{binding}", "-fallow-argument-mismatch"]
    for compress in ("off", "force"):
        verified(mpi, 2, "p2p.F90", options=options, ANTIPHON_COMPRESS=compress)


def test_every_call_form(mpi: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN every way to send and receive, kinds of data, datatypes THEN frames change nothing that a program sees."""
    program = compiled(mpi, [PROGRAMS / "p2p.c"])
    sparse = "0"
    for compress in ("off", "force"):
        result = run_ranks(mpi, 2, [program, sparse], ANTIPHON_COMPRESS=compress)
        assert result.returncode == 0, result.text
        assert re.search(r"\b[1-9]\d* cases, 0 failed", result.text), result.text


@pytest.mark.parametrize("codec", ["dfcm", "spatial", "lz4", "zstd"])
def test_one_codec(native: Mpi, codec: str, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN one codec alone THEN frames change nothing that a program sees; DFCM keeps whole tables of 512 KiB."""
    program = compiled(native, [PROGRAMS / "grids.c"])
    result = run_ranks(native, 2, [program], ANTIPHON_COMPRESS="force", ANTIPHON_CODEC=codec)
    assert result.returncode == 0, result.text
    assert len(re.findall(r"\b[1-9]\d* cases, 0 failed", result.text)) == 2, result.text
    rows = result.summary["compression"]
    assert sum(row["encoded"] for row in rows) > 0
    kept = sum(row["kept_bytes"] for row in rows)
    assert codec != "dfcm" or (kept > 0 and kept % (512 << 10) == 0)


def test_parts_of_grids(mpi: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN regular datatypes with gaps THEN frames leave in memory what the library's own unpacking leaves there."""
    result = run_ranks(mpi, 2, [compiled(mpi, [PROGRAMS / "grids.c"])], ANTIPHON_COMPRESS="force")
    assert result.returncode == 0, result.text
    assert len(re.findall(r"\b[1-9]\d* cases, 0 failed", result.text)) == 2, result.text
    assert sum(row["encoded"] for row in result.summary["compression"]) > 100, result.summary


def test_what_one_call_starts(mpi: Mpi, verified: Run) -> None:
    """GIVEN persistent messages of one tag, long and short, started by one call THEN they match as in the library."""
    result = verified(mpi, 2, "started.c", ANTIPHON_COMPRESS="force")
    assert sum(row["encoded"] for row in result.summary["compression"]) > 50, result.summary


def test_blocking_calls_beside_a_persistent_collective(wheel: Mpi, verified: Run) -> None:
    """GIVEN a persistent collective under way THEN blocking calls encode and decode their messages as always."""
    for compress in ("off", "force"):
        result = verified(wheel, 2, "beside_persistent.c", ANTIPHON_COMPRESS=compress, ANTIPHON_FORCE="*:on")
    assert sum(row["encoded"] for row in result.summary["compression"]) > 0, result.summary


@pytest.mark.parametrize("compress", ["off", "force"])
def test_what_a_probe_found_stays_behind_earlier_messages(wheel: Mpi, compress: str, verified: Run) -> None:
    """GIVEN a probe that has looked into a late message THEN receives get messages in the order of their sender."""
    verified(wheel, 2, "overtaking.c", ANTIPHON_COMPRESS=compress, limit_s=40)


def test_short_receives_beside_a_probe(native: Mpi, verified: Run) -> None:
    """GIVEN a thread that probes for long messages THEN another receives the short ones before them in order."""
    verified(native, 2, "short_beside.c", ANTIPHON_COMPRESS="force", limit_s=90)


@pytest.mark.parametrize("compress", ["off", "force"])
def test_truncation_that_a_program_looks_at(native: Mpi, compress: str, verified: Run) -> None:
    """GIVEN MPI_Request_get_status on a receive that is too short THEN MPI_Wait tells of it, and nothing is beyond."""
    verified(native, 2, "looked_at.c", ANTIPHON_COMPRESS=compress)


@pytest.mark.parametrize(
    "call", ["replace", "neighbours", "neighbours_c", "gatherv", "gatherv_c", "gatherv_far", "alltoallv", "control1"]
)
def test_a_persistent_collective_goes_on_in_waits(wheel: Mpi, call: str, verified: Run) -> None:
    """GIVEN ranks in a blocking call that one rank comes to after a wait for an operation of all THEN no rank hangs."""
    others = "*:library" if call.endswith(("_c", "_far")) else "*:on;gatherv:binomial;alltoallv:nested"
    force = f"{others};allreduce:ring"
    variables = {"ANTIPHON_FORCE": force, "ANTIPHON_NODES": "a,a,b,b"}
    verified(wheel, 4, "waits_beside.c", call, options=[INCLUDE], limit_s=40, **variables)


def test_a_persistent_reduction_over_gaps_goes_on_in_waits(native: Mpi, verified: Run) -> None:
    """GIVEN threads and a persistent reduction over a type with gaps that a wait elsewhere advances THEN it ends."""
    force = "allreduce:reduce_bcast:segment_bytes=1200,window=2"
    verified(native, 3, "gaps.c", ANTIPHON_FORCE=force, ANTIPHON_NODES="a,b,c", limit_s=40)


def test_status_of_several_requests(wheel: Mpi, verified: Run) -> None:
    """GIVEN finished sends beside a framed receive THEN MPI_Request_get_status_any and _some count them as active."""
    if wheel.family != "mpich":
        pytest.skip(f"{wheel.name} has no MPI_Request_get_status_any")
    for compress in ("off", "force"):
        verified(wheel, 2, "status_any.c", ANTIPHON_COMPRESS=compress)


def test_where_no_message_can_pay(native: Mpi, verified: Run, tmp_path: Path) -> None:
    """GIVEN a profile with a link too fast for the cores that ranks share THEN their messages are not examined."""
    profile = json.loads((PROFILES / f"gigabit-8.{native.family}.json").read_text(encoding="utf-8"))
    nodes = profile["topology"]["nodes"]
    looked_at = {}
    for times in (0.1, 10):
        for node in nodes:
            node["port_bytes_per_s"] = times * 120e6
        file = tmp_path / "profile.json"
        file.write_text(json.dumps(profile), encoding="utf-8")
        variables = {"ANTIPHON_PROFILE": str(file), "ANTIPHON_NODES": "a,b", "ANTIPHON_COMPRESS": "auto"}
        result = verified(native, 2, "repeats.c", **variables)
        rows = [row for row in result.summary["compression"] if row["class"] != "collectives"]
        looked_at[times] = sum(row["messages"] for row in rows)
    assert looked_at[0.1] > 0 == looked_at[10], looked_at


def test_memory_is_capped(native: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN many communicators with predicted messages THEN a rank keeps no more in all than it may."""
    program = compiled(native, [PROGRAMS / "memory.c"])
    cap = 4 << 20
    result = run_ranks(native, 2, [program], ANTIPHON_COMPRESS="force", ANTIPHON_COMPRESS_MEMORY_BYTES=str(cap))
    assert result.returncode == 0 and result.text.count("0 wrong") == 2, result.text
    kept = sum(row["kept_bytes"] for row in result.summary["compression"])
    # There are two ranks, each with what it has sent and what it has received.
    assert 0 < kept <= 4 * cap, result.summary


@pytest.mark.parametrize("threads", [(), ("threads",)], ids=["single", "threads"])
def test_order_and_company(mpi: Mpi, threads: tuple[str, ...], compiled: Compile, run_ranks: Run) -> None:
    """GIVEN receives completed out of order, errors, other requests in one call, threads THEN frames change nothing."""
    program = compiled(mpi, [PROGRAMS / "p2p_order.c"])
    # Without Antiphon, too, MPICH 5 over UCX may crash in MPI_Cancel of a send, and Open MPI 4 with threads may hang in
    # an MPI_Waitall that fails: docs/findings/libraries.
    spared = [] if mpi.family == "openmpi" else ["sends-stay"]
    spared += ["waitall-succeeds"] if threads and mpi.family == "openmpi" and mpi.version.startswith("4.") else []
    result = run_ranks(mpi, 3, [program, *threads, *spared], ANTIPHON_COMPRESS="force")
    assert result.returncode == 0, result.text
    assert result.lines("verified") == ["verified"], result.text
    encoded = sum(row["encoded"] for row in result.summary["compression"])
    assert encoded > 100, result.summary


@pytest.mark.parametrize("compress", ["off", "force"])
def test_types_with_large_counts(compress: str, mpi: Mpi, verified: Run) -> None:
    """GIVEN a datatype made with MPI-4's large counts THEN messages and collectives of it are as without us."""
    if mpi.family != "mpich" or mpi.version.startswith("3."):
        pytest.skip(f"{mpi.name} has no large counts")
    verified(mpi, 2, "large_types.c", ANTIPHON_COMPRESS=compress, ANTIPHON_FORCE="*:on")


def test_a_node_without_the_libraries_of_codecs(native: Mpi, compiled: Compile, run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN that one process has neither zstd nor lz4 THEN nothing is sent to it that it cannot decode."""
    program = compiled(native, [PROGRAMS / "repeats.c"])
    hides = tmp_path / "no_zstd.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", hides, PROGRAMS / "no_zstd.c", "-ldl"], check=True)
    start = tmp_path / "start.sh"
    rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    start.write_text(f'#!/bin/sh\n[ "{rank}" = "$HIDES" ] && export LD_PRELOAD="{hides} $LD_PRELOAD"\nexec "$@"\n')
    start.chmod(0o755)
    rates = {}
    for hidden_from in ("nobody", "1"):
        result = run_ranks(
            native, 2, [start, program], HIDES=hidden_from, ANTIPHON_COMPRESS="force", ANTIPHON_FORCE="*:on"
        )
        assert result.text.split() == ["verified"], result.text
        rates[hidden_from] = min(row["rate"] for row in result.summary["compression"] if row["bytes"] > 1e5)
    assert rates["nobody"] > 10 > rates["1"], rates


def test_other_jobs(wheel: Mpi, compiled: Compile, run_ranks: Run, verified: Run) -> None:
    """GIVEN processes that were spawned THEN nothing is compressed on the way to them, everything arrives, and ranks
    are not ordered anew."""
    program = compiled(wheel, [PROGRAMS / "jobs.c"])
    if run_ranks(wheel, 2, [program], preload=False).text.split() != ["verified"]:
        pytest.skip(f"{wheel.label} cannot start other processes here")
    options = {"ANTIPHON_COMPRESS": "force", "ANTIPHON_FORCE": "*:on", "ANTIPHON_REORDER": "1"}
    result = verified(wheel, 2, "jobs.c", limit_s=40, **options)
    assert [row["communicator"] for row in result.summary["compression"] if row["encoded"]] == ["MPI_COMM_WORLD"]


def test_frames_are_shorter_than_what_is_encoded(native: Mpi, verified: Callable[..., Any]) -> None:
    """GIVEN that messages below 64 KiB stay as they are WHEN longer ones shrink THEN their frames may be shorter."""
    options = {"ANTIPHON_NODES": "a,b", "ANTIPHON_COMPRESS": "force", "ANTIPHON_COMPRESS_MIN_BYTES": "65536"}
    result = verified(native, 2, "in_turn.c", "all", 8, **options)
    (row,) = [row for row in result.summary["compression"] if row["class"] == "between nodes"]
    assert row["encoded"] == row["messages"] and row["wire_bytes"] < row["bytes"] / 4, row
