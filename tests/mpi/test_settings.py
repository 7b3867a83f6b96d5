# SPDX-License-Identifier: Apache-2.0
"""Checks what the preload object does, without `antiphon run`, with settings that it cannot use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.mpi import Mpi

Run = Callable[..., Any]
PATTERNS = Path(__file__).resolve().parent / "programs" / "patterns.c"
BROKEN = '{"version": 1, "decisions": {"version": 1, "rules": [{"collective": "bcast", "use": "chain:pice_bytes=8k"}]}}'


@pytest.mark.parametrize(("name", "value", "said"), [
    ("ANTIPHON_FORCE", "bcast:chain;alltoall:nosuch", 'alltoall has no algorithm "nosuch" (there are: '),
    ("ANTIPHON_FORCE", "alltoall:rotated:windw=2", 'has no parameter windw'),
    ("ANTIPHON_VERBOSE", "loud", "ANTIPHON_VERBOSE=loud is not a whole number"),
    ("ANTIPHON_SUMARY", "1", "did you mean ANTIPHON_SUMMARY?"),
    ("ANTIPHON_PLAN", "/no/such/plan.json", "ANTIPHON_PLAN=/no/such/plan.json cannot be read"),
    ("ANTIPHON_PROFILE", BROKEN, 'has no parameter pice_bytes'),
    ("ANTIPHON_CAPTURE", "/tmp/" + 300 * "x", "cannot be written: File name too long"),
])  # fmt: skip
def test_stands_aside(
    native: Mpi, name: str, value: str, said: str, compiled: Callable[..., Path], run_ranks: Run, tmp_path: Path
) -> None:
    """GIVEN a setting that cannot be used THEN one line says which, and every call is the library's."""
    if value is BROKEN:
        (tmp_path / "p.json").write_text(value)
        value = str(tmp_path / "p.json")
    result = run_ranks(native, 2, [compiled(native, [PATTERNS]), 1], **{name: value})
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    lines = result.lines("antiphon: ")
    assert len(lines) == 1 and said in lines[0] and lines[0].endswith("every call is left to the library"), lines
    assert result.summary == {}


def test_paths_may_have_any_bytes(native: Mpi, compiled: Callable[..., Path], run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a path that is no UTF-8 THEN ranks with the same variables agree, and the file has that name."""
    summary = tmp_path / os.fsdecode(b"caf\xe9 \xff.json")
    result = run_ranks(native, 2, [compiled(native, [PATTERNS]), 1], ANTIPHON_SUMMARY=str(summary))
    assert result.returncode == 0, result.text
    assert not result.lines("antiphon: ")
    assert summary.is_file()
