# SPDX-License-Identifier: Apache-2.0
"""Checks what `antiphon bench codecs` and `antiphon compress-test` print, not how fast anything is."""

from __future__ import annotations

import json
import math
import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.bench import codec_tables
from antiphon.codec import messages
from antiphon.codec.messages import Message
from antiphon.commands import bench

Command = Callable[..., "subprocess.CompletedProcess[str]"]
OURS = {"antiphon", "spatial", "temporal", "dfcm", "copy"}


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """Writes smooth doubles to two neighbours, some short messages, and some that are not doubles."""
    path = tmp_path / "wave.msgs"
    with path.open("wb") as file:
        for step in range(6):
            for neighbour in range(2):
                wave = struct.pack("<2000d", *(math.sin(i / 200 + step / 10 + neighbour) for i in range(2000)))
                messages.write(file, Message("f64", 2, neighbour, 7, wave))
            messages.write(file, Message("i32", 1, 0, 1, struct.pack("<300i", *range(300))))
            messages.write(file, Message("bytes", 1, 0, 2, b"abc"))
    return path


def test_bench_as_sent(command: Command, stream: Path) -> None:
    result = command("bench", "codecs", "--messages", stream, "--modes", "sent", "--budget", 0, "--json", "-")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    rows = {row["contender"]: row for row in document["results"]}
    assert rows.keys() >= OURS
    raw = sum(len(message.payload) for message in messages.read(stream))
    for row in rows.values():
        assert (row["source"], row["kind"], row["bytes"], row["mode"]) == ("wave", "file", 0, "sent")
        assert (row["messages"], row["raw_bytes"]) == (24, raw)
        assert row["frame_bytes"] <= raw * 17 / 16 + 24 * 8 + 8
        assert len(row["encode_s"]) == len(row["decode_s"]) == 3
        assert row["encode_least_s"] <= min(row["encode_s"]) * 1.000001
        assert row["rate"] == pytest.approx(raw / row["frame_bytes"])
    assert rows["copy"]["frame_bytes"] == raw + 24 * 8
    assert rows["antiphon"]["rate"] > 1.4
    assert rows["dfcm"]["rate"] > 1.4


def test_bench_sizes_warm_and_cold(command: Command, tmp_path: Path) -> None:
    result = command(
        "bench",
        "codecs",
        "--generated",
        "heat,random",
        "--bytes",
        "1k,64k",
        "--modes",
        "warm,cold",
        "--codecs",
        "antiphon,dfcm,copy",
        "--budget",
        0,
        "--json",
        "out.json",
    )
    assert result.returncode == 0, result.stderr
    assert "1 KiB" in result.stdout
    rows = json.loads((tmp_path / "out.json").read_text())["results"]
    cells = {(row["source"], row["bytes"], row["mode"], row["contender"]) for row in rows}
    assert len(cells) == len(rows) == 2 * 2 * 2 * 3
    by_name = {(row["source"], row["bytes"], row["mode"], row["contender"]): row for row in rows}
    noise = by_name["random", 65536, "warm", "antiphon"]
    assert noise["frame_bytes"] <= noise["raw_bytes"] + 8 * noise["messages"]
    assert by_name["random", 65536, "warm", "dfcm"]["rate"] < 0.96
    assert by_name["heat", 65536, "warm", "antiphon"]["rate"] > 1.1


