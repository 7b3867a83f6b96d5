# SPDX-License-Identifier: Apache-2.0
"""`antiphon bench --json`: what was measured, to a file or to stdout."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.output import files


def write(target: str, document: Mapping[str, Any]) -> None:
    """Writes the document to a file, or to stdout for "-"."""
    if target == "-":
        output.print_json(document)
        return
    files.write(Path(target), json.dumps(document, indent=1) + "\n")


@contextlib.contextmanager
def kept(target: str | None, document: Callable[[], Mapping[str, list[Any]]]) -> Iterator[None]:
    """Writes what was measured where the rest of it fails, or is interrupted; the failure goes on."""
    try:
        yield
    except BaseException:
        measured = document()
        if target and any(measured.values()):
            write(target, measured)
        raise
