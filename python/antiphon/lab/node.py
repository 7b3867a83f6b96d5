# SPDX-License-Identifier: Apache-2.0
"""The first process of a node: makes its namespaces, then starts commands on request and ends them."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.lab import channel, kernel, network
from antiphon.lab.spec import ClusterSpec

TIME_SLICE_NS = 100_000


@dataclass
class NodePlan:
    """Everything that a node needs to set itself up."""

    spec: ClusterSpec
    number: int
    state_dir: Path
    congestion_control: str
    real_time: bool
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.spec.node_name(self.number)


def separate(plan: NodePlan) -> None:
    """Leave the lab's namespaces for the node's own (the PID namespace is already new)."""
    kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWNS)
    socket.sethostname(plan.name)
    kernel.set_process_name(f"lab-{plan.name}")


def mount_private(plan: NodePlan) -> None:
    """Mount own shared memory and temporary files. Without them, ranks of different nodes meet in shared memory."""
    temporary = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", temporary, "mode=1777")
    kernel.mount("tmpfs", str(temporary_dir(plan.state_dir)), "tmpfs", temporary, "mode=1777")
    _write_agent(plan.state_dir)
    # Containers may refuse a fresh /proc or /sys. Programs then see the host's, which only matters for what they print.
    system = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    for kind, target in (("proc", "/proc"), ("sysfs", "/sys")):
        try:
            kernel.mount(kind, target, kind, system)
        except OSError as error:
            plan.notes.append(f"nodes see the host's {target}: {error.strerror}")


def temporary_dir(state_dir: Path) -> Path:
    return state_dir / "tmp"


def remote_shell(state_dir: Path) -> Path:
    """Returns the script that MPI launchers take for ssh, as nodes see it."""
    return temporary_dir(state_dir) / ".agent"


def _write_agent(state_dir: Path) -> None:
    """Write the script into a file system of the node's own: the host's /run and /tmp may be mounted noexec."""
    path = remote_shell(state_dir)
    words = [sys.executable, "-E", "-s", "-S", str(Path(__file__).with_name("agent.py")), str(state_dir)]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o700)


def set_up_network(plan: NodePlan) -> None:
    """Set the network up once eth0 is there."""
    write_sysctl("net/ipv6/conf/all/disable_ipv6", "1")
    write_sysctl("net/ipv6/conf/default/disable_ipv6", "1")
    # This is for sockets without a route, such as those of a listener before it has a peer.
    if not write_sysctl("net/ipv4/tcp_congestion_control", plan.congestion_control):
        write_sysctl("net/ipv4/tcp_congestion_control", "reno")
    network.set_offloads(["eth0"], plan.spec.offloads)
    network.run_batch("ip", network.node_links(plan.spec, plan.number, plan.congestion_control))
    network.run_batch("tc", network.node_shaping(plan.spec))
    loss = plan.spec.loss
    if loss and loss.percent > 0 and (not loss.nodes or plan.number in loss.nodes):
        network.apply_loss(loss)


def write_sysctl(name: str, value: str) -> bool:
    try:
        Path("/proc/sys", name).write_text(value, encoding="ascii")
    except OSError:
        return False
    return True


def set_scheduling(plan: NodePlan) -> None:
    """Set the scheduling of every process started here. It gets a core of its own, or one shared by as few nodes as
    possible, because the kernel would leave twelve polling ranks on one core and four on another. It gets short turns,
    because with long turns the ranks keep each other from answering.
    """
    cores = sorted(os.sched_getaffinity(0))
    if plan.spec.nodes >= len(cores):
        os.sched_setaffinity(0, {cores[(plan.number - 1) % len(cores)]})
    if not plan.real_time:  # With real time, the holder has passed it on.
        kernel.set_time_slice(TIME_SLICE_NS)


@dataclass
class _Session:
    """A command and the connection that asked for it."""

    process: subprocess.Popen[bytes]
    sock: socket.socket
    run: str


class NodeServer:
    """Serves one node's socket until the lab ends. One thread, no state beyond the running commands."""

    def __init__(self, name: str, state_dir: Path) -> None:
        self.name = name
        self.state_dir = state_dir
        self._sessions: dict[int, _Session] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._listener.bind(str(state_dir / f"{name}.sock"))
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(wake_read, selectors.EVENT_READ, self._wake)

    def serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                key.data(key.fileobj)

    def _wake(self, fd: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(fd, 4096)
        self._reap()

    def _reap(self) -> None:
        """Collect commands that ended, and orphans: this is the node's first process."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            session = self._sessions.pop(pid, None)
            if session is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            session.process.returncode = code  # Popen must not wait for it again.
            self._answer(session.sock, {"exit": code if code >= 0 else 128 - code})
            self._forget(session.sock)

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        sock.settimeout(10)
        self._selector.register(sock, selectors.EVENT_READ, self._read)

    def _read(self, sock: socket.socket) -> None:
        try:
            message, fds = channel.receive(sock)
        except (OSError, ValueError, channel.ChannelError):
            message, fds = None, []
        try:
            if message is None:
                self._hang_up(sock)
            elif message.get("do") == "exec":
                self._start(sock, message, fds)
            elif message.get("do") == "signal":
                self._signal(sock, int(message["signal"]))
            elif message.get("do") == "end-run":
                self._answer(sock, {"ended": self._end_run(str(message["run"]))})
            else:
                self._answer(sock, {"error": f"unknown request {message.get('do')!r}"})
        finally:
            for fd in fds:
                os.close(fd)

    def _start(self, sock: socket.socket, message: dict[str, Any], fds: list[int]) -> None:
        if len(fds) != 3:
            self._answer(sock, {"error": "a command needs three file descriptors"})
            return
        env = dict(message["env"])
        env.update(TMPDIR=str(temporary_dir(self.state_dir)), HOSTNAME=self.name)
        try:
            process = subprocess.Popen(
                message["argv"], env=env, cwd=message["cwd"], start_new_session=True,
                stdin=fds[0], stdout=fds[1], stderr=fds[2],
            )  # fmt: skip
        except (OSError, ValueError) as error:
            self._answer(sock, {"error": f"cannot start {message['argv'][0]!r}: {getattr(error, 'strerror', error)}"})
            return
        self._sessions[process.pid] = _Session(process, sock, str(message.get("run", "")))

    def _signal(self, sock: socket.socket, number: int) -> None:
        for pid, session in self._sessions.items():
            if session.sock is sock:
                _kill_group(pid, number)

    def _hang_up(self, sock: socket.socket) -> None:
        """Ends the command, since the process that asked for it is gone."""
        self._signal(sock, signal.SIGKILL)
        self._forget(sock)

    def _forget(self, sock: socket.socket) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(sock)
        sock.close()

    def _answer(self, sock: socket.socket, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            channel.send(sock, message)

    def _end_run(self, run: str) -> int:
        """Kill what a run left behind, such as daemons that detached from their launcher."""
        ended = 0
        for _ in range(20):
            left = _processes_of(run)
            if not left:
                break
            for pid in left:
                _kill(pid, signal.SIGKILL)
            ended = max(ended, len(left))
            time.sleep(0.005)
            self._reap()
        return ended


def _processes_of(run: str) -> list[int]:
    """Returns processes of this node with the run's name in their environment, as this PID namespace numbers them."""
    mark = b"ANTIPHON_LAB_RUN=" + run.encode()
    own_proc = os.readlink("/proc/self") == str(os.getpid())
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if mark not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            pid = int(folder.name) if own_proc else _inner_pid(folder)
        except OSError:
            continue
        if pid is not None and pid != os.getpid():
            found.append(pid)
    return found


def _inner_pid(folder: Path) -> int | None:
    """Returns the number that a process has inside this node, where the host's /proc had to stay."""
    if os.readlink(folder / "ns/pid") != os.readlink("/proc/self/ns/pid"):
        return None
    for line in (folder / "status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return None


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _kill_group(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, number)
