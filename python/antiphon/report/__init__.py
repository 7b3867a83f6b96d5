# SPDX-License-Identifier: Apache-2.0
"""Turns documents into one self-contained page of HTML.

What a page shows is decided by a module of antiphon.report.kinds, one for each kind of document: it has
`accepts(document) -> bool` and `page(document, path) -> Page`. A new kind is one new file there and nothing else.
Pages are made of the blocks in antiphon.report.page, so that no kind has to know HTML.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from antiphon import run_summary
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.packed import unpack
from antiphon.report import kinds
from antiphon.report.page import Page, Section
from antiphon.trace import Trace


def all_kinds() -> Iterator[ModuleType]:
    """Returns the modules of antiphon.report.kinds."""
    for module in sorted(pkgutil.iter_modules(kinds.__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            yield importlib.import_module(f"{kinds.__name__}.{module.name}")


def summary(kind: ModuleType) -> str:
    """Returns the purpose of a kind of report, in a few words."""
    return (kind.__doc__ or kind.__name__).partition("\n")[0].rstrip(".")


@dataclass(frozen=True)
class Recorded:
    """A trace, or the traffic of one (binary files with their own readers), and what they are shown with."""

    path: Path
    #: "trace" or "traffic"
    kind: str
    #: A profile, for the network; a placement, to compare with where the ranks were in the run.
    machine: Path | None = None
    placement: Path | None = None


def read(path: Path, machine: Path | None = None, placement: Path | None = None) -> Any:
    """Reads the JSON document in a file, which may be compressed; a trace or its traffic stays what it is."""
    try:
        raw = path.read_bytes()
        if raw.startswith((b"\x89ATR", b"PK\x03\x04")):
            return Recorded(path, "trace" if raw.startswith(b"\x89") else "traffic", machine, placement)
        return parse_json(unpack(raw))
    except OSError as error:
        raise AntiphonError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise AntiphonError(
            f"{path}: is not a whole JSON document ({error})",
            hint="reports are made of what `antiphon probe`, `trace`, `traffic`, `bench --json` … wrote",
        ) from error


def page_of(path: Path, machine: Path | None = None, placement: Path | None = None, trace: Path | None = None) -> Page:
    """Returns the page for a document, by the first kind that accepts it; `trace` adds its timeline to a summary."""
    document = read(path, machine, placement)
    if not isinstance(document, Recorded) and (machine or placement):
        raise AntiphonError(f"{path}: --profile and --placement are for traces", hint="name a trace, or its traffic")
    if trace is None:
        return _made(document, path)
    if not run_summary.is_summary(document):
        raise AntiphonError(f"{path}: --trace is for the summary of a run",
                            hint="antiphon run --summary=run.json --trace run.trace writes both")  # fmt: skip
    page = _made(document, path)
    page.sections[1:1] = [_timeline_of(document, path, trace)]
    return page


def _timeline_of(document: Mapping[str, Any], path: Path, file: Path) -> Section:
    from antiphon.report.kinds import _timeline

    trace = Trace.load(file)
    for what, mine, its in (
        ("ranks", document["ranks"], trace.size),
        ("program", document.get("program"), trace.header.get("program")),
    ):
        if mine and its and mine != its:
            raise AntiphonError(f"{file} is of another run than {path}: its {what} is {its}, not {mine}",
                                hint="antiphon run --summary=run.json --trace run.trace writes both")  # fmt: skip
    return _timeline.section(trace)


@contextlib.contextmanager
def damage_of(path: Path) -> Iterator[None]:
    """Turns what a document's odd values end with, wherever they show, into an error about the file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise AntiphonError(f"{path}: is damaged, or of another version ({what})",
                            hint="make it anew with this Antiphon") from error  # fmt: skip


def _made(document: Any, path: Path) -> Page:
    for kind in all_kinds():
        if kind.accepts(document):
            with damage_of(path):
                return kind.page(document, path)  # type: ignore[no-any-return]
    known = ", ".join(summary(kind) for kind in all_kinds())
    raise AntiphonError(f"{path}: nothing is known about documents of this form", hint=f"known are: {known}")
