# SPDX-License-Identifier: Apache-2.0
"""The processes that hold a lab: `python -m antiphon.lab.holder STATE_DIR READY_FD LIFE_FD`, the cluster on stdin.

    guardian          outside all namespaces; restores what was borrowed from the host
      └─ init         first process of the lab's PID namespace; its network namespace holds the switches
           ├─ node    one each: own network, PID, mount, IPC and host name
           └─ cables  where a process carries packets (cables.py)

The kernel ends everything below init when init ends, and with the processes go their namespaces and interfaces:
nothing of a lab has a name in the host. Guardian and init watch each other, so whichever is killed, the other tidies.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from antiphon.errors import AntiphonError
from antiphon.lab import cables, clusters, kernel, network, node, pacing, state, traffic
from antiphon.lab.spec import ClusterSpec

SWITCH = "switch"
#: Settings that forbid namespaces: the value that does, and what allows them. Root needs no user namespace.
_LIMITS_OF_USERS = {
    "kernel/unprivileged_userns_clone": ("0", "kernel.unprivileged_userns_clone=1"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    "user/max_user_namespaces": ("0", "user.max_user_namespaces=15000"),
}
_LIMITS = {"user/max_net_namespaces": ("0", "user.max_net_namespaces=15000")}


class _Stop(Exception):
    """Raised when the process is asked to end."""


def _stop_on_signal(*_: Any) -> NoReturn:
    raise _Stop


def enter_namespaces() -> str:
    """Get the right to make namespaces, and a PID namespace for the next child. Returns how: root or user."""
    try:
        kernel.unshare(kernel.CLONE_NEWPID)
        return "root"
    except OSError as error:
        if not kernel.is_refusal(error):
            raise
    uid, gid = os.geteuid(), os.getegid()
    try:
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")
    except OSError as error:
        raise refused(error, as_root=uid == 0) from None
    return "user"


def refused(error: OSError, as_root: bool = False) -> AntiphonError:
    """Say which of the usual restrictions blocks namespaces, of those that bind this user."""
    reasons = _LIMITS if as_root else {**_LIMITS_OF_USERS, **_LIMITS}
    for name, (closed, setting) in reasons.items():
        try:
            value = Path("/proc/sys", name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == closed:
            return AntiphonError(
                f"this machine does not let users make namespaces ({name.replace('/', '.')} is {value})",
                hint=f"as root: sysctl -w {setting}" + ("" if as_root else "   – or run the lab as root"),
            )
    return AntiphonError(
        f"the kernel refuses to make namespaces: {error.strerror or error}",
        hint=network.CONTAINER_HINT + ("" if as_root else "; otherwise run the lab as root"),
    )


class Guardian:
    """Runs outside the namespaces: starts init, waits for the end, and restores the host's settings."""

    def __init__(self, spec: ClusterSpec, state_dir: Path, ready_fd: int, life_fd: int) -> None:
        self.spec = spec
        self.state_dir = state_dir
        self.ready_fd = ready_fd
        self.life_fd = life_fd
        self.identity = state.ProcessId.of(os.getpid())
        self.as_root = os.geteuid() == 0  # In a namespace of its own, every user is root.

    def run(self) -> int:
        network.check_tools(self.spec)
        cables.check(self.spec)
        real_time = state.borrow_scheduling(self.state_dir.parent, self.identity) if _may_use_real_time() else False
        if real_time:
            # Real time begins here. Without it, the ranks of another lab would leave this one hardly any time to start.
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        init_pid = 0
        try:
            mode = enter_namespaces()
            watch_read, watch_write = os.pipe()
            init_pid = os.fork()
            if init_pid == 0:
                os.close(watch_write)
                if self.life_fd >= 0:
                    os.close(self.life_fd)
                _run_init(Init(self, mode, real_time, watch_read))
            os.close(watch_read)
            os.close(self.ready_fd)
            self._wait(init_pid)
        except _Stop:
            pass
        finally:
            if init_pid:
                _end(init_pid)
            state.remove(self.state_dir, self.identity)
        return 0

    def _wait(self, init_pid: int) -> None:
        """Wait until init ends, or until the lab's owner is gone (the other end of the life pipe closes)."""
        poll = select.poll()
        poll.register(os.pidfd_open(init_pid), select.POLLIN)
        if self.life_fd >= 0:
            poll.register(self.life_fd, select.POLLIN | select.POLLHUP)
        poll.poll()


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def _may_use_real_time() -> bool:
    """Try it in a child, so that the holder itself stays an ordinary process."""
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _run_init(init: Init) -> NoReturn:
    code = 1
    try:
        init.run()
        code = 0
    except _Stop:
        code = 0
    except AntiphonError as error:
        init.report({"error": str(error), "hint": error.hint})
    except OSError as error:
        known = kernel.is_refusal(error)
        problem = refused(error, init.guardian.as_root) if known else AntiphonError(f"the lab cannot be made: {error}")
        init.report({"error": f"{problem} ({error})", "hint": problem.hint})
    finally:
        os._exit(code)


