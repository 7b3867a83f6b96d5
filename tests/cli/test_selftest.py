# SPDX-License-Identifier: Apache-2.0
"""Runs `antiphon selftest` on this machine, and with what cannot work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon import cli
from antiphon.bench import selftest
from antiphon.bench.testbed import Exit, HostTestbed
from antiphon.mpi import Mpi, discover
from antiphon.placement.starting import Where


def found_mpi() -> Mpi:
    return next(mpi for mpi in discover() if mpi.launcher is not None)


def test_results_are_the_same_here(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["selftest", "-n", "2", "--mpi", str(found_mpi().libmpi), "--no-gain", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 0 and document["ok"] and document["gain"] is None
    assert document["results"]["ranks"] == 2 and document["results"]["comparisons"] > 1000
    assert list(document["results"]["checks"]) == list(selftest.CHECKS)
    assert all(document["results"]["checks"].values()), "something was compared in each check"


@pytest.mark.parametrize(("words", "said"), [
    (["-n", "1"], "at least 2 ranks"),
    (["--budget", "1"], "nothing can be measured"),
    (["--mpi", "/nowhere"], "/nowhere"),
    (["--hostfile", "/nowhere"], "/nowhere"),
    (["--lab", "--hostfile", "x"], "not for a lab"),
])  # fmt: skip
def test_mistakes(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["selftest", *words]) == 2
    assert said in capsys.readouterr().err


class Scripted(HostTestbed):
    """Answers as a checking program would."""

    def run(self, mpi: Any, n: Any, argv: Any, *, preload: bool, on_line: Any, **_: Any) -> Exit:
        for what in selftest.CHECKS[: 3 if preload else None]:
            bad = int(preload and what == "scatter")
            if bad:
                on_line("FAILED rank 1 of 2 on MPI_COMM_WORLD: MPI_Scatter, send 1 x int: byte 0")
            on_line(json.dumps({"event": "checked", "what": what, "passed": 5, "failed": bad}))
        return Exit(1 if preload else 0, "mpirun: a rank has gone\n")


def test_a_difference_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a wrong scatter under Antiphon alone THEN the exit code is 1, and the lines say where and what to do."""
    monkeypatch.setattr("antiphon.commands._testbed.HostTestbed", Scripted)
    assert cli.main(["selftest", "-n", "2", "--mpi", str(found_mpi().libmpi)]) == 1
    out, err = capsys.readouterr()
    assert "MPI_Scatter" in out and "1 of 15 comparisons differ, in scatter" in err and "hint: report this" in err


def test_the_library_of_a_program_is_tested(
    mpi: Mpi, program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tested = []

    class Recording(HostTestbed):
        def run(self, mpi: Any, *_: Any, **__: Any) -> Exit:
            tested.append(mpi.libmpi)
            return Exit(1, "")

    monkeypatch.setattr("antiphon.commands._testbed.HostTestbed", Recording)
    assert cli.main(["selftest", "-n", "2", str(program), "input.dat"]) == 1
    assert set(tested) == {mpi.libmpi}
    assert capsys.readouterr().out.startswith(mpi.label)


def test_a_run_that_ends_early_is_no_success() -> None:
    class Ended(HostTestbed):
        def run(self, *_: Any, **__: Any) -> Exit:
            return Exit(137, "killed\n")

    found = selftest.check(Ended(), found_mpi(), 2, lambda what: None)
    assert not found.same and found.ended == "ended with exit code 137: killed"


def test_few_ranks_of_each_node_where_nodes_have_many(tmp_path: Path) -> None:
    """GIVEN four nodes of 64 cores, and one of six THEN all nodes take part in the comparison."""
    asked: list[tuple[int, list[tuple[str, int]]]] = []

    class Asked(HostTestbed):
        def run(self, _mpi: Any, n: Any, *_: Any, **__: Any) -> Exit:
            asked.append((n, list(self.where.hosts())))
            return Exit(0, "")

    hostfile = tmp_path / "nodes"
    hostfile.write_text("".join(f"n{i} slots={slots}\n" for i, slots in enumerate((64, 64, 6, 64, 64))))
    testbed = Asked(where=Where(hostfile))
    found = selftest.check(testbed, found_mpi(), 262, lambda what: None)
    assert asked == [(54, [("n0", 12), ("n1", 12), ("n2", 6), ("n3", 12), ("n4", 12)])]
    assert (found.ranks, found.nodes) == (54, 5)
    # As many as can be checked are placed as they are.
    found = selftest.check(testbed, found_mpi(), 64, lambda what: None)
    assert asked[1] == (64, list(testbed.where.hosts())) and found.nodes == 1


def test_what_is_checked_is_what_the_program_has() -> None:
    """GIVEN the checking program's source THEN it knows each check that is asked for."""
    source = (Path(__file__).parents[2] / "bench" / "check" / "main.c").read_text(encoding="utf-8")
    assert all(f'"{what}"' in source for what in selftest.CHECKS)
