# SPDX-License-Identifier: Apache-2.0
"""Goes the whole way on a lab: `antiphon plan` records a run, and the next run uses all of it, or what fits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.bench.testbed import program
from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import by_name
from antiphon.plan import Plan

#: Several workers may run these tests at the same time.
NAME = f"plan-test-{os.getpid()}"
RANKS = 8
SWEEP = ["--local", "12", "--steps", "2"]


@pytest.fixture
def lab(cluster: Callable[..., ClusterSpec]) -> Iterator[str]:
    """Makes a lab of four nodes with two ranks each that commands find by its name."""
    one = Lab(cluster(nodes=4, ranks_per_node=2), NAME)
    one.up(keep=True)
    yield NAME
    antiphon("lab", "down", "--name", NAME)


def antiphon(*words: object) -> tuple[str, str]:
    """Returns a command's standard output and standard error."""
    command = [sys.executable, "-m", "antiphon", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def state_of(text: str) -> str:
    """Returns the hash of all bits of the final state."""
    found = re.search(r"^state: \w+$", text, re.MULTILINE)
    assert found, text
    return found.group()


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_from_a_program_to_a_run_by_its_plan(lab: str, family: str, tmp_path: Path) -> None:
    """GIVEN a recorded run with neighbours apart THEN the next one has them together, with the same bits."""
    mpi = by_name(family)
    sweep, plan, summary = program("demo-sweep3d", mpi.abi), tmp_path / "sweep.plan", tmp_path / "run.json"
    antiphon("plan", "--lab", lab, "-n", RANKS, "--mpi", mpi.prefix, "-o", plan, sweep, *SWEEP)
    made = Plan.load(plan)
    assert made.made_for["arguments"] == SWEEP
    assert made.placement is not None, made
    run = ["lab", "run", "--name", lab, "--mpi", mpi.prefix, "--timeout", 60]
    plain, _ = antiphon(*run, "-n", RANKS, "--plain", sweep, *SWEEP)
    out, said = antiphon(*run, "--plan", plan, f"--summary={summary}", sweep, *SWEEP)
    assert state_of(out) == state_of(plain)
    assert "not honoured" not in said
    parts = {part["part"]: part for part in json.loads(summary.read_text())["plan"]["parts"]}
    assert parts["placement"]["calls"] == RANKS
    assert parts["placement"]["saved_s"] == pytest.approx(made.placement.about["saves_s"], rel=1e-3)
    # Four ranks: the placement is for eight, and one line says so; the bits stay those of four ranks.
    plain, _ = antiphon(*run, "-n", 4, "--plain", sweep, *SWEEP)
    out, said = antiphon(*run, "-n", 4, "--plan", plan, "--summary", sweep, *SWEEP)
    assert state_of(out) == state_of(plain)
    assert said.count("the plan is for 8 ranks on 4 nodes, and here are 4") == 1
    assert not re.search(r"^ +placement ", said, re.MULTILINE)


def rule(collective: str, use: str, **more: Any) -> dict[str, Any]:
    return {"collective": collective, "use": use, "ranks": [RANKS, RANKS], "saves_s": 0.001, "calls": 1, **more}


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_rules_are_for_their_communicators(lab: str, family: str, tmp_path: Path) -> None:
    """GIVEN rules for the world's size and distance THEN its calls use them; GIVEN another distance THEN none does."""
    mpi = by_name(family)
    gauss, summary = program("demo-gauss", mpi.abi), tmp_path / "run.json"
    for stride, used in ((1, True), (2, False)):
        rules = [
            rule("bcast", "chain:segment_bytes=1024,window=4,granted=0", stride=[stride, stride], bytes=[512, 1023])
        ]
        plan = Plan({"program": str(gauss), "arguments": ["96"], "ranks": RANKS, "nodes": 4}, rules=rules)
        plan.save(tmp_path / "gauss.plan")
        _, said = antiphon("lab", "run", "--name", lab, "-n", RANKS, "--adapt", "off", "--mpi", mpi.prefix, "--plan",
                           tmp_path / "gauss.plan", f"--summary={summary}", gauss, "96")  # fmt: skip
        document = json.loads(summary.read_text())
        parts = {part["part"]: part for part in document["plan"]["parts"]}
        assert (parts["algorithms"]["calls"] > 0) == used, (said, parts)
        assert parts["algorithms"]["other_calls"] > 0
        done_by = {row["algorithm"] for row in document["collectives"] if row["collective"] == "bcast"}
        assert ("chain:segment_bytes=1024,window=4,granted=0" in done_by) == used, done_by
        saved_s = parts["algorithms"]["calls"] * 0.001 / RANKS
        assert parts["algorithms"]["saved_s"] == pytest.approx(saved_s)
