# SPDX-License-Identifier: Apache-2.0
"""Checks what exporters' readers find in the files, and what is refused because they would misread it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from antiphon import exporters, mpi
from antiphon.errors import AntiphonError
from antiphon.exporters import Options, _csel, intel, mpich_json, openmpi_json, openmpi_rules, ucc
from antiphon.exporters._openmpi import MessageRule

Row = dict[str, Any]


def test_the_numbers_of_a_version() -> None:
    assert exporters.version_of("5.0.11rc1") == (5, 0, 11)
    assert exporters.version_of("4.1.x") == (4, 1)
    with pytest.raises(AntiphonError, match="'²' is not a version"):
        exporters.version_of("²")


def row(collective: str, size: int, contender: str, median_s: float, ranks: int = 16, mode: str = "sync") -> Row:
    return {
        "collective": collective,
        "bytes": size,
        "ranks": ranks,
        "mode": mode,
        "contender": contender,
        "chosen": contender.removeprefix("antiphon:"),
        "median_s": median_s,
        "ci_low_s": median_s * 0.99,
        "ci_high_s": median_s * 1.01,
        "samples": 20,
        "limit_s": None,
    }


def cell(collective: str, size: int, best: str | None, ranks: int = 16) -> list[Row]:
    """Measures the library at 2 seconds, and one other algorithm at 1."""
    winner = [row(collective, size, best, 1.0, ranks)] if best else []
    return [row(collective, size, "library", 2.0, ranks), *winner]


def profile(
    family: str, version: str, rows: Iterable[Row], purpose: str = "export", per_node: int = 1
) -> dict[str, Any]:
    evidence = {
        "purpose": purpose,
        "mpi": family,
        "library": f"{family} {version}",
        "version": version,
        "ranks": 16,
        "nodes": 16,
        "ranks_per_node": per_node,
        "cells": list(rows),
    }
    return {"format": "antiphon-profile", "version": 1, "measurements": {"tune": [evidence]}}


OPENMPI = [
    *cell("bcast", 8, None),
    *cell("bcast", 8192, "library:chain:chain_fanout=4,segmentsize=4096"),
    *cell("bcast", 65536, "library:pipeline:segmentsize=16384"),
    *cell("bcast", 65536, "library:binomial:segmentsize=0", ranks=4),
    *cell("allgather", 8192, "library:neighbor"),
    *cell("alltoall", 1024, "library:linear_sync:max_requests=4"),
    *cell("barrier", 0, "library:tree"),
    *cell("allgatherv", 8, None),
    *cell("allgatherv", 8192, "library:ring"),
    *cell("scatter", 8, "library:binomial"),
    *cell("scatter", 65536, "library:binomial"),
]


class TestOpenMpiRules:
    def text(self, version: str = "5.0.11", rows: Iterable[Row] = OPENMPI) -> str:
        return openmpi_rules.export(profile("openmpi", version, rows), Options()).text

    @pytest.mark.parametrize(
        ("collective", "ranks", "message", "expected"),
        [
            ("bcast", 16, 8, MessageRule(0, 0)),
            ("bcast", 16, 8192, MessageRule(257, 2, 4, 4096)),
            ("bcast", 16, 1 << 30, MessageRule(23171, 3, 0, 16384)),
            ("bcast", 12, 65536, MessageRule(23171, 3, 0, 16384)),
            ("bcast", 4, 65536, MessageRule(0, 6)),
            ("bcast", 3, 65536, MessageRule(0, 0)),
            ("bcast", 17, 65536, MessageRule(0, 0)),
            ("allgather", 16, 16 * 8192, MessageRule(0, 5)),
            ("alltoall", 16, 16 * 1024, MessageRule(0, 4, 0, 0, 4)),
            ("barrier", 16, 0, MessageRule(0, 6)),
            ("allgatherv", 16, 256, MessageRule(0, 0)),
            ("allgatherv", 16, 257, MessageRule(257, 3)),
            ("scatter", 16, 16 * 65536, MessageRule(0, 2)),
            ("reduce", 16, 8, None),
        ],
    )
    def test_what_open_mpi_5_finds(
        self, collective: str, ranks: int, message: int, expected: MessageRule | None
    ) -> None:
        assert openmpi_rules.lookup(self.text(), (5, 0, 11), collective, ranks, message) == expected

    def test_open_mpi_6_would_shift_it(self) -> None:
        """It is refused because 8 ranks, which are 5.0's rules from 9 on, get those of the next size."""
        text = self.text()
        assert openmpi_rules.lookup(text, (5, 0, 11), "bcast", 4, 65536) != openmpi_rules.lookup(
            text, (6,), "bcast", 4, 65536
        )
        with pytest.raises(AntiphonError, match="ends of their ranges") as error:
            openmpi_rules.export(profile("openmpi", "5.0.11", OPENMPI), Options(reader_version="6.0.0"))
        assert error.value.hint == "--to openmpi-json"

    def test_the_version_of_the_format_comes_before_everything(self) -> None:
        assert self.text().startswith("rule-file-version-2\n#")
        with pytest.raises(ValueError, match="not a number"):
            openmpi_rules.parse("# first\n" + self.text())

    def test_older_ones_cannot_say_requests(self) -> None:
        exported = openmpi_rules.export(profile("openmpi", "5.0.6", OPENMPI), Options())
        assert not exported.text.startswith("rule-file")
        assert any("requests" in text for text in exported.left_out)
        assert openmpi_rules.lookup(exported.text, (5, 0, 6), "alltoall", 16, 16384) == MessageRule(0, 0)

    def test_scans_are_looked_up_by_something_else(self) -> None:
        rows = [*OPENMPI, *cell("scan", 8192, "library:recursive_doubling")]
        exported = openmpi_rules.export(profile("openmpi", "5.0.11", rows), Options())
        assert any(text.startswith("scan") for text in exported.left_out)
        assert openmpi_rules.lookup(exported.text, (5, 0), "scan", 16, 16) is None

    @pytest.mark.parametrize(
        "broken", ["1\n7\n1\n16 1\n5 1 0 0\n", "1\n7\n1\n16 1\n0 1 0\n", "1\n99\n0\n", "1\n7\none\n"]
    )
    def test_a_file_that_open_mpi_ignores(self, broken: str) -> None:
        with pytest.raises(ValueError, match=r"must be 0|too early|no collective|not a number"):
            openmpi_rules.parse(broken)

    @pytest.mark.parametrize("collective", ["gather", "scatter"])
    def test_sizes_that_some_ranks_do_not_know_decide_nothing(self, collective: str) -> None:
        """A program may pass 0 for the count that Open MPI looks at, on all ranks but one or on one."""
        rows = [*OPENMPI, *cell(collective, 8, "library:basic_linear", 4), *cell(collective, 8192, None, 4)]
        exported = openmpi_rules.export(profile("openmpi", "5.0.11", rows), Options())
        assert [text.partition(":")[0] for text in exported.left_out] == [f"{collective} on 4 ranks"]
        assert openmpi_rules.lookup(exported.text, (5, 0, 11), collective, 4, 32) in (MessageRule(0, 0), None)

    def test_algorithms_without_a_known_number_are_left_out(self) -> None:
        rows = [*OPENMPI, *cell("reduce", 8, "library:knomial")]
        exported = openmpi_rules.export(profile("openmpi", "5.0.11", rows), Options())
        assert exported.left_out == ["reduce knomial: its number in rules is not known"]

    def test_sizes_at_which_the_choice_was_not_measured(self) -> None:
        rows = [*cell("alltoallv", 8, "library:pairwise"), *cell("alltoallv", 8192, None)]
        assert openmpi_rules.lookup(self.text(rows=rows), (5, 0, 11), "alltoallv", 16, 0) == MessageRule(0, 2)

    def test_nothing_to_say(self) -> None:
        with pytest.raises(AntiphonError, match="best everywhere"):
            self.text(rows=cell("bcast", 8, None))


