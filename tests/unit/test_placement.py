# SPDX-License-Identifier: Apache-2.0
"""Checks placements: their file, the files of launchers, and the machine that a job may use."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antiphon.errors import AntiphonError
from antiphon.mapping import machine
from antiphon.mapping.compute import Result, compute
from antiphon.mapping.hosts import expanded, in_profile
from antiphon.mapping.scoring import Arrangement, Wishes
from antiphon.mapping.stages import MOST_CALLS, regular_orders, sampled
from antiphon.mapping.timeouts import Timeouts
from antiphon.placement import Node, Placement, launchers
from antiphon.traffic import libraries
from antiphon.traffic.decompose import Decomposer
from antiphon.traffic.edges import Edges
from antiphon.traffic.graph import Made, Part, Traffic
from antiphon.traffic.libraries import CollectiveCall

DATA = Path(__file__).resolve().parents[1] / "data"


def example(cores: int = 2) -> Placement:
    """Places six ranks on two full nodes and a half-full one."""
    nodes = [Node("n1", 2, cores), Node("n2", 2, cores), Node("n3", 2, cores), Node("unused", 2, cores)]
    return Placement(nodes, [1, 0, 0, 1, 2, 2], [0, 1, 0, 1, 0, 1], {"method": "by hand"})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """GIVEN a placement THEN its file holds all of it."""
    example().save(tmp_path / "p.json")
    assert Placement.load(tmp_path / "p.json") == example()


def test_a_node_that_is_not_there() -> None:
    """GIVEN a rank on a node that the placement does not name THEN no file is made of it."""
    with pytest.raises(AntiphonError, match="rank 1 is on node 15, and there are 2"):
        Placement([Node("n1", 2), Node("n2", 2)], [0, 15], [0, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "this is not a placement"),
        ({"version": 2}, "version 2"),
        ({"node_of_rank": [0, 0, 4, 1, 2, 2]}, r"node_of_rank\[2\] is 4"),
        ({"node_of_rank": [0, True, 0, 1, 2, 2]}, r"node_of_rank\[1\] is True"),
        ({"core_of_rank": [0]}, "same number of ranks"),
        ({"ranks": 7}, "same number of ranks"),
        ({"node_of_rank": [0, 0, 0, 1, 2, 2]}, "n1 has 2 slots, and 3 ranks are for it"),
        ({"nodes": [{"name": "a b", "slots": 9}]}, "no name of a node"),
        ({"nodes": [{"slots": 9}]}, r"nodes\[0\] has no name"),
        ({"nodes": [{"name": "a", "slots": "9"}]}, "slots and cores are numbers"),
        ({"nodes": None}, "nodes is no list"),
    ],
)
def test_damaged_files(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """GIVEN a document that is wrong THEN the error says what."""
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**example().to_json(), **change}))
    with pytest.raises(AntiphonError, match=message) as error:
        Placement.load(path)
    assert "p.json" in error.value.message and error.value.hint


def test_rankfiles() -> None:
    """GIVEN processors THEN each rank has its own; GIVEN too few, any of them; GIVEN none, a list of nodes."""
    for name in ("openmpi4", "openmpi5"):
        lines = launchers.write(name, example()).text.splitlines()[1:]
        assert lines[0] == "rank 0=n2 slot=0" and lines[3] == "rank 3=n2 slot=1" and len(lines) == 6
        wide = Placement([Node("n", 8, 4)], [0] * 8, [0, 1, 2, 3, 4, 5, 6, 7])
        assert launchers.write(name, wide).text.splitlines()[8] == "rank 7=n slot=0-3"
        unknown = launchers.write(name, example(cores=0))
        assert unknown.text.split() == ["n2", "n1", "n1", "n2", "n3", "n3"]
        assert "seq" in unknown.options
        assert "n1:2,n2:2,n3:2" in launchers.write(name, example()).options
    assert launchers.write("openmpi5", example()).options_with("/p")[-1] == "rankfile:file=/p"
    assert launchers.write("openmpi4", example()).options_with("/p")[-2:] == ["--rankfile", "/p"]


def test_hosts_in_the_order_of_ranks() -> None:
    """GIVEN Hydra or Slurm THEN rank r is on the r-th place of the list."""
    text = launchers.write("hydra", example()).text
    places = [host for host, count in re.findall(r"(\S+):(\d+)\n", text) for _ in range(int(count))]
    assert places == example().hosts
    slurm = launchers.write("slurm", example())
    assert slurm.text.split() == example().hosts
    assert slurm.usage("/list", 6) == "SLURM_HOSTFILE=/list srun -n 6 --distribution=arbitrary ./program"


def test_cray() -> None:
    """GIVEN slots that are filled in order THEN the file lists the rank of each; GIVEN uneven nodes, an error."""
    written = launchers.write("cray", example())
    assert written.text.splitlines()[1:] == ["2,1", "0,3", "4,5"]
    assert written.env_with("/f") == {"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": "/f"}
    uneven = Placement([Node("a", 2), Node("b", 2), Node("c", 2)], [0, 1, 1, 2, 2], [0, 0, 1, 0, 1])
    with pytest.raises(AntiphonError, match="different numbers"):
        launchers.write("cray", uneven)
    last = Placement([Node("a", 2), Node("b", 2)], [0, 0, 1], [0, 1, 0])
    assert launchers.write("cray", last).text.splitlines()[1:] == ["0,1", "2"]


def test_every_launcher_has_a_summary() -> None:
    """GIVEN a module THEN it is a launcher."""
    assert launchers.names() == ["cray", "hydra", "openmpi4", "openmpi5", "slurm"]
    for name in launchers.names():
        assert launchers.load(name).SUMMARY
    with pytest.raises(AntiphonError, match="no such launcher"):
        launchers.load("pigeon")


def plain(tmp_path: Path, **more: Any) -> Path:
    """Makes a machine of four nodes with pairs that share caches."""
    levels = [{"width": 2, "latency_s": 1e-7, "bytes_per_s": 8e9}, {"width": 4, "latency_s": 3e-7, "bytes_per_s": 5e9}]
    document = {
        "name": "m",
        "nodes": [{"name": f"n{i}", "cores": 4} for i in range(4)],
        "levels": levels,
        "latency_s": 1e-5,
    }
    path = tmp_path / "machine.json"
    path.write_text(json.dumps({**document, "bytes_per_s": 1e8, **more}))
    return path


@pytest.mark.parametrize(
    ("hosts", "numbers", "note"),
    [
        (["b.site", "a"], [1, 0], ""),
        (["c1"], [3], ""),
        (["b", "x", "y", "z"], [0, 1, 2, 3], "no node of its own for x, y, z:"),
        (["b", "b"], [0, 1], "no node of its own for b:"),
        ([], [0, 1], "the trace does not name its nodes"),
    ],
)
def test_the_nodes_of_a_run(hosts: list[str], numbers: list[int], note: str) -> None:
    """GIVEN a run's hosts THEN they are the profile's nodes of these names; else its first ones, and that is said."""
    nodes: list[dict[str, Any]] = [{"name": "a"}, {"name": "b"}, {"name": "c", "count": 2}]
    found, said = in_profile(hosts, len(numbers), {"nodes": nodes})
    assert found == numbers
    assert note in said and bool(note) == bool(said)
    assert in_profile(hosts, len(numbers), {"nodes": [{"count": 9}]}) == (list(range(len(numbers))), "")
    with pytest.raises(AntiphonError, match="has 4 nodes, and the run was on 5"):
        in_profile(["a"], 5, {"nodes": nodes})


def test_nodes_without_names_are_numbered(tmp_path: Path) -> None:
    """GIVEN nodes without names, and alike ones that share one THEN each has a name, the core's and Python's alike."""
    document = json.loads((DATA / "ethernet-16.openmpi.json").read_text())
    port = {"switch": document["topology"]["switches"][0]["name"], "port_bytes_per_s": 1e7}
    nodes = [{**port, "count": 2}, {**port, "name": "c", "count": 2}, port, {**port, "name": "d"}]
    topology = {"switches": document["topology"]["switches"][:1], "nodes": nodes}
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({**document, "topology": topology}))
    names = ["node0", "node1", "c0", "c1", "node4", "d"]
    assert [node["name"] for node in expanded(topology)["nodes"]] == names
    assert [node.name for node in machine.load(path, message_bytes=100).nodes] == names


def test_nodes_of_the_job(tmp_path: Path) -> None:
    """GIVEN a hostfile THEN its nodes are used, by its names, with its slots."""
    latency = [[10 * i + j for j in range(4)] for i in range(4)]
    path = plain(tmp_path, between_nodes={"latency_s": latency, "bytes_per_s": [[1e8] * 4] * 4})
    found = machine.load(path, message_bytes=100, hosts=[("n3.cluster", 2), ("n1", 8), ("n3.cluster", 1)])
    assert [(n.name, n.slots) for n in found.nodes] == [("n3.cluster", 3), ("n1", 8)]
    assert [[level["width"] for level in node["levels"]] for node in found.document["nodes"]] == [[2, 3], [2, 8]]
    assert found.document["between_nodes"]["latency_s"] == [[0, 31], [13, 0]]
    with pytest.raises(AntiphonError, match="does not know n9"):
        machine.load(path, message_bytes=100, hosts=[("n9", 2)])


def test_processors_of_a_plain_machine(tmp_path: Path) -> None:
    """GIVEN other numbers of ranks than the machine's cores THEN ranks are bound to the cores that there are."""
    job = machine.load(plain(tmp_path), message_bytes=100, hosts=[("n1", 8), ("n2", 2)])
    assert list(job.nodes) == [Node("n1", 8, 4), Node("n2", 2, 4)]
    wide = machine.load(plain(tmp_path), message_bytes=100, cores_per_node=6)
    assert list(wide.nodes) == [Node(f"n{i}", 6, 4) for i in range(4)]
    assert {level["width"] for node in wide.document["nodes"] for level in node["levels"]} == {2, 6}


