# SPDX-License-Identifier: Apache-2.0
"""Rates, sizes and times as `tc` writes them: 100mbit, 1gbit, 128kb, 2mb, 200us."""

from __future__ import annotations

import re

from antiphon.errors import AntiphonError

_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ/]*)\s*")

_BITS_PER_S = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
# tc counts kb and mb in powers of two; so do we, since users know these numbers from tc.
_BYTES = {"": 1, "b": 1, "kb": 2**10, "mb": 2**20, "k": 2**10, "m": 2**20, "kib": 2**10, "mib": 2**20}
_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}

#: What the core counts with ends here.
_MOST = 1 << 63


def _parse(text: str, units: dict[str, int], what: str, examples: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    unit = match.group(2).lower() if match else None
    if match is None or unit not in units:
        raise ValueError(f"{text!r} is not a {what} (examples: {examples})")
    value = float(match.group(1)) * units[unit]
    if not value < _MOST:
        raise ValueError(f"{text!r} is not a {what}: it is too large")
    if round(value) <= 0:
        raise ValueError(f"{text!r} is not a {what}: it must be above zero")
    return round(value)


def whole_number(text: str) -> int | None:
    """The number that plain digits write; None for signs, blanks, other scripts' digits and what is too large."""
    plain = text.isascii() and text.isdecimal() and len(text) < len(str(_MOST))
    return int(text) if plain else None


def parse_rate(text: str) -> int:
    """Bits per second of a rate such as `100mbit`."""
    return _parse(text, _BITS_PER_S, "rate", "10mbit, 100mbit, 1gbit")


def parse_size(text: str | int) -> int:
    """Bytes of a size such as `128kb` (1 kb = 1024 bytes, as in tc)."""
    return _parse(str(text), _BYTES, "size", "8kb, 128kb, 2mb")


def parse_time_ns(text: str) -> int:
    """Nanoseconds of a time such as `200us`."""
    return _parse(text, _NANOSECONDS, "time", "50us, 1ms")


def rate_option(option: str, text: str, hint: str | None = None) -> int:
    """Bits per second of an option's rate; a plain number counts bits."""
    try:
        return parse_rate(f"{text}bit" if text.isdecimal() else text)
    except ValueError as error:
        raise AntiphonError(f"{option}: {error}", hint=hint) from None


def size_option(option: str, text: str, least: int = 0) -> int:
    """Bytes of an option's size, which may be zero unless `least` is 1."""
    try:
        return 0 if text.strip() == "0" and not least else parse_size(text)
    except ValueError as error:
        raise AntiphonError(f"{option}: {error}") from None


def format_rate(bits_per_s: int) -> str:
    """The shortest exact form: 100000000 → `100mbit`."""
    for unit in ("gbit", "mbit", "kbit"):
        if bits_per_s % _BITS_PER_S[unit] == 0:
            return f"{bits_per_s // _BITS_PER_S[unit]}{unit}"
    return f"{bits_per_s}bit"


def format_time_ns(time_ns: int) -> str:
    """The shortest exact form: 200000 → `200us`."""
    for unit in ("s", "ms", "us"):
        if time_ns % _NANOSECONDS[unit] == 0:
            return f"{time_ns // _NANOSECONDS[unit]}{unit}"
    return f"{time_ns}ns"


def format_size(size_bytes: int) -> str:
    """The shortest exact form: 131072 → `128kb`."""
    for unit in ("mb", "kb"):
        if size_bytes % _BYTES[unit] == 0:
            return f"{size_bytes // _BYTES[unit]}{unit}"
    return f"{size_bytes}b"
