# SPDX-License-Identifier: Apache-2.0
"""What is measured where: settings, placements, and sample files that later slices continue."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.mpi import Mpi, by_name

#: Name, method, whether collectives count, and the objective (MPIPP's exchange always uses the sum of messages).
PLACEMENTS = (
    ("block", "block", True),
    ("cyclic", "cyclic", True),
    ("mpipp", "mpipp", False),
    ("opp", "mpipp", True),
    ("antiphon", "antiphon", True),
)
#: The control: block's placement, measured a second time.
AGAIN = "again"
NAMES = {"block": "block", "cyclic": "cyclic", "mpipp": "MPIPP", "opp": "OPP", "antiphon": "Antiphon"}


@dataclass(frozen=True)
class Setting:
    """A cluster, a library, and the collectives that are used."""

    cluster: str
    profile: Path
    mpi_name: str = "openmpi"
    #: Open MPI's hierarchical component is switched off.
    without_han: bool = False
    env: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def mpi(self) -> Mpi:
        """Return the library."""
        return by_name(self.mpi_name)

    @property
    def name(self) -> str:
        """Return the name of the setting's files."""
        return f"{self.cluster}.{self.mpi_name}{'-tuned' if self.without_han else ''}"

    @property
    def table(self) -> str:
        """Return the library whose algorithms are assumed; "": as the trace says."""
        return {"openmpi": "openmpi-5.0", "mpich": "mpich-5"}[self.mpi_name] + ("-tuned" if self.without_han else "")

    @property
    def rank_env(self) -> dict[str, str]:
        """Return environment variables for ranks."""
        return {"OMPI_MCA_coll_han_priority": "0"} if self.without_han else {}

    def folder(self, work: Path) -> Path:
        """Return where the setting's files are."""
        return work / self.name

    @classmethod
    def load_all(cls, work: Path) -> list[Setting]:
        """Return all settings in the order of preparation."""
        file = work / "settings.json"
        if not file.is_file():
            return []
        rows = json.loads(file.read_text(encoding="utf-8"))
        return [cls(r["cluster"], Path(r["profile"]), r["mpi"], r["without_han"]) for r in rows]

    def remember(self, work: Path) -> None:
        """Add the setting to those that slices go through."""
        known = {s.name: s for s in self.load_all(work)} | {self.name: self}
        rows = [
            {"cluster": s.cluster, "profile": str(s.profile), "mpi": s.mpi_name, "without_han": s.without_han}
            for s in known.values()
        ]
        (work / "settings.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in a file of JSON lines; none if it does not exist."""
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def append(file: Path, row: Mapping[str, Any]) -> None:
    """Append one line."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")
