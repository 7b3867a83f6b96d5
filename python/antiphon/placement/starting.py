# SPDX-License-Identifier: Apache-2.0
"""Where ranks run and what starts them: as the options say, else as the batch job says, else on this machine."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from antiphon import output
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi, cores, jobs, launch, launcher_family
from antiphon.mpi.hosts import Hosts
from antiphon.mpi.launch import Launch
from antiphon.placement import launching
from antiphon.placement.launchers import slurm

#: Launchers that belong to no MPI library.
SYSTEM_LAUNCHERS = ("srun", "flux", "jsrun", "aprun")
#: The launcher of the program's own MPI library.
OWN = "mpi"
#: How launchers that are told no nodes start so many ranks, or one on each of so many nodes, with a variable.
_RANKS = {"flux": "flux run -n {}", "jsrun": "jsrun -n {} -a 1 -c 1", "aprun": "aprun -n {}"}
_EACH = {
    "flux": "flux run -N {} --tasks-per-node=1",
    "jsrun": "jsrun -n {} -r 1 -a 1 -c 1",
    "aprun": "aprun -n {} -N 1",
}
_VARIABLE = {"flux": "--env={}", "jsrun": "-E {}", "aprun": "-e {}"}
#: By these, users, administrators and Kubernetes' MPI operator name the hosts for a family's launchers.
_DEFAULT_HOSTFILE = {
    "openmpi": ("PRTE_MCA_prte_default_hostfile", "OMPI_MCA_orte_default_hostfile"),
    "mpich": ("HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"),
}
HELP = "what starts the ranks: mpi (the library's own), srun, flux, jsrun, aprun, or the name or path of an mpirun "\
       "(default: as the batch job has it, else mpi)"  # fmt: skip


@dataclass(frozen=True)
class Where:
    """The hosts of a run and its launcher; without hosts, this machine."""

    hostfile: Path | None = None
    job: jobs.Job | None = None
    launcher: str = OWN
    launcher_args: Sequence[str] = ()
    #: One rank on each node of the job, by a launcher that is told no nodes.
    spread: bool = False
    #: The variables of a job that is out of reach. MPI's launchers would end because they cannot read its files.
    unset: Sequence[str] = ()

    def describe(self) -> str:
        """A few words for a table's title."""
        if self.hostfile:
            return f"hosts of {self.hostfile}"
        return f"{self.job.system} job of {len(self.job.hosts)} hosts" if self.job else "this machine"

    def hosts(self) -> Hosts:
        """The hosts and their slots; none for this machine."""
        if self.hostfile:
            return launch.read_hostfile(self.hostfile)
        return self.job.hosts if self.job else ()

    def ranks(self) -> int:
        """The number of ranks where the user gives none."""
        return sum(slots for _, slots in self.hosts()) or cores.count()

    def is_told_nodes(self) -> bool:
        """True where the launcher can be told which nodes to use."""
        return self.launcher not in SYSTEM_LAUNCHERS or self.launcher == "srun"

    def library(self, mpi: Mpi) -> Mpi | None:
        """The library with the mpirun that starts its ranks; None where they are started by something else."""
        if self.launcher == OWN:
            return mpi
        path = None if self.launcher in SYSTEM_LAUNCHERS else shutil.which(self.launcher)
        if path is None or launcher_family(Path(path)) != mpi.family:
            return None
        return replace(mpi, launcher=Path(path))

    def is_told_ranks(self, mpi: Mpi) -> bool:
        """True where the launcher can be told which node each rank goes to."""
        return self.launcher == "srun" or self.library(mpi) is not None

    def one_each(self, hosts: Sequence[str]) -> Where:
        """With one rank on each of these hosts, which are all of the job's where the launcher is told none."""
        if not self.is_told_nodes():
            return replace(self, spread=True)
        return self.on([(host, 1) for host in hosts])

    def on(self, hosts: Hosts) -> Where:
        """With these hosts and slots, by a launcher that can be told them."""
        hostfile = launching.keep("".join(f"{host} slots={slots}\n" for host, slots in hosts))
        return replace(self, hostfile=hostfile, job=None)

    def is_crowded(self, n: int | None) -> bool:
        """True for more ranks on this machine than it runs at once."""
        return self.is_here() and (n or 0) > len(os.sched_getaffinity(0))

    def is_here(self) -> bool:
        """True where all ranks run on this machine."""
        return self.hostfile is None and self.job is None and self.launcher == OWN

    def start(self, mpi: Mpi, n: int | None, argv: Sequence[str], env: Mapping[str, str]) -> Launch:
        """The command line that starts `argv` on `n` ranks, with `env` set for the ranks."""
        if self.unset:
            return self.outside(replace(self, unset=()).start(mpi, n, argv, env))
        if self.launcher == "srun":
            return self._by_srun(n, argv, env)
        if self.launcher in SYSTEM_LAUNCHERS:
            return self._by_system(n, argv, env)
        if self.launcher != OWN:
            return self._by_path(mpi, n or self.ranks(), argv, env)
        return self._by_library(mpi, n, argv, env)

    def outside(self, start: Launch) -> Launch:
        """The same start, hidden from a job that is out of reach."""
        without = [word for name in self.unset for word in ("-u", name)]
        return replace(start, command=["/usr/bin/env", *without, *start.command]) if without else start

    def _by_library(self, mpi: Mpi, n: int | None, argv: Sequence[str], env: Mapping[str, str]) -> Launch:
        n = n or (None if self.hostfile else self.ranks())
        shared, as_root = self.is_here() and (n or 0) > cores.count(), os.geteuid() == 0
        return Launch(launch.launch_command(mpi, n, argv, env, self._file_for(mpi, n), self.launcher_args,
                                            oversubscribe=shared, as_root=as_root))  # fmt: skip

    def _file_for(self, mpi: Mpi, n: int | None) -> Path | None:
        """The hostfile for the library's launcher. Open MPI would take every core of hosts without a number."""
        hosts = self.hosts()
        if self.hostfile is not None:
            hosts = launch.with_slots(self.hostfile, n) if mpi.family == "openmpi" else ()
        return launching.keep("".join(f"{host} slots={slots}\n" for host, slots in hosts)) if hosts else self.hostfile

    def _by_path(self, mpi: Mpi, n: int, argv: Sequence[str], env: Mapping[str, str]) -> Launch:
        """An mpirun of the library's family takes its options; of another one only -n is known."""
        path = shutil.which(self.launcher)
        if path is None:
            raise _no_launcher(self.launcher)
        own = self.library(mpi)
        if own is not None:
            return replace(self, launcher=OWN).start(own, n, argv, env)
        self._refuse_hostfile()
        return Launch([path, "-n", str(n), *self.launcher_args, *_under_env(env), *argv])

    def _by_system(self, n: int | None, argv: Sequence[str], env: Mapping[str, str]) -> Launch:
        """The launcher itself must not see what the linker reads; everything else it passes on."""
        self._refuse_hostfile()
        linker = [f"{key}={value}" for key, value in env.items() if key.startswith("LD_")]
        command = (_EACH if self.spread else _RANKS)[self.launcher].format(n or self.ranks()).split()
        for item in linker:
            command += [word.format(item) for word in _VARIABLE[self.launcher].split()]
        others = {key: value for key, value in launch.vouched(env).items() if not key.startswith("LD_")}
        return Launch([*command, *self.launcher_args, *argv], others)

    def _by_srun(self, n: int | None, argv: Sequence[str], env: Mapping[str, str]) -> Launch:
        """Without a hostfile, srun knows the ranks of its job by itself."""
        if self.hostfile is None:
            return launch.srun_command(n, argv, env, self.launcher_args)
        n = n or self.ranks()
        hosts = self.hosts()[:n]
        if len({slots for _, slots in hosts}) > 1:
            return self._in_order(n, argv, env)
        # A list of nodes alone is the least that srun takes.
        nodes = [f"--nodes={len(hosts)}", f"--nodelist={','.join(host for host, _ in hosts)}"]
        return launch.srun_command(n, argv, env, [*nodes, *self.launcher_args])

    def _in_order(self, n: int, argv: Sequence[str], env: Mapping[str, str]) -> Launch:
        """By srun, with as many ranks on each host as it has slots; ranks without one begin at the first host again."""
        slots = [host for host, count in self.hosts() for _ in range(count)]
        written = slurm.of_hosts(itertools.islice(itertools.cycle(slots), n))
        path = str(launching.keep(written.text))
        start = launch.srun_command(n, argv, env, [*written.options_with(path), *self.launcher_args])
        return replace(start, env={**start.env, **written.env_with(path)})

    def _refuse_hostfile(self) -> None:
        if self.hostfile is not None:
            hint = "leave --hostfile away for all nodes of the job, or name them by --launcher-args"
            raise AntiphonError(f"--hostfile: {self.launcher} cannot be told the nodes of a file", hint=hint)


