# SPDX-License-Identifier: Apache-2.0
"""Writes environment modules: the same settings for Environment Modules (Tcl) and for Lmod (Lua)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from antiphon import __version__

WHATIS = "Antiphon: MPI collectives fitted to the network that a program runs on"
HELP = """\
antiphon run ./program    runs an MPI program with its collectives accelerated
antiphon --help           shows the rest"""


@dataclass(frozen=True)
class Module:
    """What loading the module does: directories to search first, what is preloaded, and settings."""

    name: str
    paths: Mapping[str, Path]
    preload: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def help(self) -> str:
        """Returns what `module help` shows."""
        if self.preload is None:
            return HELP
        return f"{HELP}\nWhile it is loaded, {self.preload.name} is preloaded into every program that is started."


def tcl(module: Module) -> str:
    """Returns the file for Environment Modules, which Lmod reads too."""
    lines = ["#%Module1.0", f"## Antiphon {__version__}, written by `antiphon module`", "", "proc ModulesHelp { } {"]
    lines += [f"  puts stderr {_tcl(line)}" for line in module.help.splitlines()]
    lines += ["}", f"module-whatis {_tcl(WHATIS)}", f"conflict {module.name}", ""]
    lines += [f"prepend-path {name} {_tcl(str(path))}" for name, path in module.paths.items()]
    if module.preload is not None:
        # Tools of MPI's profiling interface have to stand before it.
        lines.append(f"append-path LD_PRELOAD {_tcl(str(module.preload))}")
    lines += [f"setenv {name} {_tcl(value)}" for name, value in module.settings.items()]
    return "\n".join(lines) + "\n"


def lua(module: Module) -> str:
    """Returns the file for Lmod."""
    lines = [f"-- Antiphon {__version__}, written by `antiphon module`", f"help({_lua(module.help)})",
             f"whatis({_lua(WHATIS)})", f'conflict("{module.name}")', ""]  # fmt: skip
    lines += [f"prepend_path({_lua(name)}, {_lua(str(path))})" for name, path in module.paths.items()]
    if module.preload is not None:
        lines.append(f'append_path("LD_PRELOAD", {_lua(str(module.preload))})')
    lines += [f"setenv({_lua(name)}, {_lua(value)})" for name, value in module.settings.items()]
    return "\n".join(lines) + "\n"


def _tcl(text: str) -> str:
    for sign in '\\"$[]':
        text = text.replace(sign, f"\\{sign}")
    return f'"{text}"'


def _lua(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
