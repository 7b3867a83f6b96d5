# SPDX-License-Identifier: Apache-2.0
"""`antiphon explain --pattern` and `--plan`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from antiphon import cli, patterns
from antiphon.patterns import compiled

FIGURE_3 = [[0, 1, 1048576], [1, 3, 1048576], [0, 2, 10240], [2, 3, 100], [1, 5, 100], [2, 1, 100]]


@pytest.fixture
def figure_3(tmp_path: Path) -> Path:
    """Writes paper 1's worked example."""
    file = tmp_path / "figure3.json"
    file.write_text(json.dumps({"version": 1, "size": 6, "messages": FIGURE_3}))
    return file


def explain(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert cli.main(["explain", *args]) == 0
    return capsys.readouterr().out


def test_every_scheduler_is_compared(capsys: pytest.CaptureFixture[str], figure_3: Path) -> None:
    out = explain(capsys, "--pattern", str(figure_3), "--link-rate", "100mbit")
    for name in ("greedy", "all_to_all", "edge_colouring", "critical_first", "splitting"):
        assert name in out
    assert "lower bound" in out and "best" in out
    assert "figure3: 6 messages" in out


def test_the_answer_as_data(capsys: pytest.CaptureFixture[str], figure_3: Path) -> None:
    answer = json.loads(explain(capsys, "--pattern", str(figure_3), "--json"))
    # Node 0 sends 1 MiB + 10 KiB, node 1 1 MiB + 100 B.
    assert answer["bound"]["node_bytes"] == 1048576 + 10240
    for candidate in answer["candidates"]:
        parts = [part for phase in candidate["phases"] for part in phase["parts"]]
        assert sum(part[3] for part in parts) == sum(m[2] for m in FIGURE_3)
        assert candidate["expected_s"] >= answer["bound"]["seconds"]
    times = [candidate["expected_s"] for candidate in answer["candidates"]]
    assert times == sorted(times)


def test_a_picture(capsys: pytest.CaptureFixture[str], figure_3: Path, tmp_path: Path) -> None:
    svg = tmp_path / "phases.svg"
    explain(capsys, "--pattern", str(figure_3), "--svg", str(svg))
    texts = [element.text or "" for element in ET.parse(svg).iter()]
    assert any("lower bound" in text for text in texts)
    assert cli.main(["explain", "--pattern", str(figure_3), "--svg", str(svg)]) == 2  # it is there already


def test_uplinks_count(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--pattern", "uniform:64k", "--ranks", "16", "--link-rate", "100mbit", "--json"]
    one = json.loads(explain(capsys, *args))
    two = json.loads(explain(capsys, *args, "--switches", "8,8", "--uplink-rate", "100mbit"))
    assert one["bound"]["node_bytes"] == 15 * 65536
    assert two["bound"]["uplink_bytes"] == 64 * 65536
    assert "uplink_first" in [candidate["scheduler"] for candidate in two["candidates"]]


def test_a_plan_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(compiled.compile_plan([(patterns.named("random", 16), 42)], {}))
    assert "seen 42 times" in explain(capsys, "--plan", str(plan))
    answer = json.loads(explain(capsys, "--plan", str(plan), "--json"))
    assert answer["patterns"][0]["messages"] == 240


def test_the_size_is_that_of_the_plan_or_the_pattern(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """GIVEN 20 ranks in a file THEN nodes and switches are those of 20."""
    plan, pattern = tmp_path / "plan.json", tmp_path / "pattern.json"
    plan.write_text(compiled.compile_plan([(patterns.named("uniform:8", 20), 1)], {}))
    messages = [[0, rank, 65536] for rank in range(1, 20)]
    pattern.write_text(json.dumps({"version": 1, "size": 20, "messages": messages}))
    assert "380 messages" in explain(capsys, "--plan", str(plan), "--ranks-per-node", "4")
    answer = json.loads(explain(capsys, "--pattern", str(pattern), "--ranks-per-node", "4", "--json"))
    assert answer["bound"]["node_bytes"] == 16 * 65536
    answer = json.loads(explain(capsys, "--pattern", str(pattern), "--switches", "2,18", "--json"))
    assert answer["bound"]["uplink_bytes"] == 18 * 65536


def test_an_empty_phase_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = json.loads(compiled.compile_plan([(patterns.named("uniform:8", 2), 42)], {}))
    document["patterns"][0]["phases"].append({"parts": []})
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(document))
    assert "2 messages in 2 phases" in explain(capsys, "--plan", str(plan))
    assert json.loads(explain(capsys, "--plan", str(plan), "--json"))["patterns"][0]["phases"][1]["longest_bytes"] == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--pattern", "nothing"], "no pattern or file named"),
        (["--plan", "missing.json"], "cannot read the plan"),
        ([], "a collective and --ranks, or --pattern, or --plan"),
        (["--pattern", "uniform", "--switches", "a"], "--switches"),
    ],
)
def test_what_is_wrong(capsys: pytest.CaptureFixture[str], args: list[str], said: str) -> None:
    assert cli.main(["explain", *args]) == 2
    assert said in capsys.readouterr().err


def test_a_broken_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"version": 1, "patterns": [{"collective": "bcast"}]}')
    assert cli.main(["explain", "--plan", str(plan)]) == 2
    assert "patterns[0]" in capsys.readouterr().err


def test_the_papers_random_pattern() -> None:
    pattern = patterns.named("random", 16)
    sizes = [bytes_ for _, _, bytes_ in pattern.messages]
    assert (sizes.count(65536), sizes.count(16384), sizes.count(100)) == (160, 20, 60)
    assert pattern == patterns.named("random", 16)
    assert pattern != patterns.named("random", 16, seed=1)