def where(
    hostfile: Path | None, launcher: str | None, launcher_args: Sequence[str] = (), n: int | None = None,
    env: Mapping[str, str] = os.environ, mpi: Mpi | None = None,
) -> Where:  # fmt: skip
    """What the options mean here, for this library or any. In a Slurm job -n alone asks for the library's own launcher,
    as it always has.
    """
    if launcher is not None and launcher not in (OWN, *SYSTEM_LAUNCHERS) and shutil.which(launcher) is None:
        raise _no_launcher(launcher)
    job, unset = _job(launcher, n, env) if hostfile is None else (None, ())
    if launcher is None:
        launcher = (job.launcher if job else None) or OWN
        if job is not None and job.system == "Slurm" and n is not None:
            launcher = OWN
    if hostfile is None and job is None and not unset:
        hostfile = _default_hostfile(launcher, mpi, env)
    return Where(hostfile, job, launcher, tuple(launcher_args), unset=unset)


def _job(launcher: str | None, n: int | None, env: Mapping[str, str]) -> tuple[jobs.Job | None, Sequence[str]]:
    """This process's job. With -n, ranks that MPI's launchers start run here if the job is out of reach: its variables
    are returned.
    """
    try:
        return jobs.find(env), ()
    except jobs.OutOfReachError as error:
        if n is None or launcher in SYSTEM_LAUNCHERS:
            raise
        _warn_once(f"{error.message}: the ranks run on this machine (silent after `unset {' '.join(error.variables)}`)")
        return None, error.variables


