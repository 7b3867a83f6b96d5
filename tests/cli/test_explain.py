# SPDX-License-Identifier: Apache-2.0
"""`antiphon explain`."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from antiphon import cli, core

DATA = Path(__file__).parent.parent / "data"

FAST_ETHERNET = ["--link-rate", "100mbit"]


def explain(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert cli.main(["explain", *args]) == 0
    return capsys.readouterr().out


def fail(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    try:
        code = cli.main(["explain", *args])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_the_choice_and_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    out = explain(capsys, "alltoall", "--ranks", "16", "--bytes", "64k", *FAST_ETHERNET)
    assert "alltoall of 64 KiB; 16 ranks on 16 nodes, 100mbit links\n" in out
    assert re.search(r"^used +rotated:piece_bytes=16384,window=", out, re.M)
    assert re.search(r"^because +long", out, re.M)
    assert "15 of whole messages, which are cut into 4 pieces" in out
    assert re.search(r"^a rank sends +\d+ messages( and tokens)?, 960 KiB$", out, re.M)
    assert "960 KiB = 1.00× the least possible" in out
    assert "limit 82.2 ms" in out
    assert "exchange_xor" in out


def test_the_grid_fits_a_terminal_of_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    for collective in core.collectives():
        size = [] if collective.name == "barrier" else ["--bytes", "64k"]
        out = explain(capsys, collective.name, "--ranks", "16", *size)
        assert max(map(len, out.splitlines())) <= 80, collective.name
        assert re.search(r"^rank +1 +2", out, re.M), collective.name


def test_the_grid_of_a_binomial_tree(capsys: pytest.CaptureFixture[str]) -> None:
    out = explain(capsys, "bcast", "--ranks", "4", "--bytes", "1k", "--algorithm", "binomial", "--root", "1")
    rows = [line.split() for line in out.splitlines() if re.match(r" +[0-3] ", line)]
    assert rows == [["0", "·", "←3"], ["1", "→3", "→2"], ["2", "·", "←1"], ["3", "←1", "→0"]]


def test_where_the_library_is_used_the_own_choice_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out = explain(capsys, "bcast", "--ranks", "8", "--bytes", "8")
    assert re.search(r"^used +library$", out, re.M)
    assert re.search(r"^if forced +binary", out, re.M)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--ranks-per-node", "16"], "all ranks are on one node"),
        (["--link-rate", "unknown"], "rate of the nodes' links is unknown"),
        (["--link-rate", "100gbit"], "up to 10 Gb/s"),
    ],
)
def test_where_the_table_stays_out(capsys: pytest.CaptureFixture[str], options: list[str], reason: str) -> None:
    out = explain(capsys, "alltoall", "--ranks", "16", "--bytes", "64k", *options)
    assert re.search(r"^used +library$", out, re.M)
    assert reason in out


def test_the_assumed_rate_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert "(assumed)" in explain(capsys, "alltoall", "--ranks", "4", "--bytes", "64k")
    assert "assumed" not in explain(capsys, "alltoall", "--ranks", "4", "--bytes", "64k", *FAST_ETHERNET)


def test_many_ranks_are_summarised(capsys: pytest.CaptureFixture[str]) -> None:
    out = explain(capsys, "alltoall", "--ranks", "128", "--ranks-per-node", "2", "--bytes", "64k")
    assert "128 ranks on 64 nodes" in out
    assert re.search("^rounds 1–127: 128 messages, 8 MiB( and 128 tokens)? each$", out, re.M)
    assert len(out.splitlines()) < 30
    out = explain(capsys, "alltoall", "--ranks", "5000", "--bytes", "64k")
    assert "not counted for more than 1024 ranks" in out


def test_one_rank_and_no_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    for collective in core.collectives():
        for ranks in ("1", "2"):
            size = [] if collective.name == "barrier" else ["--bytes", "0"]
            assert explain(capsys, collective.name, "--ranks", ranks, *size)


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(explain(capsys, "bcast", "--ranks", "16", "--bytes", "256k", *FAST_ETHERNET, "--json"))
    assert document["question"]["nodes"] == 16
    assert document["choice"]["algorithm"] == "chain"
    assert document["limit_bytes"] == 262144
    cost = document["cost"]
    assert cost["rounds"] == 15
    assert cost["wire_bytes"] == 262144 + 14 * 4096
    assert cost["messages"][0] == {"round": 1, "from": 0, "to": 1, "bytes": 262144}
    assert len(cost["ranks"]) == 16
    assert {a["algorithm"] for a in document["alternatives"]} >= {"flat", "binomial", "binary"}


def test_nonblocking_calls_have_their_own_choice(capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN the same call, nonblocking THEN it is held against what the library does for that."""
    options = ["bcast", "--ranks", "16", "--bytes", "1m", "--link-rate", "40gbit", "--mpi", "openmpi", "--json"]
    blocking, nonblocking = (json.loads(explain(capsys, *options, *more)) for more in ([], ["--nonblocking"]))
    assert nonblocking["question"]["nonblocking"] and not blocking["question"]["nonblocking"]
    assert "call" in {fact["name"] for fact in nonblocking["facts"]}
    # A binomial tree there, which sends the whole message four times; scattered and gathered here.
    assert nonblocking["choice"]["algorithm"] and "the library's longer" in nonblocking["choice"]["reason"]
    assert nonblocking["choice"]["reason"] != blocking["choice"]["reason"]


