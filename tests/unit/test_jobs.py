# SPDX-License-Identifier: Apache-2.0
"""Checks what batch systems' variables and files say about a job's hosts, and the launchers' command lines."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi, cores, jobs
from antiphon.placement import starting
from antiphon.placement.starting import Where, where

MPI = Mpi(
    family="mpich", abi="mpich", name="MPICH", version="5.0.2", vendor="", soname="libmpi.so.12",
    prefix=Path("/opt/mpich"), libmpi=Path("/opt/mpich/lib/libmpi.so.12"),
    launcher=Path("/opt/mpich/bin/mpiexec.hydra"),
)  # fmt: skip
OPEN_MPI = replace(MPI, family="openmpi", abi="openmpi", name="Open MPI", launcher=Path("/opt/ompi/bin/mpirun"))
ENV = {"LD_PRELOAD": "/a/lib.so", "ANTIPHON_FORCE": "bcast:chain:segment_bytes=4k,window=2"}


def stand_in(folder: Path, name: str, script: str) -> Path:
    """Makes a program of that name that does as the script says."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("variables", "text", "system", "hosts"), [
    ({"PBS_NODEFILE": "FILE"}, "n2\nn2\nn1\nn2\n", "PBS", (("n2", 3), ("n1", 1))),
    ({"LSB_DJOB_HOSTFILE": "FILE", "LSB_MCPU_HOSTS": "other 9"}, "a\nb\nb\n", "LSF", (("a", 1), ("b", 2))),
    ({"LSB_MCPU_HOSTS": "hostA 4 hostB 2"}, "", "LSF", (("hostA", 4), ("hostB", 2))),
    ({"LSB_HOSTS": "hostA hostA hostB"}, "", "LSF", (("hostA", 2), ("hostB", 1))),
    ({"PE_HOSTFILE": "FILE"}, "q1.site 4 all.q@q1 UNDEFINED\nq2 2 all.q@q2 <NULL>\n", "Grid Engine",
     (("q1.site", 4), ("q2", 2))),
    ({"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "cn[08-10],gpu1", "SLURM_TASKS_PER_NODE": "4(x2),1(x2)"}, "", "Slurm",
     (("cn08", 4), ("cn09", 4), ("cn10", 1), ("gpu1", 1))),
    ({"SLURM_JOB_ID": "1"}, "", "Slurm", ()),
])  # fmt: skip
def test_a_job_has_the_hosts_and_slots_that_its_batch_system_names(variables, text, system, hosts, tmp_path):
    (tmp_path / "file").write_text(text)
    env = {key: value.replace("FILE", str(tmp_path / "file")) for key, value in variables.items()}
    job = jobs.find(env | {"PATH": str(tmp_path)})
    assert (job.system, tuple(job.hosts)) == (system, hosts)


def test_flux_is_asked_and_jsrun_leaves_the_scripts_host_out(tmp_path):
    stand_in(tmp_path / "flux", "flux", "echo '2 5 f[1-2]'")
    job = jobs.find({"FLUX_URI": "local:///x", "SLURM_JOB_ID": "1", "PATH": str(tmp_path / "flux")})
    assert (job.system, tuple(job.hosts), job.launcher) == ("Flux", (("f1", 3), ("f2", 2)), "flux")
    stand_in(tmp_path / "lsf", "jsrun", "")
    job = jobs.find({"LSB_MCPU_HOSTS": "batch5 1 h1 42 h2 42", "PATH": str(tmp_path / "lsf")})
    assert (tuple(job.hosts), job.launcher) == ((("h1", 42), ("h2", 42)), "jsrun")


