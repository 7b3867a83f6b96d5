# SPDX-License-Identifier: Apache-2.0
"""Checks collectives as the messages that libraries make of them, and the graph of a trace."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.mapping.joint import Asked, Optimiser, layers
from antiphon.trace import AS_SCHEDULE, Call, Communicator, RankTrace, Shape, Trace
from antiphon.traffic import Edges, Part, Traffic, Uniform, libraries
from antiphon.traffic import core as messages_core
from antiphon.traffic.decompose import Decomposed, Decomposer, Own, joined
from antiphon.traffic.libraries import CollectiveCall as Collective
from antiphon.traffic.of_trace import of_trace, phases_of

ALL = [
    (collective, size)
    for collective in ("barrier", "bcast", "scatter", "gather", "allgather", "alltoall", "reduce", "allreduce")
    for size in (0, 1, 200, 3000, 70000, 2000000)
] + [(c, s) for c in ("reduce_scatter", "reduce_scatter_block", "scan", "exscan", "allgatherv") for s in (8, 4096)]


def dense(edges: Edges, ranks: int) -> np.ndarray:
    """Returns bytes as a matrix."""
    matrix = np.zeros((ranks, ranks), np.int64)
    matrix[edges.source, edges.target] = edges.bytes
    return matrix


def test_bruck_as_in_paper_2() -> None:
    """GIVEN an alltoall of 10 bytes among 8 ranks THEN it is the 24 messages of 40 bytes of paper 2's Figure 3."""
    edges, approximate = messages_core.messages("bruck:radix=2", "alltoall", 8, bytes=10)
    assert not approximate
    expected = np.zeros((8, 8), np.int64)
    for i in range(8):
        for k in range(3):
            expected[i, (i + 2**k) % 8] += 40
    assert (dense(edges, 8) == expected).all()
    assert edges.messages.tolist() == [1] * 24
    # MPICH 1.2.7 uses it for more than 8 ranks only; with 9, the blocks with the bit set are 4, 4, 4 and 1.
    done = Decomposer(libraries.load("mpich-1.2.7")).decompose(Collective("alltoall", 9, 10))
    assert done.algorithm == "Bruck"
    assert dense(done.edges, 9)[0].tolist() == [0, 40, 40, 0, 40, 0, 0, 0, 10]


@pytest.mark.parametrize(
    ("key", "call", "algorithm"),
    [
        ("mpich-1.2.7", Collective("bcast", 16, 12287), "Binomial Tree"),
        ("mpich-1.2.7", Collective("bcast", 7, 10**7), "Binomial Tree"),
        ("mpich-1.2.7", Collective("bcast", 16, 12288), "Van De Geijn"),
        ("mpich-1.2.7", Collective("bcast", 12, 12288), "Ring"),
        ("mpich-1.2.7", Collective("bcast", 16, 524288), "Ring"),
        ("mpich-1.2.7", Collective("allgather", 16, 32767), "Recursive Doubling"),
        ("mpich-1.2.7", Collective("allgather", 16, 32768), "Ring"),
        ("mpich-1.2.7", Collective("allgather", 10, 8191), "Bruck"),
        ("mpich-1.2.7", Collective("reduce", 16, 2048), "Binomial Tree"),
        ("mpich-1.2.7", Collective("reduce", 16, 2049), "Rabenseifner"),
        ("mpich-1.2.7", Collective("reduce", 16, 2049, commutative=False), "Binomial Tree"),
        ("mpich-1.2.7", Collective("allreduce", 16, 2049), "Rabenseifner"),
        ("mpich-1.2.7", Collective("alltoall", 9, 256), "Bruck"),
        ("mpich-1.2.7", Collective("alltoall", 8, 255), "Pairwise Exchange"),
        ("mpich-1.2.7", Collective("alltoall", 8, 256), "Isend_Irecv"),
        ("mpich-1.2.7", Collective("alltoall", 64, 32769), "Pairwise Exchange"),
        ("mvapich-0.9.2", Collective("bcast", 8, 12287), "Binomial Tree"),
        ("mvapich-0.9.2", Collective("bcast", 9, 12287), "Van De Geijn"),
        ("mvapich-0.9.2", Collective("allgatherv", 8, 32768), "Recursive Doubling"),
        ("mvapich-0.9.2", Collective("allgatherv", 8, 32769), "Ring"),
        ("mvapich-0.9.2", Collective("alltoall", 64, 128), "Recursive Doubling"),
        ("mvapich-0.9.2", Collective("alltoall", 64, 262143), "Isend_Irecv"),
        ("mvapich-0.9.2", Collective("scatterv", 64, 1), "Linear"),
        ("openmpi-5.0", Collective("bcast", 16, 4096), "binomial"),
        ("openmpi-5.0", Collective("allgather", 16, 1 << 20), "recursive_doubling"),
        ("openmpi-4.1", Collective("alltoall", 64, 1023), "modified_bruck"),
        ("mpich-5", Collective("allreduce", 16, 8, element_bytes=8), "recursive_doubling"),
        ("mpich-4", Collective("alltoall", 8, 257), "scattered"),
    ],
)
def test_tables(key: str, call: Collective, algorithm: str) -> None:
    """GIVEN a call at a threshold THEN the table names the algorithm (paper 2, Figure 4; the libraries' sources)."""
    assert libraries.load(key).choose(call).name == algorithm


