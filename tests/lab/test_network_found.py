# SPDX-License-Identifier: Apache-2.0
"""Checks on labs which network a run finds between its nodes: really opened connections, and a /sys of the test's."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import Mpi, discover, launch

LIBRARIES = [mpi for mpi in discover() if mpi.launcher is not None and mpi.abi == mpi.family]

#: This whole MPI program needs no compiler. Its node's name says which /sys it sees.
PROGRAM = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None)
libc.setenv(b"ANTIPHON_SYSTEM_ROOT", os.fsencode(sys.argv[1] + "/" + socket.gethostname()), 1)
libc.MPI_Init(None, None)
libc.MPI_Finalize()
"""


@pytest.fixture(params=LIBRARIES, ids=[mpi.label.replace(" ", "-") for mpi in LIBRARIES])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    return request.param


def test_the_slowest_interface_that_the_library_uses_counts_on_every_node(
    cluster: Callable[..., ClusterSpec], mpi: Mpi, tmp_path: Path
) -> None:
    """GIVEN nodes with a faster interface that is not used, and a node with a slower link THEN all ranks know it."""
    with Lab(cluster(nodes=2)) as lab:
        for node, used in zip(lab.spec.node_names(), ("2500", "1000"), strict=True):
            for interface, speed in (("eth0", used), ("eth9", "100000")):
                (tmp_path / node / "sys/class/net" / interface / "device").mkdir(parents=True)
                (tmp_path / node / "sys/class/net" / interface / "speed").write_text(speed)
        summary = tmp_path / "summary.json"
        argv = [sys.executable, "-I", "-S", "-c", PROGRAM, str(tmp_path)]
        env = {"ANTIPHON_LINK_BITS_PER_S": "0", "ANTIPHON_SUMMARY": str(summary)}
        lab.mpirun(mpi, 2, argv, env=env, preload=[launch.preload_object(mpi.abi), mpi.libmpi], timeout_s=30).check()
    network = json.loads(summary.read_text())["network"]
    assert (network["transport"], network["interface"]) == ("tcp", "eth0")
    assert network["link_bits_per_s"] == 1_000_000_000
    assert network["rate_source"] == "/sys/class/net/eth0/speed"
    assert network["transport_source"] == "connections between ranks on all 2 nodes"
