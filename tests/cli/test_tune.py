# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon tune` and `antiphon export`: wrong usage and bad input give an error of one line.

What they measure is tested in tests/lab.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.bench.testbed import Exit, HostTestbed
from antiphon.model import limits
from antiphon.tune import document, predictors

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nothing"], "no collective named 'nothing'"),
        (["--budget", 1], "at least 5 seconds"),
        (["--budget", "nan"], "not a finite number"),
        (["-n", 1], "at least 2 ranks"),
        (["--modes", "fast"], "no mode named 'fast'"),
        (["--bytes", "1x"], "--bytes"),
        (["--lab", "no-such-cluster"], "no-such-cluster"),
        (["--mpi", "nothing"], "nothing"),
        (["--lab", "--link-rate", "1gbit"], "not for a lab"),
    ],
)
def test_wrong_usage_of_tune(command: Command, args: list[object], said: str) -> None:
    result = command("tune", *args)
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cut short"),
        ('{"format": "other"}', "not 'antiphon-profile'"),
        ('{"format": "antiphon-profile", "version": 99}', "99 is newer"),
        ('{"format": "antiphon-profile", "version": 1}', "machine"),
    ],
)
@pytest.mark.parametrize("words", [("tune",), ("export", "--to", "openmpi-rules")])
def test_a_bad_profile(command: Command, tmp_path: Path, words: tuple[str, ...], text: str, said: str) -> None:
    (tmp_path / "machine.json").write_text(text)
    result = command(*words)
    assert result.returncode == 2
    assert said in result.stderr
    assert result.stderr.count("error:") == 1
    assert (tmp_path / "machine.json").read_text() == text


def test_a_hand_broken_profile(command: Command, tmp_path: Path) -> None:
    network = limits.Network.blocks(4, 1, 95.6e6)
    profile = document.first_guess("four", network.node_of_rank, network)
    profile["link_classes"][0]["latency_s"] = "fast"
    (tmp_path / "machine.json").write_text(json.dumps(profile))
    result = command("tune", "--lab")
    assert result.returncode == 2
    assert "machine.json: link_classes[0].latency_s" in result.stderr
    assert result.stderr.count("\n") == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "--to is missing"),
        (["--to", "nothing"], "no such format"),
        (["--to", "openmpi-rules"], "No such file"),
        (["--to", "openmpi-rules", "bcast"], "takes no collective"),
        (["--to", "goal"], "needs a collective and --ranks"),
        (["--to", "goal", "bcast", "--ranks", 4], "--bytes is missing"),
        (["--to", "goal", "nothing", "--ranks", 4], "is not a collective"),
        (["--to", "goal", "bcast", "--ranks", 0, "--bytes", 8], "must be at least 1"),
        (["--to", "goal", "bcast", "--ranks", 4, "--bytes", 8, "--algorithm", "nothing"], "no algorithm"),
        (["--to", "goal", "bcast", "--ranks", 4, "--bytes", 8, "--root", 4], "--root 4"),
        (["--to", "goal", "bcast", "--ranks", 4, "--bytes", 8, "-o", "no/such/folder"], "cannot write"),
    ],
)
def test_wrong_usage_of_export(command: Command, args: list[object], said: str) -> None:
    result = command("export", *args)
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def measured_on_two_nodes(*_: object, on_line: Callable[[str], None], **__: object) -> Exit:
    """Stands for a testbed's run(): two ranks on two nodes measure nothing, and one contender gives a wrong result."""
    about = {"collective": "bcast", "bytes": 8, "contender": "antiphon:chain"}
    for event in ({"event": "start", "node_of_rank": [0, 1]}, {"event": "wrong", "why": "2 wrong elements"} | about,
                  {"event": "skipped", "why": "too few ranks"} | about):  # fmt: skip
        on_line(json.dumps(event))
    return Exit(0, "")


