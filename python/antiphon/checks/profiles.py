# SPDX-License-Identifier: Apache-2.0
"""Checks the store: where runs look for what is known of their nodes, and whether they can add to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from antiphon.checks import WARN, Check, check
from antiphon.errors import AntiphonError
from antiphon.profile import load, store


def checks() -> Iterator[Check]:
    """Yields a line about each directory, and one about each file in it that runs pass over."""
    folders = store.directories()
    if not folders:
        yield check("profiles", "store", True, f"off ({store.VARIABLE}=off)")
    for number, folder in enumerate(folders):
        entries = store.entries([folder])
        known = f"{len(entries)} set{'s' * (len(entries) != 1)} of nodes with a library" if entries else "nothing yet"
        good = number > 0 or _can_be_written(folder)
        detail = f"{folder}: {known}" if good else f"{folder} cannot be written: runs cannot keep what they learn"
        name = "written by runs" if number == 0 else "read by runs"
        yield check("profiles", name, good, detail, f"name another directory with {store.VARIABLE}")
        for path, why in _broken(entries):
            yield Check("profiles", path.parent.name, WARN, why, f"`antiphon profile forget {path.parent.name}`")


def _can_be_written(folder: Path) -> bool:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _broken(entries: list[store.Entry]) -> Iterator[tuple[Path, str]]:
    for entry in entries:
        for learned in entry.read_learned():
            if learned.broken:
                yield learned.path, f"{learned.path}: {learned.broken}"
        if entry.profile is None:
            continue
        try:
            load(entry.profile)
        except AntiphonError as error:
            yield entry.profile, error.message
