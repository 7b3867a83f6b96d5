# SPDX-License-Identifier: Apache-2.0
"""Loads libantiphon_core.so, and puts requests to it.

The core answers JSON requests through ctypes, so that one build serves every Python.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from antiphon import places
from antiphon.errors import EXIT_INTERRUPTED, AntiphonError

LIBRARY = places.compiled() / "libantiphon_core.so"


#: What may take seconds.
_LONG = frozenset(
    ("build", "check", "choose_by_model", "compile_patterns", "evaluate_plan", "map", "matrix", "predict",
     "predict_library", "replay", "schedule_pattern", "score_mapping")
)  # fmt: skip


class CoreError(AntiphonError):
    """The core's error for a request that makes no sense."""


def query(request: str, **fields: Any) -> dict[str, Any]:
    """Asks the core; a refusal becomes a CoreError."""
    library = loaded()
    text = json.dumps({"request": request, **fields}).encode()
    ask = library.antiphon_core_query
    pointer = _interruptibly(ask, text) if request in _LONG else ask(text)
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


def _interruptibly(ask: Callable[[bytes], Any], text: bytes) -> Any:
    """Asks in a thread: Ctrl-C is heard between steps of the interpreter, and the core's answer is one of them."""
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(ask(text)), daemon=True)
    asking.start()
    try:
        asking.join()
    except KeyboardInterrupt:
        atexit.register(_leave, asking)
        raise
    return answers[0]


def _leave(asking: threading.Thread) -> None:
    """Ends the process before the memory goes that the core still works with."""
    if asking.is_alive():
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(EXIT_INTERRUPTED)


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
