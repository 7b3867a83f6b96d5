# SPDX-License-Identifier: Apache-2.0
"""The command lines and the environment that start an MPI program under Antiphon."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from antiphon import core, places
from antiphon.errors import AntiphonError
from antiphon.mpi import jobs, preload
from antiphon.mpi.hosts import Hosts, merged
from antiphon.mpi.library import Mpi
from antiphon.output import files

#: The options that set these variables: errors name what the user wrote.
OPTIONS = {"ANTIPHON_CAPTURE": "--capture ", "ANTIPHON_FORCE": "--force ", "ANTIPHON_METRICS": "--metrics ",
           "ANTIPHON_PLAN": "--plan ", "ANTIPHON_PROFILE": "--profile ", "ANTIPHON_SUMMARY": "--summary=",
           "ANTIPHON_TRACE": "--trace "}  # fmt: skip
#: What ranks read, and the single files that they write.
READ = ("ANTIPHON_PROFILE", "ANTIPHON_PLAN", "ANTIPHON_PLACEMENT")
WRITTEN = ("ANTIPHON_SUMMARY", "ANTIPHON_METRICS", "ANTIPHON_TRACE")


@dataclass(frozen=True)
class Settings:
    """The user's settings for one run, which become ANTIPHON_* variables of the ranks."""

    off: bool = False
    profile: Path | None = None
    force: str | None = None
    summary: str | None = None
    #: Where the run's figures go, for monitoring systems.
    metrics: Path | None = None
    plan: Path | None = None
    #: Where the run's calls are recorded.
    trace: Path | None = None
    #: Where each rank keeps the messages that it sends.
    capture: Path | None = None
    #: auto, on or off; force for tests.
    compress: str | None = None
    #: As a plan says; a user's own setting goes before.
    compress_min_bytes: int | None = None
    #: auto, or the one codec that is used.
    codec: str | None = None
    #: off, run or keep, and after a comma reductions.
    adapt: str | None = None
    #: calls or thread: what advances nonblocking collectives while the program computes.
    progress: str | None = None
    #: on or off: whether the program's own messages may go in another order.
    order_messages: str | None = None
    #: on, copy or off: how schedules' messages move within a node.
    shared_memory: str | None = None
    #: on, off, or which switches nodes are on: left=node01,node02;right=node03.
    topology: str | None = None
    #: Topology constructors may order ranks anew.
    reorder: bool = False
    #: Where ranks are to be; the run checks it, and ends if it must be so.
    placement: Path | None = None
    placement_strict: bool = False

    def variables(self) -> dict[str, str]:
        """The variables that the preload object reads (see docs/reference/environment.md)."""
        variables = {}
        if self.off:
            variables["ANTIPHON"] = "off"
        if self.profile is not None:
            if not self.profile.is_file():
                raise AntiphonError(f"--profile {self.profile}: no such file",
                                    hint="leave it away to use the built-in rules")  # fmt: skip
            variables["ANTIPHON_PROFILE"] = str(self.profile.absolute())
        if self.plan is not None:
            if not self.plan.is_file():
                raise AntiphonError(f"--plan {self.plan}: no such file",
                                    hint="`antiphon plan` writes plans, from a run or its trace")  # fmt: skip
            variables["ANTIPHON_PLAN"] = str(self.plan.absolute())
        words = {
            "ANTIPHON_FORCE": self.force,
            "ANTIPHON_SUMMARY": self.summary if self.summary in (None, "1") else str(Path(self.summary).absolute()),
            "ANTIPHON_COMPRESS": self.compress,
            "ANTIPHON_CODEC": self.codec,
            "ANTIPHON_ADAPT": self.adapt,
            "ANTIPHON_PROGRESS": self.progress,
            "ANTIPHON_ORDER_MESSAGES": self.order_messages,
            "ANTIPHON_SHARED_MEMORY": self.shared_memory,
            "ANTIPHON_TOPOLOGY": self.topology,
            "ANTIPHON_REORDER": "1" if self.reorder else None,
            "ANTIPHON_PLACEMENT_STRICT": "1" if self.placement_strict else None,
        }
        paths = {
            "ANTIPHON_METRICS": self.metrics,
            "ANTIPHON_TRACE": self.trace,
            "ANTIPHON_CAPTURE": self.capture,
            "ANTIPHON_PLACEMENT": self.placement,
        }
        variables |= {name: word for name, word in words.items() if word}
        variables |= {name: str(path.absolute()) for name, path in paths.items() if path}
        return variables