@functools.cache
def _warn_once(message: str) -> None:
    """A command may ask several times where ranks run."""
    output.print_warning(message)


def _default_hostfile(launcher: str, mpi: Mpi | None, env: Mapping[str, str]) -> Path | None:
    """The file that a launcher of the library's family would read by itself."""
    families = set(_DEFAULT_HOSTFILE) if mpi is None else {"openmpi" if mpi.family == "openmpi" else "mpich"}
    if launcher != OWN:
        path = None if launcher in SYSTEM_LAUNCHERS else shutil.which(launcher)
        families &= {launcher_family(Path(path))} if path else set()
    for family, names in _DEFAULT_HOSTFILE.items():
        for name in names if family in families else ():
            if (text := env.get(name, "none")) in ("", "none"):  # so Open MPI is told to read none
                continue
            if not os.access(text, os.R_OK):
                raise AntiphonError(f"{name}={text}: no file that can be read", hint=jobs.OUTSIDE)
            return Path(text)
    return None


def _no_launcher(name: str) -> AntiphonError:
    known = ", ".join((OWN, *SYSTEM_LAUNCHERS))
    return AntiphonError(f"--launcher {name}: no such program", hint=f"{known}, or the name or path of an mpirun")


def _under_env(env: Mapping[str, str]) -> list[str]:
    return ["/usr/bin/env", *(f"{key}={value}" for key, value in launch.vouched(env).items())] if env else []