class Init:
    """Runs the first process of the lab's PID namespace, in the namespace of its switches."""

    def __init__(self, guardian: Guardian, mode: str, real_time: bool, watch_fd: int) -> None:
        self.guardian = guardian
        self.spec = guardian.spec
        self.state_dir = guardian.state_dir
        self.mode = mode
        self.real_time = real_time
        self.watch_fd = watch_fd

    def report(self, message: dict[str, Any]) -> None:
        with os.fdopen(self.guardian.ready_fd, "w", encoding="utf-8") as file:
            file.write(json.dumps(message))

    def run(self) -> None:
        signal.signal(signal.SIGTERM, _stop_on_signal)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        kernel.die_with_parent(signal.SIGTERM)
        kernel.set_process_name("lab-init")
        # The host's /proc is still mounted here, so this is the number the host knows.
        self.identity = state.ProcessId.of(int(os.readlink("/proc/self")))
        self._make_switch_namespace()
        nodes = self._start_nodes()
        carrier = self._make_network([kernel.network_namespace(pid) for pid, _, _ in nodes])
        for _, go, _ in nodes:
            os.write(go, b"1")
        notes = [_node_ready(ready) for _, _, ready in nodes]
        switch_pid = self._serve_switch()
        state.write_record(self.state_dir, self._record(notes[0]))
        self.report({"ok": True})
        self._watch([switch_pid, *carrier, *(pid for pid, _, _ in nodes)])

    def _make_network(self, namespaces: list[str]) -> list[int]:
        """Make switches and cables; returns the process that carries packets, where there is one."""
        with cables.taps(self.spec) as made:
            network.run_batch("ip", network.switch_links(self.spec, namespaces, made))
            network.set_offloads(network.switch_interfaces(self.spec), self.spec.offloads)
            shaping = network.switch_shaping(self.spec, made)
            if shaping:
                network.run_batch("tc", shaping)
            return cables.start(self.spec, made, self.state_dir, self.real_time)

    def _make_switch_namespace(self) -> None:
        kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWNS)
        # What the host mounts and unmounts is so in the lab, too; what the lab mounts stays in it.
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_SLAVE)
        for name in ("iptables", "ip6tables", "arptables"):
            node.write_sysctl(f"net/bridge/bridge-nf-call-{name}", "0")
        node.write_sysctl("net/ipv6/conf/all/disable_ipv6", "1")
        node.write_sysctl("net/ipv6/conf/default/disable_ipv6", "1")
        self.congestion_control = network.choose_congestion_control(self.spec.ecn_bytes > 0)
        hosts = self.state_dir / "hosts"
        hosts.write_text(network.hosts_file(self.spec), encoding="ascii")
        kernel.mount(str(hosts), "/etc/hosts", None, kernel.MS_BIND)
        node.temporary_dir(self.state_dir).mkdir()

    def _start_nodes(self) -> list[tuple[int, int, int]]:
        """Fork a first process for each node; returns its pid, a pipe to start it, and a pipe that says ready."""
        own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        nodes: list[tuple[int, int, int]] = []
        for number in range(1, self.spec.nodes + 1):
            go_read, go_write = os.pipe()
            ready_read, ready_write = os.pipe()
            kernel.unshare(kernel.CLONE_NEWPID)
            pid = os.fork()
            if pid == 0:
                for _, go, ready in nodes:
                    os.close(go)
                    os.close(ready)
                for fd in (go_write, ready_read, self.guardian.ready_fd, self.watch_fd):
                    os.close(fd)
                plan = node.NodePlan(self.spec, number, self.state_dir, self.congestion_control, self.real_time)
                _run_node(plan, go_read, ready_write)
            # The next node's namespace must be a sibling. Until this call it would be made where no process can start.
            kernel.setns(own_pid_namespace, kernel.CLONE_NEWPID)
            os.close(go_read)
            os.close(ready_write)
            nodes.append((pid, go_write, ready_read))
        for _, _, ready in nodes:
            first = os.read(ready, 1)
            if first != b"1":
                _node_ready(ready, first)  # This raises what the node wrote.
        return nodes

    def _serve_switch(self) -> int:
        """Let commands run beside the switches as well, because only there one can see what a port drops."""
        ready_read, ready_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                for fd in (self.watch_fd, self.guardian.ready_fd, ready_read):
                    os.close(fd)
                _default_signals()
                kernel.set_process_name(f"lab-{SWITCH}")
                server = node.NodeServer(SWITCH, self.state_dir)
                os.write(ready_write, b'{"notes": []}')
                os.close(ready_write)
                server.serve()
            finally:
                os._exit(1)
        os.close(ready_write)
        _node_ready(ready_read)
        return pid

    def _record(self, notes: list[str]) -> dict[str, Any]:
        return {
            "name": self.state_dir.name,
            "state_dir": str(self.state_dir),
            "cluster": self.spec.to_dict(),
            "guardian": [self.guardian.identity.pid, self.guardian.identity.start_time],
            "init": [self.identity.pid, self.identity.start_time],
            "mode": self.mode,
            "scheduling": "real-time, 1 ms" if self.real_time else "normal, 0.1 ms slices",
            "congestion_control": self.congestion_control,
            "started": time.time(),
            "notes": notes,
        }

    def _watch(self, pids: list[int]) -> None:
        """Wait for the guardian to go (its end of the pipe closes) or a node to die; the lab is then over."""
        poll = select.poll()
        poll.register(self.watch_fd, select.POLLIN | select.POLLHUP)
        for pid in pids:
            poll.register(os.pidfd_open(pid), select.POLLIN)
        # Orphans become children of this process; the kernel removes them.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        # The guardian's death arrives twice, as the end of the pipe and as a signal. The later one must not stop the
        # clean-up.
        with contextlib.suppress(_Stop):
            poll.poll()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        state.remove(self.state_dir, self.guardian.identity)


