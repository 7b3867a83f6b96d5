# SPDX-License-Identifier: Apache-2.0
"""Compresses messages without loss: NumPy arrays, or anything with a buffer. Needs neither MPI nor NumPy.

    from antiphon import codec

    frame = codec.encode(array)                # bytes; says by itself how to decode it
    raw = codec.decode(frame)                  # a bytearray, or codec.decode(frame, out=array)

    sender, receiver = codec.Channel(), codec.Channel()
    for array in steps:                        # later messages are predicted from earlier ones
        receiver.decode(sender.encode(array), out=copy)

docs/reference/codecs describes the frames; docs/guides/compression.md says when they pay.
"""

from __future__ import annotations

from antiphon.codec.binding import CodecError, Statistics
from antiphon.codec.channel import Channel
from antiphon.codec.frames import (
    ELEMENTS,
    FRAME_OVERHEAD_BYTES,
    INSTRUCTION_SETS,
    codec_of,
    codecs,
    decode,
    encode,
    include_dir,
    instruction_set,
    library,
    raw_bytes,
)

__all__ = [
    "Channel",
    "CodecError",
    "ELEMENTS",
    "FRAME_OVERHEAD_BYTES",
    "INSTRUCTION_SETS",
    "Statistics",
    "codec_of",
    "codecs",
    "decode",
    "encode",
    "include_dir",
    "instruction_set",
    "library",
    "raw_bytes",
]
