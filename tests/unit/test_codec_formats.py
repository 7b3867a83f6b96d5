# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/reference/codecs is enough to write a decoder: this one follows those pages alone, and reads what
the codecs write.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from antiphon import codec

GOLDEN = 0x9E3779B97F4A7C15
U64 = 2**64 - 1
CODECS = ("stored", "spatial", "temporal", "dfcm", "lz4", "zstd")


@dataclass
class Reader:
    """Bytes that are consumed from the front."""

    data: bytes
    at: int = 0

    def take(self, count: int) -> bytes:
        assert self.at + count <= len(self.data), "the frame ends too early"
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def rest(self) -> bytes:
        return self.take(len(self.data) - self.at)


@dataclass
class Spec:
    """Turns residuals into a message."""

    size: int
    kind: int
    order: int
    lags: list[int]
    record: int
    base: int

    @classmethod
    def read(cls, reader: Reader) -> Spec:
        first = reader.number(1)
        size, order = 1 << (first & 3), first >> 4 & 3
        lags = [reader.varint() for _ in range(order)]
        record = reader.varint() if first & 128 else 0
        return cls(size, first >> 2 & 3, order, lags, record, reader.number(size) if first & 64 else 0)

    @property
    def bits(self) -> int:
        return 8 * self.size

    def value(self, u: int) -> int:
        """Reverts the mapping."""
        if self.kind == 1 and u >> (self.bits - 1):
            return u ^ ((1 << (self.bits - 1)) - 1)
        if self.kind == 2:
            return u >> 1 | (u & 1) << (self.bits - 1)
        return u

    def mapped(self, value: int) -> int:
        if self.kind == 2:
            return (value << 1 | value >> (self.bits - 1)) & ((1 << self.bits) - 1)
        return self.value(value)  # The other transforms are their own inverse.


