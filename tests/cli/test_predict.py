# SPDX-License-Identifier: Apache-2.0
"""`antiphon predict` and `antiphon bench --profile`."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from antiphon import core, model, packed
from antiphon.bench import validation

ROOT = Path(__file__).resolve().parents[2]
PROFILE = ROOT / "tests/fuzz/corpus/profile/two_switches.json"
LAB = ROOT / "tests/data/ethernet-16-predicted.openmpi.json"
RESULTS = ROOT / "tests/data/ethernet-16-predicted.openmpi.results.json.gz"


def test_every_algorithm_is_predicted_with_its_parameters(command):
    ended = command(
        "predict", "bcast", "--ranks", 16, "--bytes", "256k", "--link-rate", "100mbit", "--sweep", "64k-256k", "--json"
    )
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert said["first_guess"]
    names = {p["algorithm"] for p in said["predictions"]}
    # Nothing says that multicast works here, no node has several ranks, and a connection fills a port.
    assert names == {a.name for a in core.algorithms("bcast")} - {"multicast", "nested", "chains"}
    times = [p["seconds"] for p in said["predictions"]]
    assert times == sorted(times)
    # No broadcast beats the wire, and the best one comes near its limit.
    wire = 262144 / (100e6 / 8 * 1448 / 1514)
    assert wire < times[0] < 1.3 * wire
    assert {entry["bytes"] for entry in said["sweep"]} == {65536, 131072, 262144}
    assert all(c["below"] != c["from"] for c in said["crossovers"])


def test_two_switches_are_slower_where_all_must_cross_the_uplink():
    text = PROFILE.read_text()
    two = model.predict("alltoall", [65536], model.ModelledMachine(16, 1, text), search=False)
    one = model.predict("alltoall", [65536], model.ModelledMachine(8, 1, text), search=False)
    assert two.sizes[65536][0].seconds > 5 * one.sizes[65536][0].seconds


@pytest.mark.parametrize("collective", ["bcast", "alltoall", "allgather", "allreduce"])
def test_very_many_ranks_take_seconds(collective):
    begin = time.process_time()
    for ranks in (4096, 16384):
        choice = {"bcast": "chain", "alltoall": "rotated", "allgather": "ring", "allreduce": "recursive_doubling"}[
            collective
        ]
        found = model.predict(collective, [1024], model.ModelledMachine(ranks), choices=[choice]).sizes[1024]
        assert found[0].seconds > 0
    assert time.process_time() - begin < 10


def test_the_chart_is_an_svg(command, tmp_path):
    pytest.importorskip("matplotlib")
    target = tmp_path / "chart.svg"
    ended = command("predict", "scatter", "--ranks", 8, "--bytes", "4k", "--svg", target)
    assert ended.returncode == 0, ended.stderr
    assert "</svg>" in target.read_text()
    again = command("predict", "scatter", "--ranks", 8, "--bytes", "4k", "--svg", target)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ('{"format": "antiphon-prof', "not valid JSON"),
        ('{"format": "something", "version": 1}', "format: not a profile"),
        ('{"format": "antiphon-profile", "version": 9}', "version: this profile has version 9"),
        ('{"format": "antiphon-profile", "version": 1}', 'the field "machine" is missing'),
    ],
)
def test_a_broken_profile_is_one_line_that_names_the_field(command, tmp_path, broken, said):
    path = tmp_path / "machine.json"
    path.write_text(broken)
    ended = command("predict", "bcast", "--ranks", 4, "--profile", path)
    assert ended.returncode == 2
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == 1
    assert said in errors[0]


@pytest.mark.parametrize(
    "words",
    [
        ("nothing", "--ranks", 4),
        ("bcast", "--ranks", 1),
        ("bcast", "--ranks", 4, "--bytes", "x"),
        ("bcast", "--ranks", 4, "--root", 4),
        ("bcast", "--ranks", 4, "--sweep", "8"),
    ],
)
def test_wrong_usage_is_said(command, words):
    ended = command("predict", *words)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error:")


def test_what_went_without_multicast_is_left_out():
    """GIVEN results of nodes without multicast THEN the algorithms that were measured are compared, and only they."""
    rows = [row for row in json.loads(packed.read_text(RESULTS))["results"] if row["collective"] == "bcast"][:8]
    without = {
        **rows[-1],
        "contender": "antiphon:multicast",
        "chosen": "multicast:window=2 without multicast: no group",
    }
    compared = validation.compare([*rows, without], LAB.read_text()).entries
    assert compared == validation.compare(rows, LAB.read_text()).entries


def test_a_quantile_is_the_least_value_that_so_many_do_not_exceed():
    assert [validation.quantile(range(1, 11), share) for share in (0, 0.05, 0.1, 0.5, 0.7, 0.9, 0.91, 1)] == [
        1, 1, 1, 5, 7, 9, 10, 10
    ]  # fmt: skip
    two = [validation.Compared("bcast", 8, 2, "MPICH", "sync", "chain", 1.0, 1 + error) for error in (0.25, 0.75)]
    assert "median error 50.0%, 90th percentile 75.0%" in validation.summary_lines(validation.ModelCheck(two))[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [("nodes", None), ("nodes", 0), ("ranks", 0), ("ranks", True), ("bytes", -1), ("median_s", None), ("median_s", 0)],
)
def test_rows_without_what_is_compared_are_said(field, value, tmp_path, command):
    rows = json.loads(packed.read_text(RESULTS))["results"][:2]
    rows[1][field] = value
    (tmp_path / "results.json").write_text(json.dumps({"results": rows}))
    done = command("bench", "--profile", LAB, "--results", tmp_path / "results.json")
    assert done.returncode == 2
    assert f"results.json: not results of `antiphon bench --json` (a result whose {field} is no number" in done.stderr


def test_the_model_holds_against_the_recorded_measurements():
    """GIVEN recorded results and the profile of their cluster THEN predictions are as near as is asked."""
    rows = json.loads(packed.read_text(RESULTS))["results"]
    compared = validation.compare(rows, LAB.read_text())
    errors = [abs(e.error) for e in compared.entries]
    assert len(errors) > 400
    assert validation.quantile(errors, 0.5) <= 0.10
    assert validation.quantile(errors, 0.9) <= 0.25
    picks = compared.picks()
    assert sum(p.ratio <= validation.AS_GOOD for p in picks) >= 0.9 * len(picks)


def test_what_was_measured_again_counts_as_in_the_last_file():
    def row(collective, contender, median_s):
        known = {"mpi": "Open MPI", "ranks": 4, "bytes": 1024, "mode": "sync"}
        return known | {"collective": collective, "contender": contender, "median_s": median_s}

    first = [row("bcast", "a", 1.0), row("bcast", "b", 2.0), row("scan", "a", 3.0)]
    again = [row("bcast", "a", 1.5)]
    assert validation.without_older([first, again]) == [[first[2]], again]