def _default_signals() -> None:
    """Undo what a holder does with signals: programs would inherit that they ignore Ctrl-C's."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def _run_node(plan: node.NodePlan, go: int, ready: int) -> NoReturn:
    try:
        _default_signals()
        node.separate(plan)
        os.write(ready, b"1")
        if os.read(go, 1) != b"1":
            os._exit(1)
        node.mount_private(plan)
        node.set_up_network(plan)
        server = node.NodeServer(plan.name, plan.state_dir)
        node.set_scheduling(plan)
        os.write(ready, json.dumps({"notes": plan.notes}).encode())
        os.close(ready)
        os.close(go)
        traffic.start(plan.spec, plan.number)
        server.serve()
    except AntiphonError as error:
        os.write(ready, json.dumps({"error": f"{plan.name}: {error}", "hint": error.hint}).encode())
    except OSError as error:
        os.write(ready, json.dumps({"error": f"{plan.name}: {error}"}).encode())
    finally:
        os._exit(1)


def _node_ready(ready: int, first: bytes = b"") -> list[str]:
    """Returns the notes that the node made while setting itself up; raises an error if it failed."""
    with os.fdopen(ready, "rb") as file:
        text = first + file.read()
    message: dict[str, Any] = json.loads(text) if text else {"error": "a node ended while it was being set up"}
    if "error" in message:
        raise AntiphonError(message["error"], hint=message.get("hint"))
    notes: list[str] = message["notes"]
    return notes


def main(argv: list[str]) -> int:
    state_dir, ready_fd, life_fd = Path(argv[0]), int(argv[1]), int(argv[2])
    spec = clusters.spec_from_dict(json.load(sys.stdin), "the lab's cluster")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop_on_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command in front, which takes the lab down itself.
    kernel.set_process_name("lab-guardian")
    try:
        with pacing.paced(spec.connection_bits_per_s):
            return Guardian(spec, state_dir, ready_fd, life_fd).run()
    except AntiphonError as error:
        state.remove(state_dir)
        with os.fdopen(ready_fd, "w", encoding="utf-8") as file:
            file.write(json.dumps({"error": str(error), "hint": error.hint}))
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
