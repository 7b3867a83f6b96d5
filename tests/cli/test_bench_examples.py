# SPDX-License-Identifier: Apache-2.0
"""Runs the demonstration's programs alone and under Antiphon's own choice at all sizes, and the demonstration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.bench import demonstration
from antiphon.bench.testbed import HostTestbed, program
from antiphon.mpi import Mpi, discover

WHEELS = [
    mpi
    for mpi in discover()
    if mpi.prefix.is_relative_to(Path(sys.prefix).resolve()) and mpi.launcher and mpi.abi != "mpiabi"
]
RANKS = 2


def run(mpi: Mpi, name: str, ranks: int, env: dict[str, str], *args: str) -> tuple[int, str]:
    lines: list[str] = []
    argv = [str(program(f"demo-{name}", mpi.abi)), *args]
    ended = HostTestbed().run(mpi, ranks, argv, preload=bool(env), env=env, on_line=lines.append, timeout_s=100)
    return ended.exit_code, "\n".join(lines) + ended.stderr


@pytest.mark.parametrize("mpi", WHEELS, ids=lambda mpi: mpi.label)
@pytest.mark.parametrize("name", ["integer_sort", "fft3d"])
@pytest.mark.parametrize("ranks", [1, RANKS])
def test_alone(mpi: Mpi, name: str, ranks: int) -> None:
    code, text = run(mpi, name, ranks, {}, "S", "2")
    assert code == 0, text
    report = demonstration.parse_report(text)
    assert report.time_s > 0
    assert all(part.calls in (2, 4) for part in report.traffic)


@pytest.mark.parametrize("mpi", WHEELS, ids=lambda mpi: mpi.label)
@pytest.mark.parametrize(("name", "collective"), [("integer_sort", "alltoallv"), ("fft3d", "alltoall")])
def test_under_antiphon(mpi: Mpi, name: str, collective: str, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    code, text = run(mpi, name, RANKS, {"ANTIPHON_FORCE": "*:on", "ANTIPHON_SUMMARY": str(summary)}, "S", "2")
    assert code == 0, text
    demonstration.parse_report(text)
    used = demonstration.most_used(summary)
    assert not used[collective].by_library and used[collective].waiting is not None


@pytest.mark.parametrize("name", ["integer_sort", "fft3d"])
def test_wrong_usage(name: str) -> None:
    code, text = run(WHEELS[0], name, 1, {}, "Q")
    assert code != 0
    assert f"usage: {name}" in text


@pytest.mark.timeout(170)
def test_the_demonstration_on_this_machine() -> None:
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")}
    command = [sys.executable, "-m", "antiphon", "demo", "--here", "--rounds", "1", "--mpi", "mpich", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=160, env=env, check=False)
    assert result.returncode == 0, result.stderr
    (shown,) = json.loads(result.stdout)["demo"]
    assert [(p["program"], p["class"]) for p in shown["programs"]] == [
        (e.name, e.problem) for e in demonstration.EXAMPLES
    ]
    for measured in shown["programs"]:
        assert measured["speed_up"] == pytest.approx(measured["plain_s"] / measured["antiphon_s"])
        assert all(phase["used"] == "library" for phase in measured["phases"] if phase["used"])  # one node