def test_cores_that_are_each_described(tmp_path: Path) -> None:
    """GIVEN a machine core by core THEN another number of them is refused."""
    costs = [[1e-6] * 4] * 4
    for more in (
        {"between_cores": {"latency_s": costs, "bytes_per_s": costs}, "cores_per_node": 2, "nodes": 2},
        {"nodes": [{"name": "a", "cores": 4, "between_cores": {"latency_s": costs, "bytes_per_s": costs}}]},
    ):
        path = tmp_path / "machine.json"
        path.write_text(json.dumps({"name": "m", **more}))
        assert machine.load(path, message_bytes=100).places == 4
        with pytest.raises(AntiphonError, match=r"described"):
            machine.load(path, message_bytes=100, cores_per_node=3)


def test_processors_of_a_profile() -> None:
    """GIVEN an emulated cluster, where nodes share processors THEN ranks are bound to none."""
    lab = machine.load(DATA / "paper2-16x4.openmpi.json", message_bytes=1000)
    assert lab.places == 64 and lab.nodes[0] == Node("node01", 4, 0)
    one = machine.load(DATA / "ethernet-16.openmpi.json", message_bytes=1000, cores_per_node=1)
    assert one.nodes[0] == Node("node01", 1, 0)


@pytest.mark.parametrize("bound_to", [1, 128], ids=["a rank bound to one core", "two threads a core"])
def test_ranks_are_placed_on_physical_cores(bound_to: int, tmp_path: Path) -> None:
    """GIVEN a node of 64 cores THEN ranks have these, whatever CPUs the probe's ranks were bound to."""
    document = json.loads((DATA / "ethernet-16.openmpi.json").read_text())
    document["processors"] = {"cores_per_node": bound_to, "physical_cores": 64}
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(document))
    assert machine.load(path, message_bytes=1000).nodes[0] == Node("node01", 64, 64)
    assert machine.load(path, message_bytes=1000, cores_per_node=80).nodes[0] == Node("node01", 80, 64)
    del document["processors"]["physical_cores"]
    path.write_text(json.dumps(document))
    assert machine.load(path, message_bytes=1000).nodes[0] == Node("node01", bound_to, bound_to), "an older profile"


