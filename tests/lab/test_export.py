# SPDX-License-Identifier: Apache-2.0
"""Checks exported files under the libraries that read them: they change who sends how much, and the time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from antiphon.bench import testbed
from antiphon.exporters import Options, mpich_json, openmpi_rules
from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import by_name
from antiphon.tune import decide

pytestmark = pytest.mark.measures

BYTES = 1 << 18
NODES = 6

#: Each library is told to send segments down a chain, so that the root sends the message once.
CHAINS = {
    "openmpi": "library:pipeline:segmentsize=4096",
    "mpich": "library:pipelined_tree:tree_kval=1,tree_pipeline_chunk_size=4096,is_non_blocking=1,recv_pre_post=1",
}
VARIABLES = {
    "openmpi": {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_dynamic_rules_filename": "FILE"},
    "mpich": {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": "FILE"},
}


def profile(family: str, version: str) -> dict[str, Any]:
    """Writes a profile as `antiphon tune --for-export` does."""
    common = {"collective": "bcast", "bytes": BYTES, "ranks": NODES, "mode": "sync", "samples": 20, "chosen": ""}
    times = (("library", 2.0), (CHAINS[family], 1.0))
    cells = [
        {**common, "contender": name, "median_s": t, "ci_low_s": t, "ci_high_s": t, "limit_s": None}
        for name, t in times
    ]
    evidence = {"purpose": "export", "mpi": family, "library": family, "version": version, "nodes": NODES}
    tune = [{**evidence, "ranks": NODES, "ranks_per_node": 1, "cells": cells}]
    return {"format": "antiphon-profile", "version": 1, "measurements": {"tune": tune}}


def traffic(lab: Lab, node: int) -> tuple[int, int]:
    """Returns the bytes that a node has sent and received so far."""
    shown = json.loads(lab.execute(node, ["ip", "-s", "-j", "link", "show", "eth0"], timeout_s=20).check().stdout)
    return shown[0]["stats64"]["tx"]["bytes"], shown[0]["stats64"]["rx"]["bytes"]


def run(lab: Lab, family: str, variables: dict[str, str]) -> tuple[float, float]:
    """Returns the time of the library's broadcast, and how many times the message leaves the root."""
    mpi = by_name(family)
    lines: list[str] = []
    cell = f"bcast;{BYTES};0;sync;library"
    argv = [str(testbed.program("bench", mpi.abi)), "--budget", "1", "--cell", cell]
    before = traffic(lab, 1), traffic(lab, NODES)
    ended = lab.mpirun(mpi, NODES, argv, env=variables, timeout_s=100, on_stdout=lines.append)
    assert ended.exit_code == 0, ended.stderr
    after = traffic(lab, 1), traffic(lab, NODES)
    results = [json.loads(line) for line in lines if line.startswith("{") and '"result"' in line]
    (result,) = [r for r in results if r["event"] == "result"]
    return median(result["samples"]), (after[0][0] - before[0][0]) / (after[1][1] - before[1][1])


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_the_library_does_what_the_file_says(cluster: Callable[..., ClusterSpec], tmp_path: Path, family: str) -> None:
    export = {"openmpi": openmpi_rules.export, "mpich": mpich_json.export}[family]
    file = tmp_path / "rules"
    file.write_text(export(profile(family, by_name(family).version), Options()).text)
    with Lab(cluster(nodes=NODES)) as lab:
        default_s, default_sent = run(lab, family, {})
        told = {key: value.replace("FILE", str(file)) for key, value in VARIABLES[family].items()}
        told_s, told_sent = run(lab, family, told)
    assert told_sent == pytest.approx(1.0, abs=0.25)
    assert default_sent > 1.5
    assert told_s * 1.2 < default_s, decide.LIBRARY
