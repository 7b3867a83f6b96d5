# SPDX-License-Identifier: Apache-2.0
"""Writes data to stdout and progress, logs and errors to stderr; NO_COLOR is honoured (by rich too)."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


#: What stands for signs that the output's encoding lacks.
PLAIN = {"×": "x", "–": "-", "−": "-", "…": "...", "µ": "u", "≤": "<=", "≥": ">=", "≈": "~", "·": ".", "→": "->",
         "±": "+-", "—": "-", "│": "|", "─": "-", "━": "-"}  # fmt: skip


def prepare_streams() -> None:
    """Lets both streams take any text, whatever their encoding, also where the caller has closed them."""
    codecs.register_error("antiphon.plain", _plain)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for the rest of the process)
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="antiphon.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def use_color(stream: TextIO) -> bool:
    """Returns whether to colour: only on a terminal that is not dumb, and only when NO_COLOR is unset or empty."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def stdout() -> Console:
    """Returns a rich console for data. Texts are printed as they are: brackets in names are no orders to it."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False)


def literal(text: str) -> Text:
    """Returns a text for what rich shows beside a spinner, where a console's own setting does not count."""
    from rich.text import Text

    return Text(text)


def stderr() -> Console:
    """Returns a rich console for progress and logs."""
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def print_json(data: Any) -> None:
    """Writes one JSON document to stdout, without colours, for other programs to read."""
    sys.stdout.write(json.dumps(data, indent=2, default=str) + "\n")


def print_error(message: str, hint: str | None = None) -> None:
    """Writes `error: …` and, if there is one, `hint: …` to stderr."""
    _labelled("error", "31", message)
    if hint:
        print_hint(hint)


def print_hint(hint: str) -> None:
    """Writes `hint: …` to stderr."""
    _labelled("hint", "36", hint)


def print_warning(message: str) -> None:
    """Writes `warning: …` to stderr."""
    _labelled("warning", "33", message)


def _labelled(label: str, color: str, text: str) -> None:
    # Names of files may hold anything: one message is one line, and gives the terminal no orders.
    text = "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)
    if use_color(sys.stderr):
        label = f"\x1b[1;{color}m{label}\x1b[0m"
    sys.stderr.write(f"{label}: {text}\n")