def test_broken_machines(tmp_path: Path) -> None:
    """GIVEN something else than a machine THEN the error names the file."""
    path = tmp_path / "m.json"
    for text in ("", "[]", '{"format": "antiphon-profile"}', '{"nodes": "many"}'):
        path.write_text(text)
        with pytest.raises(AntiphonError, match="m.json"):
            machine.load(path, message_bytes=1)
    with pytest.raises(AntiphonError, match="No such file"):
        machine.load(tmp_path / "none", message_bytes=1)


def test_regular_orders() -> None:
    """GIVEN any number of ranks THEN all are in each order, and no order comes twice."""
    for ranks in (2, 33, 64):
        orders = list(regular_orders(ranks, 50))
        assert all(sorted(order) == list(range(ranks)) for order in orders)
        assert len({tuple(order) for order in orders}) == len(orders) <= 50
    assert [0, 4, 1, 5, 2, 6, 3, 7] in list(regular_orders(8, 50))


def test_few_calls_stand_for_all() -> None:
    """GIVEN calls with many roots THEN a few are predicted, and none is forgotten."""
    made = [Made(CollectiveCall("bcast", 64, 100, root), "chain", tuple(range(64)), 3) for root in range(64)]
    few = list(sampled(made))
    assert len(few) <= MOST_CALLS and sum(calls for _, calls in few) == 3 * 64


def bruck() -> tuple[Part, machine.Machine]:
    """Makes an alltoall that can be placed so that a whole rack sends over the link between racks at once."""
    call = CollectiveCall("alltoall", 64, 512)
    done = Decomposer(libraries.load("openmpi-5.0-tuned")).decompose(call)
    assert done.schedule.startswith("bruck")
    where = machine.load(DATA / "two-racks-16x4.openmpi.json", message_bytes=512, cores_per_node=4)
    return Part("alltoall", done.edges, made=[Made(call, done.schedule, tuple(range(64)), 1)], calls=1), where


