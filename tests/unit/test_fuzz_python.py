# SPDX-License-Identifier: Apache-2.0
"""Gives the Python readers their fuzzers' corpora, and a few changes of them; `make fuzz` goes on for longer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
import python_targets as fuzz


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_readers(name: str, tmp_path: Path) -> None:
    assert fuzz.seeds(name), "a target needs an input to begin with"
    for data in fuzz.seeds(name):
        fuzz.holds(name, data, tmp_path)
    fuzz.examine(name, tmp_path, 25, [b""], derandomize=True)


def test_every_corpus_of_python_is_read() -> None:
    """GIVEN a corpus that no target begins with THEN it would be forgotten."""
    used = {folder for _, folders in fuzz.TARGETS.values() for folder in folders}
    assert {path.name for path in fuzz.CORPUS.glob("python_*")} <= used


def test_an_unexpected_error_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a reader with a defect THEN the fuzzer raises it and keeps the input."""

    def defective(path: Path) -> None:
        if b"slots" not in path.read_bytes():
            raise IndexError("a defect")

    monkeypatch.setitem(fuzz.TARGETS, "hostfile", (defective, ("python_hostfile",)))
    last = [b""]
    with pytest.raises(IndexError):
        fuzz.examine("hostfile", tmp_path, 200, last)
    assert b"slots" not in last[0]
