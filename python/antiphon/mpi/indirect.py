# SPDX-License-Identifier: Apache-2.0
"""Finds the programs that another program starts, as far as its command line and its scripts name them.

`numactl -m 0 ./solver` and `bash run.sh` are not linked to an MPI library; what they start is.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from antiphon.mpi import elf

#: What a shell may take for one word of a line.
WORD = re.compile(r"[^\s;&|()<>\"'`$=\\]+")
MOST_BYTES = 1 << 20
MOST_PROGRAMS = 64


def started_by(file: Path, args: Sequence[str]) -> list[Path]:
    """Returns the ELF programs and scripts' interpreters that `file` may start with these arguments."""
    found: dict[Path, None] = {}
    for word in args:
        named = shutil.which(word)
        if named is not None and Path(named).is_file():
            found[Path(os.path.abspath(named))] = None
    for script in (file, *map(Path, args)):
        for program in _named_in(script):
            found[program] = None
    return list(found)[:MOST_PROGRAMS]


def _named_in(script: Path) -> Iterator[Path]:
    """Yields the compiled programs whose paths a script has in its text, seen from this directory."""
    text = _text(script)
    for line in text.splitlines():
        for word in WORD.findall(line.partition("#")[0]):
            path = Path(os.path.abspath(word))
            if "/" in word and os.path.isfile(path) and os.access(path, os.X_OK) and elf.is_elf(path):
                yield path


def _text(file: Path) -> str:
    """Returns what a script says; nothing for a file that is none, or too long for one."""
    try:
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            return ""
        raw = file.read_bytes()
    except (OSError, ValueError):
        return ""
    return "" if b"\0" in raw else raw.decode("utf-8", "replace")
