# SPDX-License-Identifier: Apache-2.0
"""Runs examples that no other test runs, and the guide's Python: all is right, and Antiphon does the calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OPTIONS = [f"-I{EXAMPLES.parent / 'include'}", "-lm", "-ldl"]

#: As docs/guides/python.md has it, and keys that mean nothing, or whose values do not.
WITH_INFO = """
from mpi4py import MPI
info = MPI.Info.Create({"antiphon_alltoall": "rotated:window=2", "antiphon_bcast": "nosuch",
                         "antiphon_bcats": "library", "antiphon_enable": "off"})
comm = MPI.COMM_WORLD.Dup_with_info(info)
mine, theirs = bytearray(range(2)) * 500, bytearray(1000)
comm.Alltoall([mine, 500, MPI.BYTE], [theirs, 500, MPI.BYTE])
comm.Bcast(theirs, root=1)
"""

Compile = Callable[..., Path]
Run = Callable[..., Any]


@pytest.mark.parametrize("method", ["level1", "level2", "level3", "mpi", "point-to-point"])
def test_shared_memory_over_messages(native: Mpi, method: str, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN each way of the pages THEN the memory is right on every node."""
    if native.family != "mpich" and method != "level1":
        pytest.skip("one library is enough for the other ways")
    program = compiled(native, [EXAMPLES / "dsm.c"], *OPTIONS)
    result = run_ranks(native, 3, [program, method, 2, 6], ANTIPHON_FORCE="*:on")
    assert result.returncode == 0, result.text
    assert "result: verified" in result.text, result.text


def test_multicasts_to_some_ranks(native: Mpi, compiled: Compile, run_ranks: Run) -> None:
    """GIVEN groups that are open, of a call and compiled THEN all ways bring the right bytes, by multicast."""
    program = compiled(native, [EXAMPLES / "scatterv_groups.c"], *OPTIONS)
    nodes = {"ANTIPHON_NODES": "a,b,c,d", "ANTIPHON_MULTICAST_INTERFACE": "lo"}
    result = run_ranks(native, 4, [program, 2, 2, 3000], **nodes)
    assert result.returncode == 0, result.text
    assert "scatterv_groups: 0 wrong" in result.text
    lines = [json.loads(line) for line in result.text.splitlines() if line.startswith("{")]
    assert {line["way"] for line in lines} == {"library", "static", "dynamic", "compiled"}, lines
    assert result.summary["multicast"]["data_packets_sent"] > 0


def test_python(native: Mpi, run_ranks: Run) -> None:
    """GIVEN mpi4py's methods for buffers and for objects THEN Antiphon does their calls, and all is right."""
    pytest.importorskip("mpi4py")
    # mpi4py opens the first library that it finds, unless one is there.
    command = [sys.executable, EXAMPLES / "mpi4py" / "collectives.py"]
    result = run_ranks(native, 3, command, behind=[native.libmpi], ANTIPHON_FORCE="*:on")
    assert (result.returncode, result.text.strip()) == (0, "verified on 3 ranks"), result.text
    for collective in ("bcast", "allreduce", "alltoall", "allgatherv"):
        assert result.used(collective).keys() - {"library"}, result.calls(collective)


def test_info_keys(native: Mpi, run_ranks: Run) -> None:
    """GIVEN keys of MPI.Info THEN a choice with parameters holds, and what means nothing is ignored, and said once."""
    pytest.importorskip("mpi4py")
    result = run_ranks(native, 2, [sys.executable, "-c", WITH_INFO], behind=[native.libmpi])
    assert result.returncode == 0, result.text
    (row,) = result.calls("alltoall")
    assert row["algorithm"].startswith("rotated:") and "window=2" in row["algorithm"], row
    assert sorted(result.lines("antiphon: ")) == [
        'antiphon: info key antiphon_bcast: "nosuch" means nothing; ignored',
        "antiphon: info key antiphon_bcats means nothing; ignored",
        'antiphon: info key antiphon_enable: "off" means nothing; ignored',
    ]
    assert result.used("bcast").keys() == {"library"}