@pytest.mark.parametrize(("variables", "part"), [
    ({"PBS_NODEFILE": "/nowhere/file"}, "PBS_NODEFILE=/nowhere/file: No such file"),
    ({"PE_HOSTFILE": "FILE"}, "PE_HOSTFILE: 'many'"), ({"PBS_NODEFILE": "/dev/null"}, "names no host"),
    ({"FLUX_URI": "x"}, "no `flux` on the PATH"),
    ({"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "a[x-3]"}, "'x-3' is not a range"),
    ({"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "a", "SLURM_TASKS_PER_NODE": "?"}, "is not a list of counts"),
])  # fmt: skip
def test_a_job_that_cannot_be_read_is_an_error_with_a_way_out(variables, part, tmp_path):
    (tmp_path / "file").write_text("host many\n")
    env = {key: value.replace("FILE", str(tmp_path / "file")) for key, value in variables.items()}
    with pytest.raises(AntiphonError) as error:
        jobs.find(env | {"PATH": str(tmp_path)})
    assert part in error.value.message
    assert error.value.hint


@pytest.mark.parametrize("variables", [
    {"PBS_NODEFILE": "/nowhere", "PBS_ENVIRONMENT": "PBS_BATCH"}, {"PE_HOSTFILE": "/nowhere"}, {"FLUX_URI": "x"},
    {"LSB_DJOB_HOSTFILE": "/nowhere", "LSB_MCPU_HOSTS": "a 1", "LSB_HOSTS": "a", "LSF_BINDIR": "/lsf"},
], ids=lambda variables: next(iter(variables)))  # fmt: skip
def test_a_job_out_of_reach_leaves_ranks_on_this_machine(variables, tmp_path, capsys):
    """GIVEN a container with a job's variables alone THEN -n ranks start here without them, and one line says so."""
    env = {**variables, "PATH": str(tmp_path)}
    starting._warn_once.cache_clear()
    for launcher in (None, starting.OWN):
        here = where(None, launcher, n=2, env=env)
        assert (here.hosts(), here.describe()) == ((), "this machine")
        name, *more = variables
        command = here.start(MPI, 2, ["./prog"], {}).command
        assert command == ["/usr/bin/env", *(f"-u {name}".split()), *(word for name in more for word in ("-u", name)),
                           str(MPI.launcher), "-n", "2", "./prog"]  # fmt: skip
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "this machine" in said and f"unset {' '.join([name, *more])}" in said
    for launcher, n in ((None, None), ("flux", 2)):
        with pytest.raises(AntiphonError, match=name):
            where(None, launcher, n=n, env=env)


def test_every_launcher_gets_the_ranks_and_what_the_linker_reads():
    job = jobs.Job("PBS", (("n1", 2), ("n2", 2)))
    lines = {name: Where(None, job, name, ("--more",)).start(MPI, None, ["./prog"], ENV)
             for name in starting.SYSTEM_LAUNCHERS}  # fmt: skip
    preload = "LD_PRELOAD=/a/lib.so"
    assert lines["flux"].command == ["flux", "run", "-n", "4", f"--env={preload}", "--more", "./prog"]
    assert lines["jsrun"].command == ["jsrun", "-n", "4", "-a", "1", "-c", "1", "-E", preload, "--more", "./prog"]
    assert lines["aprun"].command == ["aprun", "-n", "4", "-e", preload, "--more", "./prog"]
    assert lines["srun"].command == ["srun", f"--export=ALL,{preload}", "--more", "./prog"]
    vouched = {"ANTIPHON_FORCE": ENV["ANTIPHON_FORCE"], "ANTIPHON_ALL_RANKS": "1"}
    assert [line.env for line in lines.values()] == [vouched] * len(starting.SYSTEM_LAUNCHERS)


@pytest.mark.parametrize(("launcher", "options"), [
    ("flux", ["run", "-N", "2", "--tasks-per-node=1"]),
    ("jsrun", ["-n", "2", "-r", "1", "-a", "1", "-c", "1"]),
    ("aprun", ["-n", "2", "-N", "1"]),
    ("srun", ["-n", "2", "--export=ALL", "--nodes=2", "--nodelist=n1,n2"]),
])  # fmt: skip
def test_every_launcher_starts_one_rank_on_each_node(launcher, options, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    each = Where(None, jobs.Job("LSF", (("n1", 42), ("n2", 42))), launcher).one_each(["n1", "n2"])
    assert each.start(MPI, 2, ["./prog"], {}).command == [launcher, *options, "./prog"]


def test_the_library_of_a_job_gets_its_hosts(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = Where(None, jobs.Job("PBS", (("n1", 2), ("n2", 1)))).start(MPI, None, ["./prog"], {}).command
    assert command[1:] == ["-n", "3", "-hosts", "n1:2,n2:1", "./prog"]


def test_the_launcher_is_the_options_else_the_jobs(tmp_path, monkeypatch):
    slurm = {"SLURM_JOB_ID": "1"}
    assert where(None, None, env=slurm).launcher == "srun"
    assert where(None, None, n=2, env=slurm).launcher == starting.OWN
    assert where(None, "srun", n=2, env=slurm).launcher == "srun"
    assert where(Path("hosts"), None, env=slurm).launcher == starting.OWN
    assert where(None, None, env={}) == Where()
    with pytest.raises(AntiphonError, match="--launcher nosuch"):
        where(None, "nosuch", env={})
    other = stand_in(tmp_path, "launch", "echo")
    start = Where(launcher=str(other)).start(MPI, 3, ["./prog"], {"A": "1"})
    assert start.command == [str(other), "-n", "3", "/usr/bin/env", "A=1", "ANTIPHON_ALL_RANKS=1", "./prog"]


def test_a_hostfile_is_for_the_launchers_that_can_take_it(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("n1 slots=2\nn2 slots=2\n")
    srun = Where(hosts, launcher="srun")
    nodes = ["--export=ALL", "--nodes=2", "--nodelist=n1,n2", "./prog"]
    assert srun.start(MPI, None, ["./prog"], {}).command == ["srun", "-n", "4", *nodes]
    assert srun.start(MPI, 3, ["./prog"], {}).command == ["srun", "-n", "3", *nodes]
    one = ["srun", "-n", "1", "--export=ALL", "--nodes=1", "--nodelist=n1", "./prog"]
    assert srun.start(MPI, 1, ["./prog"], {}).command == one
    other = stand_in(tmp_path, "launch", "echo")
    for name in ("flux", "jsrun", "aprun", str(other)):
        with pytest.raises(AntiphonError, match="cannot be told the nodes of a file") as error:
            Where(hosts, launcher=name).start(MPI, 4, ["./prog"], {})
        assert "--launcher-args" in error.value.hint


@pytest.mark.parametrize(("n", "order"), [(None, "n1 n1 n2"), (2, "n1 n1"), (5, "n1 n1 n2 n1 n1")])
def test_srun_fills_hosts_of_different_slots(n, order, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    hosts = tmp_path / "hosts"
    hosts.write_text("n1 slots=2\nn2\n")
    start = Where(hosts, launcher="srun", launcher_args=("--more",)).start(MPI, n, ["./prog"], {})
    nodes = Path(start.env["SLURM_HOSTFILE"]).read_text().split()
    assert nodes == order.split()
    options = ["--export=ALL", "--distribution=arbitrary", "--more"]
    assert start.command == ["srun", "-n", str(len(nodes)), *options, "./prog"]


@pytest.mark.parametrize(("mpi", "name", "text"), [
    (OPEN_MPI, "OMPI_MCA_orte_default_hostfile", "w0.job.svc slots=2\nw1.job.svc slots=2\n"),
    (OPEN_MPI, "PRTE_MCA_prte_default_hostfile", "w0 slots=2\nw1 slots=2\n"),
    (MPI, "HYDRA_HOST_FILE", "w0:2\nw1:2\n"), (MPI, "I_MPI_HYDRA_HOST_FILE", "w0:2\nw1:2\n"),
])  # fmt: skip
def test_the_hosts_are_those_that_a_variable_names_for_the_librarys_launcher(mpi, name, text, tmp_path):
    """GIVEN the variable of the library's family THEN its file counts, unless a hostfile or a job says otherwise."""
    hosts = tmp_path / "hosts"
    hosts.write_text(text)
    env = {name: str(hosts)}
    here = where(None, None, env=env, mpi=mpi)
    assert here == where(None, None, env=env) == Where(hosts)
    assert here.ranks() == 4 and not here.is_crowded(64)
    assert str(hosts) in here.start(mpi, 64, ["./prog"], {}).command
    assert where(None, None, env=env, mpi=MPI if mpi is OPEN_MPI else OPEN_MPI) == Where()
    for launcher, family in (("orterun", "openmpi"), ("mpiexec.hydra", "mpich"), ("launch", "")):
        path = str(stand_in(tmp_path / "bin", launcher, ""))
        assert where(None, path, env=env, mpi=mpi).hostfile == (hosts if family == mpi.family else None)
    assert where(None, "flux", env=env, mpi=mpi).hostfile is None
    assert where(Path("mine"), None, env=env, mpi=mpi).hostfile == Path("mine")
    assert where(None, None, env=env | {"SLURM_JOB_ID": "1"}, mpi=mpi).hostfile is None
    assert where(None, None, env={name: "none"}, mpi=mpi) == Where()
    with pytest.raises(AntiphonError, match=f"{name}=/nowhere"):
        where(None, None, env={name: "/nowhere"}, mpi=mpi)


@pytest.mark.parametrize(("text", "n", "slots"), [
    ("n1\nn2\nn3\nn4\n", None, "n1 1 n2 1 n3 1 n4 1"),
    ("n1\nn2\nn3\nn4\n", 3, "n1 1 n2 1 n3 1 n4 1"),
    ("n1\nn2\nn3\nn4\n", 64, "n1 16 n2 16 n3 16 n4 16"),
    ("n1\nn2\nn3\nn4\n", 7, "n1 2 n2 2 n3 2 n4 1"),
    ("n1 slots=4\nn2\nn3\n", 12, "n1 4 n2 4 n3 4"),
    ("n1:4\nn2\n", None, "n1 4 n2 1"),
    ("n1\nn2\nn1\n", 8, "n1 2 n2 6"),
])  # fmt: skip
def test_open_mpi_spreads_ranks_over_hosts_without_numbers(text, n, slots, tmp_path, monkeypatch):
    """GIVEN hosts without a number of slots THEN Open MPI gets the numbers: it would take all cores of the first."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    hosts = tmp_path / "hosts"
    hosts.write_text(text)
    command = Where(hosts).start(OPEN_MPI, n, ["./prog"], {}).command
    told = Path(command[command.index("--hostfile") + 1]).read_text()
    assert told.replace(" slots=", " ").split() == slots.split()
    assert ("-n" in command) == (n is not None)


@pytest.mark.parametrize(("mpi", "text"), [(OPEN_MPI, "n1 slots=2 max-slots=4\nn2 slots=1\n"), (OPEN_MPI, "n1\n" * 3),
                                           (MPI, "n1\nn2\n")])  # fmt: skip
def test_launchers_read_the_hostfile_itself_where_they_count_alike(mpi, text, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text(text)
    assert str(hosts) in Where(hosts).start(mpi, 64, ["./prog"], {}).command


@pytest.fixture
def two_cores(tmp_path, monkeypatch):
    """Makes a machine of two cores with two hardware threads each: CPUs 0 and 2, and 1 and 3."""
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings + "\n")
    monkeypatch.setattr(cores, "SYSFS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})


@pytest.mark.parametrize(("cpus", "count"), [({0, 1, 2, 3}, 2), ({0, 2}, 1), ({3}, 1), ({1, 3, 4, 5}, 3)])
def test_hardware_threads_of_a_core_count_once(cpus, count, two_cores, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cpus)
    assert cores.count() == count


def test_a_rank_for_each_core_and_more_share_them(two_cores, monkeypatch):
    """GIVEN cores with two hardware threads each THEN Open MPI, which counts cores, is to take more ranks."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    lines = {n: Where().start(OPEN_MPI, n, ["./prog"], {}).command[1:-1] for n in (None, 2, 3, 4)}
    assert lines == {None: ["-n", "2"], 2: ["-n", "2"], 3: ["--oversubscribe", "-n", "3"],
                     4: ["--oversubscribe", "-n", "4"]}  # fmt: skip
    assert not Where().is_crowded(4)
    assert Where().is_crowded(5)


def test_what_hangs_is_said(tmp_path, monkeypatch):
    """GIVEN Flux without an answer, and an LSF job of no hosts THEN the job is the error."""
    stand_in(tmp_path / "flux", "flux", "exec sleep 60")
    monkeypatch.setattr(jobs, "TIMEOUT_S", 0.2)
    with pytest.raises(AntiphonError, match=r"does not tell the job's nodes: no answer in 0\.2 s"):
        jobs.find({"FLUX_URI": "x", "PATH": f"{tmp_path / 'flux'}:{os.environ['PATH']}"})
    stand_in(tmp_path / "lsf", "jsrun", "")
    with pytest.raises(AntiphonError, match="the LSF job names no host"):
        jobs.find({"LSB_HOSTS": " ", "PATH": str(tmp_path / "lsf")})
