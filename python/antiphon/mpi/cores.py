# SPDX-License-Identifier: Apache-2.0
"""The processor cores that this process may use. Hardware threads of one core count once, as in Open MPI's slots."""

from __future__ import annotations

import os
from pathlib import Path

SYSFS = Path("/sys/devices/system/cpu")


def count() -> int:
    """How many cores there are; CPUs where the system does not tell which of them share a core."""
    return len({_core_of(cpu) for cpu in os.sched_getaffinity(0)})


def _core_of(cpu: int) -> str:
    """The CPUs of its core, which are the same text for each of them."""
    try:
        return (SYSFS / f"cpu{cpu}/topology/thread_siblings_list").read_text(encoding="ascii").strip() or f"cpu{cpu}"
    except OSError:
        return f"cpu{cpu}"
