# SPDX-License-Identifier: Apache-2.0
"""Reaches the memory of Python objects with a buffer, without copying."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

from antiphon.codec.binding import CodecError

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
WRITABLE, _FORMAT, _ANY_CONTIGUOUS = 0x1, 0x4, 0x80 | 0x10 | 0x8


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


@contextlib.contextmanager
def buffer(data: Any, flags: int) -> Iterator[_Buffer]:
    """Holds a view of an object's memory."""
    view = _Buffer()
    try:
        ctypes.pythonapi.PyObject_GetBuffer(
            ctypes.py_object(data), ctypes.byref(view), flags | _FORMAT | _ANY_CONTIGUOUS
        )
    except (BufferError, ValueError, TypeError) as error:
        wanted = "writable, contiguous" if flags & WRITABLE else "contiguous"
        hint = "numpy.ascontiguousarray makes an array so" if not isinstance(error, TypeError) else None
        raise CodecError(f"a {wanted} buffer is needed: {error}", hint=hint) from None
    try:
        yield view
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


@contextlib.contextmanager
def readable(data: Any) -> Iterator[tuple[int | None, int, str]]:
    """Returns address, bytes and element of a buffer."""
    with buffer(data, 0) as view:
        form = (view.format or b"B").decode().lstrip("@=<>!")
        yield view.buf, view.len, _FORMATS.get(form, "unknown")
