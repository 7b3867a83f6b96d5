# SPDX-License-Identifier: Apache-2.0
"""Checks that `antiphon probe --lab` finds how the lab was built. ANTIPHON_SLOW=1 takes more and larger labs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from antiphon import profile
from antiphon.model.limits import PAYLOAD_SHARE

pytestmark = pytest.mark.measures

SLOW = bool(os.environ.get("ANTIPHON_SLOW"))


@dataclass(frozen=True)
class Case:
    """Holds a cluster, and what the probe must find of it."""

    name: str
    toml: str
    mpi: str
    switches: tuple[int, ...]
    ranks_per_node: int = 1
    rate_mbit: int = 100
    uplink_mbit: int | None = None
    buffer_kib: int | None = 128
    budget_s: int = 20
    slow: bool = False


def two_switches(a: int, b: int, uplink: str) -> str:
    return (
        f'rate = "100mbit"\n[[switch]]\nname = "a"\nnodes = {a}\n[[switch]]\nname = "b"\nnodes = {b}\n'
        f'[[uplink]]\nbetween = ["a", "b"]\nrate = "{uplink}"\nbuffer = "128kb"\n'
    )


CASES = [
    Case("shared-uplink", two_switches(4, 3, "100mbit"), "mpich", (4, 3), uplink_mbit=100),
    Case(
        "two-ranks-a-node",
        'nodes = 4\nranks_per_node = 2\nrate = "100mbit"\nport_buffer = "64kb"\n',
        "openmpi",
        (4,),
        ranks_per_node=2,
        buffer_kib=64,
    ),
    Case("ethernet-16-openmpi", 'nodes = 16\nrate = "100mbit"\n', "openmpi", (16,), budget_s=60, slow=True),
    Case("ethernet-16-mpich", 'nodes = 16\nrate = "100mbit"\n', "mpich", (16,), budget_s=60, slow=True),
    Case(
        "oversubscribed-16", two_switches(8, 8, "200mbit"), "openmpi", (8, 8), uplink_mbit=200, budget_s=60, slow=True
    ),
    Case(
        "sixteen-by-four",
        'nodes = 16\nranks_per_node = 4\nrate = "100mbit"\n',
        "openmpi",
        (16,),
        ranks_per_node=4,
        budget_s=60,
        slow=True,
    ),
    Case(
        "gigabit-8",
        'nodes = 8\nrate = "1gbit"\n',
        "mpich",
        (8,),
        rate_mbit=1000,
        buffer_kib=512,
        budget_s=60,
        slow=True,
    ),
]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("case", [case for case in CASES if SLOW or not case.slow], ids=lambda case: case.name)
def test_the_lab_is_found_as_it_was_built(namespaces: None, tmp_path: Path, case: Case) -> None:
    (tmp_path / "cluster.toml").write_text(f'name = "{case.name}"\n{case.toml}')
    command = [
        sys.executable,
        "-m",
        "antiphon",
        "probe",
        "--lab",
        tmp_path / "cluster.toml",
        "--mpi",
        case.mpi,
        "-o",
        tmp_path / "m.json",
        "--budget",
        case.budget_s,
    ]
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=220, check=False)
    assert result.returncode == 0, result.stderr
    document = profile.load(tmp_path / "m.json")
    assert (document["machine"]["nodes"], document["machine"]["ranks_per_node"]) == (
        sum(case.switches),
        case.ranks_per_node,
    )
    check_topology(document, case)
    check_links(document, case)


def check_topology(document: dict, case: Case) -> None:
    nodes, switches = document["topology"]["nodes"], document["topology"]["switches"]
    found = [[node["name"] for node in nodes if node["switch"] == switch["name"]] for switch in switches]
    names, expected = iter(f"node{n:02d}" for n in range(1, 99)), []
    for count in case.switches:
        expected.append([next(names) for _ in range(count)])
    assert sorted(found) == expected
    uplinks = [switch["uplink_bytes_per_s"] for switch in switches if "parent" in switch]
    if case.uplink_mbit is not None:
        assert uplinks == [pytest.approx(case.uplink_mbit * 1e6 / 8 * PAYLOAD_SHARE, rel=0.12)]


def check_links(document: dict, case: Case) -> None:
    rate = case.rate_mbit * 1e6 / 8 * PAYLOAD_SHARE
    within = 0.03 if case.rate_mbit < 500 else 0.2
    for node in document["topology"]["nodes"]:
        assert node["port_bytes_per_s"] == pytest.approx(rate, rel=within)
    scopes = [entry["scope"] for entry in document["link_classes"]]
    assert scopes == [
        *(["node"] if case.ranks_per_node > 1 else []),
        "switch",
        *(["uplink"] if len(case.switches) > 1 else []),
    ]
    known = [value for row in document["topology"]["pairs"]["bytes_per_s"] for value in row if value is not None]
    assert len(known) >= 0.5 * sum(case.switches) * (sum(case.switches) - 1)
    if case.buffer_kib is not None and case.rate_mbit < 500:
        # Packets are counted with their headers, and by when they come, so the result is never exact.
        assert 0.7 * case.buffer_kib * 1024 < document["contention"]["credit_bytes"] < 1.5 * case.buffer_kib * 1024
    assert document["multicast"]["works"] is True
    assert document["multicast"]["nodes"] == sum(case.switches)
    if document["machine"]["ranks_per_node"] > 1:
        near, far = document["link_classes"][0], document["link_classes"][1]
        assert near["latency_s"] < far["latency_s"]
    # Short messages take processor time, which other programs share.
    held = [abs(row["error"]) for row in document["measurements"]["held_out"] if row["bytes"] > 20000]
    assert sorted(held)[len(held) // 2] < 0.05
