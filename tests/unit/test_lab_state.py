# SPDX-License-Identifier: Apache-2.0
"""Checks what labs write down: who holds them, and the time slice that they share."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.errors import AntiphonError
from antiphon.lab import Lab, holder, state


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(state, "root_dir", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def time_slice(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for the kernel's file, which says 100 ms on most machines."""
    file = root / "sched_rr_timeslice_ms"
    file.write_text("100")
    monkeypatch.setattr(state, "_SETTINGS", {str(file): "1"})
    return file


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Starts another process that lives for as long as a test needs it."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def test_the_last_user_restores_the_time_slice(root: Path, time_slice: Path, other: subprocess.Popen[bytes]) -> None:
    first, second = state.ProcessId.of(os.getpid()), state.ProcessId.of(other.pid)
    assert state.borrow_scheduling(root, first)
    assert state.borrow_scheduling(root, second)
    assert time_slice.read_text() == "1"
    state.give_scheduling_back(root, first)
    assert time_slice.read_text() == "1"
    state.give_scheduling_back(root, second)
    assert time_slice.read_text() == "100"


def test_users_that_were_killed_do_not_keep_the_time_slice(
    root: Path, time_slice: Path, other: subprocess.Popen[bytes]
) -> None:
    assert state.borrow_scheduling(root, state.ProcessId.of(other.pid))
    other.kill()
    other.wait()
    # A later lab must remember the host's value, not the one that the dead lab left.
    assert state.borrow_scheduling(root, state.ProcessId.of(os.getpid()))
    state.give_scheduling_back(root, state.ProcessId.of(os.getpid()))
    assert time_slice.read_text() == "100"


