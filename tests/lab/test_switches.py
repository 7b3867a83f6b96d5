# SPDX-License-Identifier: Apache-2.0
"""Counts what crosses the link between two switches of a lab, with ranks in random order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "switches" / "uplinks.py"
CLUSTER = """name = "three-and-three"
rate = "200mbit"
offloads = false
port_buffer = "8mb"
[[switch]]
name = "a"
nodes = 3
[[switch]]
name = "b"
nodes = 3
[[uplink]]
between = ["a", "b"]
rate = "200mbit"
"""


@pytest.mark.measures  # TCP takes a message from a rank that waits for its core as lost, and sends it again
def test_bytes_cross_an_uplink_once(namespaces: None, tmp_path: Path) -> None:
    """GIVEN nodes whose switches are told THEN what is chosen sends no more over the link than it must.

    Calls that take turns would send more where another way may be as fast.
    """
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")}
    command = [sys.executable, str(SCRIPT), "--mpi", "mpich", "--cluster", str(tmp_path / "cluster.toml")]
    command += [
        "--adapt",
        "off",
        "--topology",
        "a=node01,node02,node03;b=node04,node05,node06",
        "--json",
        str(tmp_path / "found.json"),
    ]
    command += ["bcast:256k", "reduce:256k", "allgather:128k", "allreduce:256k"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, env=env, check=False)
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "found.json").read_text())["results"]
    assert len(rows) == 4
    for row in rows:
        assert 0.99 < row["ratio"] < 1.02, row