class TestOpenMpiJson:
    def test_what_open_mpi_6_finds(self) -> None:
        text = openmpi_json.export(profile("openmpi", "6.0.0", OPENMPI), Options()).text
        assert openmpi_json.lookup(text, "bcast", 16, 8) is None
        assert openmpi_json.lookup(text, "bcast", 12, 8192) == (2, 4, 4096, 0)
        assert openmpi_json.lookup(text, "bcast", 64, 8192) is None
        assert openmpi_json.lookup(text, "alltoall", 16, 16384) == (4, 0, 0, 4)
        assert json.loads(text)["collectives"]["bcast"][0]["comm_rank_distribution"] == "one-per-node"

    def test_words_that_would_be_lost_or_reject_the_file(self) -> None:
        rule = {"alg": "chain", "segsize": 4096}
        text = json.dumps({"collectives": {"bcast": [{"rules": [rule]}]}})
        with pytest.raises(ValueError, match="would not be read"):
            openmpi_json.lookup(text, "bcast", 4, 8)
        with pytest.raises(ValueError, match="no collective"):
            openmpi_json.lookup('{"collectives": {"reducescatter": []}}', "bcast", 4, 8)

    def test_open_mpi_5_reads_none_of_it(self) -> None:
        with pytest.raises(AntiphonError, match="cannot read JSON"):
            openmpi_json.export(profile("openmpi", "5.0.11", OPENMPI), Options(reader_version="5.0.11"))


