# SPDX-License-Identifier: Apache-2.0
"""When compression pays: equations 1 to 4 of Ke, Burtscher and Speight (SC 2004), and the same with all overlapped.

Without compression S bytes take l0 + l1 S + S / BW (1), with it l0' + l1' S + (S / R) / BW on top of the overheads
that remain (2), R being the rate. So it pays where ((R - 1) / R / BW - l1') S - l0' > 0 (3), at best for long messages
where (R - 1) / R / BW > l1' (4).
Here l0' + l1' S is not split: it is what encoding and decoding the user's own messages took.
"""

from __future__ import annotations

from dataclasses import dataclass

#: A gain below this is noise, or not worth the processor's time.
WORTH_IT = 1.03


@dataclass(frozen=True)
class Gain:
    """The effect of one codec on one set of messages."""

    raw_bytes: int
    wire_bytes: int
    encode_s: float
    decode_s: float

    @property
    def rate(self) -> float:
        """Returns R."""
        return self.raw_bytes / self.wire_bytes

    @property
    def serial_break_even_bytes_per_s(self) -> float:
        """Solves equation 3 for BW, with encoding, sending and decoding one after the other. 0 means that it never
        pays.
        """
        saved = self.raw_bytes - self.wire_bytes
        return saved / (self.encode_s + self.decode_s) if saved > 0 else 0.0

    @property
    def overlapped_break_even_bytes_per_s(self) -> float:
        """Returns the speed-up if pieces are encoded, sent and decoded at the same time: the slowest of the three
        decides.
        """
        return self.raw_bytes / max(self.encode_s, self.decode_s) if self.wire_bytes < self.raw_bytes else 0.0

    def serial_speed_up(self, bytes_per_s: float) -> float:
        """Returns the time without compression over the time with it."""
        return self.raw_bytes / bytes_per_s / (self.encode_s + self.wire_bytes / bytes_per_s + self.decode_s)

    def overlapped_speed_up(self, bytes_per_s: float) -> float:
        """Returns the best that overlapping can reach."""
        return self.raw_bytes / bytes_per_s / max(self.encode_s, self.wire_bytes / bytes_per_s, self.decode_s)


def least_rate(message_bytes: float, bytes_per_s: float, fixed_s: float, per_byte_s: float) -> float | None:
    """Returns the rate from which a message of that size gains (equation 3 solved for R), or None if none suffices."""
    share = 1 - (per_byte_s + fixed_s / message_bytes) * bytes_per_s
    return 1 / share if share > 0 else None


def verdict(gain: Gain, bytes_per_s: float) -> tuple[str, str]:
    """Returns "on", "overlapped" or "off", and the reason in a sentence."""
    serial, overlapped = gain.serial_speed_up(bytes_per_s), gain.overlapped_speed_up(bytes_per_s)
    if gain.rate < WORTH_IT:
        return "off", "these messages hardly become shorter"
    if serial >= WORTH_IT:
        return (
            "on",
            f"messages arrive {serial:.2f} times as soon, up to {overlapped:.2f} where coding and sending overlap",
        )
    if overlapped >= WORTH_IT:
        return "overlapped", (
            f"up to {overlapped:.2f} times as soon if coding and sending overlap (long messages, cut into pieces); "
            "short ones would lose"
        )
    return "off", "this network is faster than the codec gains"