def test_generated_messages_are_the_same_for_the_same_seed(command: Command) -> None:
    def frames(seed: int) -> list[int]:
        result = command(
            "bench", "codecs", "--modes", "sent", "--codecs", "dfcm", "--budget", 0, "--seed", seed, "--json"
        )
        assert result.returncode == 0, result.stderr
        return [row["frame_bytes"] for row in json.loads(result.stdout)["results"]]

    first = frames(1)
    assert len(first) >= 15
    assert frames(1) == first
    assert frames(2) != first


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--messages", __file__], "is no message file"),
        (["--messages", "absent"], "absent: No such file"),
        (["--generated", "poems"], "no messages are named 'poems'"),
        (["--modes", "sync,warm"], "no mode 'sync'"),
        (["--codecs", "magic"], "no codec is named magic"),
        (["alltoall"], "one after the other"),
    ],
)
def test_wrong_usage_of_bench(command: Command, args: list[str], said: str) -> None:
    result = command("bench", "codecs", *args)
    assert result.returncode in (1, 2)
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("options", "budget_s", "bytes_per_s"), [
    ([], 0.3, 12.5e6),
    (["--budget", "5", "--link-rate", "1gbit"], 5.0, 1.25e8),
    (["--budget", "0", "--link-rate", "1000000000"], 0.0, 1.25e8),
])  # fmt: skip
def test_budget_and_rate_are_those_that_are_given(options: list[str], budget_s: float, bytes_per_s: float) -> None:
    """GIVEN the default of collectives as a budget THEN it is the budget all the same; a plain number counts bits."""
    args = cli.load("bench")[0].parse_args(["codecs", *options])
    made = codec_tables.benchmark_of(args, ["wave"], bench.DEFAULT_BYTES, bench.DEFAULT_MODES)
    assert (made.budget_s, made.wire_bytes_per_s) == (budget_s, bytes_per_s)


def test_a_damaged_message_file(command: Command, stream: Path) -> None:
    stream.write_bytes(stream.read_bytes()[:-1])
    result = command("bench", "codecs", "--messages", stream)
    assert result.returncode == 1
    assert "cut off" in result.stderr


def test_compress_test_on_steps(command: Command, tmp_path: Path) -> None:
    generator = random.Random(2)
    rough = [generator.random() for _ in range(5000)]
    for step in range(6):
        (tmp_path / f"step{step}.raw").write_bytes(struct.pack("<5000d", *(value + step * 1e-7 for value in rough)))
    files = [f"step{step}.raw" for step in range(6)]
    options = ["--type", "f64", "--message-bytes", "20k", "--budget", "0"]
    result = command("compress-test", *files, *options, "--link-rate", "10mbit")
    assert result.returncode == 0, result.stderr
    assert "6 files: 12 messages" in result.stdout
    assert "Compress: `antiphon run --compress auto`" in result.stdout
    rows = json.loads(command("compress-test", *files, *options, "--link-rate", "10mbit", "--json").stdout)["results"]
    ours = next(row for row in rows if row["contender"] == "antiphon")
    assert ours["rate"] > 1.5  # each step is predicted from the one before
    assert ours["verdict"] == "on"
    assert ours["serial_speed_up"] > 1.3
    assert ours["serial_break_even_bytes_per_s"] < ours["overlapped_break_even_bytes_per_s"]


def test_compress_test_says_when_not_to(command: Command, tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(random.Random(1).randbytes(200_000))
    result = command("compress-test", "noise", "--budget", 0, "--link-rate", "1gbit")
    assert "Leave compression off; these messages hardly become shorter" in result.stdout
    result = command("compress-test", "noise", "--budget", 0)
    assert "would not help" in result.stdout


def test_compress_test_with_a_profile(command: Command, stream: Path, tmp_path: Path) -> None:
    nodes = [{"switch": "a", "port_bytes_per_s": 1.2e7, "count": 4}]
    profile = {"machine": {"ranks_per_node": 4}, "topology": {"switches": [{"name": "a"}], "nodes": nodes}}
    (tmp_path / "p.json").write_text(json.dumps(profile))
    result = command("compress-test", stream, "--profile", "p.json", "--budget", 0, "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["bytes_per_s"] == 3e6
    (tmp_path / "p.json").write_text("{}")
    assert "is no profile" in command("compress-test", stream, "--profile", "p.json").stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "give either FILEs or --trace"),
        (["absent"], "absent: No such file"),
        (["--trace", "t"], "the network must be known"),
        (["--trace", __file__, "--link-rate", "1gbit"], "trace"),
        ([__file__, "--link-rate", "fast"], "fast"),
        ([__file__, "--message-bytes", "64q"], "64q"),
        ([__file__, "--profile", "absent.json"], "absent.json"),
    ],
)
def test_wrong_usage_of_compress_test(command: Command, args: list[str], said: str) -> None:
    result = command("compress-test", *args)
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
