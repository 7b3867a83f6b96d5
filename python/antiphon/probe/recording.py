# SPDX-License-Identifier: Apache-2.0
"""All samples of a probe, in a file beside the profile: what was measured once can be looked at again."""

from __future__ import annotations

import datetime
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon import packed
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.output import files
from antiphon.probe import codecs, document, multicast, survey
from antiphon.probe.session import Event, RecordedSession, Session

FORMAT, VERSION = "antiphon-samples", 1


@dataclass(frozen=True)
class Recording:
    """The source of the samples, and the events of each launch."""

    source: dict[str, Any]
    launches: list[list[Event]]

    def document(self) -> dict[str, Any]:
        """The profile that follows from the samples."""
        replay = RecordedSession(self.launches, self.source["ranks"], self.source["budget_s"])
        found = survey.measure(replay)
        result = document.build(found, replay.events, self.source)
        result["measurements"]["elapsed_s"] = self.source["elapsed_s"]
        return result

    def write(self, path: Path) -> None:
        """Writes compressed JSON."""
        content = {"format": FORMAT, "version": VERSION, "source": self.source, "launches": self.launches}
        text = json.dumps(content, separators=(",", ":"))
        files.write(path, gzip.compress(text.encode(), mtime=0))


def measured(session: Session, name: str) -> Recording:
    """Measures, which takes about a minute."""
    survey.measure(session)
    source = {
        "name": name,
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "mpi": {"name": session.mpi.abi, "version": session.mpi.version, "transport": session.transport},
        "ranks": session.ranks,
        "budget_s": session.budget_s,
        "elapsed_s": round(session.elapsed_s, 1),
        "codecs": codecs.measure(),
        "multicast": multicast.measure(session.testbed, session.mpi, session.ranks),
    }
    return Recording(source, session.launches)


def read(path: Path) -> Recording:
    """Reads a file that write() made."""
    try:
        content = parse_json(packed.unpack(path.read_bytes()))
    except OSError as error:
        raise AntiphonError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise AntiphonError(f"{path}: is not a whole file of samples") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise AntiphonError(
            f"{path}: is no file of samples", hint="`antiphon probe -o m.json` writes m.samples.json.gz"
        )
    if content.get("version") != VERSION:
        raise AntiphonError(f"{path}: version {content.get('version')}: this Antiphon reads {VERSION}")
    if not isinstance(content.get("source"), dict) or not isinstance(content.get("launches"), list):
        raise AntiphonError(f"{path}: is damaged: it has no source or no launches")
    return Recording(content["source"], content["launches"])


def document_again(path: Path, name: str | None = None) -> dict[str, Any]:
    """Reads a file that write() made, and returns the profile that follows from it; `name`: another of the machine."""
    recorded = read(path)
    recorded.source["name"] = name or recorded.source.get("name")
    try:
        return recorded.document()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise AntiphonError(f"{path}: is damaged, or of another version ({what})",
                            hint="measure the machine again: antiphon probe -o FILE") from error  # fmt: skip
