# SPDX-License-Identifier: Apache-2.0
"""`antiphon cluster`, `antiphon predict --cluster` and `antiphon simulate`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from antiphon.cluster import files, profile

ROOT = Path(__file__).resolve().parents[2]
TAURUS = ROOT / "tests/data/taurus"
FIT = (
    "cluster", "fit", "--rate", "10gbit", "--calls", TAURUS / "point_to_point.csv", "--one-way",
    TAURUS / "saturation_send.csv", "--pairs", TAURUS / "saturation_sendrecv_same.csv", "--ring",
    TAURUS / "saturation_sendrecv_diff.csv",
)  # fmt: skip


GRID = ROOT / "tests/data/grid.plan"


def test_clusters_are_listed_and_shown(command, tmp_path):
    listed = json.loads(command("cluster", "list", "--json").stdout)
    assert {"25gbe-64x32", "100gbe-1024x64", "ethernet-16"} <= {spec["name"] for spec in listed}
    shown = command("cluster", "show", "25gbe-64x32", "--profile-out", tmp_path / "machine.json")
    assert shown.returncode == 0, shown.stderr
    assert "assumed" in shown.stdout
    predicted = command(
        "predict", "bcast", "--ranks", 64, "--ranks-per-node", 32, "--bytes", "64k", "--no-sweep", "--defaults",
        "--json", "--profile", tmp_path / "machine.json",
    )  # fmt: skip
    assert json.loads(predicted.stdout)["machine"] == "25gbe-64x32"


def test_a_fit_writes_a_cluster_that_predict_reads(command, tmp_path):
    ended = command(*FIT, "-o", tmp_path / "own.toml", "--json")
    assert ended.returncode == 0, ended.stderr
    compared = json.loads(ended.stdout)["compared"]
    assert max(abs(one["error"]) for one in compared if not one["used"]) < 0.10
    said = command("predict", "alltoall", "--cluster", tmp_path / "own.toml", "--bytes", 4000000, "--ranks", 4,
                    "--defaults", "--no-sweep", "--json")  # fmt: skip
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    estimate = told["estimate"]
    # The hosts move 4 MB each way in 4.85 ms, and two that exchange over one connection need longer.
    assert 3 * 4.8e-3 < estimate["library"]["typical_s"] < 4 * 4.85e-3
    assert estimate["limit_binds"] == told["limit_binds"] == "host"
    assert estimate["limit_s"] == told["limit_s"]
    assert command(*FIT, "-o", tmp_path / "own.toml").returncode == 2


def test_all_collectives_of_a_cluster_as_table_json_and_page(command, tmp_path):
    small = tmp_path / "small.toml"
    small.write_text('rate = "10gbit"\nnodes = 8\n')
    page = tmp_path / "page.html"
    ended = command("predict", "bcast", "--cluster", small, "--bytes", "1k,1m", "--html", page, "--json")
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert [one["bytes"] for one in said["estimates"]] == [1024, 1 << 20]
    for one in said["estimates"]:
        assert one["antiphon"]["low_s"] <= one["antiphon"]["typical_s"] <= one["antiphon"]["high_s"]
        assert one["gain"]["typical"] >= 1
    text = page.read_text()
    assert "What Antiphon would gain on small" in text
    assert 'src="http' not in text and 'href="http' not in text
    table = command("predict", "--cluster", small, "--bytes", "1k")
    assert table.returncode == 0, table.stderr
    assert "Nothing here was measured" in table.stdout
    assert "allreduce" in table.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("predict", "bcast", "--cluster", "nowhere"), "no cluster named 'nowhere'"),
        (("predict", "bcast", "--cluster", "10gbe-12", "--ranks", 13), "do not fit"),
        (("predict", "--cluster", "10gbe-12", "--profile", "x.json"), "leave --profile"),
        (("predict", "bcast", "--cluster", "10gbe-12", "--root", 12), "--root 12: not one of the 12 ranks"),
        (("predict", "bcast"), "--ranks is missing"),
        (("predict", "--ranks", 4), "a collective is missing"),
        (("predict", "bcast", "--ranks", 4, "--html", "x.html"), "--html needs --cluster"),
        (("cluster", "show", "nowhere.toml"), "does not exist"),
        (("cluster", "fit", "--rate", "1gbit", *(w for o in ("calls", "one-way", "pairs", "ring")
          for w in (f"--{o}", "/dev/null"))), "no rows"),
        (("simulate", "bcast", "--cluster", "10gbe-12", "--smpirun", "/nowhere/smpirun"), "is not there"),
        (("simulate", "bcast", "--plan", GRID, "--cluster", "ethernet-16", "--smpirun", "/bin/true"),
         "a plan has its own collectives"),
        (("simulate", "--plan", GRID, "--cluster", "10gbe-12", "--smpirun", "/bin/true"), "16 ranks do not fit"),
    ],
)  # fmt: skip
def test_wrong_usage_is_said(command, words, said):
    ended = command(*words)
    assert ended.returncode == 2
    assert said in ended.stderr


#: Replays nothing, but reads all that it is given: each rank has a host and a trace, and each message both its ends.
STAND_IN = f"""#!{sys.executable} -IS
import sys
import xml.etree.ElementTree
from pathlib import Path

