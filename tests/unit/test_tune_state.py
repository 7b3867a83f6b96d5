# SPDX-License-Identifier: Apache-2.0
"""Checks the file in which a tuning keeps its measurements while it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.errors import AntiphonError
from antiphon.tune.state import TuningState

EVENT = {
    "event": "result",
    "collective": "bcast",
    "bytes": 8,
    "mode": "sync",
    "contender": "library",
    "chosen": "library",
    "calls_per_sample": 1,
    "samples": [1.0, 2.0],
    "ranks": 16,
}
DONE = {"event": "cell_done", "collective": "bcast", "bytes": 8, "ranks": 16}


def begun(path: Path) -> TuningState:
    state = TuningState(path, {"library": "Open MPI 5"})
    state.open(restart=False)
    return state


def test_it_goes_on_where_it_ended(tmp_path: Path) -> None:
    first = begun(tmp_path / "s")
    first.add(EVENT)
    first.add(DONE)
    first.close(complete=False)
    with (tmp_path / "s").open("a") as file:
        file.write('{"event": "result", "coll')  # The machine went down here.
    second = begun(tmp_path / "s")
    assert [m.contender for m in second.measurements] == ["library"]
    assert second.finished == {("bcast", 8, 16)}
    second.add({**DONE, "bytes": 64})
    second.close(complete=False)
    assert begun(tmp_path / "s").finished == {("bcast", 8, 16), ("bcast", 64, 16)}


def test_after_the_end_it_begins_anew(tmp_path: Path) -> None:
    state = begun(tmp_path / "s")
    state.add(DONE)
    state.close(complete=True)
    assert begun(tmp_path / "s").finished == set()


def test_another_tuning_is_refused(tmp_path: Path) -> None:
    state = begun(tmp_path / "s")
    state.add(DONE)
    state.close(complete=False)
    with pytest.raises(
        AntiphonError, match="unfinished tuning of something else.*library Open MPI 5; asked for now: library MPICH"
    ):
        TuningState(tmp_path / "s", {"library": "MPICH"}).open(restart=False)
    TuningState(tmp_path / "s", {"library": "MPICH"}).open(restart=True)


@pytest.mark.parametrize("restart", [False, True])
def test_two_tunings_at_once_do_not_share_it(tmp_path: Path, restart: bool) -> None:
    """GIVEN a tuning that is under way THEN another one with its file ends, whatever it tunes, and harms nothing."""
    first = begun(tmp_path / "s")
    first.add(DONE)
    for library in ("Open MPI 5", "MPICH"):
        with pytest.raises(AntiphonError, match="another tuning is under way"):
            TuningState(tmp_path / "s", {"library": library}).open(restart)
    first.add({**DONE, "bytes": 64})
    first.close(complete=False)
    assert begun(tmp_path / "s").finished == {("bcast", 8, 16), ("bcast", 64, 16)}


def test_what_is_measured_again_is_kept_apart(tmp_path: Path) -> None:
    state = begun(tmp_path / "s")
    for again in (False, True):
        state.add(EVENT, again=again)
        state.add(DONE, again=again)
    state.close(complete=False)
    later = begun(tmp_path / "s")
    assert len(later.measurements) == len(later.again) == 1
    assert later.finished == later.finished_again == {("bcast", 8, 16)}
