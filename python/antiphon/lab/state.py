# SPDX-License-Identifier: Apache-2.0
"""Keeps the records of running labs: one directory each, and the one host setting that labs share."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.lab import kernel
from antiphon.output import files

RECORD = "lab.json"
# These are the host's settings while labs run. The first matters most: ranks on one core take turns every millisecond.
_SETTINGS = {
    "/proc/sys/kernel/sched_rr_timeslice_ms": "1",
    # Ranks are real-time programs and may use 98.5 % of each second, not 95 %: the rest is a pause without ranks, and
    # 50 ms exceed most measured collectives. From Linux 6.12 on it stays 50 ms where other programs want to run.
    "/proc/sys/kernel/sched_rt_runtime_us": "985000",  # On Linux 6.12 and later, measure on a quiet machine.
    "/sys/fs/cgroup/cpu/cpu.rt_runtime_us": "985000",  # This applies where control groups have a share of their own.
}
_DEFAULTS = dict(zip(_SETTINGS, ("0", "950000", "950000"), strict=True))  # Of 0, the kernel makes its own time slice.
_BORROWED_FILE = "scheduling.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class ProcessId:
    """Identifies a process for good: its number may be used again, but not together with its start time."""

    pid: int
    start_time: int

    @classmethod
    def of(cls, pid: int) -> ProcessId:
        start = kernel.process_start_time(pid)
        return cls(pid, -1 if start is None else start)

    def alive(self) -> bool:
        return kernel.process_start_time(self.pid) == self.start_time

    def kill(self, number: int) -> None:
        """Signal this process, and never another process that has since taken its number."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return
        try:
            if self.alive():
                signal.pidfd_send_signal(handle, number)
        except OSError:
            pass
        finally:
            os.close(handle)


def root_dir() -> Path:
    """Returns the directory of this user's labs. It is short, since Unix socket paths inside it hold 107 bytes."""
    user = os.geteuid()
    run = Path("/run") if user == 0 else Path(f"/run/user/{user}")
    if os.access(run, os.W_OK | os.X_OK) and run.is_dir() and run.stat().st_uid == user:
        path = run / "antiphon-lab"
    else:
        path = Path("/tmp") / f"antiphon-lab-{user}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        details = path.lstat()
    except OSError as error:
        raise AntiphonError(f"cannot make the directory {path}: {error.strerror}") from None
    if details.st_uid != user or path.is_symlink():
        raise AntiphonError(f"{path} belongs to somebody else", hint="remove it, then try again")
    return path


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise AntiphonError(
            f"{name!r} is not a usable lab name", hint="use lower-case letters, digits and -, at most 40"
        )
    return name


def create(name: str) -> Path:
    """Make a new state directory; it is an error if a lab of that name runs. The remains of a dead lab are removed."""
    path = root_dir() / check_name(name)
    for _ in range(2):
        try:
            path.mkdir(mode=0o700)
            return path
        except FileExistsError:
            if not remove_if_stale(path):
                break
    raise AntiphonError(
        f"a lab named {name!r} is up already",
        hint=f"use another --name, or take it down: antiphon lab down --name {name}",
    )


def write_record(state_dir: Path, record: dict[str, Any]) -> None:
    temporary = state_dir / f"{RECORD}.new"
    temporary.write_text(json.dumps(record, indent=2), encoding="utf-8")
    temporary.rename(state_dir / RECORD)


def read_record(state_dir: Path) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = parse_json((state_dir / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record


def holders(record: dict[str, Any]) -> list[ProcessId]:
    return [ProcessId(*record[key]) for key in ("guardian", "init") if record.get(key)]


def remove_if_stale(state_dir: Path) -> bool:
    """Remove the directory of a lab without a running holder; returns True if the directory is gone."""
    record = read_record(state_dir)
    if record is None:
        # A lab that is starting has no record yet; give it time before calling it dead.
        try:
            if time.time() - state_dir.stat().st_mtime < 30:
                return False
        except OSError:
            return True
    elif any(process.alive() for process in holders(record)):
        return False
    remove(state_dir)
    return True


def remove(state_dir: Path, user: ProcessId | None = None) -> None:
    """Delete a lab's directory, and restore what its user, or a dead one, had borrowed."""
    shutil.rmtree(state_dir, ignore_errors=True)
    give_scheduling_back(state_dir.parent, user)


def list_labs() -> list[dict[str, Any]]:
    """Returns records of the labs that run, and removes stale records."""
    labs = []
    for path in sorted(root_dir().iterdir()):
        if path.is_dir() and not remove_if_stale(path):
            record = read_record(path)
            if record is not None:
                labs.append(record)
    return labs


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def borrow_scheduling(root: Path, user: ProcessId) -> bool:
    """Set the host's real-time scheduling up for labs, until `user` ends or gives it back."""
    try:
        with _locked(root / "lock"):
            entry = _read_borrowed(root) or {"original": _current_settings(), "users": []}
            entry["users"] = [*_living(entry), [user.pid, user.start_time]]
            # The record comes first: whatever fails or dies after it, the settings can be restored.
            files.write(root / _BORROWED_FILE, json.dumps(entry))
            ready = [_write_setting(path, value) for path, value in _SETTINGS.items()][0]
        if not ready:
            give_scheduling_back(root, user)
    except (OSError, ValueError, AntiphonError):
        return False
    return ready


def give_scheduling_back(root: Path, user: ProcessId | None = None) -> None:
    """Drop one user and all dead ones; the last user to go restores what the host had."""
    with _locked(root / "lock"):
        entry = _read_borrowed(root)
        if entry is None:
            return
        living = [item for item in _living(entry) if user is None or item[0] != user.pid]
        if living:
            files.write(root / _BORROWED_FILE, json.dumps({**entry, "users": living}))
            return
        # The order is reversed because a group's share is at most the whole's.
        for path, value in reversed(entry["original"].items()):
            _write_setting(path, value)
        (root / _BORROWED_FILE).unlink(missing_ok=True)


def _current_settings() -> dict[str, str]:
    """Returns what the host has, or the kernel's defaults where a lab of another root directory, as a container's, is
    up or was killed.
    """
    found = {}
    for path in _SETTINGS:
        with contextlib.suppress(OSError):
            found[path] = Path(path).read_text(encoding="ascii").strip()
    labs = [path for path, value in found.items() if value == _SETTINGS[path]]
    if len(labs) > 1:  # A single one may be the host's own.
        found.update({path: _DEFAULTS[path] for path in labs})
    return found


def _write_setting(path: str, value: str) -> bool:
    try:
        Path(path).write_text(value, encoding="ascii")
    except OSError:
        return False
    return True


def _living(entry: dict[str, Any]) -> list[list[int]]:
    return [item for item in entry["users"] if ProcessId(*item).alive()]


def _read_borrowed(root: Path) -> dict[str, Any] | None:
    try:
        borrowed: dict[str, Any] = parse_json((root / _BORROWED_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return borrowed


def new_id() -> str:
    """Returns a name for a temporary lab or a run that no other has."""
    return f"{os.getpid()}-{secrets.token_hex(3)}"
