# SPDX-License-Identifier: Apache-2.0
"""Runs the applications that placement is tried with, on any number of ranks and with Antiphon's collectives."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.bench.testbed import program
from antiphon.mpi import Mpi, discover, launch

WHEELS = [
    mpi
    for mpi in discover()
    if mpi.prefix.is_relative_to(Path(sys.prefix).resolve()) and mpi.launcher and mpi.abi != "mpiabi"
]


def run(mpi: Mpi, name: str, ranks: int, *args: str, preload: bool = False) -> tuple[int, str]:
    """Returns the program's exit code and all its output."""
    env = {"LD_LIBRARY_PATH": str(mpi.libmpi.parent)}
    if preload:
        env |= launch.rank_environment(mpi, launch.Settings(force="*:on"), {}) | env
    argv = [str(program(f"demo-{name}", mpi.abi)), *args]
    command = launch.launch_command(mpi, ranks, argv, env, oversubscribe=True, as_root=os.geteuid() == 0)
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("mpi", WHEELS, ids=lambda mpi: mpi.label)
def test_shortest_paths(mpi: Mpi) -> None:
    """GIVEN more ranks THEN the sum of all distances is the same."""
    sums = set()
    for ranks, vertices in ((1, "61"), (3, "61")):
        code, text = run(mpi, "shortest_paths", ranks, vertices, "7", preload=ranks > 1)
        assert code == 0 and "result: verified" in text, text
        sums.add(re.search(r"sum of distances: (\d+)", text)[1])
    assert len(sums) == 1
    assert int(sums.pop()) > 61


@pytest.mark.parametrize("mpi", WHEELS, ids=lambda mpi: mpi.label)
@pytest.mark.parametrize("unknowns", ["1", "58"])
def test_gauss(mpi: Mpi, unknowns: str) -> None:
    """GIVEN ranks without rows, and rows that change their ranks THEN the system is solved."""
    code, text = run(mpi, "gauss", 3, unknowns, "3", preload=unknowns != "1")
    assert code == 0 and "result: verified" in text, text
    assert float(re.search(r"largest error: (\S+)", text)[1]) < 1


@pytest.mark.parametrize("name", ["shortest_paths", "gauss"])
def test_wrong_usage(name: str) -> None:
    """GIVEN no number THEN the usage is shown."""
    code, text = run(WHEELS[0], name, 1, "many")
    assert code != 0
    assert f"usage: {name}" in text


@pytest.mark.parametrize("mpi", WHEELS, ids=lambda mpi: mpi.label)
@pytest.mark.parametrize(
    "argv",
    [("lookahead", "96", "8"), ("slabs", "64", "2", "2"), ("neighbours", "stencil", "50", "3"),
     ("neighbours", "faces", "50", "3"), ("neighbours", "sparse", "50", "3"), ("lines_cg", "40", "4", "1")],
    ids=lambda argv: "-".join(argv[:2]),
)  # fmt: skip
def test_overlapping(mpi: Mpi, argv: tuple[str, ...]) -> None:
    """GIVEN nonblocking collectives beside computing THEN results are exact."""
    code, text = run(mpi, argv[0], 4, *argv[1:], preload=True)
    assert code == 0 and "verified" in text, text
