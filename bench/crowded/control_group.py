# SPDX-License-Identifier: Apache-2.0
"""Control groups with a limit of processor time, as containers have (docker run --cpus). Needs root."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

PERIOD_US = 100_000
#: Of version 1 and of version 2, with what mounts them anew.
PLACES = {
    Path("/sys/fs/cgroup/cpu"): "mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/cpu"
    " && mount -t cgroup -o cpu none /sys/fs/cgroup/cpu",
    Path("/sys/fs/cgroup"): "mount -t cgroup2 none /sys/fs/cgroup",
}
RANK = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"


def top() -> Path:
    """Returns where groups with limits are."""
    return next((place for place in PLACES if (place / "cgroup.procs").exists()), Path("/sys/fs/cgroup"))


@contextmanager
def control_group(cores: float, name: object = "all") -> Iterator[Path]:
    """Makes a group that may use so many cores, and removes it. Raises OSError where that is not possible."""
    group = top() / f"antiphon-{os.getpid()}-{name}"
    group.mkdir()
    try:
        quota_us = round(cores * PERIOD_US)
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        yield group
    finally:
        remove(group)


@contextmanager
def groups_of_ranks(cores: float, ranks: int) -> Iterator[list[str]]:
    """Makes a group for each rank of a lab, and returns the words before a program that bring it into its rank's. Nodes
    of a lab see no control groups, so these are mounted; a rank in real time has no limit."""
    with ExitStack() as groups:
        for rank in range(ranks):
            groups.enter_context(control_group(cores, rank))
        join = f'{PLACES[top()]} && echo $$ > {top()}/antiphon-{os.getpid()}-{RANK}/cgroup.procs && exec "$@"'
        yield ["chrt", "--other", "0", "unshare", "-m", "sh", "-c", join, "sh"]


def remove(group: Path) -> None:
    """Removes the group when its last process has ended."""
    for _ in range(100):
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.1)
    return None


def joining(group: Path, argv: Sequence[str]) -> list[str]:
    """Returns a command that runs another one in the group."""
    return ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh", *argv]
