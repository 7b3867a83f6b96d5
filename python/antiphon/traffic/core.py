# SPDX-License-Identifier: Apache-2.0
"""Asks the core for the messages of a collective, as arrays."""

from __future__ import annotations

import ctypes
import functools
import json
from typing import Any

import numpy as np

from antiphon import core
from antiphon.traffic.edges import Edges


def messages(algorithm: str, collective: str, size: int, **call: Any) -> tuple[Edges, bool]:
    """What all ranks send, by our algorithm "NAME[:PARAMETER=VALUE,…]"; whether one rank stands for all, nearly.

    `call`: bytes, root, element_bytes, commutative, counts (bytes of each rank's block, of irregular collectives),
    node_of_rank (a run puts ranks along the nodes where the algorithm lets it).
    """
    library = _library()
    request = json.dumps({"collective": collective, "algorithm": algorithm, "size": size, **call}).encode()
    found = library.antiphon_traffic_new(request)
    if not found:
        raise core.CoreError("the core is out of memory", hint="ask for fewer ranks", exit_code=1)
    try:
        error = library.antiphon_traffic_error(found)
        if error:
            raise core.CoreError(error.decode())
        count = library.antiphon_traffic_count(found)
        arrays = [np.empty(count, dtype) for dtype in (np.int32, np.int32, np.int64, np.int64)]
        library.antiphon_traffic_copy(found, *(a.ctypes.data for a in arrays))
        return Edges(*arrays), bool(library.antiphon_traffic_approximate(found))
    finally:
        library.antiphon_traffic_free(found)


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    library = core.loaded()
    handle = ctypes.c_void_p
    library.antiphon_traffic_new.argtypes, library.antiphon_traffic_new.restype = [ctypes.c_char_p], handle
    for name, result in (
        ("error", ctypes.c_char_p),
        ("count", ctypes.c_int64),
        ("approximate", ctypes.c_int32),
        ("free", None),
    ):
        function = getattr(library, f"antiphon_traffic_{name}")
        function.argtypes, function.restype = [handle], result
    library.antiphon_traffic_copy.argtypes = [handle] * 5
    library.antiphon_traffic_copy.restype = None
    return library
