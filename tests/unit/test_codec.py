# SPDX-License-Identifier: Apache-2.0
"""Checks antiphon.codec: round trips of all kinds of buffers, what stays in step, what is refused."""

from __future__ import annotations

import array
import math
import random
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import codec
from antiphon.errors import AntiphonError

WAVE = struct.pack("<3000d", *(math.sin(i / 300) for i in range(3000)))
ODD = struct.pack(
    "<9Q",
    0x7FF8000000000001,
    0x7FF0000000000001,
    0xFFF4DEAD0000BEEF,
    1 << 63,
    1,
    0x7FF << 52,
    0xFFF << 52,
    0,
    2**64 - 1,
)


def noise(count: int) -> bytes:
    return random.Random(7).randbytes(count)


@pytest.mark.parametrize("name", ["auto", *codec.codecs()])
@pytest.mark.parametrize("data", [b"", b"x", WAVE, WAVE[3:-2], ODD * 40, noise(5000), bytes(9000)], ids=range(7))
def test_round_trip(name: str, data: bytes) -> None:
    frame = codec.encode(data, codec=name)
    assert len(frame) <= len(data) + codec.FRAME_OVERHEAD_BYTES
    assert codec.raw_bytes(frame) == codec.raw_bytes(frame[:8]) == len(data)
    assert codec.decode(frame) == data


def test_smooth_data_becomes_shorter_and_noise_does_not() -> None:
    assert len(codec.encode(WAVE, element="f64")) < 0.8 * len(WAVE)
    assert len(codec.encode(noise(100_000))) == 100_008
    assert codec.codec_of(codec.encode(noise(100_000))) == "stored"
    assert codec.codec_of(codec.encode(WAVE, codec="dfcm")) == "dfcm"


@given(st.binary(max_size=3000))
@settings(max_examples=60, deadline=None)
def test_anything_survives(data: bytes) -> None:
    assert codec.decode(codec.encode(data)) == data


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes_as_a_frame_end_in_an_error_or_a_message(data: bytes) -> None:
    try:
        length = codec.raw_bytes(data)
    except codec.CodecError:
        return
    if length < 1 << 20:
        try:
            codec.decode(data)
        except codec.CodecError as error:
            assert error.message


def test_damage_is_an_error() -> None:
    frame = bytearray(codec.encode(WAVE))
    with pytest.raises(codec.CodecError):
        codec.decode(frame[: len(frame) // 2])
    frame[0] ^= 0xFF
    with pytest.raises(codec.CodecError, match="no frame"):
        codec.decode(frame)
    with pytest.raises(AntiphonError):
        codec.decode(b"short")


def test_buffers_of_all_kinds() -> None:
    numbers = array.array("d", (i * 0.5 for i in range(2000)))
    frame = codec.encode(numbers)
    assert codec.decode(frame) == numbers.tobytes()
    back = array.array("d", bytes(8 * len(numbers)))
    assert codec.decode(frame, out=back) is back
    assert back == numbers
    assert codec.decode(memoryview(frame)) == numbers.tobytes()


def test_what_cannot_be_used_is_said() -> None:
    frame = codec.encode(WAVE)
    with pytest.raises(codec.CodecError, match="24000"):
        codec.decode(frame, out=bytearray(17))
    with pytest.raises(codec.CodecError, match="writable"):
        codec.decode(frame, out=bytes(len(WAVE)))
    with pytest.raises(codec.CodecError, match="buffer"):
        codec.encode(3)
    with pytest.raises(codec.CodecError, match="contiguous"):
        codec.encode(memoryview(WAVE)[::2])
    with pytest.raises(codec.CodecError, match="no codec"):
        codec.encode(WAVE, codec="magic")
    with pytest.raises(codec.CodecError, match="no element"):
        codec.encode(WAVE, element="f99")
    with pytest.raises(codec.CodecError, match="instruction set"):
        codec.encode(WAVE, isa="mmx")


def test_instruction_sets_write_the_same() -> None:
    frames = {codec.encode(WAVE, codec="spatial", isa=isa) for isa in codec.INSTRUCTION_SETS}
    assert len(frames) == 1
    assert codec.instruction_set() in codec.INSTRUCTION_SETS


def steps(count: int) -> list[bytes]:
    generator = random.Random(1)
    rough = [generator.random() for _ in range(4000)]
    return [struct.pack("<4000d", *(value * (1 + 1e-9 * step) for value in rough)) for step in range(count)]


def test_a_channel_predicts_from_earlier_messages() -> None:
    sender, receiver = codec.Channel(), codec.Channel()
    alone = together = 0
    for number, message in enumerate(steps(12)):
        frame = sender.encode(message, tag=5)
        assert receiver.decode(frame) == message
        if number > 3:
            together += len(frame)
            alone += len(codec.encode(message))
    assert together < 0.8 * alone
    assert sender.sent.messages == receiver.received.messages == 12
    assert sender.sent.raw_bytes == 12 * 32000
    assert receiver.received.raw_bytes == sender.sent.raw_bytes
    assert sender.sent.rate > 1.1
    assert sender.sent.temporal_frames > 0


def test_a_frame_without_those_before_it_is_an_error() -> None:
    sender, late = codec.Channel(), codec.Channel()
    frames = [sender.encode(message) for message in steps(8)]
    with pytest.raises(codec.CodecError):
        for frame in frames[5:]:
            late.decode(frame)


def test_channels_end_with_their_objects() -> None:
    for _ in range(50):
        channel = codec.Channel(history_bytes=1 << 20)
        channel.encode(WAVE)
    assert codec.Channel().sent.messages == 0


def test_numpy_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    field = numpy.sin(numpy.linspace(0, 9, 5000)).reshape(50, 100).astype(numpy.float32)
    field.flags.writeable = False
    frame = codec.encode(field)
    out = numpy.empty_like(field)
    assert codec.decode(frame, out=out) is out
    assert (out == field).all()
    assert numpy.frombuffer(codec.decode(frame), numpy.float32).tobytes() == field.tobytes()
    with pytest.raises(codec.CodecError, match="contiguous"):
        codec.encode(field[:, ::2])
    for kind in ("<i8", "<u4", "<i2", "u1", "<c16", ">f8", "M8[s]"):
        try:
            message = numpy.arange(3000).astype(kind)
            assert codec.decode(codec.encode(message)) == message.tobytes()
        except (ValueError, codec.CodecError) as error:  # Dates have no buffer.
            assert kind.startswith("M8"), error


def test_numpy_is_not_needed() -> None:
    program = """
import sys
sys.modules["numpy"] = None
from antiphon import codec
assert codec.decode(codec.encode(bytes(5000))) == bytes(5000)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