def test_all_settings_are_restored(root: Path, time_slice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share = root / "sched_rt_runtime_us"
    share.write_text("950000")
    monkeypatch.setattr(state, "_SETTINGS", {str(time_slice): "1", str(share): "985000", str(root / "no/group"): "1"})
    user = state.ProcessId.of(os.getpid())
    assert state.borrow_scheduling(root, user)
    assert share.read_text() == "985000"
    state.give_scheduling_back(root, user)
    assert (time_slice.read_text(), share.read_text()) == ("100", "950000")


@pytest.fixture
def share(time_slice: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for the kernel's other file."""
    file = time_slice.with_name("sched_rt_runtime_us")
    file.write_text("950000")
    monkeypatch.setattr(state, "_SETTINGS", {str(time_slice): "1", str(file): "985000"})
    monkeypatch.setattr(state, "_DEFAULTS", {str(time_slice): "0", str(file): "950000"})
    return file


def test_labs_of_two_root_directories_do_not_take_each_others_settings_for_the_hosts(
    root: Path, time_slice: Path, share: Path
) -> None:
    """GIVEN a machine and a container of it, which share the kernel's settings and not /run WHEN labs of both overlap
    THEN the machine has its own settings, or the kernel's defaults, after the last one.
    """
    inside = root / "container"
    inside.mkdir()
    me = state.ProcessId.of(os.getpid())
    assert state.borrow_scheduling(root, me)
    assert state.borrow_scheduling(inside, me)
    state.give_scheduling_back(root, me)
    assert (time_slice.read_text(), share.read_text()) == ("100", "950000")
    state.give_scheduling_back(inside, me)
    assert (time_slice.read_text(), share.read_text()) == ("0", "950000")


def test_a_time_slice_of_the_host_that_is_as_short_as_a_labs_is_kept(root: Path, time_slice: Path, share: Path) -> None:
    time_slice.write_text("1")
    user = state.ProcessId.of(os.getpid())
    assert state.borrow_scheduling(root, user)
    state.give_scheduling_back(root, user)
    assert (time_slice.read_text(), share.read_text()) == ("1", "950000")


def test_without_the_right_to_change_it_nothing_is_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_SETTINGS", {str(root / "no folder" / "missing"): "1"})
    assert not state.borrow_scheduling(root, state.ProcessId.of(os.getpid()))
    assert not (root / "scheduling.json").exists()


def test_what_was_written_before_a_failure_is_restored(
    root: Path, time_slice: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a first setting that cannot be changed, or no room for the record THEN the others are as before."""
    missing = str(root / "no folder" / "missing")
    monkeypatch.setattr(state, "_SETTINGS", {missing: "1", str(time_slice): "1"})
    assert not state.borrow_scheduling(root, state.ProcessId.of(os.getpid()))
    assert time_slice.read_text() == "100" and not (root / "scheduling.json").exists()
    monkeypatch.setattr(state, "_SETTINGS", {str(time_slice): "1"})

    def no_room(path: Path, content: str) -> None:
        raise AntiphonError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(state.files, "write", no_room)
    assert not state.borrow_scheduling(root, state.ProcessId.of(os.getpid()))
    assert time_slice.read_text() == "100"


def test_a_number_that_was_given_to_another_process_is_not_signalled(other: subprocess.Popen[bytes]) -> None:
    real = state.ProcessId.of(other.pid)
    assert real.alive()
    impostor = state.ProcessId(other.pid, real.start_time - 1)
    assert not impostor.alive()
    impostor.kill(signal.SIGKILL)
    assert other.poll() is None
    real.kill(signal.SIGKILL)
    assert other.wait(10) == -signal.SIGKILL


def record(process: state.ProcessId, name: str, folder: Path) -> dict[str, object]:
    return {"name": name, "state_dir": str(folder), "guardian": [process.pid, process.start_time]}


def test_labs_are_listed_and_dead_ones_removed(root: Path) -> None:
    alive, dead = state.create("alive"), state.create("dead")
    me = state.ProcessId.of(os.getpid())
    state.write_record(alive, record(me, "alive", alive))
    state.write_record(dead, record(state.ProcessId(me.pid, me.start_time - 1), "dead", dead))
    assert [lab["name"] for lab in state.list_labs()] == ["alive"]
    assert alive.is_dir()
    assert not dead.exists()
    with pytest.raises(AntiphonError, match="'alive' is up already"):
        state.create("alive")


def test_a_lab_of_another_version_is_listed_too(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a lab whose cluster has a field that is not known here THEN it and the others are shown."""
    about = {"mode": "root", "scheduling": "rr", "congestion_control": "cubic", "started": 0}
    for name, more in (("odd", {"antigravity": 1}), ("plain", {})):
        folder = state.create(name)
        cluster = {"name": name, "nodes": 2, "rate": "100mbit", "port_buffer": "64kb", **more}
        known = record(state.ProcessId.of(os.getpid()), name, folder)
        state.write_record(folder, {**known, "cluster": cluster, **about})
    assert cli.main(["lab", "status"]) == 0
    shown = capsys.readouterr().out
    assert "of another version of Antiphon" in shown and "plain" in shown and "2 nodes" in shown


def test_a_failed_start_leaves_the_name_free(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    for _ in range(2):
        with pytest.raises(AntiphonError, match="the lab did not start"):
            Lab(name="failing").up()
    assert not (root / "failing").exists()


def test_a_lab_that_is_starting_is_left_alone(root: Path) -> None:
    starting = state.create("starting")
    assert not state.remove_if_stale(starting)
    os.utime(starting, (0, 0))
    assert state.remove_if_stale(starting)
    assert not starting.exists()


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "..", "-a", "x" * 41])
def test_unusable_names_are_refused(root: Path, name: str) -> None:
    with pytest.raises(AntiphonError, match="not a usable lab name"):
        state.create(name)


def test_refused_namespaces_name_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"/proc/sys/kernel/unprivileged_userns_clone": "0\n"}

    def read(path: Path, **_: object) -> str:
        if str(path) not in settings:
            raise FileNotFoundError(path)
        return settings[str(path)]

    monkeypatch.setattr(Path, "read_text", read)
    error = holder.refused(PermissionError(1, "Operation not permitted"))
    assert "kernel.unprivileged_userns_clone is 0" in error.message
    assert "sysctl -w kernel.unprivileged_userns_clone=1" in error.hint
    settings.clear()
    settings["/proc/sys/kernel/apparmor_restrict_unprivileged_userns"] = "1\n"
    assert "apparmor_restrict_unprivileged_userns" in holder.refused(PermissionError(1, "no")).message
    settings.clear()
    assert "container" in holder.refused(PermissionError(1, "no")).hint
    settings["/proc/sys/kernel/apparmor_restrict_unprivileged_userns"] = "1\n"
    asked_of_root = holder.refused(PermissionError(1, "no"), as_root=True)
    assert "machine" not in asked_of_root.message and "as root" not in asked_of_root.hint
    assert "apparmor=unconfined" in asked_of_root.hint
    settings["/proc/sys/user/max_net_namespaces"] = "0\n"
    assert "max_net_namespaces" in holder.refused(PermissionError(1, "no"), as_root=True).message
