# SPDX-License-Identifier: Apache-2.0
"""Checks that labs come, live beside each other, and go without a trace, however they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from antiphon.errors import AntiphonError
from antiphon.lab import ClusterSpec, Lab, state

TIME_SLICE = Path("/proc/sys/kernel/sched_rr_timeslice_ms")


def processes_of(lab: Lab) -> list[state.ProcessId]:
    """Returns the lab's processes as the host sees them: those with its state directory on their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(lab.state_dir).encode() in words:
                found.append(state.ProcessId.of(int(folder.name)))
    return found


def gone(processes: list[state.ProcessId], timeout_s: float = 5.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while any(process.alive() for process in processes) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(process.alive() for process in processes)


def interfaces() -> set[str]:
    return set(os.listdir("/sys/class/net"))


def mounts() -> str:
    return Path("/proc/self/mounts").read_text()


def wait_until(condition: Callable[[], bool], timeout_s: float = 5.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def run_python(code: str, *arguments: str, prefix: list[str]) -> str:
    """Returns what another Python, started by `prefix`, prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [*prefix, sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_sixteen_nodes_start_quickly_and_are_apart(cluster: Callable[..., ClusterSpec]) -> None:
    before = interfaces(), mounts()
    started = time.monotonic()
    with Lab(cluster(nodes=16)) as lab:
        assert time.monotonic() - started < 3
        assert (interfaces(), mounts()) == before
        script = "hostname; ls /proc | grep -c '^[0-9]'; touch /dev/shm/mark; ls /dev/shm; echo $TMPDIR"
        answers = [lab.execute(n, ["sh", "-c", script]).check().stdout.split() for n in (1, 16)]
        assert [answer[0] for answer in answers] == ["node01", "node16"]
        assert all(int(answer[1]) < 10 and answer[2] == "mark" for answer in answers)
        assert not Path("/dev/shm/mark").exists()
        assert lab.execute(7, ["getent", "hosts", "node16"]).check().stdout.split()[0] == "10.77.0.16"
        state_dir = lab.state_dir
    assert not state_dir.exists()


CORES = len(os.sched_getaffinity(0))


@pytest.mark.skipif(CORES > 8, reason="would take a lab of more nodes than cores")
def test_nodes_keep_to_their_cores(cluster: Callable[..., ClusterSpec]) -> None:
    """GIVEN more nodes than cores THEN each node keeps to one core, and the nodes are spread evenly over the cores."""
    nodes = 2 * CORES + 1
    with Lab(cluster(nodes=nodes)) as lab:
        allowed = [lab.execute(n, ["taskset", "-cp", "1"]).check().stdout.split()[-1] for n in range(1, nodes + 1)]
    assert sorted(allowed.count(core) for core in set(allowed)) == [2] * (CORES - 1) + [3]


def test_two_labs_at_once_do_not_meet(cluster: Callable[..., ClusterSpec]) -> None:
    with Lab(cluster(nodes=2)) as one, Lab(cluster(nodes=2)) as two:
        one.execute(1, ["sh", "-c", "touch $TMPDIR/mark /dev/shm/mark"]).check()
        seen = two.execute(1, ["sh", "-c", "ls $TMPDIR /dev/shm"]).check().stdout
        assert "mark" not in seen
        namespaces = {lab.execute(1, ["readlink", "/proc/self/ns/net"]).check().stdout for lab in (one, two)}
        assert len(namespaces) == 2
        one.down()
        assert two.execute(2, ["hostname"]).check().stdout == "node02\n"


@pytest.mark.parametrize("victim", ["guardian", "init"])
def test_killing_a_holder_leaves_nothing(cluster: Callable[..., ClusterSpec], victim: str) -> None:
    before = interfaces(), mounts(), TIME_SLICE.read_text()
    lab = Lab(cluster(nodes=3))
    lab.up()
    record, state_dir, processes = lab.record(), lab.state_dir, processes_of(lab)
    assert len(processes) == 2 + 1 + 3  # There are guardian and init, the switch, and the nodes.
    state.ProcessId(*record[victim]).kill(signal.SIGKILL)
    lab._holder.wait(10)  # The process is collected here, because a zombie would still have its number.
    assert gone(processes)
    assert wait_until(lambda: not state_dir.exists())
    assert wait_until(lambda: other_labs() or TIME_SLICE.read_text() == before[2])
    assert (interfaces(), mounts()) == before[:2]


def other_labs() -> bool:
    """Another user's lab may want the host's time slice to stay short."""
    return bool(state.list_labs())


def test_what_two_killed_holders_leave_is_found_and_removed(cluster: Callable[..., ClusterSpec]) -> None:
    lab = Lab(cluster(nodes=1), name="test-stale")
    lab.up()
    record, state_dir, processes = lab.record(), lab.state_dir, processes_of(lab)
    guardian, init = (state.ProcessId(*record[key]) for key in ("guardian", "init"))
    guardian.kill(signal.SIGSTOP)
    init.kill(signal.SIGKILL)
    guardian.kill(signal.SIGKILL)
    lab._holder.wait(10)
    assert gone(processes)
    assert state_dir.exists()
    assert "test-stale" not in [other["name"] for other in state.list_labs()]
    assert not state_dir.exists()


def test_a_lab_ends_with_the_process_that_made_it(cluster: Callable[..., ClusterSpec]) -> None:
    code = (
        "import sys, time\nfrom antiphon.lab import Lab, load_cluster\n"
        "lab = Lab(load_cluster().with_options(nodes=1)); lab.up(); print(lab.state_dir, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment) as maker:
        state_dir = Path(maker.stdout.readline().strip())
        assert state_dir.is_dir()
        maker.kill()
    assert wait_until(lambda: not state_dir.exists())


def test_a_command_ends_with_who_asked_for_it_and_after_its_time(lab: Lab, programs: ModuleType) -> None:
    result = lab.execute(1, ["sh", "-c", "echo begun; sleep 60"], timeout_s=0.3)
    assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "begun\n")
    assert "sleep" not in programs.running(lab, 1)


def test_programs_hear_an_interrupt(lab: Lab) -> None:
    """GIVEN holders that ignore Ctrl-C's signal THEN what runs on nodes and beside the switches does not."""
    for node in (1, "switch"):
        ignored = lab.execute(node, ["grep", "SigIgn", "/proc/self/status"]).check().stdout.split()[1]
        assert not int(ignored, 16) & 1 << (signal.SIGINT - 1)


HOST_UNMOUNTS = """
import subprocess, sys
from antiphon.lab import Lab, load_cluster
folder = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
with Lab(load_cluster().with_options(nodes=1)) as lab:
    assert folder in lab.execute(1, ["cat", "/proc/self/mounts"]).check().stdout
    subprocess.run(["umount", folder], check=True)
    assert folder not in lab.execute(1, ["cat", "/proc/self/mounts"]).check().stdout
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a mount")
def test_a_lab_does_not_keep_what_the_host_unmounts(namespaces: None, tmp_path: Path) -> None:
    """GIVEN a host with shared mounts, as systemd's are WHEN it unmounts one THEN nodes lose it as well."""
    run_python(HOST_UNMOUNTS, str(tmp_path), prefix=["unshare", "--mount", "--propagation", "shared"])


def test_a_command_that_ignores_the_polite_request_is_killed(lab: Lab) -> None:
    result = lab.execute(2, ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], timeout_s=0.2)
    assert result.timed_out
    assert result.elapsed_s < 6


def test_exit_codes_and_errors_of_commands(lab: Lab) -> None:
    assert lab.execute(1, ["sh", "-c", "exit 7"]).exit_code == 7
    assert lab.execute(1, ["sh", "-c", "kill -9 $$"]).exit_code == 128 + 9
    with pytest.raises(AntiphonError, match="cannot start 'no-such-program'"):
        lab.execute(1, ["no-such-program"])
    with pytest.raises(AntiphonError, match="no node 'node09'"):
        lab.execute("node09", ["true"])


RUN_BY_A_LAUNCHER = """
import sys
from pathlib import Path
from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi
library = Path("/usr/lib/libmpi.so.12")
mpi = Mpi("mpich", "mpich", "MPICH", "5.0", "", library.name, Path("/usr"), library, launcher=Path(sys.argv[1]))
with Lab(load_cluster().with_options(nodes=2)) as lab:
    print(lab.mpirun(mpi, 2, ["hostname"]).check().stdout, end="")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a mount")
def test_launchers_reach_nodes_where_nothing_may_be_run_from_the_labs_folder(namespaces: None, tmp_path: Path) -> None:
    """GIVEN a /run that is mounted noexec, as Debian's initramfs does THEN a launcher's remote shell still starts."""
    launcher = tmp_path / "mpiexec"
    launcher.write_text('#!/bin/sh\nexec "$4" node02 hostname\n')
    launcher.chmod(0o755)
    # The folder stays the same one: labs that do not know of each other would change the host's scheduling in turns.
    noexec = 'mount --bind "$0" "$0" && mount -o remount,bind,noexec "$0" && exec "$@"'
    mounted = ["unshare", "--mount", "sh", "-c", noexec]
    run = run_python(RUN_BY_A_LAUNCHER, str(launcher), prefix=[*mounted, str(state.root_dir().parent)])
    assert run == "node02\n"


def test_a_name_is_taken_until_down(cluster: Callable[..., ClusterSpec]) -> None:
    with Lab(cluster(nodes=1), name="test-name"), pytest.raises(AntiphonError, match="up already"):
        Lab(cluster(nodes=1), name="test-name").up()
    with Lab(cluster(nodes=1), name="test-name") as again:
        assert Lab.attach("test-name").spec == again.spec


def test_the_command_keeps_a_lab_until_down(namespaces: None, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def lab_command(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "antiphon", "lab", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=30)

    name = f"test-{os.getpid()}"
    record = json.loads(lab_command("up", "--name", name, "--nodes", "2", "--link-rate", "10mbit", "--json").stdout)
    try:
        assert record["cluster"]["rate"] == "10mbit"
        assert name in lab_command("status").stdout
        done = lab_command("exec", "--name", name, "2", "sh", "-c", "hostname; exit 5")
        assert (done.stdout, done.returncode) == ("node02\n", 5)
    finally:
        assert lab_command("down", "--name", name).returncode == 0
    assert name not in lab_command("status", "--json").stdout
    again = lab_command("down", "--name", name)
    assert again.returncode == 2
    assert "there is no lab named" in again.stderr