MPICH = [
    *cell("bcast", 8, None),
    *cell("bcast", 65536, "library:pipelined_tree:tree_kval=1,tree_pipeline_chunk_size=4096,is_non_blocking=1"),
    *cell("bcast", 8192, "library:scatter_recursive_doubling_allgather", ranks=4),
    *cell("reduce", 65536, "library:reduce_scatter_gather"),
    *cell("allgather", 8192, "library:k_brucks:brucks_kval=4"),
    *cell("alltoall", 8, "library:pairwise"),
    *cell("gather", 8, "library:binomial"),
    *cell("barrier", 0, "library:k_dissemination:dissem_kval=4"),
]


class TestMpichJson:
    @pytest.fixture
    def libmpi(self, tmp_path: Path) -> Path:
        """Makes a library with three trees, as the real one has."""
        leaf = {"algorithm=MPIR_X_intra_binomial": {}}
        tree: _csel.Tree = {
            f"collective={name}": {"comm_type=intra": dict(leaf), "comm_type=inter": dict(leaf)}
            for name in ("bcast", "reduce", "allgather", "gather", "barrier", "ibcast")
        }
        inner = {
            "is_sendbuf_inplace=yes": {"algorithm=MPIR_Alltoall_intra_replace": {}},
            "is_sendbuf_inplace=no": dict(leaf),
        }
        tree["collective=alltoall"] = {"comm_type=intra": inner}
        other = {"collective=bcast": {"composition=MPIDI_Bcast_intra_composition_alpha": {}}}
        path = tmp_path / "libmpi.so.12"
        path.write_bytes(b"\x7fELF\0" + json.dumps(other).encode() + b"\0\0" + json.dumps(tree).encode() + b"\0tail")
        return path

    def exported(self, libmpi: Path, rows: Iterable[Row] = MPICH) -> exporters.Exported:
        return mpich_json.export(profile("mpich", "5.0.2", rows), Options(libmpi=libmpi))

    def found(self, text: str, call: _csel.ReaderQuestion) -> str | None:
        result = _csel.search(json.loads(text), call)
        return result and result[0]

    def test_what_mpich_finds(self, libmpi: Path) -> None:
        text = self.exported(libmpi).text
        call = _csel.ReaderQuestion
        assert self.found(text, call("bcast", 16, 65536)) == "MPIR_Bcast_intra_pipelined_tree"
        assert self.found(text, call("bcast", 16, 8)) == "MPIR_X_intra_binomial"
        assert self.found(text, call("bcast", 100, 65536)) == "MPIR_X_intra_binomial"
        assert self.found(text, call("bcast", 4, 8192)) == "MPIR_Bcast_intra_scatter_recursive_doubling_allgather"
        assert self.found(text, call("bcast", 5, 8192)) == "MPIR_X_intra_binomial"
        assert self.found(text, call("allgather", 16, 8192)) == "MPIR_Allgather_intra_k_brucks"
        assert self.found(text, call("ibcast", 16, 65536)) == "MPIR_X_intra_binomial"

    def test_what_an_algorithm_needs_is_asked(self, libmpi: Path) -> None:
        text = self.exported(libmpi).text
        assert self.found(text, _csel.ReaderQuestion("reduce", 16, 65536)) == "MPIR_Reduce_intra_reduce_scatter_gather"
        assert self.found(text, _csel.ReaderQuestion("reduce", 16, 65536, built_in=False)) == "MPIR_X_intra_binomial"
        assert self.found(text, _csel.ReaderQuestion("reduce", 16, 64)) == "MPIR_X_intra_binomial"
        assert self.found(text, _csel.ReaderQuestion("alltoall", 16, 8)) == "MPIR_Alltoall_intra_pairwise"
        assert self.found(text, _csel.ReaderQuestion("alltoall", 16, 8, in_place=True)) == "MPIR_Alltoall_intra_replace"

    def test_all_parameters_are_said(self, libmpi: Path) -> None:
        leaf = _csel.search(json.loads(self.exported(libmpi).text), _csel.ReaderQuestion("bcast", 16, 65536))
        assert leaf is not None
        assert set(leaf[1]) == {"tree_type=kary", "k=1", "is_non_blocking=1", "chunk_size=4096", "recv_pre_posted=0"}

    def test_sizes_that_mpich_cannot_tell_alike(self, libmpi: Path) -> None:
        rows = [*cell("bcast", 65536, "library:binomial"), *cell("gather", 8, "library:nothing")]
        assert any(text.startswith("gather") for text in self.exported(libmpi, rows).left_out)

    def test_a_collective_whose_choice_is_kept(self, libmpi: Path) -> None:
        slower = row("alltoallv", 8192, "library:pairwise", 3.0)
        kept = [*cell("alltoallv", 8, "library:pairwise"), *cell("alltoallv", 8192, None), slower]
        assert self.exported(libmpi, [*MPICH, *kept]).text == self.exported(libmpi).text

    def test_a_missing_branch_would_abort(self, libmpi: Path) -> None:
        tree = _csel.built_in(libmpi)
        assert _csel.search(tree, _csel.ReaderQuestion("scan", 4, 8)) is None
        with pytest.raises(ValueError, match="nothing beside"):
            _csel.check({"avg_msg_size<=8": {"algorithm=X": {}}})
        with pytest.raises(ValueError, match="not an object"):
            _csel.check({"comm_size=any": 3})
        with pytest.raises(ValueError, match="not the last"):
            _csel.check({"any": {"algorithm=X": {}}, "is_commutative=no": {"algorithm=X": {}}})
        with pytest.raises(ValueError, match="would abort"):
            _csel.search(
                {"collective=scan": {"avg_msg_size<=8": {"algorithm=X": {}}}}, _csel.ReaderQuestion("scan", 4, 8)
            )

    def test_less_than_is_less_or_equal_below_a_message_key(self) -> None:
        leaf = {"comm_size<8": {"algorithm=small": {}}, "comm_size=any": {"algorithm=large": {}}}
        above = {"collective=bcast": leaf}
        below = {"collective=bcast": {"avg_msg_size=any": leaf}}
        below_message = {"collective=bcast": {"is_commutative=yes": leaf, "is_commutative=no": leaf}}
        call = _csel.ReaderQuestion("bcast", 8, 8)
        assert _csel.search(above, call) == ("large", {})
        assert _csel.search(below, call) == ("large", {})  # `any` is decided when the communicator is made
        assert _csel.search(below_message, call) == ("small", {})

    def test_a_file_that_fills_its_pages_gets_a_line_more(self) -> None:
        assert len(mpich_json.padded("x" * 8192)) == 8193
        assert len(mpich_json.padded("x" * 8191)) == 8191

    def test_other_versions_are_refused(self, libmpi: Path) -> None:
        for version in ("4.1", "5.1.0", "4.3"):
            with pytest.raises(AntiphonError, match="MPICH"):
                mpich_json.export(profile("mpich", "5.0.2", MPICH), Options(reader_version=version, libmpi=libmpi))

    def test_a_library_without_a_tree(self, tmp_path: Path) -> None:
        (tmp_path / "lib").write_bytes(b"\x7fELF nothing")
        with pytest.raises(AntiphonError, match="no selection tree"):
            self.exported(tmp_path / "lib")

    def test_the_installed_library_has_one(self) -> None:
        found = [
            m
            for m in mpi.discover()
            if m.name == "MPICH" and exporters.version_of(m.version) >= (4, 2) and m.abi == "mpich"
        ]
        if not found:
            pytest.skip("no MPICH of 4.2 or later here")
        tree = _csel.built_in(found[0].libmpi)
        _csel.check(tree)
        for size in (0, 8, 65536, 1 << 24):
            for ranks in (2, 7, 8, 16, 100):
                for collective in (
                    "bcast",
                    "reduce",
                    "allreduce",
                    "alltoall",
                    "allgather",
                    "reduce_scatter_block",
                    "barrier",
                ):
                    assert _csel.search(tree, _csel.ReaderQuestion(collective, ranks, size)) is not None


