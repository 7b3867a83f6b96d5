# SPDX-License-Identifier: Apache-2.0
"""Runs `antiphon compare` on an emulated cluster that is made for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.mpi import discover

SCRIPT = """#!/bin/sh
case "$LD_PRELOAD" in *libantiphon-*) echo with;; *) echo without; sleep 0.5;; esac
[ "${PMIX_RANK:-${PMI_RANK:-0}}" != 0 ] || head -n 1
"""


@pytest.mark.usefixtures("namespaces")
def test_ranks_of_a_lab_run_both_ways(tmp_path: Path) -> None:
    """GIVEN a program that is slow without Antiphon THEN each way runs on the lab's nodes, with its standard input."""
    (tmp_path / "two.toml").write_text('name = "two"\nnodes = 2\nrate = "100mbit"\n')
    (tmp_path / "input").write_text("three\n")
    (tmp_path / "solver").write_text(SCRIPT)
    (tmp_path / "solver").chmod(0o755)
    mpi = next(mpi for mpi in discover() if mpi.launcher is not None)
    options = ["--lab=two.toml", "--mpi", mpi.libmpi, "--rounds", "3", "--stdin", "input", "--show-output", "--json"]
    command = [sys.executable, "-m", "antiphon", "compare", *map(str, options), "./solver"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ranks"] == 2 and found["place"].startswith("lab two: ")
    assert (found["verdict"], found["output"]) == ("gains", "differs") and found["speed_up"]["ratio"] > 1
    lines = done.stderr.splitlines()
    runs = 2 + 2 * len(found["plain"]["samples"])
    assert [lines.count(line) for line in ("with", "without", "three")] == [runs] * 3
