# SPDX-License-Identifier: Apache-2.0
"""Runs `antiphon compare` with real launchers, on programs of which is known what they do with the preload object."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest

from antiphon.commands import _compare_runs
from antiphon.mpi import discover
from antiphon.mpi.launch import read_hostfile
from antiphon.placement import Placement
from antiphon.placement.document import Node

FOUND = next((mpi for mpi in discover() if mpi.launcher is not None), None)
pytestmark = pytest.mark.skipif(FOUND is None, reason="no MPI library with a launcher")
#: Does the one or the other, as the preload object is there or not.
SCRIPT = """#!/bin/sh
echo run >> {folder}/runs
case "$LD_PRELOAD" in *libantiphon-*) {present};; *) {absent};; esac
"""


def script(folder: Path, present: str, absent: str) -> Path:
    path = folder / "solver"
    path.write_text(SCRIPT.format(folder=folder, present=present, absent=absent))
    path.chmod(0o755)
    return path


def compare(command, *words: object) -> subprocess.CompletedProcess[str]:
    assert FOUND is not None
    return command("compare", "-n", "1", "--mpi", FOUND.libmpi, *words)


def test_a_program_that_gains(command, tmp_path):
    """GIVEN a program that sleeps only without the object THEN all rounds say so, and nothing is left behind."""
    (tmp_path / "input").write_text("three\nmore\n")
    program = script(tmp_path, "head -n 1", "sleep 0.8; head -n 1")
    options = ["--rounds", "3", "--no-warm-up", "--stdin", "input", "--json=out.json"]
    done = compare(command, *options, program, "-n", "9")
    assert done.returncode == 0 and "times as fast with Antiphon" in done.stdout, done.stderr
    assert done.stderr.count("round 3 of 3: ") == 2 and "three" not in done.stdout + done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["program"] == [str(program), "-n", "9"] and found["ranks"] == 1
    assert found["speed_up"]["ratio"] > 1 and min(found["plain"]["samples"]) > 0.8
    assert (found["output"], found["collectives"], found["failure"]) == ("same", None, None)
    assert len((tmp_path / "runs").read_text().split()) == 6
    assert {path.name for path in tmp_path.iterdir()} == {"input", "solver", "runs", "out.json"}


def test_a_program_of_mpi(command, compiled):
    """GIVEN ranks that sum their numbers THEN the answer is one sentence, with what collectives took."""
    assert FOUND is not None
    done = command("compare", "-n", "2", "--rounds", "3", "--show-output", compiled(FOUND))
    assert done.returncode == 0, done.stderr
    assert f"{FOUND.label}, 2 ranks; this machine" in done.stdout.splitlines()[0]
    assert "times as fast with Antiphon (95 % interval: " in done.stdout
    assert "from MPI_Init to MPI_Finalize with Antiphon; " in done.stdout
    assert "output: the same lines in all 8 runs" in done.stdout
    assert done.stderr.count("ranks 2 sum 2") == 8 and "hint: such short runs" in done.stderr


def test_a_program_that_fails_only_with_antiphon(command, tmp_path):
    done = compare(command, "--json", script(tmp_path, "echo half; echo why >&2; exit 5", "echo whole"))
    assert done.returncode == 1
    failure = json.loads(done.stdout)["failure"]
    assert (failure["way"], failure["round"], failure["stdout"]) == ("antiphon", 0, ["half"])
    assert "half\n" in done.stderr and "why\n" in done.stderr and "whole" not in done.stderr
    assert "failed with Antiphon in the warm-up, with exit code" in done.stderr
    assert "without Antiphon it did not fail" in done.stderr and "antiphon doctor" in done.stderr


def test_a_program_that_fails_by_itself(command, tmp_path):
    """GIVEN a program that always fails THEN one run is enough, and Antiphon is not blamed."""
    done = compare(command, script(tmp_path, "exit 5", "echo broken; exit 5"))
    assert done.returncode == 1 and (tmp_path / "runs").read_text() == "run\n"
    assert "broken\n" in done.stderr and "failed without Antiphon" in done.stderr and "doctor" not in done.stderr


def test_a_run_that_does_not_end(command, tmp_path):
    """GIVEN a program that hangs with Antiphon THEN --max-time ends it, and says that nothing was compared."""
    done = compare(command, "--max-time", "2", script(tmp_path, "sleep 300", ":"))
    assert done.returncode == 1 and "the time was over after 0 of 5 rounds" in done.stderr


def test_ctrl_c_shows_the_rounds_so_far(tmp_path):
    """GIVEN Ctrl-C in the third round THEN the result is that of two, and no program is left."""
    assert FOUND is not None
    program = script(tmp_path, "echo $$ >> pids; [ $(wc -l < pids) -lt 3 ] || exec sleep 300", ":")
    command = [sys.executable, "-m", "antiphon", "compare", "-n", "1", "--mpi", FOUND.libmpi, "--no-warm-up", program]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **streams) as process:
        assert process.stderr is not None
        assert any(line.startswith("round 3 of 5: plain") for line in process.stderr)
        while len(pids := (tmp_path / "pids").read_text().split()) < 3:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted after 2 of 5 rounds" in err
    assert "times as fast with Antiphon (95 % interval: " in out and "Traceback" not in err
    assert not Path("/proc", pids[-1]).exists()


def test_what_antiphon_says_is_shown(command, tmp_path):
    """GIVEN a run that Antiphon stays out of, and says so THEN its line is shown, once."""
    said = "echo antiphon: no ranks here >&2"
    done = compare(command, "--rounds", "3", "--no-warm-up", script(tmp_path, said, "echo quiet >&2"))
    assert done.returncode == 0 and done.stderr.count("antiphon: no ranks here") == 1 and "quiet" not in done.stderr


def test_without_a_placement_ranks_are_on_the_same_nodes() -> None:
    """GIVEN a placement THEN the runs without Antiphon have its nodes and as many ranks on each, unless told others."""
    placement = Placement([Node("a", 4), Node("b", 4), Node("c", 4)], [2, 0, 2], [0, 0, 1])
    args = Namespace(n=None, hostfile=None)
    _compare_runs._place_without(args, placement)
    assert args.n == 3 and read_hostfile(args.hostfile) == (("a", 1), ("c", 2))
    given = Namespace(n=3, hostfile=Path("nodes"))
    _compare_runs._place_without(given, placement)
    assert given.hostfile == Path("nodes")


@pytest.mark.parametrize(("words", "said"), [
    (["--rounds", "2"], "at least 3 tell a difference from noise"),
    (["--max-time", "0"], "no time to run in"),
    (["--stdin", "nothing"], "--stdin nothing: cannot be read"),
    (["--json=/no/dir/x"], "cannot write /no/dir/x"),
    (["--transport", "ofi"], "--transport is for a lab"),
    (["--lab", "--hostfile", "x"], "not for a lab"),
    (["--force", "bcast:nosuch"], 'bcast has no algorithm "nosuch"'),
    (["--summary"], "--summary"),
])  # fmt: skip
def test_mistakes(words, said, command, tmp_path):
    """GIVEN what cannot be THEN one line says so, before anything runs."""
    done = compare(command, *words, script(tmp_path, ":", ":"))
    assert done.returncode == 2 and said in done.stderr and not (tmp_path / "runs").exists()
