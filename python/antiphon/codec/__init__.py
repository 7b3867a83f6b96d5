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

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon import core
from antiphon.errors import EXIT_FAILURE, AntiphonError

#: A frame is at most this many bytes longer than its message.
FRAME_OVERHEAD_BYTES = 8

ELEMENTS = ("unknown", "f64", "f32", "i64", "i32", "i16", "i8")
INSTRUCTION_SETS = ("best", "portable", "avx2", "avx512")

_AUTO = 15
_NOT_A_FRAME = 2**64 - 1
#: Maps buffer formats (as of the struct module) to element hints; byte order marks are removed before.
_FORMATS = {
    "d": "f64",
    "f": "f32",
    "q": "i64",
    "l": "i64",
    "Q": "i64",
    "L": "i64",
    "i": "i32",
    "I": "i32",
    "h": "i16",
    "H": "i16",
    "b": "i8",
    "B": "unknown",
    "c": "unknown",
    "?": "i8",
    "Zd": "f64",
    "Zf": "f32",
}


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


def codecs() -> tuple[str, ...]:
    """Returns the codecs that work in this process: lz4 and zstd need their libraries."""
    available = _library().antiphon_codec_available()
    return tuple(_name(number) for number in range(_AUTO) if available >> number & 1)


def instruction_set() -> str:
    """Returns the best instruction set of this machine that the codecs have code for."""
    library = _library()
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
    with _readable(data) as (address, size, found):
        out, frame_bytes = _room(size), ctypes.c_size_t()
        options = _options(codec, element or found, wire_bytes_per_s, isa)
        _check(
            _library().antiphon_codec_encode(
                address, size, ctypes.byref(options), out, len(out), ctypes.byref(frame_bytes), None
            )
        )
    return ctypes.string_at(out, frame_bytes.value)


def decode(frame: Any, out: Any = None, *, isa: str = "best") -> Any:
    """Returns the message of a frame of encode(): a new bytearray, or `out` (a writable buffer of exactly that size),
    filled.
    """
    return _decode(
        frame, out, lambda *arguments: _library().antiphon_codec_decode(*arguments, INSTRUCTION_SETS.index(isa))
    )


def raw_bytes(frame: Any) -> int:
    """Returns how long the message of a frame is. The first 8 bytes of the frame are enough."""
    with _readable(frame) as (address, size, _):
        length = int(_library().antiphon_codec_raw_bytes(address, size))
    if length == _NOT_A_FRAME:
        raise CodecError("this is no frame", hint="frames come from antiphon.codec.encode, or the C and C++ interfaces")
    return length


def codec_of(frame: Any) -> str:
    """Returns the codec that a frame was encoded with."""
    raw_bytes(frame)
    with _readable(frame) as (address, size, _):
        return _name(_library().antiphon_codec_of(address, size))


class Channel:
    """One end of a stream of messages, which are predicted from earlier ones.

    Each side has one of its own. Frames are decoded in the order in which they were encoded. One object can be both the
    sending end of one direction and the receiving end of the other. An object must not be used by several threads at
    once.
    """

    def __init__(
        self,
        *,
        codec: str = "auto",
        element: str | None = None,
        wire_bytes_per_s: float = 12.5e6,
        history_bytes: int = 32 << 20,
        isa: str = "best",
    ) -> None:
        self._element = element
        library = _library()
        options = _options(codec, element or "unknown", wire_bytes_per_s, isa)
        options.history_bytes = history_bytes
        self._encoder = library.antiphon_codec_encoder_new(ctypes.byref(options))
        self._decoder = library.antiphon_codec_decoder_new(INSTRUCTION_SETS.index(isa))
        if not self._encoder or not self._decoder:
            raise CodecError("there is no memory for a channel")

    def encode(self, data: Any, *, tag: int = 0) -> bytes:
        """Encodes the next message. Messages of different meaning should have different tags, because each is predicted
        by kind.
        """
        with _readable(data) as (address, size, found):
            out, frame_bytes = _room(size), ctypes.c_size_t()
            element = ELEMENTS.index(self._element or found)
            _check(
                _library().antiphon_codec_encoder_encode(
                    self._encoder, tag, size, 0, element, address, size, out, len(out), ctypes.byref(frame_bytes), None
                )
            )
        return ctypes.string_at(out, frame_bytes.value)

    def decode(self, frame: Any, out: Any = None) -> Any:
        """Returns the message of the other end's next frame, as decode() gives it."""
        return _decode(frame, out, functools.partial(_library().antiphon_codec_decoder_decode, self._decoder))

    @property
    def sent(self) -> Statistics:
        """Returns the counts of encode()."""
        return _statistics(_library().antiphon_codec_encoder_statistics, self._encoder)

    @property
    def received(self) -> Statistics:
        """Returns the counts of decode()."""
        return _statistics(_library().antiphon_codec_decoder_statistics, self._decoder)

    def __del__(self) -> None:
        for end in ("encoder", "decoder"):
            if pointer := self.__dict__.pop(f"_{end}", None):
                getattr(_library(), f"antiphon_codec_{end}_free")(pointer)


