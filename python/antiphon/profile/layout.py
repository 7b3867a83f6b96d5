# SPDX-License-Identifier: Apache-2.0
"""Writes JSON that people can read and compare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def json_text(value: Any, indent: int = 0, width: int = 120) -> str:
    """Writes JSON that people can read and compare: short values stay on one line, longer ones use several."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= width or not isinstance(value, (dict, list)) or not value:
        return line
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [
            f"{inner}{json.dumps(key)}: {json_text(item, indent + 1, width - len(key) - 4)}"
            for key, item in value.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    if all(isinstance(item, (int, float)) for item in value) or all(
        isinstance(item, list) and len(item) == 2 for item in value
    ):
        return "[" + _filled([json.dumps(item) for item in value], inner, width) + "]"
    return "[\n" + ",\n".join(inner + json_text(item, indent + 1, width) for item in value) + "\n" + " " * indent + "]"


def _filled(items: Sequence[str], inner: str, width: int) -> str:
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) + len(inner) + 2 > width:
            lines.append("")
        lines[-1] += (", " if lines[-1] else "") + item
    return (",\n" + inner).join(lines)