words = sys.argv[1:]
given = {{name: words[words.index(name) + 1] for name in ("-np", "-platform", "-hostfile", "-replay")}}
hosts, traces = (Path(given[name]).read_text().split() for name in ("-hostfile", "-replay"))
assert len(hosts) == len(traces) == int(given["-np"])
assert set(hosts) <= {{host.get("id") for host in xml.etree.ElementTree.parse(given["-platform"]).iter("host")}}
ends = {{"isend": [], "irecv": []}}
for rank, trace in enumerate(traces):
    actions = [line.split() for line in Path(trace).read_text().splitlines()]
    assert all(action[0] == str(rank) for action in actions)
    assert (actions[0][1], actions[-1][1]) == ("init", "finalize")
    assert {{action[1] for action in actions[1:-1]}} <= {{*ends, "wait", "compute", "sleep"}}
    for _, kind, *rest in actions:
        if kind in ends:
            peer, tag, size = rest
            pair = (str(rank), peer) if kind == "isend" else (peer, str(rank))
            ends[kind].append((*pair, tag, size))
assert sorted(ends["isend"]) == sorted(ends["irecv"]) != []
print("Simulation time 0.5")
"""


@pytest.fixture
def smpirun(tmp_path):
    """Makes a stand-in for SimGrid's program in a folder of the current directory."""
    path = tmp_path / "fake" / "smpirun"
    path.parent.mkdir()
    path.write_text(STAND_IN)
    path.chmod(0o755)
    return path


def test_the_simulator_may_be_named_from_here(command, smpirun, tmp_path, monkeypatch):
    """GIVEN a path that begins here, or such an entry of the PATH THEN the program is found from where it runs."""
    words = ("simulate", "bcast", "--cluster", "10gbe-12", "-n", 2, "--algorithms", "chain", "--json")
    assert command(*words, "--smpirun", "fake/smpirun").returncode == 0
    monkeypatch.setenv("PATH", "fake:" + os.environ["PATH"])
    assert json.loads(command(*words).stdout)["simulated"][0]["smpi_s"] == 0.5


def test_a_plans_patterns_are_simulated(command, smpirun, tmp_path):
    """GIVEN plans as commands write them THEN each pattern is a row; GIVEN one without patterns THEN that is said."""
    plan = json.loads(GRID.read_text())
    (pattern,) = plan.pop("patterns")
    (tmp_path / "compiled.json").write_text(json.dumps({"version": 1, "patterns": [pattern, pattern]}))
    words = ("simulate", "--cluster", "ethernet-16", "--smpirun", smpirun, "--json", "--plan")
    for file, count in ((GRID, 1), (tmp_path / "compiled.json", 2)):
        ended = command(*words, file)
        assert ended.returncode == 0, ended.stderr
        rows = json.loads(ended.stdout)["simulated"]
        assert [row["algorithm"] for row in rows] == [f"pattern {i}: 16 ranks" for i in range(1, count + 1)]
        assert all(row["model_s"] > 0 for row in rows)
    (tmp_path / "none.plan").write_text(json.dumps(plan))
    ended = command(*words, tmp_path / "none.plan")
    assert ended.returncode == 2
    assert "has no pattern" in ended.stderr and "compile" in ended.stderr


def test_model_and_simulator_see_the_same_machine(command, smpirun, tmp_path):
    """GIVEN a profile whose nodes are of its two switches in turn THEN the model has them in the simulator's order."""
    seconds = []
    whole = profile.document(files.load("two-racks-16x4"))
    in_turn = [{**node, "count": 1} for _ in range(8) for node in whole["topology"]["nodes"]]
    for name, nodes in (("grouped", whole["topology"]["nodes"]), ("in_turn", in_turn)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**whole, "topology": {**whole["topology"], "nodes": nodes}}))
        words = ("--algorithms", "ring", "--ranks-per-node", 1, "--smpirun", smpirun, "--json")
        ended = command("simulate", "allgather", "--profile", path, *words)
        assert ended.returncode == 0, ended.stderr
        seconds += [row["model_s"] for row in json.loads(ended.stdout)["simulated"]]
    assert seconds == [seconds[0]] * 2


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid's smpirun is not installed")
def test_a_collective_is_simulated_beside_the_model(command):
    ended = command("simulate", "bcast", "--cluster", "10gbe-12", "--ranks", 4, "--bytes", "64k", "--json")
    assert ended.returncode == 0, ended.stderr
    rows = json.loads(ended.stdout)["simulated"]
    assert len(rows) > 5
    assert all(row["smpi_s"] > 0 and row["model_s"] > 0 for row in rows)


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid's smpirun is not installed")
def test_what_needs_switches_is_simulated_on_a_cluster_that_has_them(command):
    """GIVEN two racks THEN schedules along the switches are simulated without being named."""
    words = ("--cluster", "two-racks-16x4", "--ranks-per-node", 1, "--bytes", "4k", "--json")
    ended = command("simulate", "allgather", *words)
    assert ended.returncode == 0, ended.stderr
    names = {row["algorithm"].partition(":")[0] for row in json.loads(ended.stdout)["simulated"]}
    assert {"ring", "switch_rings"} <= names
