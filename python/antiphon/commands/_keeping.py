# SPDX-License-Identifier: Apache-2.0
"""Puts a profile that was just made where runs on its nodes find it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon import output, profile
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
    kept: dict[Path, str] = {}
    try:
        for library in libraries:
            whole = _with_known_decisions(document, folders, library)
            with_them = " with the decisions that runs had there" if whole is not document else ""
            kept[store.save(whole, (), folders, library)] = with_them
    except AntiphonError as error:
        output.print_warning(f"not kept for runs to find: {error.message}")
        output.print_hint(f"`antiphon profile use {file} --hostfile NODES` does it later")
        return
    for path, with_them in kept.items():
        output.stderr().print(f"kept: runs on these nodes find it{with_them} ({path})", soft_wrap=True)


def _with_known_decisions(
    document: Mapping[str, Any], folders: Sequence[Path | None], library: tuple[str, str]
) -> Mapping[str, Any]:
    """Returns the profile; if it has no decisions, with those that runs on its nodes have followed until now."""
    entry = store.serving(store.nodes_of(document), library, folders)
    if entry is None or entry.profile is None or "decisions" in document:
        return document
    earlier = tuned(entry.profile)
    if earlier is None:
        return document
    other = other_machine(earlier, document["machine"].get("fingerprint", ""))
    if other:
        output.print_warning(
            f"{entry.profile} had decisions for another machine ({'; '.join(other)}): they are dropped"
        )
        return document
    return with_decisions_of(earlier, document)


def tuned(path: Path) -> dict[str, Any] | None:
    """Returns the profile in a file, if it has decisions; one that cannot be read has none."""
    try:
        earlier = profile.load(path)
    except AntiphonError:
        return None
    return earlier if "decisions" in earlier else None


def other_machine(earlier: Mapping[str, Any], fingerprint: str) -> list[str]:
    """Says how machines differ. Rules name their MPI library, so decisions for one stay beside another's profile."""
    return profile.differences(earlier, fingerprint, but=("mpi",))


def with_decisions_of(earlier: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a new profile of a machine with the decisions of its earlier one."""
    measured = document.get("measurements", {})
    note = "the decisions are those of the profile before: `antiphon tune` makes new ones"
    tune = {name: value for name, value in earlier.get("measurements", {}).items() if name == "tune"}
    whole = measured | tune | {"notes": [*measured.get("notes", []), note]}
    return {**document, "decisions": earlier["decisions"], "measurements": whole}
