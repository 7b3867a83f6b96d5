# SPDX-License-Identifier: Apache-2.0
"""The store: what is known of sets of nodes from one run to the next (its form: include/antiphon/store.hpp)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon import core
from antiphon.documents import parse_json
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.profile.layout import json_text

VARIABLE = "ANTIPHON_STORE"
FORMAT = "antiphon-store"
NOWHERE = "neither XDG_CACHE_HOME nor HOME is set"
#: What Antiphon writes into an entry: a file has a number behind its name until it is whole.
_WRITTEN = re.compile(r"\.lock|(about|profile|learned\..+)\.json(\.\d+)?")
ANOTHER = f"name a directory that can be written: {VARIABLE}=DIRECTORY"
#: Whose library a profile's ABI is: the standard ABI's objects are MPICH's.
FAMILIES = {"mpiabi": "mpich"}


@dataclass(frozen=True)
class Learned:
    """What runs have learned over one network."""

    path: Path
    #: "tcp, eth0".
    network: str
    rules: int
    link_bits_per_s: int
    link_measured_s: int
    #: The rate is used instead of another measurement; it is not when it is too old.
    link_is_used: bool
    #: Why the file cannot be read.
    broken: str = ""
    #: What one connection carries, where it does not fill the link; else 0.
    connection_bits_per_s: int = 0


@dataclass(frozen=True)
class Entry:
    """A set of nodes and a library."""

    path: Path
    nodes: tuple[str, ...]
    mpi: str
    profile: Path | None
    learned: tuple[Path, ...]

    @property
    def name(self) -> str:
        return self.path.name

    def read_learned(self) -> list[Learned]:
        return [read_learned(path) for path in self.learned]


def directories(env: Mapping[str, str] = os.environ) -> list[Path | None]:
    """The directories of the store, the one that is written first: None where nothing is. Empty if the store is off."""
    answer = core.query(
        "store_directories",
        setting=env.get(VARIABLE, ""),
        cache_home=env.get("XDG_CACHE_HOME", ""),
        home=env.get("HOME", ""),
    )
    return [Path(text) if text else None for text in answer["directories"]]


def cache(env: Mapping[str, str] = os.environ) -> Path | None:
    """The user's directory for what Antiphon keeps, wherever the store is; None where there is none."""
    own = directories({name: value for name, value in env.items() if name != VARIABLE})[0]
    return own.parent if own else None