def widths(reader: Reader, blocks: int) -> list[int]:
    groups = -(-blocks // 16)
    marked = reader.number(-(-groups // 8))
    steps: list[int | None] = []
    for group in range(groups):
        count = min(16, blocks - 16 * group)
        if marked >> group & 1:
            nibbles = reader.number(-(-count // 2))
            steps += [nibbles >> 4 * i & 15 for i in range(count)]
        else:
            steps += [None] * count
    found, before = [], 0
    for step in steps:
        if step is not None:
            before = reader.number(1) if step == 15 else before + step - 7
        found.append(before)
    return found


def chunk_order(count: int, per_block: int, record: int) -> list[int]:
    """Returns which value of a chunk stands where."""
    regular = count // (per_block * record) * per_block * record if record else 0
    return [*(i for f in range(record) for i in range(f, regular, record)), *range(regular, count)]


def segment(reader: Reader, spec: Spec, count: int) -> list[int]:
    """Returns the residuals of one segment of `count` elements."""
    per_block = 64 // spec.size
    per_chunk = 4096 // spec.size
    if spec.record:
        per_chunk -= per_chunk % (per_block * spec.record)
    chunks = [min(per_chunk, count - at) for at in range(0, count, per_chunk)]
    segment_bytes = count * spec.size
    length = reader.number(1 if segment_bytes <= 255 else 2 if segment_bytes <= 65535 else 3)
    planes = Reader(reader.take(length))
    of_blocks = iter(widths(reader, sum(-(-n // per_block) for n in chunks)))
    residuals: list[int] = []
    for n in chunks:
        stored: list[int] = []
        while len(stored) < n:
            rows = [planes.number(per_block // 8) for _ in range(next(of_blocks))]
            stored += [sum((row >> i & 1) << bit for bit, row in enumerate(rows)) for i in range(per_block)]
        chunk = [0] * n
        for place, value in zip(chunk_order(n, per_block, spec.record), stored, strict=False):
            chunk[place] = value
        residuals += chunk
    assert planes.at == len(planes.data), "planes are left over"
    return residuals


def differences_undone(spec: Spec, residuals: list[int], folded: bool) -> list[int]:
    mask = (1 << spec.bits) - 1
    t: list[int] = []

    def earlier(at: int) -> int:
        return t[at] if at >= 0 else 0

    for i, z in enumerate(residuals):
        d = (z >> 1 ^ -(z & 1)) if folded else z + spec.base
        if spec.order == 1:
            d += earlier(i - spec.lags[0])
        elif spec.order == 2:
            a, b = spec.lags
            d += earlier(i - a) + earlier(i - b) - earlier(i - a - b)
        t.append(d & mask)
    return t


def numbers(data: bytes, size: int) -> list[int]:
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data) - size + 1, size)]


def spatial(reader: Reader, raw_bytes: int, foretold: Callable[[Spec], list[int]] | None = None) -> bytes:
    spec = Spec.read(reader)
    count = raw_bytes // spec.size
    per_segment = 65536 // spec.size
    residuals: list[int] = []
    for at in range(0, count, per_segment):
        residuals += segment(reader, spec, min(per_segment, count - at))
    u = differences_undone(spec, residuals, spec.order > 0 or foretold is not None)
    if foretold:
        u = [(t + e) & ((1 << spec.bits) - 1) for t, e in zip(u, foretold(spec), strict=True)]
    message = b"".join(spec.value(x).to_bytes(spec.size, "little") for x in u)
    return message + reader.take(raw_bytes - count * spec.size)


def short_hash(message: bytes) -> int:
    n = len(message)
    k = n
    if n < 8:
        for byte in message:
            k = (257 * k + byte) & U64
    else:
        for i in range(16):
            word = int.from_bytes(message[(n - 8) * i // 15 :][:8], "little")
            k = (k ^ word) * GOLDEN & U64
            k ^= k >> 32
    return (k * GOLDEN & U64) >> 48


FACTORS = {1: (1,), 2: (2, -1), 3: (3, -3, 1), 4: (1, 1, -1)}


def temporal(reader: Reader, raw_bytes: int, number: int, kept: dict[int, bytes]) -> bytes:
    factors = FACTORS[reader.number(1)]
    references = [kept[number - reader.varint()] for _ in factors]
    expected = 0
    for reference in references:
        expected = (3 * expected + short_hash(reference)) & 0xFFFF
    assert reader.number(2) == expected

    def foretold(spec: Spec) -> list[int]:
        mapped = [[spec.mapped(v) for v in numbers(reference, spec.size)] for reference in references]
        return [sum(f * v for f, v in zip(factors, values, strict=True)) for values in zip(*mapped, strict=True)]

    return spatial(reader, raw_bytes, foretold)


def dfcm(reader: Reader, raw_bytes: int) -> bytes:
    nibbles = [half for byte in reader.data[reader.at :] for half in (byte & 15, byte >> 4)]
    table: dict[int, tuple[int, int]] = {}
    last, deltas, at, out = 0, [0, 0, 0], 0, []
    for _ in range(raw_bytes // 8):
        top = [delta >> 50 for delta in deltas]
        line = (top[2] ^ top[1] << 5 ^ top[0] << 10) & 0x7FFF
        latest, before = table.get(line, (0, 0))
        drifts = latest >> 50 == before >> 50
        foretold = last + (2 * latest - before if drifts else latest)
        left = 16 - nibbles[at]
        d = sum(nibble << 4 * i for i, nibble in enumerate(nibbles[at + 1 : at + 1 + left]))
        at += 1 + left
        value = (foretold ^ d) & U64
        delta = (value - last) & U64
        table[line] = (delta, latest)
        deltas = [*deltas[1:], delta]
        last = value
        out.append(value.to_bytes(8, "little"))
    reader.take(-(-at // 2))
    return b"".join(out) + reader.take(raw_bytes % 8)


def lz4(reader: Reader) -> bytes:
    """Decodes a block, as the LZ4 project describes it."""
    out = bytearray()

    def length(nibble: int) -> int:
        total = nibble
        while nibble == 15:
            byte = reader.number(1)
            total += byte
            if byte != 255:
                break
        return total

    while reader.at < len(reader.data):
        token = reader.number(1)
        out += reader.take(length(token >> 4))
        if reader.at == len(reader.data):
            break
        back = reader.number(2)
        for _ in range(length(token & 15) + 4):
            out.append(out[-back])
    return bytes(out)


@dataclass
class Link:
    """Holds what a receiver keeps."""

    kept: dict[int, bytes] = field(default_factory=dict)
    next: int = 0

    def decode(self, frame: bytes) -> tuple[str, bytes]:
        reader = Reader(frame)
        head = reader.number(8)
        bare = head & ~0xFF00
        assert head >> 8 & 255 == ((bare ^ bare >> 29) * GOLDEN & U64) >> 56
        name, is_kept, is_padded = CODECS[head & 15], head >> 4 & 1, head >> 5 & 1
        assert head >> 6 & 3 == 1
        raw_bytes = head >> 32 if is_kept else head >> 16
        if is_padded:
            reader.data = frame[: int.from_bytes(frame[-4:], "little")]
        number = self.next + ((head >> 16 & 0xFFFF) - self.next + 0x8000) % 0x10000 - 0x8000 if is_kept else 0
        if is_kept and name != "stored":
            reader.varint()  # This is the reach, which a receiver that forgets nothing ignores.
        message = self._body(name, reader, raw_bytes, number)
        assert reader.at == len(reader.data) and len(message) == raw_bytes
        if is_kept:
            self.kept[number] = message
            self.next = max(self.next, number + 1)
        return name, message

    def _body(self, name: str, reader: Reader, raw_bytes: int, number: int) -> bytes:
        if name == "spatial":
            return spatial(reader, raw_bytes)
        if name == "temporal":
            return temporal(reader, raw_bytes, number, self.kept)
        if name == "dfcm":
            return dfcm(reader, raw_bytes)
        return lz4(reader) if name == "lz4" else reader.rest()


def records(count: int, step: float = 0.0) -> bytes:
    noise = random.Random(5)
    rows = (
        (math.sin(i / 90 + step), 3.0 + i * 1e-3, noise.random(), -math.exp(-i / 400) * (1 + step))
        for i in range(count)
    )
    return b"".join(struct.pack("<4d", *row) for row in rows)


def messages() -> Iterator[tuple[str, bytes]]:
    random_ = random.Random(3)
    yield "empty", b""
    yield "records", records(700) + b"end"
    yield "segments", struct.pack("<17000f", *(math.sin(i / 50) * (-1) ** i for i in range(17000)))
    yield "gradients", struct.pack("<900d", *(random_.gauss(0, 1) for _ in range(900)))
    yield "keys", struct.pack("<3000i", *(5000 + i % 40 for i in range(3000)))
    yield "shorts", struct.pack("<1000h", *(i // 7 for i in range(1000)))
    yield "bytes", bytes(i // 9 & 255 for i in range(2000))
    yield "zeros", bytes(5000)
    yield "texts", b"antiphon, sung by two choirs; " * 90
    yield "odd", struct.pack("<7Q", 0x7FF8000000000001, 0xFFF4DEAD0000BEEF, 1 << 63, 1, 0x7FF << 52, 0, U64) * 30


@pytest.mark.parametrize("name", ["stored", "spatial", "dfcm", "lz4"])
@pytest.mark.parametrize("message", [pytest.param(data, id=what) for what, data in messages()])
def test_frames_by_themselves(name: str, message: bytes) -> None:
    """GIVEN the pages WHEN a frame is decoded by them THEN it is the message."""
    if name not in codec.codecs():
        pytest.skip(f"no {name} here")
    hints = ("i8", "i16", "i32", "i64") if name == "spatial" and len(message) < 30_000 else ("unknown",)
    for element in hints:
        frame = codec.encode(message, codec=name, element=element)
        assert Link().decode(frame) == (codec.codec_of(frame), message)


def test_a_link_with_a_past() -> None:
    """GIVEN messages that are predicted from earlier ones THEN the pages say from which, and how."""
    sender, receiver = codec.Channel(wire_bytes_per_s=1e9), Link()
    used = []
    for step in range(24):
        for tag, count in ((1, 300), (2, 170)):
            message = records(count, 0.01 * step * tag)
            name, decoded = receiver.decode(sender.encode(message, tag=tag))
            assert decoded == message
            used.append(name)
    assert used.count("temporal") > 10
