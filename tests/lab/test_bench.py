# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon bench --lab`: links are real, so nothing can be faster than the limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.lab import state
from antiphon.model.limits import PAYLOAD_SHARE

pytestmark = pytest.mark.measures

CLUSTER = 'name = "three"\nnodes = 3\nrate = "100mbit"\n'


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_nothing_beats_the_limit(namespaces: None, tmp_path: Path, mpi: str) -> None:
    (tmp_path / "three.toml").write_text(CLUSTER)
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")}
    command = [
        sys.executable,
        "-m",
        "antiphon",
        "bench",
        "alltoall",
        "bcast",
        "--bytes",
        "64k",
        "--budget",
        "0.5",
        "--modes",
        "sync,throughput",
        "--mpi",
        mpi,
        "--algorithms",
        "on",
        "--json",
        "-",
        "--lab",
        str(tmp_path / "three.toml"),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=150, env=env, check=False)
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)["results"]
    limits = {row["collective"]: row["limit_s"] for row in rows}
    one_block_s = 65536 * 8 / (1e8 * PAYLOAD_SHARE)
    assert limits == {"alltoall": pytest.approx(2 * one_block_s), "bcast": pytest.approx(one_block_s)}
    for row in rows:
        assert (row["ranks"], row["nodes"]) == (3, 3)
        # A link may begin with a burst of 8 KiB at full speed.
        assert row["median_s"] > 0.85 * row["limit_s"]
    chosen = {row["chosen"] for row in rows if row["contender"] == "antiphon:on"}
    assert "library" not in chosen
    assert "three" not in {record["cluster"]["name"] for record in state.list_labs()}
