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
        if number > 0 and folder is None:
            continue
        entries = store.entries([folder])
        known = f"{len(entries)} set{'s' * (len(entries) != 1)} of nodes with a library" if entries else "nothing yet"
        wrong = _why_not_read(folder) if number > 0 and folder else _why_not_written(folder)
        name = "written by runs" if number == 0 else "read by runs"
        hint = f"name another directory with {store.VARIABLE}"
        yield check("profiles", name, not wrong, wrong or f"{folder}: {known}", hint)
        for path, why in _broken(entries):
            yield Check("profiles", path.parent.name, WARN, why, f"`antiphon profile forget {path.parent.name}`")


def _why_not_written(folder: Path | None) -> str:
    if folder is None:
        return f"nowhere ({store.NOWHERE}): runs cannot keep what they learn"
    # A parent that may not be entered hides what is in it.
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    good = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return "" if good else f"{folder} cannot be written: runs cannot keep what they learn"


def _why_not_read(folder: Path) -> str:
    try:
        os.listdir(folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{folder} cannot be read: {error.strerror}"
    return ""


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
