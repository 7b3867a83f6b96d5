# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark programs with few ranks on this machine, for what depends on how they are started and end."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.bench.testbed import Exit, HostTestbed
from antiphon.mpi import discover, launch

Antiphon = Callable[..., "subprocess.CompletedProcess[str]"]

#: The first library of the environment, which the programs are built against.
WHEEL = next(mpi for mpi in discover() if mpi.prefix.is_relative_to(Path(sys.prefix).resolve()) and mpi.launcher)

#: This object says that it is Antiphon, and that it changed its mind after the first call.
CHANGING = r"""
#include <stdint.h>
#include <stdio.h>
int antiphon_impl_version(void) { return 1; }
int antiphon_impl_force(uintptr_t comm, const char *collective, const char *choice) { return 0; }
int antiphon_impl_chosen(uintptr_t comm, const char *collective, char *text, size_t capacity) {
  static int asked;
  snprintf(text, capacity, "%s", asked++ ? "chain:window=4" : "binomial");
  return 0;
}
"""


def on_wheel(*words: object, ranks: int = 2) -> list[object]:
    return ["bench", *words, "-n", ranks, "--mpi", WHEEL.libmpi, "--budget", 0.02]


def test_a_choice_that_changed_is_told_with_the_first_one(antiphon: Antiphon, tmp_path: Path) -> None:
    (tmp_path / "changing.c").write_text(CHANGING)
    target = tmp_path / f"libantiphon-{WHEEL.abi}.so"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "changing.c", "-o", target], check=True, timeout=60)
    (tmp_path / f"antiphon-bench-{WHEEL.abi}").symlink_to(launch.lib_dir() / f"antiphon-bench-{WHEEL.abi}")
    words = on_wheel("bcast", "--bytes", "1k", "--against", "nothing", "--json", "out.json")
    result = antiphon(*words, ANTIPHON_LIB_DIR=str(tmp_path))
    assert result.returncode == 0, result.stderr
    [row] = json.loads((tmp_path / "out.json").read_text())["results"]
    assert (row["chosen_first"], row["chosen"]) == ("binomial", "chain:window=4")
    assert "binomial, later chain:window=4" in " ".join(result.stdout.split())


def test_buffers_that_a_node_cannot_hold_are_left_out(command: Antiphon) -> None:
    """GIVEN more bytes for all ranks than this machine has THEN the cell is left out, and the next one measured."""
    block, available = 2_000_000_000, available_bytes()
    ranks = math.isqrt(available // (2 * block)) + 1
    result = command(*on_wheel("alltoall", "--bytes", f"8,{block}", "--json", ranks=ranks))
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert {row["bytes"] for row in document["results"]} == {8}
    [left_out] = document["skipped"]
    needed = 2 * ranks * ranks * block / 2**30
    assert (left_out["bytes"], left_out["why"]) == (block, f"its buffers need {needed:.3g} GiB of a node")


def available_bytes() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def test_patterns_are_measured(command: Antiphon) -> None:
    contenders = ["library", "point-to-point", "persistent:library"]
    words = on_wheel("--pattern", "random:1k", "--contenders", ",".join(contenders), "--json")
    result = command(*words)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    measured = [row["contender"] for row in document["results"]]
    assert sorted(measured + [row["contender"] for row in document["skipped"]]) == sorted(contenders)
    assert measured[:2] == contenders[:2] and not document["wrong"]
    assert all(min(row["samples"]) > 0 for row in document["results"])


def test_patterns_are_where_ranks_on_other_nodes_find_them(
    command: Antiphon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """GIVEN nodes of a file THEN rank 0, on one of them, reads the patterns below the working directory."""
    read: list[Path] = []

    def run(_testbed: object, _mpi: object, _n: int, argv: list[str], *, on_line: Callable[[str], None], **_: object):
        file = Path(argv[argv.index("--patterns") + 1])
        assert json.loads(file.read_text())["patterns"][0]["name"].startswith("random")
        read.append(file)
        on_line(json.dumps({"event": "start", "node_of_rank": [0, 1]}))
        return Exit(0, "")

    monkeypatch.setattr(HostTestbed, "run", run)
    (tmp_path / "nodes").write_text("n1\nn2\n")
    assert command(*on_wheel("--pattern", "random", "--hostfile", "nodes")).returncode == 0
    assert command(*on_wheel("--pattern", "random")).returncode == 0
    assert [file.is_relative_to(tmp_path) for file in read] == [True, False]
    assert not any(file.parent.exists() for file in read)
