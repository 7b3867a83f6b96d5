# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon plan`: what it makes of a trace, what a run takes of it, how it is shown, and its errors."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon import core
from antiphon.placement import Placement
from antiphon.plan import Plan
from antiphon.plan.making import least_bytes
from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode

RANKS, WIDTH = 16, 4
CALLS = 6
WORLD = Communicator(1, "MPI_COMM_WORLD", tuple(range(RANKS)))
ALL_PARTS = ["placement", "algorithms", "patterns"]
Antiphon = Callable[..., "subprocess.CompletedProcess[str]"]


def rank_trace(rank: int, call_ns: int = 500_000) -> RankTrace:
    """Returns a rank's calls: messages to the rank a row further on, a Bcast in each column, an Alltoallv of all."""
    column = Communicator(2, "column", tuple(range(rank % WIDTH, RANKS, WIDTH)))
    counts = tuple(0 if to == rank else 1000 + 500 * ((rank + to) % 3) for to in range(RANKS))
    shapes = [
        Shape("MPI_Send", WORLD, peer=(rank + WIDTH) % RANKS, tag=0, send_count=60_000, send_size=8),
        Shape("MPI_Bcast", column, root=0, send_count=100_000, send_size=8),
        Shape("MPI_Alltoallv", WORLD, send_size=8, receive_size=8, send_counts=counts, receive_counts=counts),
    ]
    calls = [Call(shape, 1_000_000, call_ns) for _ in range(CALLS) for shape in shapes]
    return RankTrace(rank, [WORLD, column], shapes, calls, 0, 10**9, 0)


