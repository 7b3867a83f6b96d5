# SPDX-License-Identifier: Apache-2.0
"""Checks the core through ctypes."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon import __version__, core
from antiphon.errors import AntiphonError
from antiphon.mpi import elf

ETHERNET = 100_000_000
ROOT = Path(__file__).resolve().parents[2]


def question(collective: str, size: int | None, ranks: int = 16, **fields: Any) -> core.Question:
    return core.Question(collective, ranks, ranks, 1, size, link_bits_per_s=ETHERNET, **fields)


def all_names() -> list[str]:
    return [f"{a.collective}:{a.name}" for a in core.algorithms()]


def test_version_is_the_packages() -> None:
    assert core.version() == __version__


def test_every_collective_has_algorithms() -> None:
    names = [c.name for c in core.collectives()]
    assert len(names) == 16
    for name in names:
        listed = core.algorithms(name)
        assert listed, name
        assert [a.name for a in listed] == sorted(a.name for a in listed)
        assert any(a.supports_all for a in listed), f"nothing solves every {name}"
    rooted = {"bcast", "scatter", "scatterv", "gather", "gatherv", "reduce"}
    assert {c.name for c in core.collectives() if c.has_root} == rooted


def test_parameters_are_described() -> None:
    for algorithm in core.algorithms():
        assert algorithm.summary
        for p in algorithm.parameters:
            assert p.min <= p.default <= p.max
            assert len(p.meaning) > 5


def test_choices() -> None:
    used = core.choose(question("alltoall", 65536))
    assert used.algorithm == "rotated"
    assert used.parameters["piece_bytes"] == 16384
    assert used.choice.startswith("rotated:piece_bytes=16384")
    assert "bound the bytes in flight" in used.reason
    short = question("alltoall", 8)
    assert core.choose(short).algorithm is None
    assert core.choose(short).choice == "library"
    assert core.choose(short, own=True).algorithm
    assert core.choose(question("alltoallv", None)).algorithm


def test_a_profile_decides_first() -> None:
    rules = [{"collective": "alltoall", "use": "windowed:window=4", "why": "measured"}]
    profile = json.dumps({"decisions": {"version": 1, "rules": rules}})
    choice = core.choose(question("alltoall", 65536), profile)
    assert (choice.algorithm, choice.reason) == ("windowed", "measured")
    with pytest.raises(core.CoreError, match=r"decisions\.rules\[0\]\.use: alltoall has no algorithm \"x\""):
        core.choose(question("alltoall", 1), profile.replace("windowed:window=4", "x"))


def test_parse_fills_in_defaults() -> None:
    choice = core.parse("bcast", "chain:segment_bytes=4k")
    assert choice.parameters == {"segment_bytes": 4096, "window": 8, "granted": 0}
    with pytest.raises(core.CoreError, match="no parameter sgment_bytes"):
        core.parse("bcast", "chain:sgment_bytes=4k")


def test_supported_leaves_out_what_cannot() -> None:
    assert "ring" in core.supported(question("allreduce", 65536))
    ordered = core.supported(question("allreduce", 65536, commutative=False))
    assert "ring" not in ordered
    assert "rabenseifner" in ordered


@pytest.mark.parametrize("name", all_names())
def test_every_algorithm_is_right_and_can_be_replayed(name: str) -> None:
    collective, algorithm = name.split(":")
    reduction = any(c.name == collective and c.is_reduction for c in core.collectives())
    per_node = 2 if algorithm == "nested" else 1
    switches = (3, 5) if algorithm == "switch_rings" else ()
    case = core.Case(collective, algorithm, 8, 4096, element_bytes=8 if reduction else 1, ranks_per_node=per_node,
                     switch_sizes=switches)  # fmt: skip
    assert core.check(case) is None
    matrix, wire = core.matrix(case), core.replay(case, "bytes")
    sent = [sum(row) for row in matrix.bytes]
    assert sent == [rank.sent_bytes for rank in wire.ranks]
    assert [sum(row) for row in matrix.messages] == [rank.sent_messages for rank in wire.ranks]
    if per_node == 1:  # What stays within a node is on no wire.
        assert wire.end >= max(sum(column) for column in zip(*matrix.bytes, strict=True))
        if "multicast" not in algorithm:  # A multicast sends one copy to many.
            assert wire.end >= max(sent)
    rounds = core.replay(case, "rounds")
    assert len(rounds.rounds) == rounds.end > 0
    assert sum(r.bytes for r in rounds.rounds) == sum(sent)


def test_a_plan_has_every_ranks_schedule() -> None:
    plan = core.build(core.Case("bcast", "chain:segment_bytes=1k", 3, 5000, root=1))
    assert (plan["version"], plan["size"], plan["root"], plan["algorithm"]) == (1, 3, 1, "chain")
    assert plan["schedules"][2]["ops"][0] == {"op": "recv", "peer": 1, "to": ["output", 0, 5000], "cut": [1024, 8]}
    assert core.schedule_text(core.Case("bcast", "chain", 3, 100), 2) == "0: recv from 1 output[0+100]\n"


def test_a_chain_fills_its_pipeline() -> None:
    case = core.Case("bcast", "chain:segment_bytes=8k", 5, 65536)
    assert core.replay(case, "bytes").end == 65536 + 3 * 8192
    assert core.replay(case, "rounds").end == 4
    on_two_nodes = core.replay(core.Case("bcast", "chain", 4, 65536, ranks_per_node=2), "bytes")
    assert on_two_nodes.nodes == (core.NodeTraffic(65536, 0), core.NodeTraffic(0, 65536))


def test_vector_collectives_have_equal_blocks_without_a_seed() -> None:
    matrix = core.matrix(core.Case("alltoallv", "rotated", 4, 100))
    assert matrix.bytes == tuple(tuple(0 if a == b else 100 for b in range(4)) for a in range(4))
    assert core.matrix(core.Case("alltoallv", "rotated", 4, 100, seed=3)).bytes != matrix.bytes


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"collective": "bcst"}, '"bcst" is not a collective'),
        ({"algorithm": "x"}, 'bcast has no algorithm "x"'),
        ({"algorithm": "library"}, "not a schedule"),
        ({"size": 0}, "size: 0 is not within"),
        ({"size": 100_000}, "size: 100000 is not within"),
        ({"root": 3}, "root: 3 is not within"),
        ({"bytes": -1}, "bytes: -1 is not within"),
    ],
)
def test_requests_that_make_no_sense(fields: dict[str, object], message: str) -> None:
    case = {"collective": "bcast", "algorithm": "chain", "size": 3, "bytes": 10, **fields}
    with pytest.raises(core.CoreError) as caught:
        core.build(core.Case(**case))  # type: ignore[arg-type]
    assert message in caught.value.message


HOSTILE = [b"", b"null", b"[1]", b'{"request": 3}', b'{"request": "x"}', b"\xff", b"{" * 10000]


@pytest.mark.parametrize("request_text", HOSTILE)
def test_hostile_requests_are_answered(request_text: bytes) -> None:
    library = core.loaded()
    pointer = library.antiphon_core_query(request_text)
    answer = json.loads(ctypes.string_at(pointer))
    library.antiphon_core_free(pointer)
    assert answer["ok"] is False
    assert answer["error"]


def test_only_what_the_headers_name_is_exported() -> None:
    output = subprocess.run(["nm", "-D", "--defined-only", core.LIBRARY], capture_output=True, text=True, check=True)
    header = Path(__file__).resolve().parents[2] / "include" / "antiphon_codec.h"
    codec = set(re.findall(r"\b(antiphon_codec_\w+)\(", header.read_text()))
    assert len(codec) > 15
    source = Path(__file__).resolve().parents[2] / "src" / "capi" / "traffic.cpp"
    traffic = set(re.findall(r"ANTIPHON_EXPORT.*?\b(antiphon_traffic_\w+)\(", source.read_text()))
    exported = {line.split()[-1] for line in output.stdout.splitlines()}
    assert exported == codec | traffic | {"antiphon_core_query", "antiphon_core_free"}
    assert all(not name.startswith("libmpi") for name in elf.read(core.LIBRARY).needed)


def test_a_missing_core_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(core.library, "LIBRARY", tmp_path / "libantiphon_core.so")
    core.loaded.cache_clear()
    try:
        with pytest.raises(AntiphonError, match="core is not built") as caught:
            core.version()
        assert "make setup" in (caught.value.hint or "")
    finally:
        core.loaded.cache_clear()


def test_the_algorithms_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "gen_reference.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
