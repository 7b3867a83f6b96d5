# SPDX-License-Identifier: Apache-2.0
"""Provides labs for tests. Where the machine refuses namespaces, these tests are skipped and say why."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from antiphon.errors import AntiphonError
from antiphon.lab import ClusterSpec, Lab, load_cluster


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips unless a lab of one node can be made."""
    try:
        with Lab(load_cluster().with_options(nodes=1)):
            pass
    except AntiphonError as error:
        pytest.skip(f"no lab on this machine: {error}")


SPIN = """
import os
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000): pass
"""


@pytest.fixture(scope="session")
def cores_awake() -> Iterator[None]:
    """Keeps each core busy with what any other process interrupts: a halted virtual core wakes up late for timers,
    and the emulated links lose the time."""
    spinners = [subprocess.Popen([sys.executable, "-I", "-S", "-c", SPIN]) for _ in os.sched_getaffinity(0)]
    yield
    for spinner in spinners:
        spinner.kill()
        spinner.wait()


@pytest.fixture(autouse=True)
def _cores_awake_while_measuring(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("measures"):
        request.getfixturevalue("cores_awake")


@pytest.fixture
def cluster(namespaces: None) -> Callable[..., ClusterSpec]:
    """Makes a small Fast Ethernet cluster with the given options."""

    def make(nodes: int | None = 2, **options: object) -> ClusterSpec:
        return load_cluster("ethernet-16").with_options(nodes=nodes, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def lab(cluster: Callable[..., ClusterSpec]) -> Iterator[Lab]:
    with Lab(cluster(nodes=2)) as made:
        yield made


@pytest.fixture(scope="session")
def programs() -> ModuleType:
    """Provides the network programs beside this file (test folders are no packages)."""
    spec = importlib.util.spec_from_file_location("lab_programs", Path(__file__).with_name("programs.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