def write_trace(path: Path, call_ns: int = 500_000) -> Path:
    """Four nodes of four ranks each, in block order: every message goes to another node."""
    functions = ("MPI_Send", "MPI_Bcast", "MPI_Alltoallv")
    header: dict[str, Any] = {"ranks": RANKS, "functions": list(functions), "program": "./grid"}
    header |= {"nodes": [rank // WIDTH for rank in range(RANKS)], "hosts": [f"n{i}" for i in range(4)]}
    header["mpi"] = "MPICH Version: 5.0.2"
    path.write_bytes(encode(Trace(RANKS, functions, header, [rank_trace(rank, call_ns) for rank in range(RANKS)])))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Returns such a trace."""
    return write_trace(tmp_path / "grid.trace")


def as_program(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANTIPHON_P", "SLURM"))}
    command = [sys.executable, "-m", "antiphon", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def made(made_once: Callable[..., Path]) -> Path:
    """Returns a plan of such a trace, made once."""

    def fill(folder: Path) -> None:
        path = write_trace(folder / "grid.trace")
        as_program("plan", "--link-rate", "100mbit", "-o", folder / "grid.plan", path)

    return made_once("plan", fill) / "grid.plan"


def test_one_file_holds_all_parts(made: Path) -> None:
    """GIVEN columns on other nodes THEN they are put together, and the patterns are there with their schedules."""
    plan = Plan.load(made)
    assert [part for part in plan.parts() if part != "algorithms"] == ["placement", "patterns"]
    assert plan.placement is not None
    hosts = plan.placement.hosts
    assert all(len({hosts[rank] for rank in range(column, RANKS, WIDTH)}) == 1 for column in range(WIDTH))
    (pattern,) = plan.patterns
    assert (pattern["size"], pattern["calls"]) == (RANKS, CALLS)
    assert plan.made_for["arguments"] is None
    assert {"ranks": RANKS, "nodes": 4}.items() <= plan.made_for.items()
    times = {state["name"]: state["seconds"] for state in plan.expected}
    assert times["both"] < times["as it ran"]


def test_only_the_parts_that_are_asked_for(trace: Path, tmp_path: Path, checked: Antiphon) -> None:
    done = checked("plan", "--link-rate", "100mbit", "--parts", "patterns,compression", "--json", "-o",
                    tmp_path / "p", trace)  # fmt: skip
    document = json.loads(done.stdout)
    assert document["parts"] == ["patterns"]
    assert "--summary" in document["left_out"]["compression"]
    assert "placement" not in document["left_out"]


@pytest.mark.parametrize(("call_us", "parts"), [(500, ["algorithms"]), (200, [])])
def test_no_rule_is_slower_than_the_recorded_calls(
    call_us: int, parts: list[str], tmp_path: Path, checked: Antiphon
) -> None:
    """GIVEN calls that were faster in the run than the model has them, since they overlap THEN no rule changes them."""
    trace = write_trace(tmp_path / "grid.trace", call_us * 1000)
    words = ["--cluster", "ethernet-16", "--parts", "algorithms,placement", "--json", "-o", tmp_path / "grid.plan"]
    found = json.loads(checked("plan", *words, trace).stdout)["parts"]
    assert [part for part in found if part == "algorithms"] == parts


def test_compression_is_taken_from_a_summary(trace: Path, tmp_path: Path, checked: Antiphon) -> None:
    """GIVEN a run that saved a tenth by encoding THEN the plan compresses; GIVEN one that saved nothing THEN not."""
    row = {"communicator": "MPI_COMM_WORLD", "class": "between nodes", "messages": 100, "encoded": 90, "bytes": 10**6,
           "wire_bytes": 4 * 10**5, "rate": 2.5, "saved_s": 1.6}  # fmt: skip
    summary: dict[str, Any] = {"version": 2, "ranks": RANKS, "collectives": [], "run_s": 1.0, "compression": [row]}
    for saved_s, parts in ((1.6, ["compression"]), (0.01, [])):
        row["saved_s"] = saved_s
        (tmp_path / "run.json").write_text(json.dumps(summary))
        done = checked("plan", "--link-rate", "100mbit", "--parts", "compression", "--json", "--overwrite", "-o",
                        tmp_path / "p", f"--summary={tmp_path / 'run.json'}", trace)  # fmt: skip
        document = json.loads(done.stdout)
        assert document["parts"] == parts
        # The recorded messages have 10 kB in the mean, so that it says nothing of those below 4 KiB.
        assert (document["compression"] or {"least_bytes": 4096})["least_bytes"] == 4096


def test_sizes_that_did_not_pay_are_left_alone() -> None:
    """GIVEN counts by powers of two THEN a plan leaves those alone that are shorter than what paid, and lets what paid
    become half as long: no message that is encoded is shorter on the wire than the least one.
    """
    sizes = [{"least_bytes": 2048, "messages": 90, "encoded": 20, "saved_s": -0.01},
             {"least_bytes": 8192, "messages": 10, "encoded": 10, "saved_s": 0.2}]  # fmt: skip
    row = {"bytes": 3 * 10**5, "messages": 100, "sizes": sizes}
    assert least_bytes([row]) == 4096
    assert least_bytes([{**row, "sizes": []}]) == 1024
    assert least_bytes([{**row, "sizes": [{**sizes[0], "least_bytes": 4096}, sizes[1]]}]) == 4096


def changed(made: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Writes the plan with a change."""
    document = json.loads(made.read_text())
    change(document)
    path = tmp_path / "changed.plan"
    path.write_text(json.dumps(document))
    return path


WRONG: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("version: is 3", lambda d: d.update(version=3)),
    ("made_for", lambda d: d.pop("made_for")),
    ("unknown", lambda d: d["made_for"].update(unknown=1)),
    ("node_of_rank", lambda d: d["placement"]["node_of_rank"].pop()),
    ("patterns[0].scheduler", lambda d: d["patterns"][0].update(scheduler=5)),
    ("phases", lambda d: d["patterns"][0]["phases"].append({"parts": [[0, 1, 0, 5]]})),
    ("no_such", lambda d: d.update(decisions={"version": 1, "rules": [
        {"collective": "bcast", "ranks": [4, 4], "use": "no_such"}]})),
]  # fmt: skip


@pytest.mark.parametrize(("what", "change"), WRONG, ids=[what for what, _ in WRONG])
def test_errors_name_the_field(
    made: Path, tmp_path: Path, what: str, change: Callable[[dict[str, Any]], object], checked: Antiphon
) -> None:
    done = checked("explain", "--plan", changed(made, tmp_path, change), fails=True)
    assert done.returncode == 2
    assert what in done.stderr
    assert "Traceback" not in done.stderr


def test_the_core_and_the_schema_refuse_the_same_fields(made: Path) -> None:
    document = json.loads(made.read_text())
    for place in ((), ("made_for",), ("patterns", 0)):
        wrong = copy.deepcopy(document)
        here: Any = wrong
        for step in place:
            here = here[step]
        here["no_such_field"] = 1
        with pytest.raises(core.CoreError, match="no_such_field"):
            core.query("describe_plan", plan=json.dumps(wrong))


def test_a_plan_is_shown(made: Path, tmp_path: Path, checked: Antiphon) -> None:
    shown = checked("explain", "--plan", made).stdout
    assert "placement: 16 ranks on 4 nodes" in shown
    assert "16 ranks" in shown
    document = json.loads(checked("explain", "--plan", made, "--json").stdout)
    assert len(document["placement"]["hosts"]) == RANKS
    assert document["patterns"][0]["phases"]
    page = json.loads(checked("report", made, "-o", tmp_path / "page.html", "--json").stdout)
    shown_parts = [title for title in page["sections"] if title != "Algorithms"]
    assert shown_parts == ["What is expected", "Placement", "Patterns"]


def test_an_older_compiled_plan_is_still_one(trace: Path, tmp_path: Path, checked: Antiphon) -> None:
    plan = tmp_path / "compiled.json"
    checked("compile", trace, "-o", plan)
    assert json.loads(plan.read_text())["version"] == 1
    assert Plan.load(plan).parts() == ["patterns"]
    checked("run", "--plan", plan, "--dry-run", "-n", 2, "--launcher", "true", sys.executable)
    assert "Patterns" in checked("report", plan, "-o", tmp_path / "page.html", "--json").stdout


def test_map_takes_the_placement(made: Path, tmp_path: Path, checked: Antiphon) -> None:
    checked("map", made, "-o", tmp_path / "ranks", "--launcher", "openmpi5")
    assert (tmp_path / "ranks").read_text().split() == Placement.load(made).hosts


def test_joint_writes_what_it_found(trace: Path, tmp_path: Path, made: Path, checked: Antiphon) -> None:
    """GIVEN the same machine THEN `traffic --joint -o` writes the placement that the whole plan has."""
    profile = tmp_path / "machine.json"
    from antiphon.cluster import files
    from antiphon.cluster import profile as cluster_profile

    spec = files.spec_of({"nodes": 4, "rate": "100000000bit", "ranks_per_node": 4}, "here")
    profile.write_text(cluster_profile.text_of(spec))
    checked("traffic", trace, "--joint", "--profile", profile, "-o", tmp_path / "joint.plan")
    plan = Plan.load(tmp_path / "joint.plan")
    assert plan.parts()[0] == "placement"
    assert not plan.patterns
    assert sorted(map(sorted, plan.placement.ranks_on())) == sorted(map(sorted, Placement.load(made).ranks_on()))


def pairs_trace(path: Path, hosts: list[str], pairs: list[int]) -> Path:
    """Writes the trace of ranks, as many on each host, that send to their partners."""
    world = Communicator(1, "MPI_COMM_WORLD", tuple(range(len(pairs))))
    ranks = []
    for rank, partner in enumerate(pairs):
        shapes = [
            Shape("MPI_Send", world, peer=partner, tag=0, send_count=60_000, send_size=8),
            Shape("MPI_Bcast", world, root=0, send_count=100_000, send_size=8),
        ]
        calls = [Call(shape, 1_000_000, 500_000) for shape in shapes * 4]
        ranks.append(RankTrace(rank, [world], shapes, calls, 0, 10**9, 0))
    nodes = [rank * len(hosts) // len(pairs) for rank in range(len(pairs))]
    header: dict[str, Any] = {"nodes": nodes, "hosts": hosts, "mpi": "Open MPI v5.0.11", "program": "./pairs"}
    path.write_bytes(encode(Trace(len(pairs), ("MPI_Send", "MPI_Bcast"), header, ranks)))
    return path


PARTNERS = [5, 4, 7, 6, 1, 0, 3, 2]
SWITCHES = Path(__file__).resolve().parents[1] / "data" / "two-switches.openmpi.json"


@pytest.mark.parametrize("words", [["plan"], ["traffic", "--joint"]], ids=" ".join)
def test_ranks_stay_on_the_runs_nodes(words: list[str], tmp_path: Path, checked: Antiphon) -> None:
    """GIVEN a machine of 16 nodes, and a run on two of them THEN the plan is for these, and a run takes it."""
    trace = pairs_trace(tmp_path / "pairs.trace", ["node03", "node12"], PARTNERS)
    checked(*words, "--profile", SWITCHES, "-o", tmp_path / "pairs.plan", trace)
    placement = Plan.load(tmp_path / "pairs.plan").placement
    assert placement is not None
    assert [node.name for node in placement.nodes] == ["node03", "node12"]
    assert all(placement.hosts[rank] == placement.hosts[partner] for rank, partner in enumerate(PARTNERS))
    assert sorted(map(len, placement.ranks_on())) == [4, 4]


def test_the_profile_is_asked_about_the_runs_hosts(tmp_path: Path, checked: Antiphon) -> None:
    """GIVEN runs that differ in their hosts alone THEN predictions do; GIVEN unknown ones, this is said."""
    found = {}
    for name, hosts in (("near", "1 2 3 4"), ("far", "1 9 2 10"), ("unknown", "21 22 23 24")):
        run = pairs_trace(tmp_path / f"{name}.trace", [f"node{int(n):02}.site" for n in hosts.split()], PARTNERS)
        found[name] = json.loads(checked("traffic", "--joint", "--json", "--profile", SWITCHES, run).stdout)
    seconds = {name: document["states"][0]["seconds"] for name, document in found.items()}
    assert seconds["near"] < seconds["far"]
    assert seconds["near"] == seconds["unknown"]
    assert found["near"]["notes"] == found["far"]["notes"] == []
    assert "no node of its own for node21, node22, node23 and others" in found["unknown"]["notes"][0]
    said = checked("plan", "--profile", SWITCHES, "-o", tmp_path / "p", tmp_path / "unknown.trace").stderr
    assert "no node of its own" in said


def dry_run(checked: Antiphon, made: Path, *options: object) -> tuple[str, str]:
    """Returns the launcher's command line with each variable as NAME=VALUE, and what was said."""
    done = checked("run", "--plan", made, *options, "--dry-run", sys.executable, "-c", "import mpi4py.MPI")
    return re.sub(r"-genv (\w+) ", r"\1=", done.stdout), done.stderr


def test_a_run_takes_what_fits(made: Path, tmp_path: Path, checked: Antiphon) -> None:
    """GIVEN the plan's nodes THEN ranks are placed; GIVEN others, or other ranks THEN a line says so."""
    pytest.importorskip("mpi4py")
    line, said = dry_run(checked, made)
    assert f"ANTIPHON_PLACEMENT={made}" in line
    assert "another input" in said or "not of" in said
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"n{i} slots=4\n" for i in range(4)))
    assert f"ANTIPHON_PLACEMENT={made}" in dry_run(checked, made, "--hostfile", hosts)[0]
    hosts.write_text("".join(f"n{i}\n" * 4 for i in range(4)))
    assert f"ANTIPHON_PLACEMENT={made}" in dry_run(checked, made, "--hostfile", hosts)[0]
    hosts.write_text("n0 slots=4\nn1 slots=4\nn2 slots=2\nn3 slots=4\n")
    line, said = dry_run(checked, made, "--hostfile", hosts)
    assert "ANTIPHON_PLACEMENT" not in line
    assert f"ANTIPHON_PLAN={made}" in line
    assert "n2 has 2 slots here, and 4 ranks are for it" in said
    hosts.write_text("m0 slots=4\n")
    assert "n0 is no node of this job" in dry_run(checked, made, "--hostfile", hosts)[1]
    least = {"compression": {"use": "on", "least_bytes": 4096, "classes": []}}
    encoding = changed(made, tmp_path, lambda document: document.update(least))
    assert "ANTIPHON_COMPRESS_MIN_BYTES=4096" in dry_run(checked, encoding)[0]
    assert "ANTIPHON_COMPRESS_MIN_BYTES" not in dry_run(checked, encoding, "--compress", "on")[0]
    assert "ANTIPHON_PLACEMENT" not in dry_run(checked, made, "-n", 8)[0]


