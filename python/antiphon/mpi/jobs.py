# SPDX-License-Identifier: Apache-2.0
"""The batch job that this process is part of: its hosts and their slots, as the batch system's variables say."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from antiphon.errors import AntiphonError
from antiphon.mpi.hosts import Hosts, merged

TIMEOUT_S = 30
#: Slurm numbers steps of srun from 0; those that hold nothing of the job (batch script, interactive, extern) from here.
_SLURM_SPECIAL_STEPS = 0xFFFFFFF0

#: What a process asks for that wants to be outside the job that it is in.
OUTSIDE = "unset it, or name nodes with --hostfile"


#: What else makes MPI's launchers read the job that a variable names.
_SAME_JOB = {"PBS_NODEFILE": ("PBS_ENVIRONMENT",), "LSB_DJOB_HOSTFILE": ("LSB_MCPU_HOSTS", "LSB_HOSTS", "LSF_BINDIR")}


class OutOfReachError(AntiphonError):
    """The job's variables are here, but not what they name, as in a container. `variables` hide the job if unset."""

    def __init__(self, variable: str, message: str, hint: str) -> None:
        super().__init__(message, f"in a container, -n N starts ranks on this machine; else {hint}")
        self.variables = (variable, *_SAME_JOB.get(variable, ()))


@dataclass(frozen=True)
class Job:
    """Hosts with their slots, in the batch system's order."""

    system: str
    hosts: Hosts
    #: The batch system's own launcher, where ranks are to be started by it.
    launcher: str | None = None

    @property
    def slots(self) -> int:
        """The ranks that the job has room for."""
        return sum(slots for _, slots in self.hosts)


def find(env: Mapping[str, str]) -> Job | None:
    """The innermost job of this process, or None outside of any."""
    for read in (_flux, _slurm, _pbs, _lsf, _grid_engine):
        job = read(env)
        if job is not None:
            if not job.hosts and job.system != "Slurm":  # srun knows the nodes, and is asked
                raise AntiphonError(f"the {job.system} job names no host", hint=OUTSIDE)
            return job
    return None


def _flux(env: Mapping[str, str]) -> Job | None:
    """Flux tells an instance's nodes and cores only by its command."""
    if not env.get("FLUX_URI"):
        return None
    command = ["flux", "resource", "list", "-n", "-s", "up", "-o", "{nnodes} {ncores} {nodelist}"]
    flux = shutil.which("flux", path=env.get("PATH"))
    if flux is None:
        raise OutOfReachError("FLUX_URI", "FLUX_URI is set, but there is no `flux` on the PATH",
                              "add its directory to the PATH")  # fmt: skip
    try:
        result = subprocess.run(
            [flux, *command[1:]], capture_output=True, text=True, env=dict(env), timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        result = subprocess.CompletedProcess(command, 1, "", f"no answer in {TIMEOUT_S:g} s")
    words = result.stdout.split()
    if result.returncode != 0 or len(words) < 3 or not (words[0] + words[1]).isdecimal():
        said = (result.stderr.strip().splitlines() or [result.stdout.strip() or f"exit code {result.returncode}"])[-1]
        raise AntiphonError(f"`{' '.join(command[:3])}` does not tell the job's nodes: {said}", hint=OUTSIDE)
    names, cores = expand(words[2]), int(words[1])
    return Job("Flux", tuple((name, cores // len(names) + (i < cores % len(names))) for i, name in enumerate(names)),
               "flux")  # fmt: skip


def _slurm(env: Mapping[str, str]) -> Job | None:
    if not env.get("SLURM_JOB_ID"):
        return None
    names = expand(env.get("SLURM_JOB_NODELIST") or env.get("SLURM_NODELIST") or "")
    counts = _slurm_counts(env.get("SLURM_TASKS_PER_NODE") or env.get("SLURM_JOB_CPUS_PER_NODE") or "1")
    counts += counts[-1:] * (len(names) - len(counts))
    return Job("Slurm", tuple(zip(names, counts, strict=False)), "srun")


def is_in_slurm_step(env: Mapping[str, str]) -> bool:
    """True in a step that srun has started, which holds its part of the job's cores until it ends."""
    step = env.get("SLURM_STEP_ID", "")
    return step.isdecimal() and int(step) < _SLURM_SPECIAL_STEPS


def _slurm_counts(text: str) -> list[int]:
    """`4(x2),1` is 4, 4, 1."""
    counts: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if match is None:
            raise AntiphonError(f"SLURM_TASKS_PER_NODE={text} is not a list of counts", hint="as 4(x2),1")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _pbs(env: Mapping[str, str]) -> Job | None:
    return _of_file(env, "PBS", "PBS_NODEFILE", lambda words: (words[0], 1))


def _lsf(env: Mapping[str, str]) -> Job | None:
    job = _of_file(env, "LSF", "LSB_DJOB_HOSTFILE", lambda words: (words[0], 1))
    if job is None and env.get("LSB_MCPU_HOSTS"):
        words = env["LSB_MCPU_HOSTS"].split()
        job = Job("LSF", merged(_slots("LSB_MCPU_HOSTS", *pair) for pair in zip(words[::2], words[1::2], strict=False)))
    elif job is None and env.get("LSB_HOSTS"):
        job = Job("LSF", merged((host, 1) for host in env["LSB_HOSTS"].split()))
    if job is None or not job.hosts or shutil.which("jsrun", path=env.get("PATH")) is None:
        return job
    # Where jsrun starts ranks, the job's script runs on a host of its own, which is named first with one slot.
    (_, first), *rest = job.hosts
    hosts = tuple(rest) if first == 1 and any(slots > 1 for _, slots in rest) else job.hosts
    return Job("LSF", hosts, "jsrun")


def _grid_engine(env: Mapping[str, str]) -> Job | None:
    return _of_file(env, "Grid Engine", "PE_HOSTFILE", lambda words: _slots("PE_HOSTFILE", words[0], *words[1:2]))


def _of_file(
    env: Mapping[str, str], system: str, variable: str, read: Callable[[list[str]], tuple[str, int]]
) -> Job | None:
    """The job of a file with a host on each line."""
    if not env.get(variable):
        return None
    try:
        lines = Path(env[variable]).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise OutOfReachError(variable, f"{variable}={env[variable]}: {error.strerror}", OUTSIDE) from None
    return Job(system, merged(read(line.split()) for line in lines if line.strip()))


def _slots(variable: str, host: str, count: str = "1") -> tuple[str, int]:
    if not count.isdecimal():
        raise AntiphonError(f"{variable}: {count!r} is not the number of {host}'s slots", hint=OUTSIDE)
    return host, int(count)


def expand(text: str) -> list[str]:
    """The hosts of a compact list: `node[01-03,7],login1` is node01, node02, node03, node7, login1."""
    return [host for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text) for host in _expanded(part.strip())]


def _expanded(part: str) -> list[str]:
    match = re.search(r"\[([^\]]*)\]", part)
    if match is None:
        return [part] if part else []
    hosts = []
    for item in match[1].split(","):
        first, dash, last = item.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise AntiphonError(f"{part}: {item!r} is not a range of hosts", hint=OUTSIDE)
        for number in range(int(first), int(last or first) + 1):
            hosts += _expanded(f"{part[: match.start()]}{number:0{len(first)}}{part[match.end() :]}")
    return hosts