class _Options(ctypes.Structure):
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


class _Buffer(ctypes.Structure):
    """Mirrors Py_buffer, because ctypes' own from_buffer() refuses read-only buffers."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_WRITABLE, _FORMAT, _ANY_CONTIGUOUS = 0x1, 0x4, 0x80 | 0x10 | 0x8


@contextlib.contextmanager
def _buffer(data: Any, flags: int) -> Iterator[_Buffer]:
    view = _Buffer()
    try:
        ctypes.pythonapi.PyObject_GetBuffer(
            ctypes.py_object(data), ctypes.byref(view), flags | _FORMAT | _ANY_CONTIGUOUS
        )
    except (BufferError, ValueError, TypeError) as error:
        wanted = "writable, contiguous" if flags & _WRITABLE else "contiguous"
        hint = "numpy.ascontiguousarray makes an array so" if not isinstance(error, TypeError) else None
        raise CodecError(f"a {wanted} buffer is needed: {error}", hint=hint) from None
    try:
        yield view
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


@contextlib.contextmanager
def _readable(data: Any) -> Iterator[tuple[int | None, int, str]]:
    """Returns address, bytes and element of a buffer."""
    with _buffer(data, 0) as view:
        form = (view.format or b"B").decode().lstrip("@=<>!")
        yield view.buf, view.len, _FORMATS.get(form, "unknown")


def _decode(frame: Any, out: Any, call: Any) -> Any:
    length = raw_bytes(frame)
    # A head may promise any length, but a short frame cannot have been encoded from so long a message.
    try:
        target = bytearray(length) if out is None else out
    except (MemoryError, OverflowError):
        raise CodecError(f"there is no memory for the {length} bytes that the frame's head promises") from None
    with _readable(frame) as (address, size, _), _buffer(target, _WRITABLE) as room:
        if room.len != length:
            raise CodecError(
                f"`out` has {room.len} bytes, the message {length}", hint="raw_bytes(frame) tells its length"
            )
        _check(call(address, size, room.buf, room.len))
    return target


def _options(codec: str, element: str, wire_bytes_per_s: float, isa: str) -> _Options:
    for value, known, what in ((element, ELEMENTS, "element"), (isa, INSTRUCTION_SETS, "instruction set")):
        if value not in known:
            raise CodecError(f"no {what} is named {value!r}", hint=f"there are {', '.join(known)}")
    if codec != "auto" and codec not in codecs():
        raise CodecError(f"no codec is named {codec!r}", hint=f"there are auto, {', '.join(codecs())}")
    options = _Options()
    _library().antiphon_codec_options_init(ctypes.byref(options))
    options.codec = _library().antiphon_codec_id(codec.encode())
    options.element = ELEMENTS.index(element)
    options.isa = INSTRUCTION_SETS.index(isa)
    options.wire_bytes_per_s = wire_bytes_per_s
    return options


def _room(size: int) -> Any:
    return ctypes.create_string_buffer(_library().antiphon_codec_bound(size))


def _name(number: int) -> str:
    return str(_library().antiphon_codec_name(number).decode())


def _statistics(call: Any, end: int) -> Statistics:
    values = _Statistics()
    call(end, ctypes.byref(values))
    return Statistics(**{name: getattr(values, name) for name in Statistics.__dataclass_fields__})


def _check(error: int) -> None:
    if error:
        raise CodecError(_library().antiphon_codec_error(error).decode())


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
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
