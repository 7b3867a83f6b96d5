# SPDX-License-Identifier: Apache-2.0
"""Puts a profile that was just made where runs on its nodes find it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.bench.testbed import Testbed
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi
from antiphon.profile import store


def add_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option that leaves the store alone."""
    parser.add_argument("--no-keep", action="store_true", help="only write FILE: do not keep the profile where runs on "
                        "these nodes find it (`antiphon profile`)")  # fmt: skip


def keep(document: Mapping[str, Any], file: Path, testbed: Testbed, libraries: Sequence[Mpi]) -> None:
    """Keeps the profile where runs on the testbed find it."""
    keep_in(testbed.stores(), document, file, [(mpi.family, mpi.version) for mpi in libraries])


def keep_in(
    folders: Sequence[Path | None], document: Mapping[str, Any], file: Path, libraries: Sequence[tuple[str, str]]
) -> None:
    """Keeps the profile for runs with each of these libraries, of a family and a version, and says so. What prevents it
    is a warning.
    """
    if not folders or document["machine"]["nodes"] < 2:
        return  # A lab that is about to go, or a single node, whose runs look for nothing.
    try:
        paths = [store.save(document, (), folders, library) for library in libraries]
    except AntiphonError as error:
        output.print_warning(f"not kept for runs to find: {error.message}")
        output.print_hint(f"`antiphon profile use {file} --hostfile NODES` does it later")
        return
    for path in paths:
        output.stderr().print(f"kept: runs on these nodes find it ({path})", soft_wrap=True)