def test_ranks_that_share_cores_have_their_own_choice(capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN MPICH's broadcast on one node THEN it is replaced where ranks have no cores of their own."""
    options = ["bcast", "-n", "4", "--ranks-per-node", "4", "--bytes", "8k", "--mpi", "mpich", "--json"]
    own, shared = (json.loads(explain(capsys, *options, *more)) for more in ([], ["--shared-cores"]))
    assert own["choice"]["choice"] == "library"
    assert shared["choice"]["algorithm"] and shared["question"]["shares_cores"]


def test_a_profiles_decisions_are_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = [{"collective": "bcast", "use": "flat:segment_bytes=4k", "why": "measured here"}]
    profile = tmp_path / "profile.json"
    machine = json.loads((DATA / "ethernet-16.openmpi.json").read_text())
    profile.write_text(json.dumps(machine | {"decisions": {"version": 1, "rules": rules}}))
    out = explain(capsys, "bcast", "--ranks", "4", "--bytes", "64k", "--profile", str(profile))
    assert re.search(r"^used +flat:segment_bytes=4096", out, re.M)
    assert "measured here" in out
    profile.write_text(json.dumps(machine | {"link_classes": [{"name": "x", "scope": "switch", "latency_s": "fast"}]}))
    said = fail(capsys, "bcast", "--ranks", "4", "--bytes", "64k", "--profile", str(profile))
    assert "link_classes[0].latency_s: expected a number" in said


def test_svg(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "chain.svg"
    explain(capsys, "bcast", "--ranks", "5", "--bytes", "64k", "--algorithm", "chain", "--svg", str(file))
    root = ET.parse(file).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    # There are four links, and eight segments of 8 KiB each.
    tips = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert sum("8 KiB" in tip for tip in tips) == 32
    assert any(tip.startswith("3 → 4: 8 KiB") for tip in tips)
    assert f"{file} is there already" in fail(capsys, "bcast", "--ranks", "5", "--bytes", "64k", "--svg", str(file))
    for name, args in (("rounds", ["alltoall", "--bytes", "256k"]), ("tokens", ["barrier"])):
        drawn = tmp_path / f"{name}.svg"
        explain(capsys, args[0], *args[1:], "--ranks", "16", "--svg", str(drawn))
        assert "rounds, each port" in drawn.read_text()
    assert "nothing to draw (no messages)" in fail(capsys, "barrier", "--ranks", "1", "--svg", str(tmp_path / "x.svg"))
    levels = tmp_path / "levels.svg"
    nested = ["--ranks", "8", "--ranks-per-node", "4", "--bytes", "4k", "--algorithm", "nested:outer=0"]
    explain(capsys, "bcast", *nested, "--svg", str(levels))
    tips = [title.text or "" for title in ET.parse(levels).getroot().iter("{http://www.w3.org/2000/svg}title")]
    # Each node's three other ranks are told within it, and one message goes between the nodes.
    assert sum(tip.endswith("within the node") for tip in tips) == 6
    assert sum(tip.startswith("0 → 4: ") for tip in tips) == 1
    many = ["alltoall", "--ranks", "100", "--bytes", "1k", "--svg", str(tmp_path / "x.svg")]
    assert "more than 64 ranks" in fail(capsys, *many)


@pytest.mark.parametrize(
    ("args", "error", "hint"),
    [
        (["bcst", "--ranks", "4", "--bytes", "8"], "'bcst' is not a collective", "bcast, scatter"),
        (["bcast", "--ranks", "4", "--bytes", "8", "--algorithm", "chian"], "bcast has no algorithm 'chian'", "chain"),
        (["bcast", "--ranks", "4", "--bytes", "8", "--algorithm", "chain:windw=1"], "has no parameter windw", ""),
        (["allreduce", "--ranks=4", "--bytes=8", "--ordered", "--algorithm=ring"], "cannot solve", "rabenseifner"),
        (["bcast", "--ranks", "0", "--bytes", "8"], "--ranks 0", ""),
        (["bcast", "--ranks", "4", "--ranks-per-node", "0", "--bytes", "8"], "--ranks-per-node 0", ""),
        (["bcast", "--ranks", "4", "--bytes", "8", "--root", "4"], "--root 4", ""),
        (["bcast", "--ranks", "4"], "--bytes is missing", "--bytes 64k"),
        (["bcast", "--ranks", "4", "--bytes", "8x"], "--bytes: '8x'", ""),
        (["reduce", "--ranks", "4", "--bytes", "9"], "not a multiple", "--element-bytes"),
        (["bcast", "--ranks", "4", "--bytes", "9", "--element-bytes", "3"], "--element-bytes is for reductions", ""),
        (["bcast", "--ranks", "4", "--bytes", "8", "--link-rate", "fast"], "--link-rate: 'fast'", "unknown"),
        (["bcast", "--ranks", "4", "--bytes", "8", "--profile", "/nonexistent"], "No such file", ""),
        (["bcast", "--bytes", "8"], "--ranks", "--help"),
    ],
)
def test_what_is_wrong_is_said(capsys: pytest.CaptureFixture[str], args: list[str], error: str, hint: str) -> None:
    err = fail(capsys, *args)
    assert err.startswith("error: ")
    assert error in err
    assert hint in err.partition("hint:")[2]


@pytest.mark.parametrize(
    ("collective", "size", "options"),
    [
        ("alltoall", "64k", ["--mpi", "openmpi"]),
        ("bcast", "8", ["--link-rate", "100mbit"]),
        ("allgather", "16k", ["--profile", str(DATA / "gigabit-8.mpich.json")]),
        ("bcast", "256k", ["--profile", str(DATA / "ethernet-16-predicted.openmpi.json")]),
    ],
)
def test_explain_and_predict_have_one_answer(
    capsys: pytest.CaptureFixture[str], collective: str, size: str, options: list[str]
) -> None:
    """GIVEN one call THEN both commands show what a run uses first, and say the same of the model."""
    call = [collective, "--ranks", "8", "--bytes", size, *options]
    shown = explain(capsys, *call)
    assert cli.main(["predict", *call, "--no-sweep"]) == 0
    predicted = capsys.readouterr().out
    lines = [
        re.findall(rf"^{label} +\S.*(?:\n {{14}}.*)*", shown, re.M)[0] for label in ("used", "because", "the model")
    ]
    assert all(line in predicted for line in lines)
    said = json.loads(explain(capsys, *call, "--json"))
    assert cli.main(["predict", *call, "--no-sweep", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {key: answer[key] for key in said["expected"]} == said["expected"]
    assert answer["used"]["choice"] == said["choice"]["choice"]
    table = predicted[predicted.index("───") :].splitlines()[1]
    assert table.split()[:2] == ["used:", said["choice"]["choice"]]
    assert answer["fastest_by_model"]["seconds"] == answer["predictions"][0]["seconds"]


def test_several_switches(capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN two switches WHEN a call is explained THEN schedules for them can be shown, and a profile's are known."""
    call = ["allgather", "--ranks", "16", "--bytes", "64k", *FAST_ETHERNET]
    shown = json.loads(explain(capsys, *call, "--switches", "8,8", "--algorithm", "switch_rings", "--json"))
    assert shown["question"]["switch_sizes"] == [8, 8]
    across = sum(m["bytes"] for m in shown["cost"]["messages"] if (m["from"] < 8) != (m["to"] < 8))
    assert across == 16 * 65536
    assert "cannot solve this call" in fail(capsys, *call, "--algorithm", "switch_rings")
    assert "--switches: " in fail(capsys, *call, "--switches", "8,x")
    profile = str(DATA / "two-switches.openmpi.json")
    assert "switch_rings" in explain(capsys, "allgather", "--ranks", "16", "--bytes", "64k", "--profile", profile)


def test_the_table_is_for_tcp_over_ethernet(capsys: pytest.CaptureFixture[str]) -> None:
    call = ("alltoall", "--ranks", "16", "--bytes", "64k", "--json")
    assert json.loads(explain(capsys, *call))["choice"]["algorithm"] == "rotated"
    other = json.loads(explain(capsys, *call, "--transport", "other"))["choice"]
    assert other["algorithm"] is None
    assert "do not travel by TCP over Ethernet" in other["reason"]
