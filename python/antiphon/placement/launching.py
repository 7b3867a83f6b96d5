# SPDX-License-Identifier: Apache-2.0
"""Tells a launcher how to run with a placement."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon import output
from antiphon.errors import AntiphonError
from antiphon.output import files
from antiphon.placement import launchers
from antiphon.placement.document import Placement


@dataclass(frozen=True)
class Told:
    """Options and variables of the launcher."""

    ranks: int
    options: Sequence[str]
    env: Mapping[str, str]


def tell(launcher: str, placement: Placement, ranks: int | None, hostfile: Path | None = None) -> Told:
    """Writes the launcher's file, and returns the options that name it."""
    if ranks is not None and ranks != placement.ranks:
        raise AntiphonError(f"-n {ranks}, and the placement is for {placement.ranks} ranks",
                            hint="leave -n away, or have a placement made for that many")  # fmt: skip
    if hostfile is not None:
        raise AntiphonError("--hostfile and --placement both say where ranks go", hint="the placement names its nodes")
    written = launchers.write(launcher, placement)
    for note in written.left_out:
        output.print_warning(f"{launcher} is not told {note}")
    path = str(keep(written.text))
    return Told(placement.ranks, written.options_with(path), written.env_with(path))


def keep(text: str) -> Path:
    """Writes a file with that text. Launchers replace this process, which then cannot remove the file, so equal texts
    share one file.
    """
    folder = Path(tempfile.gettempdir()) / f"antiphon-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise AntiphonError(f"{folder} is somebody else's", hint="set TMPDIR to a directory of yours")
    path = folder / f"placement-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    files.write(path, text)
    return path
