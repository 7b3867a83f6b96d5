# SPDX-License-Identifier: Apache-2.0
"""Checks files that may be compressed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from antiphon import packed
from antiphon.errors import AntiphonError
from antiphon.model import read_profile

TEXT = '{"words": "γ and more"}\n' * 100


def test_a_file_reads_the_same_packed_and_plain(tmp_path: Path) -> None:
    plain, small = tmp_path / "a.json", tmp_path / "a.json.gz"
    plain.write_text(TEXT, encoding="utf-8")
    small.write_bytes(gzip.compress(TEXT.encode()))
    assert packed.read_text(plain) == packed.read_text(small) == TEXT


@pytest.mark.parametrize("kept", [5, 12, 40])
def test_a_file_that_is_cut_short_is_an_error(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "a.json.gz"
    file.write_bytes(gzip.compress(TEXT.encode())[:kept])
    with pytest.raises(ValueError, match="not a whole compressed file"):
        packed.read_text(file)


def test_only_commands_that_read_a_profile_themselves_take_a_packed_one(tmp_path: Path) -> None:
    """GIVEN a packed profile THEN it is refused where a preload object would have to read it."""
    profile = Path(__file__).parents[1] / "data" / "ethernet-16.openmpi.json"
    file = tmp_path / "machine.json.gz"
    file.write_bytes(gzip.compress(profile.read_bytes()))
    assert read_profile(file, packed_too=True) == profile.read_text(encoding="utf-8")
    with pytest.raises(AntiphonError, match="machine.json.gz"):
        read_profile(file)
