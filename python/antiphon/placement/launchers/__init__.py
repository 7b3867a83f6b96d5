# SPDX-License-Identifier: Apache-2.0
"""Launchers that a placement can be written for; found by listing this package. One module is one launcher:

SUMMARY: str                 one line for the help
write(placement) → Written   the file, and how the launcher is told; AntiphonError for what it cannot express
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi
from antiphon.placement.document import Placement


@dataclass(frozen=True)
class Written:
    """A launcher's file, options and variables; FILE stands for the file's path."""

    text: str
    #: Options of the launcher, besides the number of ranks.
    options: Sequence[str]
    #: Variables of the launcher's own environment.
    env: Mapping[str, str] = field(default_factory=dict)
    #: The launcher's command, for people.
    command: str = "mpirun"
    #: Requests that the launcher cannot fulfil.
    left_out: Sequence[str] = ()

    def options_with(self, path: str) -> list[str]:
        """Returns the options with the file's path filled in."""
        return [option.replace("FILE", path) for option in self.options]

    def env_with(self, path: str) -> dict[str, str]:
        """Returns the variables with the file's path filled in."""
        return {key: value.replace("FILE", path) for key, value in self.env.items()}

    def usage(self, path: str, ranks: int) -> str:
        """Returns the command line that uses the file."""
        env = [f"{key}={value}" for key, value in self.env_with(path).items()]
        return " ".join([*env, self.command, "-n", str(ranks), *self.options_with(path), "./program"])


def names() -> list[str]:
    """Returns all launchers."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def load(name: str) -> ModuleType:
    """Returns one launcher."""
    if name not in names():
        raise AntiphonError(f"--launcher {name}: no such launcher", hint=f"there are {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name}")


def write(name: str, placement: Placement) -> Written:
    """Returns the placement as that launcher reads it."""
    written: Written = load(name).write(placement)
    return written


def of_mpi(mpi: Mpi) -> str:
    """Returns the launcher that comes with an MPI library."""
    if mpi.family == "openmpi":
        return "openmpi4" if mpi.version.startswith("4.") else "openmpi5"
    return "hydra"