@pytest.mark.parametrize("key", libraries.keys())
def test_every_table_decomposes_every_call(key: str) -> None:
    """GIVEN any call THEN what ranks send adds up in any layout: all ranks that need data get it."""
    decomposer = Decomposer(libraries.load(key))
    draw = random.Random(1)
    for ranks in (1, 2, 6, 13, 33):
        for collective, size in ALL:
            nodes = (
                np.array([draw.randrange(3) for _ in range(ranks)]) if draw.random() < 0.5 else np.arange(ranks) // 4
            )
            element = (
                8 if collective in ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan") else 1
            )
            call = Collective(collective, ranks, size - size % element, draw.randrange(ranks), element)
            done = decomposer.decompose(call, nodes)
            edges = Edges.merge([done.edges, *(u.edges() for u in done.uniform)])
            received = np.bincount(edges.target, weights=edges.bytes, minlength=ranks)
            needed = {"bcast": call.bytes, "scatter": call.bytes, "allreduce": call.bytes, "scan": 0}.get(collective, 0)
            for rank in range(ranks):
                root = collective in ("bcast", "scatter") and rank == call.root
                if collective == "gather":
                    assert rank != call.root or received[rank] >= (ranks - 1) * call.bytes
                elif collective == "allgather":
                    assert received[rank] >= (ranks - 1) * call.bytes
                elif ranks > 1 and not root:
                    assert received[rank] >= needed, (call, done.schedules)


def test_hierarchical_algorithms_cross_nodes_once() -> None:
    """GIVEN 4 nodes of 4 ranks THEN a node gets a broadcast once, through the rank with the root's place on its own."""
    nodes = np.arange(16) // 4
    done = Decomposer(libraries.load("openmpi-5.0")).decompose(Collective("bcast", 16, 1000, root=5), nodes)
    assert done.algorithm == "han"
    cross = nodes[done.edges.source] != nodes[done.edges.target]
    assert sorted(done.edges.target[cross].tolist()) == [1, 9, 13]
    assert done.edges.bytes[cross].tolist() == [1000] * 3
    # MPICH's leaders are the nodes' first ranks, to which the root passes the message.
    done = Decomposer(libraries.load("mpich-5")).decompose(Collective("bcast", 16, 1000, root=5), nodes)
    pairs = set(zip(done.edges.source.tolist(), done.edges.target.tolist(), strict=True))
    assert done.algorithm == "smp" and (5, 4) in pairs
    cross = nodes[done.edges.source] != nodes[done.edges.target]
    assert sorted(done.edges.target[cross].tolist()) == [0, 8, 12]


