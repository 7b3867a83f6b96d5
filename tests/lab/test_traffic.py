# SPDX-License-Identifier: Apache-2.0
"""Checks with `antiphon traffic --verify` that links carry what the tables say, within 5 %."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CLUSTER = 'name = "four"\nnodes = 4\nranks_per_node = 2\nrate = "200mbit"\noffloads = false\nport_buffer = "8mb"\n'


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_tables_say_what_crosses_links(namespaces: None, tmp_path: Path, mpi: str) -> None:
    """GIVEN a lab WHEN collectives with and without hierarchy are called THEN every link's counters agree."""
    (tmp_path / "four.toml").write_text(CLUSTER)
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")}
    command = [sys.executable, "-m", "antiphon", "traffic", "--verify", "--mpi", mpi, "-n", "8", "--bytes", "64k"]
    command += ["--collectives", "bcast,reduce,allgather,scan", "--json", "--lab", str(tmp_path / "four.toml")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=150, env=env, check=False)
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)["results"]
    assert len(rows) == 4
    assert all(max(row["measured_sent_bytes"]) > 2**18 for row in rows)
