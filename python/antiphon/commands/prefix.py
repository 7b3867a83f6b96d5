# SPDX-License-Identifier: Apache-2.0
"""Print where the package is, for compilers and build systems

cmake -B build -DCMAKE_PREFIX_PATH="$(antiphon prefix)"      then find_package(Antiphon)
export PKG_CONFIG_PATH="$(antiphon prefix --pkg-config)"     then pkg-config --cflags antiphon
cc -I "$(antiphon prefix --include)" …                       for antiphon.h and antiphon_codec.h
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from antiphon import output, places
from antiphon.mpi.launch import lib_dir

#: What there is below the prefix.
PLACES = {"include": "include", "lib": "lib", "pkg_config": "share/pkgconfig", "cmake": "share/cmake/Antiphon"}


def prefix() -> Path:
    """Returns the directory that has include/ and share/: the package, or the system's where a distribution installed
    it.
    """
    packages = places.packages()
    folders = [*packages, *packages[0].parents]
    return next((folder for folder in folders if (folder / "include" / "antiphon.h").is_file()), packages[0])


def place(name: str) -> Path:
    """Returns one of the directories."""
    return lib_dir() if name == "lib" else prefix() / PLACES[name]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon prefix`."""
    which = parser.add_mutually_exclusive_group()
    for name, below in PLACES.items():
        which.add_argument(f"--{name.replace('_', '-')}", dest="place", action="store_const", const=name,
                           help=f"{below} in it")  # fmt: skip
    which.add_argument("--json", action="store_true", help="all of them, as JSON")


def run(args: argparse.Namespace) -> int:
    """Prints the directory."""
    if args.json:
        output.print_json({"prefix": str(prefix()), **{name: str(place(name)) for name in PLACES}})
    else:
        sys.stdout.write(f"{place(args.place) if args.place else prefix()}\n")
    return 0
