# SPDX-License-Identifier: Apache-2.0
"""Encodes and decodes streams of messages, which are predicted from earlier ones."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from antiphon.codec.binding import CodecError, Statistics, check, functions, statistics
from antiphon.codec.buffers import readable
from antiphon.codec.frames import ELEMENTS, INSTRUCTION_SETS, decode_by, options_of, room_for


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
        library = functions()
        options = options_of(codec, element or "unknown", wire_bytes_per_s, isa)
        options.history_bytes = history_bytes
        self._encoder = library.antiphon_codec_encoder_new(ctypes.byref(options))
        self._decoder = library.antiphon_codec_decoder_new(INSTRUCTION_SETS.index(isa))
        if not self._encoder or not self._decoder:
            raise CodecError("there is no memory for a channel")

    def encode(self, data: Any, *, tag: int = 0) -> bytes:
        """Encodes the next message. Messages of different meaning should have different tags, because each is predicted
        by kind.
        """
        with readable(data) as (address, size, found):
            out, frame_bytes = room_for(size), ctypes.c_size_t()
            element = ELEMENTS.index(self._element or found)
            check(
                functions().antiphon_codec_encoder_encode(
                    self._encoder, tag, size, 0, element, address, size, out, len(out), ctypes.byref(frame_bytes), None
                )
            )
        return ctypes.string_at(out, frame_bytes.value)

    def decode(self, frame: Any, out: Any = None) -> Any:
        """Returns the message of the other end's next frame, as decode() gives it."""
        return decode_by(frame, out, functools.partial(functions().antiphon_codec_decoder_decode, self._decoder))

    @property
    def sent(self) -> Statistics:
        """Returns the counts of encode()."""
        return statistics(functions().antiphon_codec_encoder_statistics, self._encoder)

    @property
    def received(self) -> Statistics:
        """Returns the counts of decode()."""
        return statistics(functions().antiphon_codec_decoder_statistics, self._decoder)

    def __del__(self) -> None:
        for end in ("encoder", "decoder"):
            if pointer := self.__dict__.pop(f"_{end}", None):
                getattr(functions(), f"antiphon_codec_{end}_free")(pointer)
