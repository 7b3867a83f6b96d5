# SPDX-License-Identifier: Apache-2.0
"""A lab as Python sees it: bring it up, run commands and MPI programs on its nodes, take it down."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from antiphon import output
from antiphon.errors import AntiphonError
from antiphon.lab import channel, clusters, recipes, state
from antiphon.lab.node import remote_shell
from antiphon.lab.outputs import Outputs, supervise
from antiphon.lab.spec import ClusterSpec
from antiphon.mpi import Mpi
from antiphon.placement.document import Placement

_START_TIMEOUT_S = 60
_END_TIMEOUT_S = 10


@dataclass(frozen=True)
class RunResult:
    """The result of a command on a lab. `stdout` and `stderr` are empty where they were passed through."""

    exit_code: int
    stdout: str
    stderr: str
    elapsed_s: float
    timed_out: bool = False
    transport: str = ""
    argv: tuple[str, ...] = ()

    def check(self) -> RunResult:
        """Raise unless the exit code is 0."""
        if self.exit_code != 0:
            what = "took too long" if self.timed_out else f"failed with exit code {self.exit_code}"
            tail = "\n".join((self.stderr or self.stdout).strip().splitlines()[-15:])
            raise AntiphonError(f"{shlex.join(self.argv)} {what}\n{tail}".rstrip(), exit_code=1)
        return self


class Lab:
    """An emulated Ethernet cluster. As a context manager it is made on entry and removed on exit.

    with Lab(load_cluster("ethernet-16")) as lab:
        result = lab.mpirun(mpi, 16, ["./program"], timeout_s=60)
    """

    def __init__(self, spec: ClusterSpec | None = None, name: str | None = None) -> None:
        self.spec = spec or clusters.load_cluster()
        self.name = state.check_name(name or f"tmp-{state.new_id()}")
        self._state_dir: Path | None = None
        self._life: int | None = None
        self._holder: subprocess.Popen[bytes] | None = None

    @classmethod
    def attach(cls, name: str) -> Lab:
        """Opens a lab that `antiphon lab up` keeps. Leaving the context manager leaves it up."""
        labs = state.list_labs()
        for record in labs:
            if record["name"] == name:
                lab = cls(clusters.spec_from_dict(record["cluster"], f"lab {name!r}"), name)
                lab._state_dir = Path(record["state_dir"])
                return lab
        names = ", ".join(record["name"] for record in labs)
        raise AntiphonError(
            f"there is no lab named {name!r}",
            hint=f"running: {names}" if names else f"make one: antiphon lab up --name {name}",
        )

    @property
    def limit_bits_per_s(self) -> int:
        """Returns the payload rate of a node's link."""
        return self.spec.limit_bits_per_s

    @property
    def state_dir(self) -> Path:
        if self._state_dir is None:
            raise AntiphonError(f"lab {self.name!r} is not up")
        return self._state_dir

    def __enter__(self) -> Lab:
        if self._state_dir is None:
            self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._holder is not None:
            self.down()

    def up(self, keep: bool = False) -> None:
        """Make the lab. With `keep` it outlives this process, until `down`."""
        state_dir = state.create(self.name)
        # The log is opened once, because a holder that fails removes the directory, and its message would be lost.
        with open(state_dir / "holder.log", "w+b", buffering=0) as log:
            try:
                ready_fd = self._start_holder(state_dir, keep, log)
                self._await_ready(ready_fd, log)
            except BaseException:
                self._abandon(state_dir, log)
                raise
        self._state_dir = state_dir

    def _start_holder(self, state_dir: Path, keep: bool, log: IO[bytes]) -> int:
        """Start the guardian; the returned descriptor is readable once the lab is up or has failed."""
        ready_read, ready_write = os.pipe()
        life_read, life_write = os.pipe()
        command = [sys.executable, "-m", "antiphon.lab.holder", str(state_dir), str(ready_write)]
        self._holder = subprocess.Popen(
            [*command, "-1" if keep else str(life_read)],
            pass_fds=[ready_write] if keep else [ready_write, life_read],
            env=_holder_env(),
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        os.close(ready_write)
        os.close(life_read)
        if keep:
            os.close(life_write)
        else:
            self._life = life_write
        assert self._holder.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # The holder may have failed at once; its answer says why.
            self._holder.stdin.write(json.dumps(self.spec.to_dict()).encode())
            self._holder.stdin.close()
        return ready_read

    def _await_ready(self, ready_fd: int, log: IO[bytes]) -> None:
        with os.fdopen(ready_fd, "rb") as ready:
            with selectors.DefaultSelector() as selector:
                selector.register(ready, selectors.EVENT_READ)
                answered = selector.select(_START_TIMEOUT_S)
            text = ready.read() if answered else b""
        if not text:
            log.seek(0)
            said = log.read().decode(errors="replace").strip()
            raise AntiphonError(f"the lab did not start: {said or 'no answer'}")
        message = json.loads(text)
        if "error" in message:
            raise AntiphonError(message["error"], hint=message.get("hint"))

    def _abandon(self, state_dir: Path, log: IO[bytes]) -> None:
        """Let go of the holder after a failed start, and see that the name is free again."""
        self._let_go()
        if self._holder is not None:
            self._holder.terminate()
            try:
                self._holder.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._holder.kill()
                self._holder.wait()
            self._holder = None
        # A holder that fails removes the directory itself, and another lab may have taken the name since.
        with contextlib.suppress(OSError):
            if os.path.samefile(log.fileno(), state_dir / "holder.log"):
                state.remove(state_dir)

    def _let_go(self) -> None:
        if self._life is not None:
            os.close(self._life)
            self._life = None

    def down(self) -> None:
        """Remove the lab: end its holder, identified by process number and start time, and with it everything."""
        state_dir = self.state_dir
        record = state.read_record(state_dir)
        self._let_go()
        if record is not None:
            take_down(record)
        if self._holder is not None:
            self._holder.wait()
            self._holder = None
        self._state_dir = None

    def record(self) -> dict[str, Any]:
        """Returns the facts that `status` shows."""
        return state.read_record(self.state_dir) or {}

    def node_socket(self, node: str | int) -> str:
        name = self.spec.node_name(int(node)) if str(node).isdecimal() else str(node)
        if name not in [*self.spec.node_names(), "switch"]:
            names = self.spec.node_names()
            raise AntiphonError(
                f"lab {self.name!r} has no node {node!r}", hint=f"nodes: {names[0]} to {names[-1]}, and switch"
            )
        return str(self.state_dir / f"{name}.sock")

    def execute(
        self,
        node: str | int,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        timeout_s: float | None = None,
        capture: bool = True,
        on_stdout: Callable[[str], None] | None = None,
        stdin: str | os.PathLike[str] = os.devnull,
        run: str = "",
    ) -> RunResult:
        """Run a command on a node. `env` replaces the environment; `on_stdout` gets each line as it comes. `stdin` is
        for commands whose output is captured."""
        path = self.node_socket(node)
        full_env = dict(os.environ if env is None else env)
        if run:
            full_env["ANTIPHON_LAB_RUN"] = run
        started = time.monotonic()
        outputs = Outputs(capture or on_stdout is not None, on_stdout)
        try:
            with open(stdin, "rb") as given:
                fds = outputs.descriptors(given)
                command = channel.Command(path, argv, full_env, os.fspath(cwd or os.getcwd()), fds, run)
            try:
                outputs.close_far_ends()
                code, timed_out = supervise(command, outputs, None if timeout_s is None else started + timeout_s)
            finally:
                command.close()
        except channel.ChannelError as error:
            raise AntiphonError(f"node {node}: {error}", exit_code=1) from None
        finally:
            outputs.close()
        stdout, stderr = outputs.texts()
        return RunResult(code, stdout, stderr, time.monotonic() - started, timed_out, argv=tuple(argv))

    def mpirun(
        self,
        mpi: Mpi,
        n_ranks: int | None,
        argv: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        preload: Sequence[str | os.PathLike[str]] = (),
        timeout_s: float | None = None,
        capture: bool = True,
        on_stdout: Callable[[str], None] | None = None,
        map_by: str = "node",
        transport: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: str | os.PathLike[str] = os.devnull,
        placement: Placement | None = None,
    ) -> RunResult:
        """Run an MPI program. `env` is added to the ranks' environment, `preload` to their LD_PRELOAD only."""
        run = state.new_id()
        job = recipes.Job(
            argv=tuple(os.fspath(word) for word in argv),
            n_ranks=n_ranks or (placement.ranks if placement else self.spec.ranks),
            rank_env={**self._told(), **(env or {})},
            preload=tuple(os.fspath(path) for path in preload),
            map_by=map_by,
            transport=recipes.choose_transport(mpi, transport),
            placement=placement,
        )
        _warn_once(recipes.trouble(mpi, job.transport, job.n_ranks))
        host_file, names = self.state_dir / f"hosts-{run}", self.spec.node_names()
        launch = recipes.build(mpi, job, names, host_file, remote_shell(self.state_dir), os.environ)
        host_file.write_text(launch.hosts, encoding="ascii")
        how: dict[str, Any] = {"timeout_s": timeout_s, "capture": capture, "on_stdout": on_stdout, "cwd": cwd,
                               "stdin": stdin}  # fmt: skip
        try:
            result = self.execute(1, launch.argv, env=launch.env, run=run, **how)
        finally:
            self._end_run(run)
            host_file.unlink(missing_ok=True)
        return replace(result, transport=launch.transport, argv=job.argv)

    @property
    def is_temporary(self) -> bool:
        """Returns whether the lab goes when the context manager is left."""
        return self._life is not None

    @property
    def store(self) -> Path:
        """Returns the directory of the profiles of this lab: its nodes have the names of every other lab's."""
        return self.state_dir / "profiles"

    def _told(self) -> dict[str, str]:
        """Returns what the ranks are told of the lab, unless the caller says otherwise."""
        told = {"ANTIPHON_STORE": str(self.store)}
        if not self.spec.hide_rate:
            told["ANTIPHON_LINK_BITS_PER_S"] = str(self.spec.rate_bits_per_s)
            told["ANTIPHON_LINK_BURST_BYTES"] = str(self.spec.burst_bytes)
        return told

    def _end_run(self, run: str) -> None:
        """Kill what is left of a run in the nodes, however it ended."""
        for name in self.spec.node_names():
            try:
                channel.request(self.node_socket(name), {"do": "end-run", "run": run})
            except (channel.ChannelError, AntiphonError):
                continue  # A node that does not answer is going down, with everything that runs in it.


@functools.cache
def _warn_once(text: str | None) -> None:
    """Warns of what holds for all runs of this process."""
    if text is not None:
        output.print_warning(text)


def take_down(record: dict[str, Any]) -> None:
    """End the lab of a record and remove its files."""
    processes = state.holders(record)
    for process in processes[:1]:
        process.kill(signal.SIGTERM)
    if not _gone(processes, _END_TIMEOUT_S):
        for process in reversed(processes):
            process.kill(signal.SIGKILL)
        _gone(processes, _END_TIMEOUT_S)
    state.remove_if_stale(Path(record["state_dir"]))


def _gone(processes: list[state.ProcessId], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while any(process.alive() for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _holder_env() -> dict[str, str]:
    """Returns an environment in which the holder finds this package wherever the caller found it."""
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    package_parent = str(Path(__file__).resolve().parents[2])
    env["PYTHONPATH"] = ":".join(filter(None, [package_parent, env.get("PYTHONPATH")]))
    return env