@pytest.mark.parametrize("chosen", ["by an option", "by the job"])
def test_a_launcher_that_takes_no_placement_starts_the_ranks_without(
    chosen: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: Antiphon
) -> None:
    """GIVEN a plan with a placement, and Flux THEN a line says that it is left out, and the rest is used."""
    pytest.importorskip("mpi4py")
    if chosen == "by the job":
        flux = tmp_path / "flux"
        flux.write_text("#!/bin/sh\necho '4 16 n[0-3]'\n")
        flux.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setenv("FLUX_URI", "local:///x")
    line, said = dry_run(checked, made, *(["--launcher", "flux", "-n", RANKS] if chosen == "by an option" else []))
    assert f"ANTIPHON_PLAN={made} ANTIPHON_ALL_RANKS=1 flux run -n {RANKS} " in line
    assert "ANTIPHON_PLACEMENT" not in line
    assert "the placement is left out: flux cannot be told where ranks go" in said


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--parts", "placement,speed"], "'speed' is none of"),
        (["--min-calls", "0"], "--min-calls 0"),
        ([], "the machine is not known"),
        (["--profile", "none.json"], "none.json is no profile"),
        (["--link-rate", "fast"], "--link-rate"),
    ],
)
def test_wrong_options(trace: Path, options: list[str], what: str, checked: Antiphon) -> None:
    done = checked("plan", *options, "-o", trace.with_name("p"), trace, fails=True)
    assert what in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_needs_a_machine_too(tmp_path: Path, checked: Antiphon) -> None:
    done = checked("plan", "-o", tmp_path / "p", sys.executable, fails=True)
    assert "the machine is not known" in done.stderr