OWN = [
    *cell("bcast", 8, "antiphon:binomial:segment_bytes=16384,window=4"),
    *cell("bcast", 65536, "antiphon:scatter_allgather_recursive_doubling:segment_bytes=16384,window=4"),
    *cell("allgather", 65536, "antiphon:ring:segment_bytes=16384,window=4"),
    *cell("bcast", 1 << 20, "antiphon:chain:segment_bytes=4096,window=16"),
]


class TestUcc:
    def test_the_string(self) -> None:
        text = ucc.export(profile("mpich", "5.0.2", OWN, purpose="decisions"), Options()).text
        assert ucc.lookup(text, "bcast", 16, 8) == "knomial"
        assert ucc.lookup(text, "bcast", 16, 724) == "knomial"
        assert ucc.lookup(text, "bcast", 16, 725) == "sag_knomial"
        assert ucc.lookup(text, "bcast", 8, 8) is None
        assert ucc.lookup(text, "allgather", 16, 16 * 65536) == "ring"
        assert "chain" not in text

    def test_what_ucc_would_not_understand(self) -> None:
        with pytest.raises(ValueError, match="would not understand"):
            ucc.lookup("bcast:0-4k:@knomial", "bcast", 16, 8)


class TestIntel:
    def test_the_variables(self) -> None:
        text = intel.export(profile("mpich", "5.0.2", OWN, purpose="decisions"), Options()).text
        assert intel.lookup(text, "bcast", 16, 8) == "1"
        assert intel.lookup(text, "bcast", 16, 65536) == "2"
        assert intel.lookup(text, "allgather", 16, 65536) == "3"
        assert intel.lookup(text, "allgather", 17, 65536) is None

    def test_presets_are_refused(self) -> None:
        with pytest.raises(AntiphonError, match="numbers presets"):
            intel.export(profile("mpich", "5.0.2", OWN, purpose="decisions"), Options(reader_version="2021.13"))


