# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of fields in the pages of file formats from the schemas in python/antiphon/schemas.

In a page, `<!-- fields: profile#/properties/machine -->` stands before such a table, `<!-- end of fields -->` after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "python" / "antiphon" / "schemas"
END = "<!-- end of fields -->"
TABLE = re.compile(rf"(<!-- fields: (\w+)#(\S*) -->\n).*?{END}", re.DOTALL)
#: What the definitions that schemas share are called in a table.
SHARED = {"seconds": "seconds", "rate": "bytes a second", "curve": "`[[bytes, seconds], …]`",
          "matrix": "rows of numbers", "bounds": "`[min, max]`", "count": "whole number"}  # fmt: skip
TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`",
         "array": "list", "object": "object", "null": "null"}  # fmt: skip


def pages() -> dict[Path, str]:
    """Returns the pages that have such tables, with the tables made anew."""
    found = {}
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if TABLE.search(text):
            found[page] = TABLE.sub(lambda match: f"{match[1]}{table(match[2], match[3])}\n{END}", text)
    return found


def table(schema: str, pointer: str) -> str:
    """Returns the table of an object's fields, those that must be there first."""
    place: Any = json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8"))
    for step in pointer.strip("/").split("/") if pointer.strip("/") else ():
        place = place[step]
    needed = place.get("required", ())
    rows = sorted(place["properties"].items(), key=lambda row: row[0] not in needed)
    return "\n".join(["| field | value | meaning |", "|---|---|---|", *lines(rows, needed)])


def lines(fields: list[tuple[str, Mapping[str, Any]]], needed: list[str]) -> Iterator[str]:
    """Yields the rows of the fields that have a meaning or one possible value."""
    for name, field in fields:
        if "description" in field or "const" in field:
            must = "; required" if name in needed else ""
            yield f"| `{name}` | {value_of(field)}{must} | {field.get('description', '')} |"


def value_of(field: Mapping[str, Any]) -> str:
    """Returns what a field may hold, in words."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return SHARED.get(name, "object")
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    types = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return " or ".join(TYPES[kind] for kind in types) + bounds(field)


def bounds(field: Mapping[str, Any]) -> str:
    """Returns a number's bounds, in words; nothing where any number of 0 or more may be there."""
    least, most = field.get("minimum"), field.get("maximum")
    if most is None:
        return f" of {least} or more" if least else ""
    return f", {least or 0} … {most}"
