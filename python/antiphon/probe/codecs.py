# SPDX-License-Identifier: Apache-2.0
"""How fast this machine compresses: measured where the probe is started, on doubles that change smoothly from one to
the next and from one message to the next, as fields of simulations do."""

from __future__ import annotations

import array
import math
import statistics
import time
from typing import Any

from antiphon import codec
from antiphon.errors import AntiphonError

MESSAGE_BYTES = 1 << 20
#: The first message of a channel cannot be predicted from an earlier one.
MESSAGES = 6


def messages() -> list[array.array[float]]:
    """A wave on a grid, at a few points in time; the last bits are noise, as rounding makes it."""
    count = MESSAGE_BYTES // 8
    noise = 1 << 12
    result = []
    for step in range(MESSAGES):
        values = [
            math.sin(0.001 * i + 0.01 * step) * (1 + ((i * 2654435761 + step * 40503) % noise) * 1e-13)
            for i in range(count)
        ]
        result.append(array.array("d", values))
    return result


def measure() -> list[dict[str, Any]]:
    """A row for each codec: bytes of messages a second, and how much shorter they became."""
    try:
        names = [name for name in codec.codecs() if name != "stored"]
    except (AntiphonError, AttributeError, OSError):  # a core library that was built without them
        return []
    data = messages() if names else []
    return [_row(name, data) for name in names]


def _rate(seconds: list[float]) -> float:
    return float(f"{MESSAGE_BYTES / statistics.median(seconds[1:]):.4g}")


def _row(name: str, data: list[array.array[float]]) -> dict[str, Any]:
    sender, receiver = codec.Channel(codec=name, element="f64"), codec.Channel()
    out = bytearray(MESSAGE_BYTES)
    encode_s, decode_s, frame_bytes = [], [], []
    for message in data:
        start = time.perf_counter()
        frame = sender.encode(message)
        middle = time.perf_counter()
        receiver.decode(frame, out=out)
        encode_s.append(middle - start)
        decode_s.append(time.perf_counter() - middle)
        frame_bytes.append(len(frame))
    return {
        "name": name,
        "encode_bytes_per_s": _rate(encode_s),
        "decode_bytes_per_s": _rate(decode_s),
        "ratio": round(MESSAGE_BYTES / statistics.median(frame_bytes[1:]), 3),
    }
