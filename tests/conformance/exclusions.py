# SPDX-License-Identifier: Apache-2.0
"""Reads the list of what is not run: exclusions.toml."""

from __future__ import annotations

import functools
from typing import Any

from work import HERE

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


@functools.lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads((HERE / "exclusions.toml").read_text(encoding="utf-8"))


def excluded(part: str, key: str, library: str) -> list[str]:
    """Returns the names of all exclusions of a part for a library; `key` is "modules" or "tests"."""
    entries = [e for e in _table().get(part, []) if e["library"] in ("*", library)]
    return [name for entry in entries for name in entry.get(key, [])]
