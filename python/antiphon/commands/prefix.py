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

from antiphon import output

#: What there is below the prefix.
PLACES = {"include": "include", "lib": "lib", "pkg_config": "share/pkgconfig", "cmake": "share/cmake/Antiphon"}


def prefix() -> Path:
    """Returns the directory of the package, which has include/, lib/ and share/."""
    return Path(__file__).resolve().parents[1]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon prefix`."""
    which = parser.add_mutually_exclusive_group()
    for name, place in PLACES.items():
        which.add_argument(f"--{name.replace('_', '-')}", dest="place", action="store_const", const=name,
                           help=f"{place} in it")  # fmt: skip
    which.add_argument("--json", action="store_true", help="all of them, as JSON")


def run(args: argparse.Namespace) -> int:
    """Prints the directory."""
    if args.json:
        output.print_json({"prefix": str(prefix()), **{name: str(prefix() / place) for name, place in PLACES.items()}})
    else:
        sys.stdout.write(f"{prefix() / PLACES[args.place] if args.place else prefix()}\n")
    return 0
