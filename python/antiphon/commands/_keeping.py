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


def libraries_of(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Family and version of the libraries that a profile is for: the one it was measured with, and all that it has
    decisions for. Decisions of a model alone are for the version of the library's table, as in `antiphon tune --model`.
    """
    from antiphon.traffic import libraries

    measured = document["machine"].get("mpi", {})
    tuned = [e for e in document.get("measurements", {}).get("tune", []) if e.get("purpose") == "decisions"]
    named = [
        (measured.get("name"), measured.get("version", "")),
        *((e.get("mpi"), e.get("version", "")) for e in tuned),
    ]
    found = [(store.FAMILIES.get(family, family), version) for family, version in named if family]
    decided = {rule["mpi"] for rule in document.get("decisions", {}).get("rules", []) if "mpi" in rule}
    rest = sorted(decided - {family for family, _version in found})
    found += [(family, libraries.for_library(family).key.partition("-")[2]) for family in rest]
    if not found:
        raise AntiphonError("the profile does not say which MPI library it is for", hint="name it with --mpi")
    return list(dict.fromkeys(found))


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
