# SPDX-License-Identifier: Apache-2.0
"""Checks that what a run learns from its own calls is there in the next run on these nodes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import Mpi, discover, launch
from antiphon.profile import store

#: One of each family, the newest: MPICH 4.0 may stay in MPI_Finalize.
LIBRARIES = [
    next(mpi for mpi in discover() if mpi.launcher is not None and mpi.abi == family)
    for family in sorted({mpi.family for mpi in discover() if mpi.abi == mpi.family})
]
NODES = 3
CALLS = 400
#: Segments of 128 bytes, for each of which the program's slow operation is called.
BAD = "ring:segment_bytes=128,window=8"

#: Calls are timed.
pytestmark = pytest.mark.measures

#: Many allreduces of 4 KiB with an operation that takes half a millisecond.
PROGRAM = """
import ctypes, sys, time
mpi = ctypes.CDLL(None)
named = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
if sys.argv[1] == "openmpi":
    world, number, op = named("ompi_mpi_comm_world"), named("ompi_mpi_int"), ctypes.c_void_p()
else:
    world, number, op = ctypes.c_int(0x44000000), ctypes.c_int(0x4C000405), ctypes.c_int()
Numbers = ctypes.c_int * 1024

@ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int),
                  ctypes.c_void_p)
def add(one, to, count, kind):
    time.sleep(5e-4)
    for i in range(count[0]):
        to[i] += one[i]

mpi.MPI_Init(None, None)
mpi.MPI_Op_create(add, 1, ctypes.byref(op))
one, all = Numbers(*range(1024)), Numbers()
for call in range(int(sys.argv[2])):
    mpi.MPI_Allreduce(one, all, 1024, number, op, world)
    assert list(all) == [int(sys.argv[3]) * i for i in range(1024)]
mpi.MPI_Finalize()
"""


@pytest.mark.parametrize("mpi", LIBRARIES, ids=[mpi.label.replace(" ", "-") for mpi in LIBRARIES])
def test_the_next_run_begins_with_what_this_one_learned(
    mpi: Mpi, cluster: Callable[..., ClusterSpec], tmp_path: Path
) -> None:
    """GIVEN a profile that chooses badly WHEN a run has moved away from it THEN the next one begins there, unless
    --adapt run keeps nothing.
    """
    rule = {"collective": "allreduce", "bytes": [1024, None], "use": BAD}
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"decisions": {"version": 1, "rules": [rule]}}))

    def run(calls: int, adapt: str) -> Any:
        summary = tmp_path / "summary.json"
        argv = [sys.executable, "-I", "-S", "-c", PROGRAM, mpi.family, str(calls), str(NODES)]
        env = {"ANTIPHON_SUMMARY": str(summary), "ANTIPHON_PROFILE": str(profile), "ANTIPHON_ADAPT": adapt}
        objects = [launch.preload_object(mpi.abi), mpi.libmpi]
        lab.mpirun(mpi, NODES, argv, env=env, preload=objects, timeout_s=60).check()
        rows = json.loads(summary.read_text())["collectives"]
        return {row["algorithm"]: row for row in rows if row["collective"] == "allreduce"}

    with Lab(cluster(nodes=NODES)) as lab:
        assert "library" in run(CALLS, "run,reductions")
        assert list(run(5, "keep,reductions")) == [BAD]
        assert "library" in run(CALLS, "keep,reductions")
        (found,) = [kept for entry in store.entries([lab.store]) for kept in entry.read_learned()]
        assert found.path.is_file()
        assert all(rule["stride"] == [1, 1] for rule in json.loads(found.path.read_text())["decisions"]["rules"])
        again = run(5, "keep,reductions")
        assert list(again) == ["library"]
        assert again["library"]["reason"].startswith("measured in an earlier run: ")
