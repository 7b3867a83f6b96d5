# SPDX-License-Identifier: Apache-2.0
"""What is measured where: settings, placements, and samples in files that later slices go on with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.mpi import Mpi, by_name

#: Name, method, whether collectives count, and what is made small (MPIPP's exchange always takes the sum of messages).
PLACEMENTS = (
    ("block", "block", True),
    ("cyclic", "cyclic", True),
    ("mpipp", "mpipp", False),
    ("opp", "mpipp", True),
    ("antiphon", "antiphon", True),
)
#: The control: what is measured once more under block's placement.
AGAIN = "again"
NAMES = {"block": "block", "cyclic": "cyclic", "mpipp": "MPIPP", "opp": "OPP", "antiphon": "Antiphon"}


@dataclass(frozen=True)
class Setting:
    """A cluster, a library, and whose collectives."""

    cluster: str
    profile: Path
    mpi_name: str = "openmpi"
    #: Open MPI's hierarchical component takes no part.
    without_han: bool = False
    env: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def mpi(self) -> Mpi:
        """The library."""
        return by_name(self.mpi_name)

    @property
    def name(self) -> str:
        """Of its files."""
        return f"{self.cluster}.{self.mpi_name}{'-tuned' if self.without_han else ''}"

    @property
    def table(self) -> str:
        """Whose algorithms are assumed; "": what the trace says."""
        return {"openmpi": "openmpi-5.0", "mpich": "mpich-5"}[self.mpi_name] + ("-tuned" if self.without_han else "")

    @property
    def rank_env(self) -> dict[str, str]:
        """For ranks."""
        return {"OMPI_MCA_coll_han_priority": "0"} if self.without_han else {}

    def folder(self, work: Path) -> Path:
        """Where its files are."""
        return work / self.name

    @classmethod
    def load_all(cls, work: Path) -> list[Setting]:
        """In the order of preparation."""
        file = work / "settings.json"
        if not file.is_file():
            return []
        rows = json.loads(file.read_text(encoding="utf-8"))
        return [cls(r["cluster"], Path(r["profile"]), r["mpi"], r["without_han"]) for r in rows]

    def remember(self, work: Path) -> None:
        """Adds it to those that slices go through."""
        known = {s.name: s for s in self.load_all(work)} | {self.name: self}
        rows = [
            {"cluster": s.cluster, "profile": str(s.profile), "mpi": s.mpi_name, "without_han": s.without_han}
            for s in known.values()
        ]
        (work / "settings.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """The objects in a file of JSON lines; none if it is not there."""
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def append(file: Path, row: Mapping[str, Any]) -> None:
    """One more line."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")
