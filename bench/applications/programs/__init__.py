# SPDX-License-Identifier: Apache-2.0
"""Programs of a distribution, a file each: what runs, on which input, and how to read what it says."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Beside this package; and those of the test suites of others.
INPUTS = Path(__file__).resolve().parents[1] / "inputs"
CONFORMANCE = Path(__file__).resolve().parents[3] / "tests" / "conformance" / "programs"
#: What a program prints is in this file of its directory.
PRINTED = "printed.txt"


@dataclass(frozen=True)
class Application:
    """A program of the distribution, its input, and how to read what it says."""

    argv: tuple[str, ...]
    #: Writes the input into the directory of a run.
    write_input: Callable[[Path], None]
    #: Reads times, in seconds or in seconds for a unit of work, from that directory.
    figures: Callable[[Path], dict[str, float]]
    #: Reads the numbers that must be equal with Antiphon and without.
    result: Callable[[Path], str]
    #: Variables that it needs.
    env: Mapping[str, str] = field(default_factory=dict)


def load() -> dict[str, Application]:
    """Returns all of them by their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module(f"{__name__}.{name}").APPLICATION for name in names}


def found(pattern: str, file: Path) -> re.Match[str]:
    """Returns where a program says this in a file. Without it, the error shows the end of the file."""
    text = file.read_text(encoding="utf-8")
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, text[-2000:]
    return match


def copied(source: Path, changes: Mapping[str, str] | None = None) -> Callable[[Path], None]:
    """Returns what copies an input, with some lines written otherwise: new ones by old ones, each found once."""

    def copy(folder: Path) -> None:
        text = source.read_text(encoding="utf-8")
        for old, new in (changes or {}).items():
            assert text.count(old) == 1, (source, old)
            text = text.replace(old, new)
        (folder / source.name).write_text(text, encoding="utf-8")

    return copy
