# SPDX-License-Identifier: Apache-2.0
"""Checks what LD_PRELOAD brings into the ranks besides Antiphon: tools that wrap MPI calls, and what hinders them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from antiphon.checks import OK, WARN, Check
from antiphon.mpi import preload

LET_RUN = "let `antiphon run` set LD_PRELOAD"
LAST = "name it before libantiphon in LD_PRELOAD, or leave Antiphon away there: `antiphon run` adds it where it belongs"


def checks(env: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Yields a line for each object in LD_PRELOAD that has to do with MPI, or that cannot be loaded."""
    found = preload.of_environment(env)
    antiphon = next((i for i, entry in enumerate(found) if entry.ours), len(found))
    library = next((i for i, entry in enumerate(found) if entry.library), len(found))
    for i, entry in enumerate(found):
        name = entry.path.name
        if "/" in str(entry.path) and not entry.path.is_file():
            yield Check("Tools", name, WARN, f"LD_PRELOAD names {entry.path}, which does not exist",
                        "correct LD_PRELOAD")  # fmt: skip
        elif entry.ours and i > library:
            yield Check("Tools", name, WARN, "LD_PRELOAD names an MPI library before Antiphon, which sees no call",
                        LET_RUN)  # fmt: skip
        elif entry.ours and i > antiphon:
            yield Check("Tools", name, WARN, "LD_PRELOAD names Antiphon twice", LET_RUN)
        elif entry.wraps and not entry.ours and not entry.library:
            wraps = f"wraps {entry.wraps} MPI functions"
            if i > antiphon and not entry.calls_profiling_names:
                detail = f"{wraps}, and behind Antiphon sees only calls that Antiphon leaves to the MPI library"
                yield Check("Tools", name, WARN, detail, LAST)
            else:
                yield Check("Tools", name, OK, f"{wraps}; it sees every call, and Antiphon works below it")