@dataclass(frozen=True)
class Launch:
    """A launcher's command line, and what it needs in its own environment besides what is there."""

    command: list[str]
    env: dict[str, str] = field(default_factory=dict)

    def shell_line(self) -> str:
        """The launch as one line that a shell understands."""
        return " ".join([*(f"{key}={shlex.quote(value)}" for key, value in self.env.items()), shlex.join(self.command)])


#: Ranks that wait give their cores away by these, for each family. By itself, Open MPI keeps them where there are no
#: more ranks than cores. MPICH 5 keeps them for long in its collectives in shared memory; with these, for 50 looks.
#: Libraries with its ABI, like MPICH 4.0, ignore its variables.
YIELDING = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "50",
    },
}


def yielding(mpi: Mpi) -> dict[str, str]:
    """Returns the variables by which an MPI's ranks that wait give their cores away."""
    return dict(YIELDING["openmpi" if mpi.family == "openmpi" else "mpich"])


def own_variables(env: Mapping[str, str]) -> dict[str, str]:
    """The settings of Antiphon that are in an environment."""
    return {key: value for key, value in env.items() if key == "ANTIPHON" or key.startswith("ANTIPHON_")}


def check_settings(variables: Mapping[str, str], settings: Settings | None = None) -> None:
    """Raises an error for a setting that does not exist, means nothing or names a file that cannot be used."""
    pairs = [[key, value.encode(errors="surrogateescape").decode(errors="replace")] for key, value in variables.items()]
    problems = core.query("check_settings", variables=pairs)["problems"]
    if not problems:
        return
    what = str(problems[0]["what"])
    for name in settings.variables() if settings else ():
        if name in OPTIONS and what.startswith(f"{name}="):
            what = what.replace(f"{name}=", OPTIONS[name], 1)
    raise AntiphonError(what, hint=problems[0]["hint"])


def check_written(variables: Mapping[str, str], *sources: str | Path | None) -> None:
    """Raises an error where ranks would replace what they read, one of the `sources`, or each other's output."""
    written = [Path(variables[name]) for name in WRITTEN if variables.get(name, "0") not in ("", "0", "1")]
    files.check_apart(written, [*sources, *(variables.get(name) for name in READ)])


def lib_dir() -> Path:
    """Where the preload objects are: inside the package, or where ANTIPHON_LIB_DIR says (a build tree)."""
    override = os.environ.get("ANTIPHON_LIB_DIR")
    return Path(override).absolute() if override else places.compiled()


def preload_object(abi: str) -> Path:
    """The preload object for an ABI; an error if this installation has none."""
    path = lib_dir() / f"libantiphon-{abi}.so"
    if not path.is_file():
        raise AntiphonError(
            f"the preload object for the ABI {abi} is missing: {path}",
            hint="in a source tree `make setup` builds it; else install Antiphon again with pip",
        )
    if re.search(r"[:\s]", str(path)):
        raise AntiphonError(
            f"{path} cannot be preloaded: LD_PRELOAD has no way to write blanks or colons in a path",
            hint="install Antiphon into a directory without them",
        )
    return path


