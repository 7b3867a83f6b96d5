# SPDX-License-Identifier: Apache-2.0
"""Encodes and decodes frames that do not depend on others."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from antiphon import core
from antiphon.codec.binding import CodecError, Options, check, functions, name_of
from antiphon.codec.buffers import WRITABLE, buffer, readable

#: A frame is at most this many bytes longer than its message.
FRAME_OVERHEAD_BYTES = 8
ELEMENTS = ("unknown", "f64", "f32", "i64", "i32", "i16", "i8")
INSTRUCTION_SETS = ("best", "portable", "avx2", "avx512")
_AUTO = 15
_NOT_A_FRAME = 2**64 - 1


def codecs() -> tuple[str, ...]:
    """Returns the codecs that work in this process: lz4 and zstd need their libraries."""
    available = functions().antiphon_codec_available()
    return tuple(name_of(number) for number in range(_AUTO) if available >> number & 1)


def instruction_set() -> str:
    """Returns the best instruction set of this machine that the codecs have code for."""
    library = functions()
    return str(library.antiphon_codec_isa_name(library.antiphon_codec_best_isa()).decode())


def include_dir() -> Path:
    """Returns where antiphon_codec.h and antiphon_codec.hpp are, for a C or C++ compiler's -I."""
    return core.LIBRARY.parent.parent / "include"


def library() -> Path:
    """Returns the library that these headers describe, for linking."""
    return core.LIBRARY


def encode(
    data: Any, *, codec: str = "auto", element: str | None = None, wire_bytes_per_s: float = 12.5e6, isa: str = "best"
) -> bytes:
    """Returns one frame that does not depend on others.

    `data` is anything with a contiguous buffer, and is not copied. `element` says what it consists of, where its own
    format does not; a wrong element only costs compression. `codec` is one of codecs(), or "auto": the codec with which
    a message arrives soonest over a wire of that speed.
    """
    with readable(data) as (address, size, found):
        out, frame_bytes = room_for(size), ctypes.c_size_t()
        options = options_of(codec, element or found, wire_bytes_per_s, isa)
        check(
            functions().antiphon_codec_encode(
                address, size, ctypes.byref(options), out, len(out), ctypes.byref(frame_bytes), None
            )
        )
    return ctypes.string_at(out, frame_bytes.value)


def decode(frame: Any, out: Any = None, *, isa: str = "best") -> Any:
    """Returns the message of a frame of encode(): a new bytearray, or `out` (a writable buffer of exactly that size),
    filled.
    """
    return decode_by(
        frame, out, lambda *arguments: functions().antiphon_codec_decode(*arguments, INSTRUCTION_SETS.index(isa))
    )


def raw_bytes(frame: Any) -> int:
    """Returns how long the message of a frame is. The first 8 bytes of the frame are enough."""
    with readable(frame) as (address, size, _):
        length = int(functions().antiphon_codec_raw_bytes(address, size))
    if length == _NOT_A_FRAME:
        raise CodecError("this is no frame", hint="frames come from antiphon.codec.encode, or the C and C++ interfaces")
    return length


def codec_of(frame: Any) -> str:
    """Returns the codec that a frame was encoded with."""
    raw_bytes(frame)
    with readable(frame) as (address, size, _):
        return name_of(functions().antiphon_codec_of(address, size))


def decode_by(frame: Any, out: Any, call: Any) -> Any:
    """Decodes a frame into `out`, or a new bytearray, with a function of the core."""
    length = raw_bytes(frame)
    # A head may promise any length, but a short frame cannot have been encoded from so long a message.
    try:
        target = bytearray(length) if out is None else out
    except (MemoryError, OverflowError):
        raise CodecError(f"there is no memory for the {length} bytes that the frame's head promises") from None
    with readable(frame) as (address, size, _), buffer(target, WRITABLE) as room:
        if room.len != length:
            raise CodecError(
                f"`out` has {room.len} bytes, the message {length}", hint="raw_bytes(frame) tells its length"
            )
        check(call(address, size, room.buf, room.len))
    return target


def options_of(codec: str, element: str, wire_bytes_per_s: float, isa: str) -> Options:
    """Returns checked options for the core."""
    for value, known, what in ((element, ELEMENTS, "element"), (isa, INSTRUCTION_SETS, "instruction set")):
        if value not in known:
            raise CodecError(f"no {what} is named {value!r}", hint=f"there are {', '.join(known)}")
    if codec != "auto" and codec not in codecs():
        raise CodecError(f"no codec is named {codec!r}", hint=f"there are auto, {', '.join(codecs())}")
    options = Options()
    functions().antiphon_codec_options_init(ctypes.byref(options))
    options.codec = functions().antiphon_codec_id(codec.encode())
    options.element = ELEMENTS.index(element)
    options.isa = INSTRUCTION_SETS.index(isa)
    options.wire_bytes_per_s = wire_bytes_per_s
    return options


def room_for(size: int) -> Any:
    """Returns memory for the longest frame of a message."""
    return ctypes.create_string_buffer(functions().antiphon_codec_bound(size))
