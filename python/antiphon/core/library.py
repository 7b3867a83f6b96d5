# SPDX-License-Identifier: Apache-2.0
"""Loads libantiphon_core.so, and puts requests to it.

The core answers JSON requests through ctypes, so that one build serves every Python.
"""

from __future__ import annotations

import ctypes
import functools
import json
from typing import Any

from antiphon import places
from antiphon.errors import AntiphonError

LIBRARY = places.compiled() / "libantiphon_core.so"


class CoreError(AntiphonError):
    """The core's error for a request that makes no sense."""


def query(request: str, **fields: Any) -> dict[str, Any]:
    """Asks the core; a refusal becomes a CoreError."""
    library = loaded()
    text = json.dumps({"request": request, **fields}).encode()
    pointer = library.antiphon_core_query(text)
    if not pointer:
        raise CoreError("the core is out of memory", hint="ask for fewer ranks", exit_code=1)
    try:
        answer = ctypes.string_at(pointer)
    finally:
        library.antiphon_core_free(pointer)
    response: dict[str, Any] = json.loads(answer)
    if not response.pop("ok"):
        raise CoreError(response["error"])
    return response


@functools.lru_cache(maxsize=1)
def loaded() -> ctypes.CDLL:
    """Returns libantiphon_core.so itself, which also holds the codecs (antiphon.codec)."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        missing = f"{LIBRARY} is missing: Antiphon's core is not built"
        what = f"cannot load {LIBRARY}: {error}" if LIBRARY.exists() else missing
        raise AntiphonError(what, hint="`make setup` builds and installs it into .venv") from None
    library.antiphon_core_query.argtypes = [ctypes.c_char_p]
    library.antiphon_core_query.restype = ctypes.c_void_p
    library.antiphon_core_free.argtypes = [ctypes.c_void_p]
    library.antiphon_core_free.restype = None
    return library