def entries(folders: Sequence[Path | None] | None = None) -> list[Entry]:
    """All entries, in the order in which a run looks for them. What cannot be read is none, as for a run."""
    paths = [path for folder in (directories() if folders is None else folders) if folder for path in _inside(folder)]
    return [entry for path in paths if (entry := _read_entry(path)) is not None]


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _read_entry(path: Path) -> Entry | None:
    """Only a directory that says that it is the store's is an entry: others may lie beside it."""
    try:
        about = parse_json((path / "about.json").read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            return None
        nodes, mpi = tuple(map(str, about["nodes"])), str(about["mpi"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    own = path / "profile.json"
    return Entry(path, nodes, mpi, own if own.is_file() else None, tuple(sorted(path.glob("learned.*.json"))))


def read_learned(path: Path) -> Learned:
    """Reads a file that runs have written; a broken one says so."""
    transport, interface = (path.name.split(".") + ["", ""])[1:3]
    network = f"{transport}, {interface}"
    try:
        found = core.query("read_learned", text=path.read_text(encoding="utf-8"))
    except (OSError, ValueError, AntiphonError) as error:
        return Learned(path, network, 0, 0, 0, False, str(error))
    link = found.get("link", {"bits_per_s": 0, "measured_s": 0})
    rules = len(found.get("decisions", {"rules": []})["rules"])
    one = link.get("connection_bits_per_s", 0)
    return Learned(
        path, network, rules, link["bits_per_s"], link["measured_s"], found["link_is_used"], connection_bits_per_s=one
    )


def choose(key: str, among: Sequence[Entry]) -> Entry:
    """The entry whose name begins with `key` or has it after a dot, as `1f2e` is enough of its last part."""
    fitting = [e for e in among if e.name.startswith(key) or any(part.startswith(key) for part in e.name.split("."))]
    exact = [entry for entry in fitting if entry.name == key]
    if len(exact or fitting) == 1:
        return (exact or fitting)[0]
    names = ", ".join(dict.fromkeys(entry.name for entry in fitting))
    if len({entry.name for entry in fitting}) == 1:
        return fitting[0]  # The same nodes, in several directories: a run takes the first.
    if not fitting:
        raise AntiphonError(f"nothing is known under {key!r}", hint="`antiphon profile list` shows all names")
    raise AntiphonError(f"{key!r} is the beginning of several names", hint=f"there are {names}")


def serving(nodes: Sequence[str], library: tuple[str, str], folders: Sequence[Path | None]) -> Entry | None:
    """The entry whose profile a run on these nodes takes: that of the fewest nodes that these are among."""
    if not nodes:
        return None
    own = key(nodes, library).partition(".")[0] + "."
    fitting = [e for e in entries(folders) if e.profile and e.name.startswith(own) and {*nodes} <= {*e.nodes}]
    return min(fitting, key=lambda entry: len(entry.nodes), default=None)


def key(nodes: Sequence[str], library: tuple[str, str]) -> str:
    """The name of the entry for these nodes with a library of this family and version."""
    family, version = library
    asked = {"nodes": list(nodes), "mpi": FAMILIES.get(family, family), "version": version}
    return str(core.query("store_key", **asked)["name"])


def nodes_of(document: Mapping[str, Any]) -> list[str]:
    """The names of the nodes that a profile was measured on; none where it does not say them."""
    names = [str(node.get("name", "")) for node in document["topology"]["nodes"]]
    return names if all(names) and len(set(names)) == document["machine"]["nodes"] else []


def save(
    document: Mapping[str, Any],
    nodes: Sequence[str] = (),
    folders: Sequence[Path | None] | None = None,
    library: tuple[str, str] | None = None,
) -> Path:
    """Puts a profile into the store, for the nodes that it names or for `nodes`; returns its path there.

    `library` is the family and version of another MPI library than the one that it was measured with.
    """
    chosen = directories() if folders is None else folders
    if not chosen:
        raise AntiphonError(f"the store is off ({VARIABLE}=off)", hint=f"unset {VARIABLE}, or name a directory")
    if chosen[0] is None:
        raise AntiphonError(f"the store has no directory to write to ({NOWHERE})", exit_code=EXIT_FAILURE, hint=ANOTHER)
    names = list(nodes) or nodes_of(document)
    if not names:
        raise AntiphonError("the profile does not name its nodes", hint="name them with --hostfile FILE")
    mpi = document["machine"].get("mpi", {})
    family, version = library or (mpi.get("name", ""), mpi.get("version", ""))
    answer = core.query(
        "store_profile",
        directories=[str(folder or "") for folder in chosen],
        nodes=names,
        mpi=FAMILIES.get(family, family),
        version=version,
        text=json_text(document) + "\n",
    )
    if answer["why"]:
        raise AntiphonError(f"cannot write {answer['path']}: {answer['why']}", exit_code=EXIT_FAILURE, hint=ANOTHER)
    return Path(answer["path"])


def forget(entry: Entry, *, learned_only: bool = False) -> None:
    """Removes an entry, or what runs have added to it. Files that are not Antiphon's stay, with their directory."""
    try:
        if learned_only and entry.profile is not None:
            for path in entry.learned:
                path.unlink(missing_ok=True)
            return
        own = [path for path in entry.path.iterdir() if _WRITTEN.fullmatch(path.name)]
        # What makes it an entry goes last: one that could not be removed whole is still listed.
        for path in sorted(own, key=lambda path: path.name.startswith("about.json")):
            path.unlink(missing_ok=True)
        if not any(entry.path.iterdir()):
            entry.path.rmdir()
    except OSError as error:
        raise AntiphonError(f"cannot remove {error.filename}: {error.strerror}", exit_code=EXIT_FAILURE) from None