def test_a_wrong_result_is_said_and_written_with_json(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN results on stdout THEN they name what was wrong and left out, and stderr says what was wrong."""
    monkeypatch.setattr(HostTestbed, "run", measured_on_two_nodes)
    result = command("tune", "bcast", "--bytes", 8, "-n", 2, "--link-rate", "100mbit", "--json")
    assert result.returncode == 1
    assert "error: bcast 8 B antiphon:chain: 2 wrong elements\n" in result.stderr
    ((label, told),) = json.loads(result.stdout).items()
    about = {"mpi": label, "collective": "bcast", "bytes": 8, "contender": "antiphon:chain"}
    assert told["wrong"] == [about | {"why": "2 wrong elements"}]
    assert told["skipped"] == [about | {"why": "too few ranks"}]


def test_without_a_rate_the_profiles_links_count(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a profile of links of 100 Mb/s THEN the cells are those of --link-rate 100mbit: long calls are left out, or
    have few contenders."""

    def run(*_: object, on_line: Callable[[str], None], **__: object) -> Exit:
        on_line(json.dumps({"event": "start", "node_of_rank": list(range(16))}))
        return Exit(0, "")

    monkeypatch.setattr(HostTestbed, "run", run)
    monkeypatch.setattr(predictors, "of", lambda *_: lambda _point, _choices: {})  # which would take seconds
    network = limits.Network.blocks(16, 1, 1e8 * limits.PAYLOAD_SHARE)
    document.write(Path("machine.json"), document.first_guess("sixteen", network.node_of_rank, network))
    words = ["tune", "bcast", "alltoall", "--bytes", "8,64k,1m", "--whole", "--mpi", "openmpi", "--budget", 120]
    told, given = (
        json.loads(command(*words, *more, "--dry-run", "--json").stdout) for more in ([], ["--link-rate", "100mbit"])
    )
    assert told == given
    [plan] = told.values()
    assert plan["too_long"] == 1


def test_decisions_that_another_tuning_has_written_meanwhile_stay(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """GIVEN a tuning that ends while this one measures THEN the profile has the decisions of both."""
    path = tmp_path / "machine.json"
    network = limits.Network.blocks(2, 1, 95.6e6)
    earlier = document.first_guess("two", network.node_of_rank, network)
    document.write(path, earlier)
    theirs = {"collective": "alltoall", "mpi": "mpich", "ranks_per_node": [1, 1], "use": "library", "why": "measured"}

    def run(*_: object, on_line: Callable[[str], None], **__: object) -> Exit:
        if path.with_suffix(".tune-openmpi.jsonl").exists():
            document.write(path, earlier | {"decisions": {"version": 1, "rules": [theirs]}})
            for use, seconds in (("library", 2.0), ("antiphon:chain", 1.0)):
                samples = [seconds + i / 1000 for i in range(11)]
                row = {"collective": "bcast", "bytes": 8, "ranks": 2, "mode": "sync", "calls_per_sample": 1}
                chosen = use.removeprefix("antiphon:")
                row |= {"contender": use, "chosen": chosen, "samples": samples}
                on_line(json.dumps({"event": "result"} | row))
            on_line(json.dumps({"event": "cell_done", "collective": "bcast", "bytes": 8, "ranks": 2}))
        on_line(json.dumps({"event": "start", "node_of_rank": [0, 1]}))
        return Exit(0, "")

    monkeypatch.setattr(HostTestbed, "run", run)
    words = ["bcast", "--bytes", 8, "--modes", "sync", "-n", 2, "--mpi", "openmpi", "--link-rate", "100mbit"]
    result = command("tune", *words, "--json", "--no-keep")
    assert result.returncode == 0, result.stderr
    [told] = json.loads(result.stdout).values()
    assert [rule["use"] for rule in told["rules"]] == ["chain"]
    assert json.loads(path.read_text())["decisions"]["rules"] == [*told["rules"], theirs]


def test_a_profile_without_measurements(command: Command, tmp_path: Path) -> None:
    network = limits.Network.blocks(4, 1, 95.6e6)
    (tmp_path / "machine.json").write_text(json.dumps(document.first_guess("x", network.node_of_rank, network)))
    result = command("export", "--to", "mpich-json")
    assert result.returncode == 2
    assert "hint: `antiphon tune --for-export --mpi mpich" in result.stderr


def test_formats_are_listed(command: Command) -> None:
    listed = json.loads(command("export", "--list", "--json").stdout)
    assert {"goal", "mpich-json", "openmpi-json", "openmpi-rules", "ucc", "intel"} <= set(listed)


def test_a_schedule_as_goal(command: Command, tmp_path: Path) -> None:
    words = ("export", "--to", "goal", "alltoall", "--ranks", 4, "--bytes", "64k", "-o", "a.goal")
    assert command(*words).returncode == 0
    lines = (tmp_path / "a.goal").read_text().splitlines()
    assert lines[0] == "num_ranks 4"
    assert sum(line.startswith("rank ") for line in lines) == 4
    again = command(*words)
    assert again.returncode == 2
    assert "is there already" in again.stderr
    data = json.loads(command(*words[:-2], "--json").stdout)
    assert data["text"].splitlines() == lines
