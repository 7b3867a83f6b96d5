# SPDX-License-Identifier: Apache-2.0
"""The codecs' functions in the core, with the signatures of include/antiphon_codec.h."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from typing import Any

from antiphon import core
from antiphon.errors import EXIT_FAILURE, AntiphonError


class CodecError(AntiphonError):
    """A frame that cannot be decoded, or a buffer that cannot be used."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint, EXIT_FAILURE)


@dataclass(frozen=True)
class Statistics:
    """Counts of one end of a channel."""

    messages: int
    raw_bytes: int
    frame_bytes: int
    stored_frames: int
    spatial_frames: int
    temporal_frames: int
    repeat_frames: int
    codec_ns: int
    plans: int
    history_bytes: int

    @property
    def rate(self) -> float:
        """Returns bytes of the messages over bytes of the frames."""
        return self.raw_bytes / self.frame_bytes if self.frame_bytes else 1.0


class Options(ctypes.Structure):
    """Mirrors antiphon_codec_options."""

    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("element", ctypes.c_int32),
        ("codec", ctypes.c_int32),
        ("isa", ctypes.c_int32),
        ("allowed_codecs", ctypes.c_uint32),
        ("wire_bytes_per_s", ctypes.c_double),
        ("minimum_frame_bytes", ctypes.c_size_t),
        ("history_bytes", ctypes.c_size_t),
    ]


class _Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in Statistics.__dataclass_fields__]


def name_of(number: int) -> str:
    """Returns the name of a codec."""
    return str(functions().antiphon_codec_name(number).decode())


def statistics(call: Any, end: int) -> Statistics:
    """Asks one end of a channel for its counts."""
    values = _Statistics()
    call(end, ctypes.byref(values))
    return Statistics(**{name: getattr(values, name) for name in Statistics.__dataclass_fields__})


def check(error: int) -> None:
    """Raises what the core's error code means."""
    if error:
        raise CodecError(functions().antiphon_codec_error(error).decode())


@functools.lru_cache(maxsize=1)
def functions() -> ctypes.CDLL:
    """Returns the core, with the signatures of include/antiphon_codec.h."""
    library = core.loaded()
    for name, (result, arguments) in _signatures().items():
        function = getattr(library, f"antiphon_codec_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _signatures() -> dict[str, tuple[Any, list[Any]]]:
    """Returns the result and the arguments of each function, named without its prefix antiphon_codec_."""
    size, pointer, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int32
    tag, message_bytes, piece = ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint32
    return {
        "options_init": (None, [pointer]),
        "bound": (size, [size]),
        "available": (ctypes.c_uint32, []),
        "name": (ctypes.c_char_p, [number]),
        "id": (number, [ctypes.c_char_p]),
        "best_isa": (number, []),
        "isa_name": (ctypes.c_char_p, [number]),
        "error": (ctypes.c_char_p, [ctypes.c_int]),
        "encode": (ctypes.c_int, [pointer, size, pointer, pointer, size, pointer, pointer]),
        "decode": (ctypes.c_int, [pointer, size, pointer, size, number]),
        "raw_bytes": (ctypes.c_uint64, [pointer, size]),
        "of": (number, [pointer, size]),
        "encoder_new": (pointer, [pointer]),
        "encoder_free": (None, [pointer]),
        "encoder_encode": (
            ctypes.c_int,
            [pointer, tag, message_bytes, piece, number, pointer, size, pointer, size, pointer, pointer],
        ),
        "encoder_statistics": (None, [pointer, pointer]),
        "decoder_new": (pointer, [number]),
        "decoder_free": (None, [pointer]),
        "decoder_decode": (ctypes.c_int, [pointer, pointer, size, pointer, size]),
        "decoder_statistics": (None, [pointer, pointer]),
    }
