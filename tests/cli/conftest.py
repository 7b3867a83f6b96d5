# SPDX-License-Identifier: Apache-2.0
"""Compiles MPI programs with each MPI of this machine, and a preload object that only reports that it was loaded."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.mpi import ABIS, Mpi, discover

TIMEOUT_S = 60

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Sums the ranks; then prints the variables named on the command line, or ends with `exit CODE`. */
int main(int argc, char **argv) {
  int rank, size, one = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("ranks %d sum %d\n", size, sum);
  if (argc == 3 && strcmp(argv[1], "exit") == 0) { MPI_Finalize(); return atoi(argv[2]); }
  for (int i = 1; i < argc; i++) {
    const char *value = getenv(argv[i]);
    printf("%d %s=%s\n", rank, argv[i], value ? value : "(unset)");
  }
  MPI_Finalize();
  return 0;
}
"""

#: Handles differ between ABIs, but all are passed in a register, so one source serves all, without <mpi.h>. mpi4py
#: calls the large-count form where it finds one, so the form that Open MPI 4 and 5 lack must not exist here either.
OBJECT = r"""
#include <stdio.h>
#include <stdint.h>
#define INTERCEPT(NAME, COUNT) \
  extern int P##NAME(const void *, void *, COUNT, uintptr_t, uintptr_t, uintptr_t) __attribute__((weak)); \
  int NAME(const void *in, void *out, COUNT count, uintptr_t type, uintptr_t op, uintptr_t comm) { \
    fprintf(stderr, "intercepted\n"); \
    return P##NAME(in, out, count, type, op, comm); \
  }
INTERCEPT(MPI_Allreduce, int)
#ifdef LARGE_COUNTS
INTERCEPT(MPI_Allreduce_c, intptr_t)
#endif
"""


def mpi_id(mpi: Mpi) -> str:
    """Makes test names readable."""
    return f"{mpi.abi}-{mpi.version}"


MPIS = discover()


@pytest.fixture(params=MPIS, ids=mpi_id)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Provides each MPI library of this machine."""
    return request.param


@pytest.fixture(params=list({mpi.family: mpi for mpi in reversed(MPIS)}.values()), ids=mpi_id)
def native(request: pytest.FixtureRequest) -> Mpi:
    """Provides one library of each family, for what differs between launchers alone."""
    return request.param


@pytest.fixture(scope="session")
def compiled(made_once: Callable[..., Path]) -> Callable[[Mpi], Path]:
    """Compiles PROGRAM with the wrapper of an MPI, once each."""

    def compile_with(mpi: Mpi) -> Path:
        def fill(folder: Path) -> None:
            names = ["mpicc_abi"] if mpi.abi == "mpiabi" else [f"mpicc.{mpi.family}", "mpicc"]
            wrapper = next((mpi.prefix / "bin" / name for name in names if (mpi.prefix / "bin" / name).exists()), None)
            if wrapper is None:
                pytest.skip(f"{mpi.label} has no mpicc (its development package is not installed)")
            (folder / "program.c").write_text(PROGRAM)
            subprocess.run([wrapper, folder / "program.c", "-o", folder / "program"], check=True, timeout=TIMEOUT_S)

        return made_once(f"cli-{mpi_id(mpi)}-{MPIS.index(mpi)}", fill) / "program"

    return compile_with


@pytest.fixture
def program(mpi: Mpi, compiled: Callable[[Mpi], Path]) -> Path:
    """Provides a program linked to `mpi`."""
    return compiled(mpi)


@pytest.fixture
def native_program(native: Mpi, compiled: Callable[[Mpi], Path]) -> Path:
    """Provides a program linked to `native`."""
    return compiled(native)


@pytest.fixture
def any_program(compiled: Callable[[Mpi], Path]) -> Path:
    """Provides a program linked to one library, where each other one would do as well."""
    return compiled(MPIS[0])


@pytest.fixture(scope="session")
def objects(made_once: Callable[..., Path]) -> Path:
    """Makes a directory with a preload object for each ABI."""

    def fill(folder: Path) -> None:
        (folder / "object.c").write_text(OBJECT)
        for abi in ABIS:
            large = [] if abi == "openmpi" else ["-DLARGE_COUNTS"]
            target = folder / f"libantiphon-{abi}.so"
            command = ["cc", "-shared", "-fPIC", *large, folder / "object.c", "-o", target]
            subprocess.run(command, check=True, timeout=TIMEOUT_S)

    return made_once("cli-objects", fill)


Antiphon = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def antiphon(objects: Path, tmp_path: Path) -> Antiphon:
    """Runs the command line in a process of its own, with the preload objects of `objects`."""

    def run(*args: object, **variables: str | None) -> subprocess.CompletedProcess[str]:
        hidden = ("LD_PRELOAD", "SLURM_JOB_ID", "FLUX_URI", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS",
                  "PE_HOSTFILE")  # fmt: skip
        env = {key: value for key, value in os.environ.items() if key not in hidden and not key.startswith("ANTIPHON")}
        env |= {"ANTIPHON_LIB_DIR": str(objects), "NO_COLOR": "1"}
        env |= {key: value for key, value in variables.items() if value is not None}
        command = [sys.executable, "-m", "antiphon", *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False, cwd=tmp_path)

    return run


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_here: Antiphon) -> Antiphon:
    """Runs the command line in this process, in a folder of the test's own."""
    for name in list(os.environ):
        if name.startswith(("ANTIPHON", "SLURM")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return run_here


@pytest.fixture(scope="session")
def run_here() -> Antiphon:
    """Runs the command line in this process: none is started, and nothing is imported again."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = cli.main([str(word) for word in words])
            except SystemExit as ended:
                code = int(ended.code or 0)
            texts = []
            for stream in (out, err):
                stream.flush()
                texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return subprocess.CompletedProcess(words, code, *texts)

    return run


@pytest.fixture
def checked(command: Antiphon) -> Antiphon:
    """Runs the command line in this process. It succeeds unless it is to fail."""

    def run(*args: object, fails: bool = False) -> subprocess.CompletedProcess[str]:
        done = command(*args)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done

    return run
