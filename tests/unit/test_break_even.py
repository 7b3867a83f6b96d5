# SPDX-License-Identifier: Apache-2.0
"""Checks the paper's equations by results worked out by hand."""

from __future__ import annotations

import pytest

from antiphon.codec.break_even import Gain, least_rate, verdict

#: A message of 1 MB becomes half as long, at 1 GB/s in and 2 GB/s out.
HALF = Gain(1_000_000, 500_000, 1e-3, 0.5e-3)


def test_serial_break_even_is_where_both_ways_take_the_same_time() -> None:
    limit = HALF.serial_break_even_bytes_per_s
    assert limit == pytest.approx(0.5 / 1.5e-9)
    assert HALF.serial_speed_up(limit) == pytest.approx(1)
    assert HALF.serial_speed_up(limit / 2) > 1 > HALF.serial_speed_up(limit * 2)


def test_equation_4() -> None:
    # Table 1 of the paper: 3 GHz, 1 Gb/s, rate 1.5: 8 cycles for each byte.
    bytes_per_s, rate, cycles = 1e9 / 8, 1.5, 8
    per_byte_s = (rate - 1) / rate / bytes_per_s
    assert per_byte_s * 3e9 == pytest.approx(cycles)
    gain = Gain(3_000_000, 2_000_000, 3e6 * per_byte_s / 2, 3e6 * per_byte_s / 2)
    assert gain.serial_break_even_bytes_per_s == pytest.approx(bytes_per_s)


def test_overlapped_the_slowest_part_decides() -> None:
    assert HALF.overlapped_break_even_bytes_per_s == pytest.approx(1e9)
    assert HALF.overlapped_speed_up(1e6) == pytest.approx(2)
    assert HALF.overlapped_speed_up(1e9) == pytest.approx(1)


def test_what_becomes_longer_never_pays() -> None:
    longer = Gain(1000, 1008, 1e-9, 1e-9)
    assert longer.serial_break_even_bytes_per_s == longer.overlapped_break_even_bytes_per_s == 0
    assert longer.serial_speed_up(1) < 1
    assert verdict(longer, 1e6)[0] == "off"


@pytest.mark.parametrize(("bytes_per_s", "word"), [(12.5e6, "on"), (0.6e9, "overlapped"), (5e9, "off")])
def test_verdicts_by_network(bytes_per_s: float, word: str) -> None:
    assert verdict(HALF, bytes_per_s)[0] == word


def test_least_rate_solves_equation_3() -> None:
    size, bytes_per_s, fixed_s, per_byte_s = 4096, 125e6, 2e-6, 1e-9
    rate = least_rate(size, bytes_per_s, fixed_s, per_byte_s)
    assert rate is not None
    assert ((rate - 1) / rate / bytes_per_s - per_byte_s) * size - fixed_s == pytest.approx(0, abs=1e-12)
    assert least_rate(1024, 1e10, fixed_s, per_byte_s) is None
