# SPDX-License-Identifier: Apache-2.0
"""Reads, checks and writes profiles as files."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.output import files
from antiphon.profile.layout import json_text

FORMAT, VERSION = "antiphon-profile", 1
SCHEMA = Path(__file__).parent.parent / "schemas" / "profile.schema.json"
MEASURE = "measure the machine again: antiphon probe -o FILE"


@functools.lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """Returns the JSON schema of the document."""
    return json.loads(SCHEMA.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def is_profile(text: str | bytes) -> bool:
    """Returns whether a document says that it is a profile, of whatever version."""
    try:
        document = parse_json(text)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def is_profile_file(path: Path) -> bool:
    """Returns whether a file says so; one that cannot be read does not."""
    try:
        return is_profile(path.read_bytes())
    except OSError:
        return False


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the profile in a file; an invalid one is an error of one line that names the field."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise AntiphonError(
            f"profile {path}: {error.strerror}", hint="make one: antiphon probe -o machine.json"
        ) from error
    except UnicodeDecodeError as error:
        raise AntiphonError(f"profile {path}: is not a text file", hint=MEASURE) from error
    return parse(text, str(path))


def parse(text: str, name: str = "profile") -> dict[str, Any]:
    """Reads a profile from its text; `name` is what errors call it."""
    try:
        document = parse_json(text)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = "the file ends too early: it was cut short" if cut else f"is not JSON: {error.msg}"
        raise AntiphonError(f"profile {name}: line {error.lineno}: {what}", hint=MEASURE) from None
    check(document, name)
    return document  # type: ignore[no-any-return]


def check(document: Any, name: str = "profile") -> None:
    """Raises the error that a reader of the document should see first."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        said = document.get("format") if isinstance(document, Mapping) else None
        raise AntiphonError(
            f"profile {name}: format: {'is ' + repr(said) if said else 'is missing'}, not {FORMAT!r}",
            hint="this is no profile of Antiphon; `antiphon probe` makes one",
        )
    version = document.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise AntiphonError(
            f"profile {name}: version: {version} is newer than {VERSION}, which this Antiphon reads",
            hint="use a newer Antiphon, or measure the machine again with this one",
        )
    import jsonschema

    errors = jsonschema.Draft202012Validator(schema()).iter_errors(document)
    worst = jsonschema.exceptions.best_match(errors)
    if worst is not None:
        raise AntiphonError(f"profile {name}: {_where(worst.absolute_path)}: {_what(worst.message)}", hint=MEASURE)
    _check_meaning(document, name)


def _where(path: Sequence[str | int]) -> str:
    """Formats a path such as link_classes[1].g_s[3]."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".") or "document"


def _what(message: str) -> str:
    """Shortens the message, because jsonschema quotes the refused value, which may be a whole document."""
    message = re.sub(r"\s+", " ", message)
    return message if len(message) <= 160 else "… " + message[-150:]


def _check_meaning(document: Mapping[str, Any], name: str) -> None:
    """Checks what a schema cannot express: order, and names that must exist."""

    def wrong(where: str, what: str) -> AntiphonError:
        return AntiphonError(f"profile {name}: {where}: {what}", hint=MEASURE)

    scopes = [entry["scope"] for entry in document["link_classes"]]
    for i, entry in enumerate(document["link_classes"]):
        if entry["scope"] in scopes[:i]:
            raise wrong(f"link_classes[{i}].scope", f"{entry['scope']!r} occurs twice")
        for key in ("os_s", "or_s", "g_s"):
            sizes = [point[0] for point in entry[key]]
            for j in range(1, len(sizes)):
                if sizes[j] < sizes[j - 1] or (j > 1 and sizes[j] == sizes[j - 2]):
                    raise wrong(f"link_classes[{i}].{key}[{j}]", f"size {sizes[j]} after {sizes[j - 1]}")
    switches: list[str] = []
    for i, entry in enumerate(document["topology"]["switches"]):
        if "parent" in entry and entry["parent"] not in switches:
            raise wrong(f"topology.switches[{i}].parent", f"no switch named {entry['parent']!r} before this one")
        switches.append(entry["name"])
    for i, entry in enumerate(document["topology"]["nodes"]):
        if entry["switch"] not in switches:
            raise wrong(f"topology.nodes[{i}].switch", f"no switch named {entry['switch']!r}")


def write(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Checks the document and puts it in the file's place in one step, so readers see the old or the new one."""
    check(document, str(path))
    files.write(Path(path), json_text(document) + "\n")


def sureness(topology: Mapping[str, Any]) -> str:
    """Says by what the switches were found, and how sure that is."""
    found = [topology["evidence"]] if topology.get("evidence", "none") != "none" else []
    sure = topology.get("confidence")
    known = [*(f"by {text}" for text in found), *([] if sure is None else [f"confidence {sure:.2f}"])]
    return f" ({', '.join(known)})" if known else ""
