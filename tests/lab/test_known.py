# SPDX-License-Identifier: Apache-2.0
"""Checks what a run knows of its nodes: the links' rate measured where the system does not say it, a profile that is
found by itself, and what is kept for the next run.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.lab import ClusterSpec, Lab
from antiphon.mpi import Mpi, discover, launch
from antiphon.profile import store
from antiphon.tune import document

#: One of each family, the newest: MPICH 4.0 may stay in MPI_Finalize.
LIBRARIES = [
    next(mpi for mpi in discover() if mpi.launcher is not None and mpi.abi == family)
    for family in sorted({mpi.family for mpi in discover() if mpi.abi == mpi.family})
]
NODES = 4
RATE = 100_000_000
#: What two nodes may exchange to find out, and in how many messages.
MOST_BYTES, MOST_MESSAGES = 2 << 20, 200

#: This whole MPI program needs no compiler: one long bcast. Its node's name says which /sys it sees.
PROGRAM = """
import ctypes, os, socket, sys
mpi = ctypes.CDLL(None)
if len(sys.argv) > 2:
    mpi.setenv(b"ANTIPHON_SYSTEM_ROOT", os.fsencode(sys.argv[2] + "/" + socket.gethostname()), 1)
named = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
if sys.argv[1] == "openmpi":
    world, byte = named("ompi_mpi_comm_world"), named("ompi_mpi_byte")
else:
    world, byte = ctypes.c_int(0x44000000), ctypes.c_int(0x4C00010D)
mpi.MPI_Init(None, None)
mpi.MPI_Bcast(ctypes.create_string_buffer(1 << 18), 1 << 18, byte, 0, world)
mpi.MPI_Finalize()
"""

#: Links are measured.
pytestmark = pytest.mark.measures

Summary = dict[str, Any]
Runs = Callable[..., tuple[Summary, str]]


@pytest.fixture(params=LIBRARIES, ids=[mpi.label.replace(" ", "-") for mpi in LIBRARIES])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    return request.param


@pytest.fixture
def hidden(cluster: Callable[..., ClusterSpec], request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Provides a lab whose ranks are not told the links' rate; tests may name other options."""
    with Lab(cluster(**{"nodes": NODES, "hide_rate": True, **getattr(request, "param", {})})) as made:
        yield made


@pytest.fixture
def run(hidden: Lab, mpi: Mpi, tmp_path: Path) -> Runs:
    """Runs the program on the lab; returns its summary and what it said."""

    def start(ranks: int = NODES, name: str = "summary", root: Path | None = None, **env: str) -> tuple[Summary, str]:
        summary = tmp_path / f"{name}.json"
        argv = [sys.executable, "-I", "-S", "-c", PROGRAM, mpi.family, *([str(root)] if root else [])]
        objects = [launch.preload_object(mpi.abi), mpi.libmpi]
        env = {"ANTIPHON_SUMMARY": str(summary), **env}
        done = hidden.mpirun(mpi, ranks, argv, env=env, preload=objects, timeout_s=30).check()
        return json.loads(summary.read_text()), done.stderr

    return start


def is_accelerated(summary: Summary) -> bool:
    return all(row["algorithm"] != "library" for row in summary["collectives"])


def learned(lab: Lab) -> list[store.Learned]:
    return [found for entry in store.entries([lab.store]) for found in entry.read_learned()]


def test_what_is_measured_or_learned_is_kept_for_the_same_nodes(hidden: Lab, run: Runs) -> None:
    """WHEN the rate is hidden THEN the first run measures it with little traffic, and the next one knows it,
    and follows rules that were learned, unless it is not to.
    """
    first, _ = run()
    network = first["network"]
    assert 0.8 * RATE <= network["link_bits_per_s"] <= 1.2 * RATE
    assert network["rate_source"].startswith("measured at the start")
    assert network["connection_bits_per_s"] == 0
    assert 0 < network["measuring"]["bytes"] <= MOST_BYTES
    assert 0 < network["measuring"]["messages"] <= MOST_MESSAGES
    assert is_accelerated(first)
    second, _ = run()
    assert "measuring" not in second["network"]
    assert second["network"]["link_bits_per_s"] == network["link_bits_per_s"]
    assert second["network"]["rate_source"].startswith("measured on 20")

    [found] = learned(hidden)
    text = json.loads(found.path.read_text())
    rule = {"collective": "bcast", "use": "library", "why": "learned"}
    found.path.write_text(json.dumps({**text, "decisions": {"version": 1, "rules": [rule]}}))
    follows, _ = run()
    assert not is_accelerated(follows)
    assert {fact["name"]: fact["value"] for fact in follows["facts"]}["learned"] == "1 rule"
    assert is_accelerated(run(ANTIPHON_ADAPT="off")[0])

    others, _ = run(ranks=3)  # Other nodes do not share it.
    assert "measuring" in others["network"]
    assert len(store.entries([hidden.store])) == 2


