# SPDX-License-Identifier: Apache-2.0
"""Checks that the committed MPI wrappers are what the generator makes of calls.txt, and cover all collectives."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = [
    "bindings/wrappers.gen.cpp",
    "call/p2p_calls.gen.hpp",
    "bindings/wrappers_p2p.gen.cpp",
    "bindings/narrow.gen.cpp",
    "job/library_calls.gen.hpp",
]


def names() -> list[str]:
    """Returns the calls in both lists."""
    lines = [
        line
        for file in ("calls.txt", "calls_p2p.txt")
        for line in (ROOT / "mpi" / "bindings" / file).read_text().splitlines()
    ]
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def test_committed_wrappers_are_current(tmp_path: Path) -> None:
    """GIVEN the generator's inputs THEN it writes what is committed."""
    pytest.importorskip("pympistandard", reason="pip install pympistandard==0.2.0")
    subprocess.run(
        [sys.executable, ROOT / "mpi" / "bindings" / "generate.py", "--output", tmp_path], check=True, timeout=60
    )
    for name in OUTPUT:
        assert (tmp_path / name).read_text() == (ROOT / "mpi" / name).read_text(), (
            f"{name}: run mpi/bindings/generate.py"
        )


def test_every_collective_is_wrapped() -> None:
    """GIVEN the core's collectives THEN calls.txt names all of them."""
    header = (ROOT / "include" / "antiphon" / "problem.hpp").read_text()
    body = re.search(r"enum class Collective[^{]*\{([^}]*)\}", header)
    assert body is not None
    collectives = {word.strip() for word in body.group(1).split(",") if word.strip()}
    assert len(collectives) == 16
    assert collectives <= {name.lower() for name in names()}


def test_no_call_is_named_twice() -> None:
    """GIVEN the lists THEN each call is named once."""
    assert len(names()) == len(set(names()))
