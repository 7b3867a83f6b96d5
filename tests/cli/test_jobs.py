# SPDX-License-Identifier: Apache-2.0
"""Runs commands inside jobs of batch systems: with the systems' files, and launchers that really start ranks here."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from antiphon.mpi import launch

#: This machine may have fewer cores than a job has ranks.
ANYWHERE = ("--launcher-args", "--bind-to none")
#: Notes its command line, takes its own options away and starts the ranks by the library's launcher.
LAUNCHER = """#!/bin/sh
printf '%s ' "$(basename "$0")" "$@" >> "$LAUNCHED"; echo >> "$LAUNCHED"
[ "$1" = resource ] && { echo "1 3 $(hostname)"; exit; }
[ "$1" = run ] && shift
n=3
while :; do case "$1" in
  -n) n="$2"; shift 2;;
  --export=*) IFS=,; for item in ${1#--export=ALL,}; do export "$item"; done; unset IFS; shift;;
  --env=*) export "${1#--env=}"; shift;;
  -E|-e) export "$2"; shift 2;;
  -a|-c) shift 2;;
  *) break;;
esac; done
exec "$REAL" -n "$n" "$@"
"""


def three_slots(mpi, folder):
    """Writes a node file of PBS with more slots than cores."""
    if mpi.family == "openmpi" and not shutil.which("ssh"):
        pytest.skip("without ssh, Open MPI's launcher takes no slots from a hostfile")
    nodes = folder / "nodes"
    nodes.write_text(f"{socket.gethostname()}\n" * 3)
    return nodes


def test_a_run_in_a_job_has_its_slots(mpi, program, antiphon, tmp_path):
    """GIVEN a node file of PBS with more slots than cores THEN as many ranks start, on its hosts."""
    nodes = three_slots(mpi, tmp_path)
    result = antiphon("run", *ANYWHERE, program, PBS_NODEFILE=str(nodes))
    assert result.stdout == "ranks 3 sum 3\n", result.stderr


def test_ranks_asked_for_count_more_than_slots(native, native_program, antiphon, tmp_path):
    """GIVEN -n THEN so many ranks start, also inside a job whose node file is on another node alone."""
    nodes = three_slots(native, tmp_path)
    asked = antiphon("run", "-n", 2, *ANYWHERE, native_program, PBS_NODEFILE=str(nodes))
    assert asked.stdout == "ranks 2 sum 2\n", asked.stderr
    lost = antiphon("run", native_program, PBS_NODEFILE="/nowhere")
    assert lost.returncode == 2
    assert "PBS_NODEFILE=/nowhere" in lost.stderr
    job = {"PBS_NODEFILE": "/nowhere", "PBS_JOBID": "1", "PBS_ENVIRONMENT": "PBS_BATCH"}
    inside = antiphon("run", "-n", 2, *ANYWHERE, native_program, "PBS_JOBID", **job)
    assert {"ranks 2 sum 2", "0 PBS_JOBID=1"} <= set(inside.stdout.splitlines()), inside.stderr


@pytest.fixture
def launchers(native, tmp_path):
    """Makes stand-ins for the launchers of batch systems, and the variables that they need."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("srun", "flux", "jsrun", "aprun"):
        (folder / name).write_text(LAUNCHER)
        (folder / name).chmod(0o755)
    real = tmp_path / "real"
    options = "--oversubscribe --allow-run-as-root" if native.family == "openmpi" else ""
    real.write_text(f'#!/bin/sh\nexec {native.launcher} {options} "$@"\n')
    real.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "REAL": str(real), "LAUNCHED": str(tmp_path / "launched")}


def test_launchers_of_batch_systems_start_the_ranks(native_program, antiphon, launchers, tmp_path):
    for name, job in (("srun", {"SLURM_JOB_ID": "1"}), ("flux", {"FLUX_URI": "x"}),
                      ("jsrun", {"LSB_MCPU_HOSTS": "batch 1 a 3"})):  # fmt: skip
        result = antiphon("run", native_program, **launchers, **job)
        assert result.stdout == "ranks 3 sum 3\n", result.stderr
        assert result.stderr.count("intercepted") == 3, name
    assert antiphon("run", "--launcher", "aprun", "-n", 2, native_program, **launchers).stdout == "ranks 2 sum 2\n"
    started = [line.split()[0] for line in Path(launchers["LAUNCHED"]).read_text().splitlines()]
    assert started == ["srun", "flux", "flux", "jsrun", "aprun"]


@pytest.mark.parametrize("launcher", ["flux", "aprun", "foreign"])
def test_ranks_that_cannot_ask_about_each_other_are_vouched_for(launcher, native, native_program, antiphon, launchers):
    """GIVEN a launcher without PMIx that is not Hydra THEN the ranks take part: all have what `antiphon run` gives."""
    if native.abi != "mpich":
        pytest.skip("only Hydra's ranks are told apart so")
    launched = Path(launchers["LAUNCHED"])
    shutil.copy(launched.parent / "bin/flux", launched.parent / "bin/foreign")
    # The stand-in gives `-n N` first; without this variable the ranks do not take the launcher for Hydra.
    start = f'n="$2"; shift 2\nexec {native.launcher} -n "$n" env -u MPI_LOCALNRANKS "$@"'
    Path(launchers["REAL"]).write_text(f"#!/bin/sh\n{start}\n")
    variables = {**launchers, "ANTIPHON_LIB_DIR": str(launch.lib_dir())}
    result = antiphon("run", "--launcher", launcher, "-n", 2, "--summary", native_program, **variables)
    assert result.stdout == "ranks 2 sum 2\n", result.stderr
    assert "cannot find out" not in result.stderr
    assert launched.read_text().startswith(launcher)


def test_measuring_commands_take_the_jobs_ranks_and_launcher(native, antiphon, launchers):
    """`bench` and `probe` share the way that `tune` and `traffic --verify` take."""
    variables = {**launchers, "ANTIPHON_LIB_DIR": str(launch.lib_dir()), "SLURM_JOB_ID": "1",
                 "SLURM_JOB_NODELIST": socket.gethostname(), "SLURM_TASKS_PER_NODE": "3"}  # fmt: skip
    result = antiphon(
        "bench", "bcast", "--bytes", "8", "--mpi", native.prefix, "--budget", "1", "--json", "-", **variables
    )
    assert result.returncode == 0, result.stderr
    assert {row["ranks"] for row in json.loads(result.stdout)["results"]} == {3}
    started = Path(launchers["LAUNCHED"]).read_text()
    assert "srun -n 3" in started