@pytest.fixture
def recorded(trace: Path, tmp_path: Path) -> list[object]:
    """Returns what makes a plan of a script, which says where its trace belongs and puts one there."""
    program, launcher = tmp_path / "solver", tmp_path / "start"
    program.write_text(f'#!/bin/sh\necho "$ANTIPHON_TRACE" > {tmp_path}/place\ncp {trace} "$ANTIPHON_TRACE"\n')
    launcher.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    for script in (program, launcher):
        script.chmod(0o755)
    (tmp_path / "out").mkdir()
    return ["--launcher", launcher, "--parts", "placement", "-o", tmp_path / "out" / "made.plan", program]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--profile", "none.json"], "none.json is no profile"),
        (["--profile", "HERE/broken.json"], "broken.json"),
        (["--cluster", "nowhere"], "there is no cluster named 'nowhere'"),
        (["--link-rate", "fast"], "--link-rate"),
        (["--link-rate", "1gbit", "--trace", "/nowhere/run.trace"], "cannot write /nowhere/run.trace"),
        (["--link-rate", "1gbit", "--trace", "HERE/grid.trace"], "grid.trace is there already"),
    ],
)
def test_mistakes_end_before_the_run(
    recorded: list[object], options: list[str], what: str, tmp_path: Path, checked: Antiphon
) -> None:
    (tmp_path / "broken.json").write_text('{"topology": {}}')
    done = checked("plan", *(word.replace("HERE", str(tmp_path)) for word in options), *recorded, fails=True)
    assert what in done.stderr
    assert not (tmp_path / "place").exists()


def test_a_run_is_recorded_beside_the_plan(recorded: list[object], tmp_path: Path, checked: Antiphon) -> None:
    """GIVEN a plan's directory, which other nodes have too THEN the trace goes there, and only the plan stays."""
    checked("plan", "--link-rate", "100mbit", "--trace", tmp_path / "kept.trace", *recorded)
    assert Path((tmp_path / "place").read_text()).parent == tmp_path / "out"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["made.plan"]
    assert (tmp_path / "kept.trace").read_bytes() == (tmp_path / "grid.trace").read_bytes()


def test_a_recorded_run_stays_if_no_plan_comes_of_it(
    recorded: list[object], trace: Path, tmp_path: Path, checked: Antiphon
) -> None:
    trace.write_bytes(trace.read_bytes()[:40])
    done = checked("plan", "--link-rate", "100mbit", *recorded, fails=True)
    (kept,) = (tmp_path / "out").iterdir()
    assert kept.suffix == ".trace"
    assert f"{kept}` makes the plan from it" in done.stderr
