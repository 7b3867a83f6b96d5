# SPDX-License-Identifier: Apache-2.0
"""Reads, checks and writes the plan file (docs/reference/plan-format.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon import __version__, core
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.output import files
from antiphon.placement import Placement

FORMAT = "antiphon-plan"
VERSION = 2
#: The version of files of `antiphon compile`, which have no format and hold patterns alone.
COMPILED_VERSION = 1
#: What a plan may hold, by the names that users know.
PARTS = ("placement", "algorithms", "patterns", "compression")
SCHEMA = Path(__file__).parent.parent / "schemas" / "plan.schema.json"
HINT = "`antiphon plan` makes one anew"


@dataclass(frozen=True)
class Plan:
    """A plan, or the patterns of a compiled one."""

    #: "program", "arguments", "ranks", "nodes", "mpi", "machine"; empty in a compiled plan.
    made_for: Mapping[str, Any]
    placement: Placement | None = None
    #: Rules as those of a profile's decisions (docs/reference/rules.md).
    rules: Sequence[Mapping[str, Any]] = ()
    patterns: Sequence[Mapping[str, Any]] = ()
    #: "use", and "classes" of messages with what encoding them did in the recorded run.
    compression: Mapping[str, Any] | None = None
    #: Predicted times: as it ran, with each of placement and algorithms alone, with both.
    expected: Sequence[Mapping[str, Any]] = field(default=())

    @property
    def ranks(self) -> int:
        """Returns the number of ranks that it was made for; 0: any."""
        return int(self.made_for.get("ranks", 0))

    def parts(self) -> list[str]:
        """Returns the names of the parts that it has."""
        there = (self.placement is not None, self.rules, self.patterns, self.compression)
        return [name for name, some in zip(PARTS, there, strict=True) if some]

    def multicasts(self) -> list[Mapping[str, Any]]:
        """Returns the rules that send by multicast: each communicator that they fit has its group."""
        return [rule for rule in self.rules if str(rule["use"]).startswith("multicast")]

    def to_json(self) -> dict[str, Any]:
        """Returns the file's document."""
        document: dict[str, Any] = {
            "format": FORMAT, "version": VERSION, "tool": f"antiphon {__version__}", "made_for": dict(self.made_for),
        }  # fmt: skip
        if self.placement is not None:
            document["placement"] = self.placement.to_json()
        if self.rules:
            document["decisions"] = {"version": 1, "rules": list(self.rules)}
        if self.patterns:
            document["patterns"] = list(self.patterns)
        if self.compression:
            document["compression"] = dict(self.compression)
        if self.expected:
            document["expected"] = list(self.expected)
        return document

    def save(self, path: Path) -> None:
        """Writes the file, in one step."""
        files.write(path, json.dumps(self.to_json()) + "\n")

    @classmethod
    def load(cls, path: Path) -> Plan:
        """Reads and checks a file; an error says what is wrong with it, and where."""
        text = _read(path)
        plan = cls.of_json(_parsed(text, path), str(path))
        try:
            core.query("describe_plan", plan=text, time_line=False)
        except core.CoreError as error:
            raise AntiphonError(f"plan {path}: {error.message}", hint=HINT) from None
        return plan

    @classmethod
    def quick(cls, path: Path) -> Plan:
        """Reads what a launcher needs; the check of all settings before a run looks at the rest."""
        document = _parsed(_read(path), path)
        if not is_plan(document):
            return cls({}, patterns=document.get("patterns", ()))
        _check_version(document, str(path))
        return _of(document, str(path))

    @classmethod
    def of_json(cls, document: Mapping[str, Any], name: str) -> Plan:
        """Reads a document, of this version or a compiled one."""
        if not is_plan(document):
            if document.get("version") != COMPILED_VERSION or "patterns" not in document:
                what = "format: is missing, and it is no plan of `antiphon compile`"
                raise AntiphonError(f"plan {name}: {what}", hint=HINT)
            return cls({}, patterns=document["patterns"])
        _check_version(document, name)
        _check_form(document, name)
        return _of(document, name)


def is_plan(document: Any) -> bool:
    """Returns whether this is a plan of `antiphon plan`, of any version."""
    return isinstance(document, Mapping) and document.get("format") == FORMAT


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AntiphonError(f"cannot read the plan {path}: {getattr(error, 'strerror', None) or error}",
                            hint="`antiphon plan` writes plans, from a run or its trace") from None  # fmt: skip


def _parsed(text: str, path: Path) -> Mapping[str, Any]:
    try:
        document = parse_json(text)
    except ValueError as error:
        raise AntiphonError(f"plan {path}: is not a whole JSON document ({error})", hint=HINT) from None
    if not isinstance(document, Mapping):
        raise AntiphonError(f"plan {path}: is no object", hint=HINT)
    return document


def _check_version(document: Mapping[str, Any], name: str) -> None:
    if document.get("version") != VERSION:
        raise AntiphonError(
            f"plan {name}: version: is {document.get('version')!r}, and this Antiphon reads {VERSION}", hint=HINT
        )


def _check_form(document: Mapping[str, Any], name: str) -> None:
    import jsonschema

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    worst = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(document))
    if worst is None:
        return
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in worst.absolute_path).lstrip(".")
    raise AntiphonError(f"plan {name}: {where or 'document'}: {worst.message[:160]}", hint=HINT)


def _of(document: Mapping[str, Any], name: str) -> Plan:
    try:
        placement = Placement.of_json(document["placement"]) if document.get("placement") else None
        return Plan(
            dict(document["made_for"]),
            placement,
            (document.get("decisions") or {}).get("rules", ()),
            document.get("patterns") or (),
            document.get("compression"),
            document.get("expected") or (),
        )
    except AntiphonError as error:
        raise AntiphonError(f"plan {name}: placement: {error.message}", hint=HINT) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AntiphonError(f"plan {name}: is damaged ({error})", hint=HINT) from None
