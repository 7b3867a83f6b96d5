# SPDX-License-Identifier: Apache-2.0
"""Checks what the demonstration reads from its programs, and what it computes from that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from antiphon.bench.demonstration import EXAMPLES, ExampleRuns, most_used, parse_report, usual_ranks
from antiphon.errors import AntiphonError
from antiphon.model.limits import Network

OUTPUT = """integer_sort class W: 10 rounds of 1048576 keys up to 65535 on 4 ranks
phases (mean over ranks): count 0.0100 s, allreduce 0.2000 s, alltoallv 1.5000 s, rank 0.0300 s
traffic: 10 x allreduce 4096 B, 10 x alltoallv 262144 B
time: {time} s
result: {result}
"""


def test_report() -> None:
    report = parse_report(OUTPUT.format(time="1.75", result="verified"))
    assert report.time_s == 1.75
    assert report.phases_s["alltoallv"] == 1.5
    assert [(part.calls, part.collective, part.bytes) for part in report.traffic] == [
        (10, "allreduce", 4096),
        (10, "alltoallv", 262144),
    ]


def test_a_wrong_result_is_an_error() -> None:
    with pytest.raises(AntiphonError, match="WRONG") as error:
        parse_report(OUTPUT.format(time="1", result="WRONG"))
    assert error.value.exit_code == 1


def test_no_result_is_an_error() -> None:
    with pytest.raises(AntiphonError, match="missing"):
        parse_report("something else")


def test_comparison() -> None:
    comparison = ExampleRuns(EXAMPLES[0])
    for plain, with_antiphon in (("4.0", "1.0"), ("6.0", "2.0"), ("5.0", "9.0")):
        comparison.plain.append(parse_report(OUTPUT.format(time=plain, result="verified")))
        comparison.antiphon.append(parse_report(OUTPUT.format(time=with_antiphon, result="verified")))
    assert comparison.speed_up == pytest.approx(5.0 / 2.0)
    assert comparison.phase_s("plain", "") == pytest.approx(0.04)
    network = Network.blocks(4, 1, 8e6)
    assert comparison.limit_s(network, "alltoallv") == pytest.approx(10 * 3 * 262144 / 1e6)
    assert comparison.limit_s(network) == pytest.approx(10 * (3 * 262144 + 1.5 * 4096) / 1e6)
    assert comparison.limit_s(None) is None


def test_the_library_s_calls_are_no_merit(tmp_path: Path) -> None:
    """GIVEN a collective left to the library THEN a shorter time in it is no speed-up, and its waiting is shown."""
    row = {"least_bytes": 8, "most_bytes": 8, "calls": 1, "bytes": 8, "share": 0.1, "max_time_s": 1, "reason": None}
    rows = [
        {**row, "collective": "allreduce", "algorithm": "library", "time_s": 0.3, "waiting_s": 0.27},
        {**row, "collective": "allreduce", "algorithm": "ring", "time_s": 0.1, "waiting_s": 0.03},
        {**row, "collective": "alltoallv", "algorithm": "credit", "time_s": 0.5, "waiting_s": None},
    ]
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps({"version": 2, "ranks": 2, "collectives": rows}))
    comparison = ExampleRuns(EXAMPLES[0])
    comparison.plain.append(parse_report(OUTPUT.format(time="4", result="verified")))
    faster = OUTPUT.replace("0.2000", "0.0100").replace("1.5000", "0.5000")
    comparison.antiphon.append(parse_report(faster.format(time="1", result="verified")))
    comparison.used.update(most_used(summary))
    assert comparison.phase_speed_up("allreduce") is None, "20 times less waiting"
    assert comparison.phase_speed_up("alltoallv") == pytest.approx(3)
    assert str(comparison.used["allreduce"]) == "library; 75.0 % waiting"
    (shown,) = [p for p in comparison.to_json(None)["phases"] if p["phase"] == "allreduce"]
    assert (shown["used"], shown["speed_up"], shown["waiting"]) == ("library", None, pytest.approx(0.75))


@pytest.mark.parametrize(("ranks", "expected"), [(1, 1), (4, 4), (16, 16), (29, 16), (64, 32)])
def test_usual_ranks(ranks: int, expected: int) -> None:
    assert usual_ranks(ranks) == expected
