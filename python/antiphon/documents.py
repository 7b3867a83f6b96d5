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
