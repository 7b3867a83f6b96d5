# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon tune` on real links: decisions that hold, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from antiphon import core
from antiphon import profile as profiles
from antiphon.model import limits
from antiphon.tune import document

CLUSTER = 'name = "four"\nnodes = 4\nrate = "100mbit"\n'


def command(tmp_path: Path, *more: object) -> list[str]:
    (tmp_path / "four.toml").write_text(CLUSTER)
    words = ["tune", "bcast", "alltoall", "--bytes", "8,64k", "--lab", tmp_path / "four.toml", "--mpi", "openmpi"]
    return [sys.executable, "-m", "antiphon", *map(str, [*words, "--profile", tmp_path / "machine.json", *more])]


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")}


def test_a_plan_for_each_library(namespaces: None, tmp_path: Path) -> None:
    """Ranks that are dealt out over the nodes have no halves to tune: a first half of them is on all nodes."""
    words = command(tmp_path, "--dry-run", "--json", "--mpi", "openmpi,mpich", "-n", 8)
    plans = {}
    for order in ("slot", "node"):
        done = subprocess.run(
            [*words, "--map-by", order], capture_output=True, text=True, env=environment(), timeout=150, check=False
        )
        assert done.returncode == 0, done.stderr
        plans[order] = json.loads(done.stdout)
    assert [name.split()[0] for name in plans["slot"]] == ["Open", "MPICH"]
    ranks = {order: {cell["ranks"] for plan in of.values() for cell in plan["cells"]} for order, of in plans.items()}
    assert ranks == {"slot": {8, 4}, "node": {8}}
    assert not (tmp_path / "machine.json").exists()


@pytest.mark.measures
def test_a_tuned_profile(namespaces: None, tmp_path: Path) -> None:
    result = subprocess.run(
        command(tmp_path, "--budget", "12", "--json"),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=150,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "first guess" in result.stderr
    profile = profiles.load(tmp_path / "machine.json")
    (told,) = json.loads(result.stdout).values()
    assert told["rules"] == profile["decisions"]["rules"]
    measured = {(c["collective"], c["bytes"], c["ranks"], c["mode"]) for c in told["cells"]}
    assert {(c, b, 4, m) for c in ("bcast", "alltoall") for b in (8, 65536) for m in ("sync", "throughput")} <= measured
    assert all(c["contender"].startswith(("library", "antiphon")) for c in told["cells"])
    # A chain carries 64 KiB over each link once; Open MPI's broadcast does not come near that on four nodes.
    question = core.Question("bcast", 4, 4, 1, 65536, link_bits_per_s=100_000_000, mpi="openmpi")
    chosen = core.choose(question, (tmp_path / "machine.json").read_text())
    assert chosen.algorithm is not None
    assert "measured on 4 ranks" in chosen.reason
    assert json.loads((tmp_path / "machine.tune-openmpi.jsonl").read_text().splitlines()[-1]) == {"event": "complete"}


def test_an_interrupted_tuning_goes_on(namespaces: None, tmp_path: Path) -> None:
    state = tmp_path / "machine.tune-openmpi.jsonl"
    # There are enough sizes that much is left to do when the first is done, however fast that is.
    sizes = ("--bytes", "8,128,1k,8k,64k,256k")
    process = subprocess.Popen(
        command(tmp_path, *sizes, "--budget", "60"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # A shell ignores the signal for tests in its background, and their children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and not (state.exists() and "cell_done" in state.read_text()):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "the same command goes on" in said
    assert not (tmp_path / "machine.json").exists()
    before = state.read_text()
    assert before.count("cell_done") >= 1
    again = subprocess.run(
        command(tmp_path, *sizes, "--budget", "5"),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=150,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert state.read_text().startswith(before.rstrip("\n"))
    assert profiles.load(tmp_path / "machine.json")["decisions"]["rules"]


@pytest.mark.measures
@pytest.mark.parametrize("budget", ["6"])
def test_what_was_not_covered_is_said(namespaces: None, tmp_path: Path, budget: str) -> None:
    network = limits.Network.blocks(4, 1, 95.6e6)
    before = document.first_guess("four", network.node_of_rank, network)
    # A tuning long ago: that the root sends to one rank after the other is no way to broadcast long messages.
    where = {"collective": "bcast", "ranks": [4, 4], "ranks_per_node": [1, 1], "mpi": "openmpi"}
    before["decisions"] = {"version": 1, "rules": [where | {"use": "flat:window=1", "why": "measured on 4 ranks"}]}
    document.write(tmp_path / "machine.json", before)
    words = command(tmp_path, "--budget", budget, "--bytes", "8,1m,16m", "--json")
    result = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=150, check=False)
    assert result.returncode == 0, result.stderr
    (told,) = json.loads(result.stdout).values()
    assert any("takes too long" in text and "16 MiB" in text for text in told["not_covered"])
    # What was decided before has taken part, whatever became of it.
    known = {row["bytes"]: row for row in told["known_before"]}
    assert known[8]["use"].startswith("flat:")
    assert known[8]["source"] == "measured"
    assert any(cell["chosen"] == known[8]["use"] for cell in told["cells"] if cell["bytes"] == 8)