@pytest.mark.parametrize(("hidden", "ranks", "way"), [
    ({"nodes": 6, "connection_rate": "25mbit"}, 6, "chains"),
    # So few nodes fill a port only with several ranks each. The lab deals ranks over them in turn.
    ({"nodes": 4, "ranks_per_node": 4, "connection_rate": "25mbit"}, 16, "nested"),
], indirect=["hidden"], ids=["paced", "several-ranks-a-node"])  # fmt: skip
def test_connections_that_do_not_fill_a_link_are_seen_and_kept(hidden: Lab, run: Runs, ranks: int, way: str) -> None:
    """WHEN each connection has a quarter of the link THEN the first run sees it, uses several, and tells the next."""
    for source in ("measured at the start", "measured on 20"):
        summary, _ = run(ranks=ranks)
        network = summary["network"]
        assert network["rate_source"].startswith(source)
        assert 18_000_000 <= network["connection_bits_per_s"] <= 35_000_000
        assert network["link_bits_per_s"] >= 2 * network["connection_bits_per_s"]
        assert [row["algorithm"].partition(":")[0] for row in summary["collectives"]] == [way]
    (found,) = learned(hidden)
    assert found.connection_bits_per_s == network["connection_bits_per_s"]
    terms = run(ranks=ranks, ANTIPHON_COMPRESS="auto")[0]["compressing"]
    wire_ns_per_byte = float(re.findall(r"the wire ([\d.e+]+)", terms)[0])
    share_bits_per_s = found.link_bits_per_s * hidden.spec.nodes // ranks
    assert wire_ns_per_byte == pytest.approx(8e9 / min(found.connection_bits_per_s, share_bits_per_s), rel=0.06)


@pytest.mark.parametrize("mpi", LIBRARIES[:1], ids=["one"], indirect=True)
def test_links_are_measured_between_machines(hidden: Lab, run: Runs, tmp_path: Path) -> None:
    """GIVEN four nodes THEN two pairs are measured, and one where the nodes are on two machines."""
    assert run()[0]["network"]["measuring"]["pairs"] == NODES // 2
    for node, machine in zip(hidden.spec.node_names(), "aabb", strict=True):
        (tmp_path / node / "proc/sys/kernel/random").mkdir(parents=True)
        (tmp_path / node / "proc/sys/kernel/random/boot_id").write_text(machine)
    network = run(root=tmp_path, ANTIPHON_STORE="off")[0]["network"]
    assert network["measuring"]["pairs"] == 1
    assert 0.8 * RATE <= network["link_bits_per_s"] <= 1.2 * RATE


@pytest.mark.parametrize("mpi", LIBRARIES[:1], ids=["one"], indirect=True)
def test_a_store_that_is_broken_off_shared_or_not_writable_harms_no_run(hidden: Lab, run: Runs) -> None:
    off, _ = run(ANTIPHON_STORE="off")
    nowhere, said = run(ANTIPHON_STORE="/dev/null/store", ANTIPHON_VERBOSE="1")
    assert is_accelerated(off) and is_accelerated(nowhere)
    assert said.count("what was learned is not kept: /dev/null/store") == 1
    assert not learned(hidden)

    jobs = [threading.Thread(target=run, kwargs={"name": f"job{i}"}) for i in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    (entry,) = store.entries([hidden.store])
    (found,) = entry.read_learned()
    assert found.link_bits_per_s and not found.broken

    found.path.write_text('{"format": "antiphon-learned", "vers')
    after, said = run()
    assert said.count("antiphon: passed over ") == 1 and str(found.path) in said
    assert "measuring" in after["network"] and is_accelerated(after)
    assert not learned(hidden)[0].broken

    store.forget(entry)
    assert "measuring" in run()[0]["network"]


def test_a_profile_is_found_and_its_rate_rules_what_the_system_says(
    hidden: Lab, run: Runs, mpi: Mpi, tmp_path: Path
) -> None:
    """GIVEN ports that claim 40 Gb/s WHEN a profile has measured 100 Mb/s, or they are a virtual machine's THEN that
    is not believed.
    """
    for node in hidden.spec.node_names():
        (tmp_path / node / "sys/class/net/eth0/device").mkdir(parents=True)
        (tmp_path / node / "sys/class/net/eth0/speed").write_text("40000")
    plain, _ = run(root=tmp_path)
    assert plain["network"]["link_bits_per_s"] == 40_000_000_000

    for node in hidden.spec.node_names():
        (tmp_path / node / "proc").mkdir()
        (tmp_path / node / "proc/cpuinfo").write_text("processor : 0\nflags : fpu hypervisor avx2\n")
    virtual, _ = run(root=tmp_path)
    assert 0.8 * RATE <= virtual["network"]["link_bits_per_s"] <= 1.2 * RATE
    assert virtual["network"]["rate_source"].endswith("/sys/class/net/eth0/speed of a virtual machine")
    assert is_accelerated(virtual)

    places = list(range(NODES))
    profile = document.first_guess("lab", places, document.limits.Network(places, hidden.limit_bits_per_s))
    profile["machine"]["mpi"] = {"name": mpi.family, "version": mpi.version}
    path = store.save(profile, hidden.spec.node_names(), [hidden.store])
    known, _ = run(root=tmp_path)
    assert known["network"]["link_bits_per_s"] == RATE
    assert known["network"]["rate_source"] == f"the profile {path}"
    assert {"name": "profile", "value": str(path), "source": "found for these nodes",
            "text": f"{path} (found for these nodes)"} in known["facts"]  # fmt: skip
    assert is_accelerated(known)
    part, _ = run(ranks=3, root=tmp_path)
    assert part["network"]["rate_source"] == f"the profile {path}"
