# SPDX-License-Identifier: Apache-2.0
"""Reads JSON that comes from files: whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Returns the value; text that is no JSON, or nested more deeply than Python can read, is a ValueError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None


def without_nulls(value: Any) -> Any:
    """Returns the value without fields that are null, which are absent for the core."""
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value