def test_several_steps_are_no_schedule() -> None:
    """GIVEN an algorithm of several steps, approximate for many ranks THEN it has their notes, and is not said to be
    one schedule."""
    done = Decomposer(libraries.load("openmpi-5.0-tuned")).decompose(Collective("allreduce", 128, 1024))
    assert len(done.schedules) > 1 and done.schedule == "" and all(isinstance(note, str) for note in done.notes)
    part = Decomposed(done.edges, notes={"approximate"})
    assert joined([part, part]).notes == {"approximate"} and joined([part, part]).schedule == ""


#: Open MPI's `han` runs on 16 nodes of 4 ranks.
IN_NODES_AND_BETWEEN = [("node", "tree:radix=8"), ("leaders", "recursive_doubling"), ("node", "tree:radix=8")]


@pytest.mark.parametrize(
    ("library", "ranks", "per_node", "parts"),
    [
        ("Open MPI v5.0.11", 16, 1, [("all", "recursive_doubling")]),
        ("Open MPI v5.0.11", 4, 4, [("all", "tree:radix=8")]),
        ("Open MPI v5.0.11", 64, 4, IN_NODES_AND_BETWEEN),
        ("MPICH 5.0.2", 64, 4, [("node", "dissemination"), ("leaders", "dissemination"), ("node", "dissemination")]),
        ("MPICH 5.0.2", 64, 1, [("all", "dissemination")]),
    ],
)
def test_the_parts_of_a_barrier(library: str, ranks: int, per_node: int, parts: list[tuple[str, str]]) -> None:
    """GIVEN nodes of several ranks THEN a barrier is one within nodes, one between them, and one within nodes again."""
    assert [(part["among"], part["choice"]) for part in libraries.barrier(library, ranks, per_node)] == parts


def test_segments() -> None:
    """GIVEN a message of three segments THEN all of it goes, by the algorithms for first and others."""
    nodes = np.arange(64) // 4
    done = Decomposer(libraries.load("openmpi-5.0")).decompose(Collective("bcast", 64, 200000), nodes)
    cross = nodes[done.edges.source] != nodes[done.edges.target]
    assert done.edges.bytes[cross].sum() == 15 * 200000


@pytest.mark.parametrize(
    ("algorithm", "collective"),
    [
        ("ring", "allgather"),
        ("bruck", "alltoall"),
        ("rotated", "alltoall"),
        ("ring", "reduce_scatter_block"),
        ("dissemination", "barrier"),
    ],
)
def test_one_rank_stands_for_all(algorithm: str, collective: str) -> None:
    """GIVEN a regular algorithm WHEN one rank's messages are turned round THEN they are those of all schedules."""
    call = {"bytes": 24 * 8, "element_bytes": 8}
    turned, approximate = messages_core.messages(algorithm, collective, 24, exact_ranks=0, **call)
    exact, _ = messages_core.messages(algorithm, collective, 24, **call)
    assert not approximate
    for name in Edges.columns():
        assert getattr(turned, name).tolist() == getattr(exact, name).tolist()


def test_no_rank_stands_for_all_of_a_tree() -> None:
    """GIVEN an algorithm with a root THEN every rank's schedule counts, however many there are."""
    edges, approximate = messages_core.messages("binomial", "bcast", 24, exact_ranks=0, bytes=100)
    assert not approximate and len(edges) == 23
    # Blocks of 13 and 12 elements: nearly alike is not alike.
    edges, approximate = messages_core.messages("ring", "allreduce", 8, exact_ranks=0, bytes=800, element_bytes=8)
    assert not approximate
    edges, approximate = messages_core.messages("ring", "allreduce", 8, exact_ranks=0, bytes=8000008, element_bytes=8)
    assert approximate and edges.total_bytes() == pytest.approx(2 * 7 * 8000008, rel=1e-3)


