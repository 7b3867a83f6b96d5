# SPDX-License-Identifier: Apache-2.0
"""Text files that may be compressed with gzip, as the samples in bench/results are."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path


def unpack(raw: bytes) -> bytes:
    """The content of a file, whether it is compressed or not; ValueError where it is cut short."""
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"not a whole compressed file: {error}") from None


def read_text(path: Path) -> str:
    """The UTF-8 text in a file, whether it is compressed or not."""
    return unpack(path.read_bytes()).decode("utf-8")
