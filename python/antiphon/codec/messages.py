# SPDX-License-Identifier: Apache-2.0
"""Writes message files (docs/reference/message-files.md) from any data, for the program that measures codecs."""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from antiphon.errors import AntiphonError

#: Types are listed by their number in a record.
TYPES = {"f64": 1, "f32": 2, "i32": 3, "i64": 4, "bytes": 5}
ELEMENT_BYTES = {"f64": 8, "f32": 4, "i32": 4, "i64": 8, "bytes": 1}
RECORD = struct.Struct("<IIIIiiQ")
MAGIC = 0x4D534731
ZSTD_MAGIC = bytes.fromhex("28b52ffd")
NPY_MAGIC = b"\x93NUMPY"
#: These are NumPy's kinds of elements; any other kind is bytes.
_KINDS = {"f8": "f64", "c16": "f64", "f4": "f32", "c8": "f32", "i4": "i32", "u4": "i32", "i8": "i64", "u8": "i64"}


@dataclass(frozen=True)
class Message:
    """One message, as a rank sent it."""

    type: str
    operation: int
    destination: int
    tag: int
    payload: bytes


def write(file: BinaryIO, message: Message) -> None:
    """Appends one record."""
    element = ELEMENT_BYTES[message.type]
    file.write(
        RECORD.pack(
            MAGIC,
            TYPES[message.type],
            element,
            message.operation,
            message.destination,
            message.tag,
            len(message.payload),
        )
    )
    file.write(message.payload)


def read(path: Path) -> Iterator[Message]:
    """Reads all records of a file that is not compressed."""
    names = {number: name for name, number in TYPES.items()}
    with path.open("rb") as file:
        while head := file.read(RECORD.size):
            if len(head) < RECORD.size:
                raise AntiphonError(f"{path}: a record is cut off")
            magic, kind, _, operation, destination, tag, size = RECORD.unpack(head)
            if magic != MAGIC or kind not in names:
                raise AntiphonError(f"{path}: is no message file, or damaged")
            payload = file.read(size) if size <= path.stat().st_size else b""
            if len(payload) < size:
                raise AntiphonError(f"{path}: a record is cut off")
            yield Message(names[kind], operation, destination, tag, payload)


def is_message_file(path: Path) -> bool:
    """Tells a message file by its first bytes, and one compressed by zstd by its name as well."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise AntiphonError(f"{path}: {error.strerror}") from None
    return start[:4] == struct.pack("<I", MAGIC) or (start[:4] == ZSTD_MAGIC and ".msg" in path.name)


def of_array_file(path: Path) -> tuple[str, bytes]:
    """Returns type and contents of a .npy file, without NumPy."""
    data = path.read_bytes()
    try:
        start = 10 if data[6] == 1 else 12
        length = int.from_bytes(data[8:start], "little")
        header = ast.literal_eval(data[start : start + length].decode("latin-1").strip())
        descr = header["descr"]
    except (ValueError, SyntaxError, KeyError, IndexError, TypeError, MemoryError, RecursionError) as error:
        raise AntiphonError(f"{path}: its .npy header cannot be read: {str(error) or type(error).__name__}") from None
    kind = _KINDS.get(descr[1:], "bytes") if isinstance(descr, str) and descr.startswith(("<", "|", "=")) else "bytes"
    return kind, data[start + length :]


def of_data(paths: Sequence[Path], kind: str | None, message_bytes: int) -> Iterator[Message]:
    """Cuts plain data and .npy files into messages. Messages at the same place of files of the same size form one
    channel: files that hold steps of one quantity are predicted from each other as messages would be.
    """
    for path in paths:
        try:
            with path.open("rb") as file:
                found, data = of_array_file(path) if file.read(6) == NPY_MAGIC else (kind or "bytes", path.read_bytes())
        except OSError as error:
            raise AntiphonError(f"{path}: {error.strerror}") from None
        if not data:
            raise AntiphonError(f"{path}: is empty")
        for place in range(0, len(data), message_bytes):
            payload = data[place : place + message_bytes]
            yield Message(kind or found, 1, 0, place // message_bytes, payload)
