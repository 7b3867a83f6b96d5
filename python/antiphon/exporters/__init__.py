# SPDX-License-Identifier: Apache-2.0
"""Formats that decisions can be exported to; found by listing this package. One module is one format:

  SUMMARY: str                      one line for the help
  export(profile, options)          → Exported; raises AntiphonError for what its reader would misread as a whole

`openmpi_rules` is named openmpi-rules on the command line.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from antiphon.errors import AntiphonError


@dataclass(frozen=True)
class Options:
    """The user's options in addition to the profile."""

    #: The reader's version, where it is not the measured library's.
    reader_version: str | None = None
    #: The MPICH library with the built-in tree that is completed.
    libmpi: Path | None = None


@dataclass(frozen=True)
class Exported:
    """A file's text, and what its user must know about it."""

    text: str
    #: The instructions that make its reader use it.
    usage: str
    #: Decisions that are left out because this reader would misread them, with the reasons.
    left_out: Sequence[str] = field(default=())

    def usage_of(self, path: Path) -> str:
        """The instructions for the text in this file. A name such as …_JSON_FILE is no place for it."""
        absolute = shlex.quote(str(path.absolute()))
        return re.sub(r"(/absolute/path/of/)?\bFILE\b", lambda _place: absolute, self.usage)


def names() -> list[str]:
    """Returns all formats, as the command line names them."""
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def load(name: str) -> ModuleType:
    if name not in names():
        raise AntiphonError(f"--to {name}: no such format", hint=f"there are {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def version_of(text: str) -> tuple[int, ...]:
    """Returns the leading numbers of a version: "5.0.11rc1" → (5, 0, 11)."""
    begin = re.match(r"[0-9]{1,9}(\.[0-9]{1,9})*", text)
    if begin is None:
        raise AntiphonError(f"{text!r} is not a version", hint="write it as 5.0.11")
    return tuple(map(int, begin[0].split(".")))
