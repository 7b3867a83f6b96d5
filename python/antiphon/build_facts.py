# SPDX-License-Identifier: Apache-2.0
"""Says what this installation is made of: its version, and who built the compiled parts for which machine."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

from antiphon import __version__, core
from antiphon.mpi import ABIS, elf, preloadable
from antiphon.mpi.launch import lib_dir


def facts() -> dict[str, Any]:
    """Returns the facts as data; a part that is not installed is not named."""
    parts = {"core": core.LIBRARY} | {abi: lib_dir() / f"libantiphon-{abi}.so" for abi in ABIS}
    return {
        "version": __version__,
        "python": platform.python_version(),
        "package": str(Path(__file__).resolve().parent),
        "parts": {name: _part(path) for name, path in parts.items() if elf.read(path) is not None},
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Returns the facts for people to read; the first line is the version alone."""
    said = [f"antiphon {found['version']}"]
    for name, part in found["parts"].items():
        what = "core" if name == "core" else f"preload object for {name}"
        build = f", build {part['build'][:8]}" if part["build"] else ""
        compiler = re.sub(r"^(\w+): \(.*\) ", r"\1 ", part["compiler"]) or "unknown compiler"
        said.append(f"{what}: {part['processor']}, {compiler}{build}")
    if not found["parts"]:
        said.append("no compiled parts: in a source tree `make setup` builds them")
    return [*said, f"Python {found['python']}, {found['package']}"]


def _part(path: Path) -> dict[str, str]:
    file = elf.read(path)
    machine = preloadable.processor(file.machine) if file else ""
    return {"file": str(path), "processor": machine, **elf.made_by(path)}