def test_a_sparse_matrix_is_the_dense_one() -> None:
    """GIVEN any algorithm THEN both of the core's ways to sum its messages agree."""
    for algorithm in core.algorithms():
        if algorithm.collective == "alltoallv" or algorithm.name == "switch_rings":
            continue
        case = core.Case(
            algorithm.collective,
            algorithm.name,
            8,
            24000,
            element_bytes=8 if algorithm.collective.startswith("reduce") else 1,
            ranks_per_node=2,
        )
        matrix = core.matrix(case)
        call = {"bytes": 24000, "element_bytes": case.element_bytes, "node_of_rank": [rank // 2 for rank in range(8)]}
        edges, _ = messages_core.messages(algorithm.name, algorithm.collective, 8, **call)
        assert dense(edges, 8).tolist() == [list(row) for row in matrix.bytes], algorithm


WORLD = Communicator(1, "MPI_COMM_WORLD", tuple(range(4)))
ROW = Communicator(2, "row", (1, 3))
FUNCTIONS = (
    "MPI_Allreduce",
    "MPI_Bcast",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Alltoallv",
    "MPI_Send_init",
    "MPI_Startall",
    "MPI_Gatherv",
)


def example() -> Trace:
    """Writes a trace of four ranks on two nodes."""
    reduce = Shape("MPI_Allreduce", WORLD, send_count=100, send_size=8)
    own = Shape("MPI_Allreduce", WORLD, send_count=100, send_size=8, flags=AS_SCHEDULE)
    ranks = []
    for r in range(4):
        shapes = [reduce, reduce, own, Shape("MPI_Alltoallv", WORLD, send_size=4, send_counts=(r, 0, 1, 0))]
        if r in (1, 3):
            shapes.append(Shape("MPI_Bcast", ROW, root=1, send_count=10, send_size=1))
        if r == 0:
            shapes += [Shape("MPI_Send", WORLD, peer=3, tag=0, send_count=7, send_size=8)] * 3
            shapes += [
                Shape("MPI_Send_init", WORLD, peer=1, tag=0, send_count=5, send_size=1),
                Shape("MPI_Startall", None, requests=6),
            ]
            shapes.append(Shape("MPI_Send", WORLD, peer=-2, tag=0, send_count=7, send_size=8))
        counts = (1, 2, 3, 4) if r == 2 else None
        sizes = {"receive_size": 8, "receive_counts": counts} if r == 2 else {"send_size": 8, "send_count": r + 1}
        shapes.append(Shape("MPI_Gatherv", WORLD, root=2, **sizes))
        calls = [Call(s, 1000 * i, 100) for i, s in enumerate(shapes)]
        ranks.append(RankTrace(r, [WORLD, ROW], list(dict.fromkeys(shapes)), calls, 0, 20000))
    return Trace(4, FUNCTIONS, {"mpi": "Open MPI v5.0.11", "nodes": [0, 0, 1, 1]}, ranks)


def test_the_graph_of_a_trace(tmp_path: Path) -> None:
    """GIVEN a trace THEN each kind of call is a part, in ranks of MPI_COMM_WORLD, and a file holds all of it."""
    found = of_trace(example())
    parts = {part.name: part for part in found.parts if not part.algorithm.startswith("Antiphon")}
    sends = parts["point-to-point"]
    assert dense(sends.edges, 4)[0].tolist() == [0, 30, 0, 168]
    assert sends.total_messages() == 9 and "persistent" in sends.approximation
    assert dense(parts["alltoallv"].edges, 4).tolist() == [[0, 0, 4, 0], [4, 0, 4, 0], [8, 0, 0, 0], [12, 0, 4, 0]]
    assert dense(parts["bcast"].edges, 4)[3].tolist() == [0, 10, 0, 0], "the root is the communicator's rank 1"
    assert dense(parts["gatherv"].edges, 4)[:, 2].tolist() == [8, 16, 0, 32]
    assert parts["allreduce"].calls == 2 and parts["allreduce"].algorithm == "han"
    own = [part for part in found.parts if part.algorithm.startswith("Antiphon")]
    assert [part.calls for part in own] == [1]
    found.save(tmp_path / "x.traffic")
    again = Traffic.load(tmp_path / "x.traffic")
    assert again.to_json() == found.to_json()
    total, groups = again.total()
    assert groups == [] and total.total_bytes() == sum(part.total_bytes() for part in found.parts)


def test_the_core_s_mapping_reads_it(tmp_path: Path) -> None:
    """GIVEN a trace's traffic THEN the core's mapping sees the same bytes between nodes."""
    found = of_trace(example())
    assert found.mapping_file(tmp_path / "x.aptraff")
    machine = {"nodes": 2, "cores_per_node": 2, "latency_s": 1e-5, "bytes_per_s": 1e8}
    answer = core.query(
        "score_mapping", traffic_file=str(tmp_path / "x.aptraff"), machine=machine, node_of_rank=[0, 0, 1, 1]
    )
    _, size = found.between()
    assert answer["costs"]["between_nodes_bytes"] == size.sum() - size.trace()


def test_phases() -> None:
    """GIVEN phases THEN they add up to the whole run."""
    trace = example()
    whole = of_trace(trace)
    cut = of_trace(trace, windows=phases_of(trace, 5))
    assert {part.phase for part in cut.parts} == {0, 1, 2}
    assert sum(p.total_bytes() for p in cut.parts) == sum(p.total_bytes() for p in whole.parts)


def test_as_antiphon_would() -> None:
    """GIVEN `own` THEN Antiphon's rules choose, and leave to the library's table what they leave to the library."""
    chooser = Own(libraries.load("openmpi-5.0"), link_bits_per_s=10**8)
    nodes = np.arange(16)
    assert chooser.choose(Collective("alltoall", 16, 65536), nodes).name.startswith("Antiphon's")
    assert chooser.choose(Collective("alltoall", 16, 65536), np.zeros(16, np.int64)).name == "direct"


def test_groups_are_summed_without_listing() -> None:
    """GIVEN an exchange among 65,536 ranks THEN node sums are exact, and nothing is listed."""
    ranks = 65536
    part = Part("alltoall", Edges.empty(), [Uniform(np.arange(ranks, dtype=np.int32), 1, 10)])
    traffic = Traffic(ranks, [part])
    _, size = traffic.between(np.arange(ranks) // 16, ranks // 16)
    assert size[0, 1] == 16 * 16 * 10 and size[5, 5] == 16 * 15 * 10
    edges, groups = traffic.total()
    assert len(edges) == 0 and len(groups) == 1
    listed = Uniform(np.arange(4096, dtype=np.int32), 3, 1000).spread_out(64)
    assert len(listed) == 4096 * 64
    assert listed.total_bytes() == pytest.approx(4096 * 4095 * 1000, rel=1e-3)
    assert np.bincount(listed.target, weights=listed.bytes).std() == 0
    small = Traffic(5, [Part("alltoall", Edges.of([(0, 1, 1, 1)]), [Uniform(np.array([1, 3, 4]), 2, 7)])])
    edges, groups = small.total()
    assert groups == [] and dense(edges, 5)[3].tolist() == [0, 7, 0, 0, 7]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a file of ours"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    """GIVEN another file THEN the message says what writes such files."""
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(AntiphonError) as error:
        Traffic.load(tmp_path / "x")
    assert "traffic" in (error.value.hint or "") and "pickle" not in error.value.message


def test_broken_tables_name_the_place() -> None:
    """GIVEN a table with a mistake THEN the error says where it is."""
    library = {"name": "x", "family": "mpich", "versions": ["1"], "source": "none"}
    with pytest.raises(AntiphonError, match=r"bcast\.rules\.0"):
        libraries.checked(
            {"library": library, "bcast": {"rules": [{"rank": [1, 2], "use": "a"}], "algorithms": {"a": "flat"}}}, "x"
        )
    with pytest.raises(AntiphonError, match="no algorithm is called b"):
        libraries.checked({"library": library, "bcast": {"rules": [{"use": "b"}], "algorithms": {"a": "flat"}}}, "x")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Open MPI v5.0.11, package: …", "openmpi-5.0"),
        ("Open MPI v4.1.4", "openmpi-4.1"),
        ("MPICH Version: 5.0.2", "mpich-5"),
        ("MPICH Version:\t4.0.2", "mpich-4"),
        ("mpich-1.2.7", "mpich-1.2.7"),
        ("Open MPI v6.1", "openmpi-5.0"),
    ],
)
def test_a_trace_s_library_is_found(text: str, key: str) -> None:
    """GIVEN what MPI_Get_library_version says THEN the table of that version is used, or the newest."""
    assert libraries.for_library(text).key == key


def test_calls_at_the_same_time() -> None:
    """GIVEN broadcasts in rows THEN they take as long as one of them where each has links of its own, and longer where
    they share them; GIVEN communicators with a common rank THEN one comes after the other."""
    profile = (Path(__file__).parent.parent / "data" / "two-switches.openmpi.json").read_text(encoding="utf-8")
    rows = [Communicator(1, "rows", tuple(range(first, first + 4))) for first in (0, 4)]
    ranks = []
    for r in range(8):
        bcast = Shape("MPI_Bcast", rows[r // 4], root=0, send_count=65536, send_size=1)
        ranks.append(RankTrace(r, [rows[r // 4]], [bcast], [Call(bcast, 0, 1)], 0, 100))
    header = {"mpi": "MPICH Version: 5.0.2", "nodes": [0, 0, 1, 1, 2, 2, 3, 3]}
    both = Optimiser(Trace(8, ("MPI_Bcast",), header, ranks), profile)
    apart, crossed = [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 3, 0, 1, 2, 3]
    one = both.asked[0]
    assert both.total(one.call, apart, "chain") == pytest.approx(both.time(one, apart, "chain"))
    assert both.total(one.call, crossed, "chain") > 1.2 * both.time(one, crossed, "chain")
    # A multicast fills a node's link once, however many of its ranks listen.
    assert both.shared(both.asked, apart, "multicast") < 0.6 * both.shared(both.asked, crossed, "multicast")
    common = [Asked(members, one.call, 1) for members in ((0, 1, 2, 3), (4, 5, 6, 7), (3, 4, 5, 6))]
    assert [len(layer) for layer in layers(common)] == [2, 1]


def test_placement_and_algorithms_together(tmp_path: Path) -> None:
    """GIVEN a run with badly placed ranks THEN both together take no longer than either, and less than what ran."""
    profile = (Path(__file__).parent.parent / "data" / "two-switches.openmpi.json").read_text(encoding="utf-8")
    nodes = [r % 4 for r in range(8)]
    world = Communicator(1, "MPI_COMM_WORLD", tuple(range(8)))
    ranks = []
    for r in range(8):
        send = Shape("MPI_Send", world, peer=r ^ 1, tag=0, send_count=200000, send_size=1)
        gather = Shape("MPI_Allgather", world, send_count=3000, send_size=1, receive_count=3000, receive_size=1)
        ranks.append(RankTrace(r, [world], [send, gather], [Call(send, 0, 1), Call(gather, 10, 1)], 0, 100))
    trace = Trace(8, ("MPI_Send", "MPI_Allgather"), {"mpi": "MPICH Version: 5.0.2", "nodes": nodes}, ranks)
    found = Optimiser(trace, profile).run()
    assert found.both.seconds <= min(found.algorithms.seconds, found.placement.seconds) < found.start.seconds
    assert all(found.both.nodes[r] == found.both.nodes[r ^ 1] for r in range(8)), "partners share a node"
    assert 10 * found.both.point_to_point_s < found.start.point_to_point_s