@pytest.mark.parametrize(
    ("export", "family", "version", "rows"),
    [
        (openmpi_rules.export, "openmpi", "5.0.11", OPENMPI),
        (openmpi_json.export, "openmpi", "6.0.0", OPENMPI),
        (ucc.export, "mpich", "5.0.2", OWN),
        (intel.export, "mpich", "5.0.2", OWN),
    ],
)
def test_collectives_whose_choice_is_kept_get_no_rule(
    export: Callable[..., Any], family: str, version: str, rows: list[Row]
) -> None:
    """Of alltoallv, whose sizes ranks do not know, no choice may lose at any size: else all stays as it is."""
    slower = row("alltoallv", 8192, "library:pairwise", 3.0)
    kept = [*cell("alltoallv", 8, "library:pairwise"), *cell("alltoallv", 8192, None), slower]
    purpose = "decisions" if rows is OWN else "export"
    text = export(profile(family, version, [*rows, *kept], purpose), Options()).text
    assert text == export(profile(family, version, rows, purpose), Options()).text


@pytest.mark.parametrize(
    "export", [openmpi_rules.export, openmpi_json.export, mpich_json.export, ucc.export, intel.export]
)
def test_without_measurements_there_is_nothing_to_export(export: Callable[..., Any]) -> None:
    with pytest.raises(AntiphonError) as error:
        export({"format": "antiphon-profile", "version": 1}, Options())
    assert "antiphon tune" in str(error.value.hint)


def test_formats_are_found_by_listing() -> None:
    assert exporters.names() == ["goal", "intel", "mpich-json", "openmpi-json", "openmpi-rules", "ucc"]
    with pytest.raises(AntiphonError, match="no such format"):
        exporters.load("nothing")