def test_timeouts_count() -> None:
    """GIVEN a placement that sends less over a link, but in bursts that it loses THEN a plain one is kept as it is."""
    part, where = bruck()

    def placed(method: str) -> Result:
        return compute(lambda nodes: Traffic(64, [part]), where, Wishes(method, seconds=0.05))

    bold, ours = placed("unaided"), placed("antiphon")
    late = bold.costs["chosen"]["timeouts_s"]
    assert late > 0.05 and bold.total("chosen") - late < 0.8 * min(bold.total("block"), bold.total("cyclic"))
    assert [row.costs["chosen"] for row in bold.rows] == [pytest.approx(bold.total("chosen"))]
    assert ours.costs["chosen"]["timeouts_s"] == 0
    assert ours.placement.node_of_rank in ([r // 4 for r in range(64)], [r % 16 for r in range(64)])


def test_nothing_is_lost_where_nothing_is_known_of_buffers() -> None:
    """GIVEN a profile without buffers, or with one switch THEN no rank waits for timeouts."""
    part, where = bruck()
    document = json.loads(where.profile)
    document["contention"].pop("port_buffer_bytes")
    one_switch = (DATA / "paper2-16x4.openmpi.json").read_text()
    for profile in (json.dumps(document), one_switch):
        lost = Timeouts(profile, where.profile_nodes)
        assert all(lost.seconds(part, [r * step % 16 for r in range(64)]) == 0 for step in (1, 3, 5))


def test_the_order_of_messages_counts() -> None:
    """GIVEN a gather along a tree, with as many bytes at each link in block as in cyclic order THEN the better order is
    known, and something at least as good is found.
    """
    call = CollectiveCall("gather", 64, 1024)
    decomposer = Decomposer(libraries.load("openmpi-5.0-tuned"))
    done = decomposer.decompose(call)
    assert done.schedule.startswith("binomial")
    part = Part("gather", done.edges, made=[Made(call, done.schedule, tuple(range(64)), 1)], calls=1)
    where = machine.load(DATA / "paper2-16x4.openmpi.json", message_bytes=1024, cores_per_node=4)
    result = compute(lambda nodes: Traffic(64, [part]), where, Wishes(seconds=0.01))
    assert result.total("chosen") == pytest.approx(result.total("block"), rel=0.02)
    stages = {name: costs["stages_s"] for name, costs in result.costs.items()}
    assert stages["cyclic"] < 0.95 * stages["block"]
    assert stages["chosen"] <= 1.02 * stages["cyclic"]


@pytest.mark.parametrize(
    ("collective", "size", "step"), [("gather", 1024, 16), ("gather", 8192, 16), ("reduce", 1024, None)]
)
def test_of_block_and_cyclic_the_better_order_counts(collective: str, size: int, step: int | None) -> None:
    """GIVEN a gather that costs the same in block and in cyclic order THEN the chosen one is where the root's port
    never waits, as measured (docs/measurements/placement.md); a reduce that costs more in one order is in the other.
    """
    call = CollectiveCall(collective, 64, size)
    done = Decomposer(libraries.load("openmpi-5.0-tuned")).decompose(call)
    part = Part(collective, done.edges, made=[Made(call, done.schedule, tuple(range(64)), 1)], calls=1)
    profile = DATA / "two-racks-16x4-mapped.openmpi.json"
    where = machine.load(profile, message_bytes=size, cores_per_node=4)
    result = compute(lambda nodes: Traffic(64, [part]), where, Wishes(seconds=0.01))
    assert result.placement.node_of_rank == [r % step if step else r // 4 for r in range(64)]


def test_the_same_places_twice_are_two_arrangements() -> None:
    """GIVEN what has arrays in it THEN looking for one among others compares none of them."""
    traffic = [Traffic(64, [halos(256)]) for _ in range(2)]
    one, other = (Arrangement([0, 1], [0, 1], [0, 0], each, {}) for each in traffic)
    assert one in [other, one] and one not in [other]


def halos(size: int) -> Part:
    """Makes traffic between neighbours in a grid of 4 × 4 × 4 ranks, more along its last axis."""
    there = [(r, r + step) for r in range(64) for axis, step in ((0, 1), (1, 4), (2, 16)) if r // 4**axis % 4 < 3]
    source, target = np.array([pair for a, b in there for pair in ((a, b), (b, a))]).T
    count = np.where(abs(source - target) == 1, 6, 5)
    return Part("halos", Edges.summed(source, target, count, count * size), calls=1)


@pytest.mark.parametrize(("size", "keeps"), [(256, True), (32768, False)])
def test_short_messages_must_gain_more(size: int, keeps: bool) -> None:
    """GIVEN a placement that gains less than 10 % with short messages THEN it is not taken; with long ones it is."""
    where = machine.load(DATA / "paper2-16x4.openmpi.json", message_bytes=size, cores_per_node=4)
    result = compute(lambda nodes: Traffic(64, [halos(size)]), where, Wishes(seconds=0.05))
    assert (result.placement.node_of_rank == [r // 4 for r in range(64)]) == keeps
