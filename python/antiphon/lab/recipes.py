# SPDX-License-Identifier: Apache-2.0
"""Says how each MPI library starts ranks on a lab's nodes over the emulated Ethernet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.errors import AntiphonError
from antiphon.mpi.library import Mpi
from antiphon.placement import launchers
from antiphon.placement.document import Placement

MAPPINGS = ("node", "slot")
TRANSPORTS = {"openmpi": ("tcp",), "mpich": ("ofi", "ucx")}
# These are variables of a job or launcher that this process itself may be part of.
_FOREIGN = ("PMIX_", "PRTE_", "PMI_", "HYDI_", "HYDRA_", "OMPI_COMM_", "MPI_LOCAL",
            "SLURM_", "PBS_", "LSB_", "FLUX_", "PE_HOSTFILE")  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A parallel program to start."""

    argv: tuple[str, ...]
    n_ranks: int
    rank_env: Mapping[str, str]
    preload: tuple[str, ...]
    map_by: str
    transport: str
    #: The place of each rank; if given, `map_by` has no effect.
    placement: Placement | None = None

    def __post_init__(self) -> None:
        if self.map_by not in MAPPINGS:
            raise AntiphonError(f"unknown mapping {self.map_by!r}", hint=f"one of {', '.join(MAPPINGS)}")
        if self.placement is not None and self.placement.ranks != self.n_ranks:
            raise AntiphonError(f"{self.n_ranks} ranks, and the placement is for {self.placement.ranks}",
                                hint="leave -n away, or have a placement made for that many")  # fmt: skip
        if self.n_ranks < 1:
            raise AntiphonError(f"{self.n_ranks} ranks cannot be started", hint="give at least 1")


@dataclass(frozen=True)
class LabLaunch:
    """A launcher's command line, its environment, and the text of its host file."""

    argv: list[str]
    env: dict[str, str]
    hosts: str
    transport: str


def choose_transport(mpi: Mpi, transport: str | None) -> str:
    """Returns the requested transport, or the first that the library has."""
    if mpi.family not in TRANSPORTS:
        raise AntiphonError(
            f"the lab cannot launch MPI family {mpi.family!r}", hint=f"it knows {', '.join(TRANSPORTS)}"
        )
    possible = _possible_transports(mpi)
    if transport is None and possible:
        return possible[0]
    if transport not in possible:
        known = ", ".join(possible) or "none that the lab knows"
        raise AntiphonError(f"{mpi.family} {mpi.version} has no transport {transport!r} here", hint=f"it has: {known}")
    return transport


def _possible_transports(mpi: Mpi) -> tuple[str, ...]:
    """Reads the transports from what MPICH says it was built with: `ch4:ucx`, `ch4:ucx ofi`; ch3 leaves no choice."""
    said = re.search(r"MPICH Device:\s*([\w:, ]+?)\s+MPICH ", mpi.vendor)
    device, _, built = (said.group(1) if said else mpi.device).partition(":")
    if device == "ch3":
        return ("ch3",)
    netmods = built.replace(",", " ").split()
    if _stays_in_finalize(mpi):
        netmods.sort(key="ucx".__eq__)  # last, since it may hang
    # The library lists its own default first, so that users' transport is the one that is measured.
    return tuple(name for name in netmods if name in TRANSPORTS[mpi.family]) or tuple(TRANSPORTS[mpi.family])


def _stays_in_finalize(mpi: Mpi) -> bool:
    """MPICH 4.0's ranks may wait in MPI_Finalize, over UCX's TCP, for answers of others that listen no more."""
    return mpi.family == "mpich" and mpi.version.startswith("4.0") and "MPICH" in mpi.name


def trouble(mpi: Mpi, transport: str, n_ranks: int) -> str | None:
    """Returns a warning about a transport with which runs are known not to end, or None."""
    if transport != "ucx" or n_ranks < 3 or not _stays_in_finalize(mpi):
        return None
    return (
        f"MPICH {mpi.version} over UCX may never leave MPI_Finalize with more than two ranks; with Antiphon such a "
        "run is ended after 10 s, a plain one by --timeout. Open MPI and newer MPICH (PyPI's) have no such fault"
    )


def rank_command(job: Job) -> list[str]:
    """Returns the program under `env`, so that settings and preloaded objects reach ranks and not the launcher."""
    env = dict(job.rank_env)
    if job.preload:
        inherited = env.get("LD_PRELOAD", "")
        # Tools that the user preloads come first, and see every call.
        env["LD_PRELOAD"] = ":".join([inherited, *job.preload] if inherited else job.preload)
    settings = [f"{key}={value}" for key, value in env.items()]
    return ["/usr/bin/env", *settings, *job.argv] if settings else list(job.argv)