def rank_environment(mpi: Mpi, settings: Settings, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that every rank needs, also those on other nodes."""
    own = [str(preload_object(mpi.abi))]
    if mpi.late:
        # Opened late, and privately, by the program: the preload object must find MPI's symbols before that.
        own.append(str(mpi.libmpi))
    variables = {"LD_PRELOAD": preload.line(own, env.get("LD_PRELOAD", ""), mpi.sanitizer), **_to_library(mpi, env)}
    ours = own_variables(env)
    if settings.compress_min_bytes is not None:
        ours.setdefault("ANTIPHON_COMPRESS_MIN_BYTES", str(settings.compress_min_bytes))
    ours |= settings.variables()
    check_settings(ours, settings)
    ours.pop("ANTIPHON_LIB_DIR", None)
    return variables | ours


def _to_library(mpi: Mpi, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that lead ranks to the library where they would find another one, or none."""
    if not mpi.redirect:
        return {}
    folders = [str(mpi.libmpi.parent), env.get("LD_LIBRARY_PATH", "")]
    variables = {"LD_LIBRARY_PATH": ":".join(filter(None, folders))}
    # A script may start Python, whose mpi4py opens the first library that it finds, unless it is told.
    return variables if mpi.late else {**variables, "MPI4PY_LIBMPI": str(mpi.libmpi)}


def environment_without(mpi: Mpi, env: Mapping[str, str]) -> dict[str, str]:
    """The same variables without Antiphon: the library, and what else is preloaded, are those of a run with it."""
    inherited = env.get("LD_PRELOAD")
    preloaded = {"LD_PRELOAD": preload.line([], inherited, mpi.sanitizer)} if inherited else {}
    return {**preloaded, **_to_library(mpi, env)}


def plain_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of ranks without Antiphon: they take away what a module or a shell preloads of it."""
    inherited = env.get("LD_PRELOAD", "")
    ours = any(entry.ours for entry in preload.entries(inherited))
    return {"LD_PRELOAD": preload.line([], inherited)} if ours else {}


def launch_command(
    mpi: Mpi,
    n: int | None,
    argv: Sequence[str],
    env: Mapping[str, str],
    hostfile: Path | None = None,
    extra: Sequence[str] = (),
    *,
    oversubscribe: bool = False,
    as_root: bool = False,
) -> list[str]:
    """The command line of `mpi`'s own launcher that starts `argv` on `n` ranks, with `env` set for the ranks only.

    Without `n` Open MPI takes all slots there are; Hydra takes one rank, or all slots of the hostfile.
    """
    if mpi.launcher is None:
        raise AntiphonError(
            f"no mpirun of {mpi.label} was found near {mpi.libmpi}",
            hint="put its bin directory on the PATH or give it with --mpi PATH; under Slurm leave -n away to use srun",
        )
    command = [_as_called(mpi.launcher)]
    if mpi.family == "openmpi":
        command += ["--allow-run-as-root"] * as_root + ["--oversubscribe"] * oversubscribe
        command += ["-n", str(n)] if n else []
        command += _open_mpi_hosts(hostfile) if hostfile else []
        for key, value in env.items():
            command += ["-x", f"{key}={value}"]
    else:
        command += ["-n", str(n or (sum(slots for _, slots in read_hostfile(hostfile)) if hostfile else 1))]
        command += _hydra_hosts(hostfile) if hostfile else []
        for key, value in env.items():
            command += ["-genv", key, value]
    return [*command, *extra, *argv]


def _as_called(launcher: Path) -> str:
    """Returns a launcher's name where the PATH leads to it, as users call it, else its path.

    Open MPI's, called by its path, puts its own folder first in the ranks' PATH: before a virtual environment's.
    """
    found = shutil.which(launcher.name)
    return launcher.name if found and Path(found).resolve() == launcher.resolve() else str(launcher)


def vouched(env: Mapping[str, str]) -> dict[str, str]:
    """What a command line gives to all ranks. Where they cannot ask about each other (no PMIx, no Hydra), they may rely
    on that.
    """
    return {**env, "ANTIPHON_ALL_RANKS": "1"}


def srun_command(n: int | None, argv: Sequence[str], env: Mapping[str, str], extra: Sequence[str] = ()) -> Launch:
    """The same by Slurm's srun. Only what srun itself must not see goes to --export: its values cannot hold commas."""
    linker = {key: value for key, value in env.items() if key.startswith("LD_")}
    env = vouched(env)
    if jobs.is_in_slurm_step(os.environ):
        # As in the shell of `srun --pty bash`: else the new step waits until this one ends. Older srun ignore it.
        env["SLURM_OVERLAP"] = "1"
    exports = ",".join(["ALL", *(f"{key}={value}" for key, value in checked_for_slurm(linker).items())])
    command = ["srun", *(["-n", str(n)] if n else []), f"--export={exports}", *extra, *argv]
    return Launch(command, {key: value for key, value in env.items() if key not in linker})


def checked_for_slurm(env: Mapping[str, str]) -> Mapping[str, str]:
    """`env` if all its values can be written in --export, else an error."""
    for key, value in env.items():
        if "," in value:
            raise AntiphonError(f"Slurm's --export cannot hold the comma in {key}={value}",
                                hint=f"export {key} in the job script instead")  # fmt: skip
    return env


#: Open MPI's `slots=4`, which may have blanks and quotes; `max-slots` is another field.
_SLOTS = re.compile(r"""(?<![\w-])slots\s*=\s*["']?([^\s"']*)""")
#: `node:4` or `[fe80::1]:4`. Any other word with colons is an IPv6 address.
_COUNTED = re.compile(r"([^\s:]*):([^\s:]*)|\[(\S*)\](?::(\S*))?")
#: Names, addresses, and what Open MPI takes in their place, as `user@node`, `+n1` and `^node`.
_HOST = re.compile(r"[\w.:%@+^-]+")
#: What only MPICH's launcher understands.
_HYDRA = re.compile(r"^\s*([^\s:]+:\d+(?!\S)|\[)|(?<![\w-])(ifname|binding|user)\s*=")


def read_hostfile(path: Path) -> Hosts:
    """Hosts and their slots from a file in Open MPI's (`node slots=4`) or MPICH's (`node:4`) form; batch systems'
    files name a host once for each slot."""
    return merged((host, slots or 1) for host, slots in _lines_of(path))


def with_slots(path: Path, n: int | None) -> Hosts:
    """The hosts of a file that leaves numbers of slots away, with slots for `n` ranks; none if it has all numbers.

    Hosts without a number have a slot each, and share the ranks that are left evenly.
    """
    lines, hosts = _lines_of(path), read_hostfile(path)
    times = Counter(host for host, _ in lines)  # batch systems' files have a line for each slot
    bare = [host for host, slots in lines if slots is None and times[host] == 1]
    if not bare:
        return ()
    each, more = divmod(max((n or 0) - sum(slots for _, slots in hosts), 0), len(bare))
    shares = {host: 1 + each + (i < more) for i, host in enumerate(bare)}
    return tuple((host, shares.get(host, slots)) for host, slots in hosts)


def _lines_of(path: Path) -> list[tuple[str, int | None]]:
    """The host of each line, and its number of slots where there is one."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        hint = "name a file with a line per node: `node slots=4` or `node:4`"
        raise AntiphonError(f"--hostfile {path}: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError:
        raise AntiphonError(f"--hostfile {path}: is not a text file", hint="write `node slots=4` or `node:4`") from None
    hosts: list[tuple[str, int | None]] = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        word = text.split()[0]
        counted = _COUNTED.fullmatch(word)
        host, count = (counted[1] or counted[3] or "", counted[2] or counted[4]) if counted else (word, None)
        if not _HOST.fullmatch(host):
            hint = "name a file with a line per node: `node slots=4` or `node:4`"
            raise AntiphonError(f"{path}:{number}: {host!r} is not a host's name", hint=hint)
        said = _SLOTS.search(text)
        slots = said[1] if said else count or None
        if slots is not None and (not slots.isdecimal() or int(slots) == 0):
            hint = "write `node slots=4` or `node:4`"
            raise AntiphonError(f"{path}:{number}: {slots!r} is not a number of slots", hint=hint)
        hosts.append((host, None if slots is None else int(slots)))
    if not hosts:
        raise AntiphonError(f"--hostfile {path}: names no host", hint="one line per node: `node slots=4` or `node:4`")
    return hosts


def _open_mpi_hosts(path: Path) -> list[str]:
    hosts = read_hostfile(path)
    if _has(path, _HYDRA):
        return ["--host", _listed(path, hosts, "write `fe80::1 slots=4`, which Open MPI 5 takes, or the node's name")]
    return ["--hostfile", str(path)]


def _hydra_hosts(path: Path) -> list[str]:
    listed = _listed(path, read_hostfile(path), "write the name of the node, or its IPv4 address")
    return ["-hosts", listed] if _has(path, _SLOTS) else ["-f", str(path)]


def _listed(path: Path, hosts: Hosts, hint: str) -> str:
    """`one:2,two:3`, where an IPv6 address has no place."""
    for host, _ in hosts:
        if ":" in host:
            raise AntiphonError(f"--hostfile {path}: the launcher cannot be told the IPv6 address {host}", hint=hint)
    return ",".join(f"{host}:{slots}" for host, slots in hosts)


def _has(path: Path, form: re.Pattern[str]) -> bool:
    """True where a line of a hostfile, without its comment, has this form."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return any(form.search(line.partition("#")[0]) for line in lines)
