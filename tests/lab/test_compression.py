# SPDX-License-Identifier: Apache-2.0
"""Checks compression between nodes: it is used where it pays, and not where it does not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from antiphon.lab import Lab, load_cluster
from antiphon.mpi import discover, launch

pytestmark = pytest.mark.measures

CALLS = 40
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { block = 4096, most = 8 };
static double from[most * block], to[most * block];
int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned long long noise = 1;
  for (int call = 0; call < CALLS; ++call) {
    for (int i = 0; i < size * block; ++i) {
      noise = noise * 6364136223846793005ull + 1442695040888963407ull;
      memcpy(&from[i], &noise, sizeof noise);
      if (argc > 1) from[i] = 1 + 1e-3 * (i % block) + call;
    }
    memset(to, 0, sizeof to);
    MPI_Alltoall(from, block, MPI_DOUBLE, to, block, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) wrong |= memcmp(to + r * block, from + rank * block, sizeof *to * block) != 0;
    if (call % 8 == 7) {  /* and a message: to the other rank */
      MPI_Sendrecv(from, block, MPI_DOUBLE, 1 - rank, 1, to, block, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      wrong |= memcmp(to, from, sizeof *to * block) != 0;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf(wrong ? "wrong\n" : "verified\n");
  MPI_Finalize();
  return 0;
}
"""
WHEELS = [
    mpi for mpi in discover() if mpi.launcher is not None and ".venv" in str(mpi.libmpi) and mpi.abi == mpi.family
]


def compiled(mpi: Any, folder: Path) -> Path:
    """Returns the program, made in this folder."""
    source, made = folder / "program.c", folder / "program"
    source.write_text(PROGRAM, encoding="ascii")
    compiler = mpi.launcher.parent / "mpicc"
    subprocess.run([compiler, f"-DCALLS={CALLS}", "-O1", "-o", made, source], check=True)
    return made


def summary(lab: Lab, mpi: Any, made: Path, *words: str) -> dict[str, Any]:
    """Runs the program with compression on and returns what the preload object says it did."""
    written = made.with_name("summary.json")
    result = lab.mpirun(
        mpi,
        2,
        [made, *words],
        env={"ANTIPHON_COMPRESS": "on", "ANTIPHON_SUMMARY": str(written), "ANTIPHON_FORCE": "alltoall:on"},
        preload=[launch.preload_object(mpi.abi)],
        timeout_s=60,
    )
    assert result.check().stdout.split() == ["verified"]
    return json.loads(written.read_text(encoding="utf-8"))


def encoded_calls(written: dict[str, Any]) -> int:
    """Returns, of the Alltoall calls, those with encoded blocks."""
    rows = [row for row in written["collectives"] if row["collective"] == "alltoall"]
    return sum(row["calls"] for row in rows if "encode=" in row["algorithm"])


@pytest.mark.parametrize("mpi", WHEELS, ids=lambda mpi: mpi.family)
def test_where_it_pays(mpi: Any, tmp_path: Path) -> None:
    """GIVEN smooth data THEN all calls are encoded; GIVEN noise THEN a few are, to see whether it still is."""
    program = compiled(mpi, tmp_path)
    with Lab(load_cluster("ethernet-16").with_options(nodes=2)) as lab:
        smooth = summary(lab, mpi, program, "smooth")
        noise = summary(lab, mpi, program)
    assert encoded_calls(smooth) == CALLS
    # Calls 2, 8 and 32 are judged. The call before each is encoded, too, so that plans and memory are warm.
    assert encoded_calls(noise) == 6
    assert next(row for row in smooth["compression"] if row["class"] == "between nodes")["rate"] > 1.3
    assert next(row for row in noise["compression"] if row["class"] == "between nodes")["encoded"] == 0
