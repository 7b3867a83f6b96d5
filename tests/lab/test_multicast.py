# SPDX-License-Identifier: Apache-2.0
"""Checks collectives by multicast in an unmodified program over real links: every byte is right, also with losses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from antiphon.lab import ClusterSpec, Lab, network
from antiphon.lab.spec import Loss
from antiphon.mpi import Mpi, discover, launch

LIBRARIES = [mpi for mpi in discover() if mpi.prefix.parent.name == "mpi" and mpi.abi == mpi.family]
FORCE = ";".join(
    f"{collective}:multicast"
    for collective in ("bcast", "scatter", "allgather", "allgatherv", "allreduce", "reduce_scatter_block", "barrier")
)


@pytest.fixture(params=LIBRARIES, ids=[mpi.family for mpi in LIBRARIES], scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Mpi, Path]:
    mpi: Mpi = request.param
    mpicc = shutil.which("mpicc", path=str(mpi.launcher.parent))
    if mpicc is None or not launch.preload_object(mpi.abi).is_file():
        pytest.skip(f"{mpi.label} has no mpicc, or there is no preload object for it")
    folder = tmp_path_factory.mktemp(mpi.family)
    include = Path(__file__).parents[2] / "include"
    for name in ("multicast", "multicast_groups"):
        source = Path(__file__).with_name(f"{name}.c")
        subprocess.run([mpicc, "-O1", f"-I{include}", "-o", folder / name, source, "-ldl"], check=True, timeout=60)
    return mpi, folder / "multicast"


def run(lab: Lab, built: tuple[Mpi, Path], ranks: int, *argv: str, tmp_path: Path, **env: str) -> dict[str, Any]:
    """Returns the summary's multicast part, and what was used; checks that every byte was right."""
    mpi, program = built
    summary = tmp_path / "summary.json"
    env = {"ANTIPHON_SUMMARY": str(summary), **env}
    preload = [launch.preload_object(mpi.abi)]
    result = lab.mpirun(mpi, ranks, [program, *argv], env=env, preload=preload, timeout_s=90).check()
    assert re.search(r"operations \d+ wrong 0 ", result.stdout), result.stdout
    return json.loads(summary.read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize("members", [0, 2])
def test_every_byte_right_with_loss(
    cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path, members: int
) -> None:
    """GIVEN 2 % of the packets thrown away on arrival THEN all collectives are right, by multicast."""
    force = f"{FORCE};scatterv:multicast:members={members}"
    with Lab(cluster(nodes=3)) as lab:
        found = run(
            lab, built, 3, "120", "30000", tmp_path=tmp_path, ANTIPHON_FORCE=force, ANTIPHON_MULTICAST_LOSS="0.02"
        )
    assert found["multicast"]["refused"] == 0
    assert found["multicast"]["data_packets_sent"] > 100
    assert found["multicast"]["repaired_packets"] > 0
    # The program's own reduction of its errors has no multicast in it.
    used = {
        row["collective"]: row["algorithm"]
        for row in found["collectives"]
        if row["bytes"] and row["collective"] != "reduce"
    }
    assert {name: text for name, text in used.items() if "multicast" not in text or "without" in text} == {}


def test_several_ranks_of_a_node(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path) -> None:
    """GIVEN two ranks on each node THEN one of them sends for both, and all bytes are right."""
    with Lab(cluster(nodes=2, ranks_per_node=2)) as lab:
        found = run(
            lab, built, 4, "80", "20000", tmp_path=tmp_path, ANTIPHON_FORCE=f"{FORCE};scatterv:multicast:members=1"
        )
    assert found["multicast"]["opened"] > 0
    # Of scatterv's groups, only those with all ranks on one node may refuse.
    assert found["multicast"].get("refusal", "all ranks are on one node") == "all ranks are on one node"


@pytest.mark.parametrize("ranks", [3, 6])
def test_encoded_multicasts(
    cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path, ranks: int
) -> None:
    """GIVEN multicasts of frames, with losses, and with several ranks a node THEN every byte is right."""
    force = ";".join(f"{choice}:encode=64" for choice in FORCE.split(";") if "barrier" not in choice)
    loss = {"ANTIPHON_MULTICAST_LOSS": "0.02", "ANTIPHON_COMPRESS": "force"}
    with Lab(cluster(nodes=3)) as lab:
        found = run(lab, built, ranks, "120", "30000", "bsaAmr", tmp_path=tmp_path, ANTIPHON_FORCE=force, **loss)
    assert found["multicast"]["opened"] >= 3
    assert found["multicast"]["data_packets_sent"] > 0
    used = {row["algorithm"] for row in found["collectives"] if row["collective"] == "bcast" and row["most_bytes"] > 64}
    assert used and all("multicast" in way and "encode=64" in way and "without" not in way for way in used), used
    coded = next(row for row in found["compression"] if row["class"] == "collectives")
    assert coded["encoded"] > 0


@pytest.mark.parametrize("first", ["w", "n"])
def test_who_waits_for_a_multicast_moves_messages_on(
    cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path, first: str
) -> None:
    """GIVEN a broadcast root that first needs a message or a collective from ranks that wait for it THEN it comes."""
    with Lab(cluster(nodes=3)) as lab:
        found = run(lab, built, 3, "10", "2000", first, tmp_path=tmp_path, ANTIPHON_FORCE="bcast:multicast")
    assert found["multicast"]["data_packets_sent"] >= 2


def test_one_node_or_switched_off(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path) -> None:
    """GIVEN no multicast THEN a forced choice goes by messages to each receiver, and the summary says why."""
    with Lab(cluster(nodes=2)) as lab:
        found = run(lab, built, 2, "40", "5000", tmp_path=tmp_path, ANTIPHON_FORCE=FORCE, ANTIPHON_MULTICAST="off")
    assert "switched off" in found["multicast"]["refusal"]
    bcast = [row["algorithm"] for row in found["collectives"] if row["collective"] == "bcast"]
    assert all("without multicast" in text for text in bcast), bcast


def test_budget_and_groups_by_hand(
    cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path
) -> None:
    """GIVEN room for two groups a node THEN communicators take turns, and groups by hand stay."""
    mpi, program = built
    with Lab(cluster(nodes=11)) as lab:
        found = run(
            lab, (mpi, program.with_name("multicast_groups")), 11, tmp_path=tmp_path,
            ANTIPHON_FORCE="bcast:multicast", ANTIPHON_MULTICAST_GROUPS="2",
        )["multicast"]  # fmt: skip
    assert found["evicted"] >= 11 * 2
    assert found["refused"] > 0
    assert "the budget of 2 groups is used up" in found["refusal"]


@pytest.mark.skipif(os.geteuid() != 0, reason="loss on links needs root")
def test_loss_on_the_wire(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path) -> None:
    """GIVEN 5 % of the packets to one node lost on its link THEN all broadcasts are right, and some were repaired."""
    spec = cluster(nodes=3)
    spec = replace(spec, loss=Loss(5.0, "udp", (2,)))
    with Lab(spec) as lab:
        found = run(lab, built, 3, "400", "30000", "b", tmp_path=tmp_path, ANTIPHON_FORCE="bcast:multicast")
    assert found["multicast"]["repaired_packets"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="a firewall rule in a node needs root")
def test_long_packets_lost_on_the_way(
    cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path
) -> None:
    """GIVEN a node that no long UDP packet reaches THEN broadcasts go by messages, and the summary says why."""
    drop = "table inet antiphon { chain long { type filter hook input priority 0; udp length > 1000 drop; }; }"
    with Lab(cluster(nodes=3)) as lab:
        lab.execute(2, ["nft", drop]).check()
        for node in (1, 2, 3):  # Links carry short packets one by one, as wires do.
            lab.execute(node, ["ip", "link", "set", "eth0", "gso_max_segs", "1"]).check()
        found = run(lab, built, 3, "30", "5000", "b", tmp_path=tmp_path, ANTIPHON_FORCE="bcast:multicast")
    assert "in packets of 1472 bytes" in found["multicast"]["refusal"]


@pytest.mark.measures
@pytest.mark.skipif(os.geteuid() != 0, reason="overhearing packets needs root")
def test_forged_packets(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path) -> None:
    """GIVEN forgeries of overheard packets on the wire THEN all are thrown away, and every byte is right."""
    count, operations = (1_000_000, 60_000) if os.environ.get("ANTIPHON_SLOW") else (20_000, 3_000)
    sent: list[str] = []
    with Lab(cluster(nodes=3)) as lab:
        forger = [sys.executable, str(Path(__file__).with_name("forger.py")), str(count)]
        thread = threading.Thread(target=lambda: sent.append(lab.execute(2, forger, timeout_s=300).check().stdout))
        thread.start()
        found = run(lab, built, 3, str(operations), "2000", "b", tmp_path=tmp_path, ANTIPHON_FORCE="bcast:multicast")
        thread.join()
    assert [int(text) for text in sent] == [count]
    multicast = found["multicast"]
    print({name: multicast[name] for name in ("forged", "replayed", "foreign", "malformed", "socket_overflows")})
    assert multicast["malformed"] == 0  # Nothing wrong ever passed the check of the tag.
    for reason in ("forged", "replayed", "foreign"):
        assert multicast[reason] > count // 50, reason


def test_killed_receiver(cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path) -> None:
    """GIVEN a receiver killed, and a launcher that lets the others go on, THEN these get an MPI error."""
    mpi, program = built
    goes_on = {"openmpi": "--enable-recovery", "mpich": "-disable-auto-cleanup"}[mpi.family]
    launcher = tmp_path / "mpirun"
    launcher.write_text(f'#!/bin/sh\nexec {mpi.launcher} {goes_on} "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    env = {"ANTIPHON_FORCE": "bcast:multicast", "ANTIPHON_MULTICAST_TIMEOUT_MS": "1000"}
    argv = [program, "100000", "1000000", "b", "400"]
    with Lab(cluster(nodes=3)) as lab:
        preload = [launch.preload_object(mpi.abi)]
        result = lab.mpirun(replace(mpi, launcher=launcher), 3, argv, env=env, preload=preload, timeout_s=60)
    # Such a launcher may or may not turn it into an exit code.
    assert not result.timed_out
    assert "has not answered for 1.0 s" in result.stderr, result.stderr
    assert re.search("MPI_ERR_OTHER|Other MPI error", result.stderr), result.stderr


PROFILE = {
    "decisions": {
        "version": 1,
        "rules": [
            {"collective": "bcast", "use": "multicast", "why": "measured"},
            {"collective": "bcast", "use": "binomial", "why": "measured, without multicast"},
        ],
    }
}


def stop_multicast(lab: Lab) -> None:
    """Sets up a network where switches snoop, and no querier asks for members."""
    quiet = ["type", "bridge", "mcast_querier", "0"]
    lab.execute("switch", ["ip", "link", "set", network.bridge(lab.spec.switches[0].name), *quiet]).check()
    for number in range(1, lab.spec.nodes + 1):
        lab.execute("switch", ["bridge", "link", "set", "dev", network.port(number), "mcast_flood", "off"]).check()


@pytest.mark.parametrize("passes", [True, False])
def test_a_profile_s_choice_holds_where_multicast_passes(
    cluster: Callable[..., ClusterSpec], built: tuple[Mpi, Path], tmp_path: Path, passes: bool
) -> None:
    """GIVEN rules for multicast THEN it is used, and where a switch drops it the next rule is."""
    profile = tmp_path / "machine.json"
    profile.write_text(json.dumps(PROFILE))
    with Lab(cluster(nodes=3)) as lab:
        if not passes:
            stop_multicast(lab)
        found = run(lab, built, 3, "30", "5000", "b", tmp_path=tmp_path, ANTIPHON_PROFILE=str(profile))
    used = {row["algorithm"] for row in found["collectives"] if row["collective"] == "bcast" and row["bytes"]}
    if passes:
        assert used == {"multicast:segment_bytes=32768,window=2"}
    else:
        assert {text.partition(":")[0] for text in used} == {"binomial"}
        assert "hears no multicast" in found["multicast"]["refusal"]