def launcher_env(mpi: Mpi, inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the caller's environment with this MPI's programs and libraries first."""
    env = {key: value for key, value in inherited.items() if not key.startswith(_FOREIGN) and key != "LD_PRELOAD"}
    bin_dir = str(Path(str(mpi.launcher)).parent)
    env["PATH"] = ":".join([bin_dir, env.get("PATH", "/usr/bin:/bin")])
    lib_dir = mpi.libmpi.parent
    # Directories that the linker searches anyway are left out: in first place they would displace other libraries.
    if not str(lib_dir).startswith(("/usr/lib", "/lib")):
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(lib_dir), env.get("LD_LIBRARY_PATH")]))
    return env


def build(
    mpi: Mpi, job: Job, hosts: Sequence[str], host_file: Path, remote_shell: Path, env: Mapping[str, str]
) -> LabLaunch:
    """Returns the launcher's command line for a job on `hosts`, in this order."""
    if mpi.launcher is None:
        raise AntiphonError(
            f"MPI {mpi.family} {mpi.version} has no launcher (mpirun)",
            hint="install its launcher, or name another --mpi",
        )
    full_env = launcher_env(mpi, env)
    per_node = -(-job.n_ranks // len(hosts))
    if job.placement is not None:
        per_node = max(node.slots for node in job.placement.used())
    if mpi.family == "openmpi":
        return _openmpi(mpi, job, hosts, per_node, host_file, remote_shell, full_env)
    return _mpich(mpi, job, hosts, per_node, host_file, remote_shell, full_env)


def _openmpi(
    mpi: Mpi,
    job: Job,
    hosts: Sequence[str],
    per_node: int,
    host_file: Path,
    remote_shell: Path,
    env: dict[str, str],
) -> LabLaunch:
    version_4 = mpi.version.startswith("4.")
    shell = ["--mca", "plm_rsh_agent"] if version_4 else ["--prtemca", "plm_ssh_agent"]
    shared_memory = ("vader" if version_4 else "sm") if per_node > 1 else ""
    where, lines = _places(job, host_file, "openmpi4" if version_4 else "openmpi5")
    if job.placement is None:
        where = ["--hostfile", str(host_file), "--map-by", job.map_by, "--bind-to", "none"]
        lines = "".join(f"{host} slots={per_node}\n" for host in hosts)
    argv = [str(mpi.launcher), *shell, str(remote_shell), "-n", str(job.n_ranks), *where]
    argv += ["--mca", "pml", "ob1", "--mca", "btl", ",".join(filter(None, ["tcp,self", shared_memory]))]
    argv += ["--mca", "mpi_yield_when_idle", "1"]
    if version_4:
        # Open MPI 4's daemons would take a second path to the library for a foreign library.
        argv += ["--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]
    argv += ["--allow-run-as-root", *rank_command(job)]
    if not version_4 and not str(mpi.prefix).startswith("/usr"):
        env.setdefault("OPAL_PREFIX", str(mpi.prefix))
    return LabLaunch(argv, env, lines, "tcp (pml ob1, btl tcp)")


def _places(job: Job, host_file: Path, launcher: str) -> tuple[list[str], str]:
    """Returns a placement's options for a launcher, and the text of its file."""
    if job.placement is None:
        return [], ""
    written = launchers.write(launcher, job.placement)
    return written.options_with(str(host_file)), written.text


def _mpich(
    mpi: Mpi,
    job: Job,
    hosts: Sequence[str],
    per_node: int,
    host_file: Path,
    remote_shell: Path,
    env: dict[str, str],
) -> LabLaunch:
    label = {"ofi": "ofi (tcp)", "ucx": "ucx (tcp)", "ch3": "ch3 (tcp)"}[job.transport]
    if job.transport != "ch3":
        env["MPIR_CVAR_CH4_NETMOD"] = job.transport
    if job.transport == "ofi":
        env["FI_PROVIDER"] = "tcp"
    elif job.transport == "ucx":
        env.setdefault("UCX_NET_DEVICES", "eth0")
    if per_node > 1:
        # MPICH's shared-memory collectives spin without yielding: with more ranks than cores they may never end.
        for collective in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE"):
            env.setdefault(f"MPIR_CVAR_{collective}_POSIX_INTRA_ALGORITHM", "mpir")
    where, lines = _places(job, host_file, "hydra")
    argv = [str(mpi.launcher), "-launcher", "ssh", "-launcher-exec", str(remote_shell)]
    argv += [*(where or ["-f", str(host_file)]), "-n", str(job.n_ranks), *rank_command(job)]
    # Hydra fills a host up to its number and starts again at the end of the list, so 1 for each host means by node.
    width = 1 if job.map_by == "node" else per_node
    lines = lines or "".join(f"{host}:{width}\n" for host in hosts)
    return LabLaunch(argv, env, lines, label)
