# SPDX-License-Identifier: Apache-2.0
"""Runs MPI programs on labs, under every MPI of this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from antiphon.errors import AntiphonError
from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import Mpi, discover

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, size, sum = 0;
  char host[64];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  gethostname(host, sizeof host);
  const char* link = getenv("ANTIPHON_LINK_BITS_PER_S");
  printf("rank %d of %d on %s sum %d link %s\n", rank, size, host, sum, link ? link : "none");
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  const int barriers = argc > 2 ? atoi(argv[2]) : 0;
  for (int i = 0; i < barriers; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("barrier_ms %.3f\n", (MPI_Wtime() - start) * 1e3 / (barriers + 1));
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""

LIBRARIES = [mpi for mpi in discover() if mpi.launcher is not None and mpi.abi == mpi.family]
IDS = [mpi.label.replace(" ", "-") for mpi in LIBRARIES]


def compiler(mpi: Mpi) -> str | None:
    """Returns the compiler wrapper beside the launcher: mpirun.openmpi has mpicc.openmpi, mpiexec.hydra has mpicc."""
    folder, suffix = mpi.launcher.parent, mpi.launcher.suffix
    names = [f"mpicc{suffix}", f"mpicc.{mpi.family}", "mpicc"]
    return next((path for name in names if (path := shutil.which(name, path=str(folder)))), None)


@pytest.fixture(params=LIBRARIES, ids=IDS, scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Mpi, Path]:
    """Provides an MPI and the test program compiled for it."""
    mpi: Mpi = request.param
    mpicc = compiler(mpi)
    if mpicc is None:
        pytest.skip(f"{mpi.label} has no mpicc beside {mpi.launcher}")
    folder = tmp_path_factory.mktemp(mpi.family)
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run([mpicc, "-o", folder / "program", folder / "program.c"], check=True, timeout=60)
    return mpi, folder / "program"


def usable(mpi: Mpi) -> bool:
    """MPICH 4.0 polls without giving way, and over UCX's TCP three ranks may wait for ever in its MPI_Finalize."""
    return not (mpi.name == "MPICH" and mpi.version.startswith("4.0"))


@pytest.mark.measures
def test_one_rank_on_each_node(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path]) -> None:
    mpi, program = built
    nodes = 16 if usable(mpi) else 2
    total = nodes * (nodes - 1) // 2
    with Lab(cluster(nodes=nodes)) as lab:
        result = lab.mpirun(mpi, nodes, [program, "0", "200" if usable(mpi) else "2"], timeout_s=60).check()
        pattern = rf"rank (\d+) of {nodes} on (\S+) sum {total} link 100000000"
        found = {int(rank): host for rank, host in re.findall(pattern, result.stdout)}
        assert found == {rank: lab.spec.node_name(rank + 1) for rank in range(nodes)}
        assert result.transport
        barrier_ms = float(re.search(r"barrier_ms (\S+)", result.stdout)[1])
        # It takes 10 ms and more without short turns, and below 1 ms where nothing else runs, which a test cannot rely
        # on.
        if lab.record()["mode"] == "root" and usable(mpi):
            assert barrier_ms < 5


def test_exit_code_and_placement(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path]) -> None:
    mpi, program = built
    if not usable(mpi):
        pytest.skip("more than two ranks may hang in this MPI")
    with Lab(cluster(nodes=2, ranks_per_node=2)) as lab:
        by_slot = lab.mpirun(mpi, None, [program, "9"], timeout_s=60, map_by="slot")
        assert by_slot.exit_code == 9
        by_node = lab.mpirun(mpi, 4, [program], timeout_s=60).check()
    for result, hosts in ((by_slot, "1122"), (by_node, "1212")):
        found = dict(re.findall(r"rank (\d) of 4 on node0(\d)", result.stdout))
        assert "".join(found[str(rank)] for rank in range(4)) == hosts


def test_preloaded_objects_reach_ranks_only(lab: Lab, built: tuple[Mpi, Path], tmp_path: Path) -> None:
    mpi, _ = built
    script = (
        'echo "rank preload=$LD_PRELOAD setting=$SETTING";'
        "for p in /proc/[0-9]*; do"
        " tr '\\0' '\\n' <$p/environ 2>/dev/null | grep -q ^LD_PRELOAD= && cat $p/comm; done; true"
    )
    library = Path("/lib/x86_64-linux-gnu/libm.so.6").resolve()
    if not library.exists():
        pytest.skip("no library to preload")
    result = lab.mpirun(
        mpi, 2, ["/bin/sh", "-c", script], env={"SETTING": "a;b,c:d=e f"}, preload=[library], timeout_s=30
    ).check()
    assert result.stdout.count(f"rank preload={library} setting=a;b,c:d=e f") == 2
    others = {line for line in result.stdout.splitlines() if not line.startswith("rank ")}
    assert others <= {"sh", "grep", "tr", "cat"}  # These are the script and what it starts, but no launcher or daemon.


def test_a_run_that_fails_leaves_nothing_on_any_node(lab: Lab, built: tuple[Mpi, Path], programs: ModuleType) -> None:
    """GIVEN a transport that there is not, or a run that takes too long THEN it ends, with all that it started."""
    mpi, _ = built
    with pytest.raises(AntiphonError, match="no transport 'pigeon'"):
        lab.mpirun(mpi, 2, ["sleep", "60"], transport="pigeon")
    result = lab.mpirun(mpi, 2, ["sleep", "60"], timeout_s=1.5)
    assert (result.timed_out, result.exit_code) == (True, 124)
    for node in (1, 2):
        assert sorted(programs.running(lab, node)) == [f"lab-node0{node}", "sh"]
