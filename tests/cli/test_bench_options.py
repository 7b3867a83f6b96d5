# SPDX-License-Identifier: Apache-2.0
"""Checks what `antiphon bench` makes of its options, without a measurement."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.bench import presence
from antiphon.bench.testbed import Exit, HostTestbed
from antiphon.commands import _bench_patterns
from antiphon.commands.bench import split_algorithms
from antiphon.mpi import Mpi

NO_MPI = Mpi("mpich", "mpich", "MPICH", "5.0.2", "", "libmpi.so.12", Path("/"), Path("/libmpi.so.12"), None)


def test_commas_between_parameters_begin_no_algorithm() -> None:
    assert split_algorithms("rotated:piece_bytes=1,window=2,bruck,on") == [
        "rotated:piece_bytes=1,window=2",
        "bruck",
        "on",
    ]


def test_commas_between_parameters_begin_no_contender(command, monkeypatch) -> None:
    """GIVEN contenders of patterns with parameters THEN each is passed on whole."""
    asked = []
    monkeypatch.setattr(_bench_patterns, "run_benchmark", lambda *given: asked.append(given[3]))
    monkeypatch.setattr(_bench_patterns, "_show", lambda *_: None)
    with contextlib.suppress(IndexError):  # Nothing was measured.
        command("bench", "--pattern", "random", "--contenders", "library,antiphon:x:a=1,b=2,level1", "-n", 4)
    assert asked[0].contenders == ["library", "antiphon:x:a=1,b=2", "level1"]


@pytest.mark.parametrize(("options", "said"), [
    (["alltoall", "--pattern", "random"], "--pattern measures something else than collectives"),
    (["--presence", "--nonblocking"], "--presence measures something else than --nonblocking"),
    (["--overhead", "--algorithms", "all"], "--overhead measures something else than --algorithms"),
    (["alltoall", "--busy"], "--busy is about computations, which only --nonblocking has"),
    (["alltoall", "--contenders", "library"], "--contenders is for --pattern"),
])  # fmt: skip
def test_what_would_not_be_measured_is_refused(options: list[str], said: str, command) -> None:
    result = command("bench", "--mpi", "nothing", *options)
    assert result.returncode == 2 and said in result.stderr and "hint: " in result.stderr, result.stderr


def test_a_launch_has_more_time_than_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    class Recording(HostTestbed):
        def run(self, *_: object, timeout_s: float, on_line: Callable[[str], None], **__: object) -> Exit:
            limits.append(timeout_s)
            on_line(json.dumps({"call": "barrier", "bytes": 0, "ranks": 2, "samples": [1e-6]}))
            return Exit(0, "")

    presence.measure(Recording(), NO_MPI, 2, 1, 1000.0, lambda _: None)
    assert min(limits) > 1300
