# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon map`: from a trace and a machine to the files of launchers, and its errors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.placement import Placement
from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode

RANKS = 8
Antiphon = Callable[..., "subprocess.CompletedProcess[str]"]


def recorded(tmp_path: Path, *, hosts: tuple[str, ...] = ("n0", "n1")) -> Path:
    """Writes a trace of pairs (0, 4), (1, 5), … with much traffic, and a barrier; block order, four ranks a node."""
    world = Communicator(1, "MPI_COMM_WORLD", tuple(range(RANKS)))
    ranks = []
    for r in range(RANKS):
        talk = Shape("MPI_Send", world, peer=(r + 4) % RANKS, tag=0, send_count=10_000, send_size=8)
        wait = Shape("MPI_Barrier", world)
        calls = [Call(shape, 1000 * i, 500) for i, shape in enumerate([talk] * 20 + [wait])]
        ranks.append(RankTrace(r, [world], [talk, wait], calls, 0, 100_000, 0))
    header: dict[str, Any] = {"ranks": RANKS, "functions": ["MPI_Send", "MPI_Barrier"], "program": "./pairs"}
    header |= {"nodes": [0] * 4 + [1] * 4, "hosts": list(hosts), "mpi": "Open MPI v5.0.11"}
    path = tmp_path / "pairs.trace"
    path.write_bytes(encode(Trace(RANKS, tuple(header["functions"]), header, ranks)))
    return path


def machine(tmp_path: Path, nodes: int = 2, cores: int = 4) -> Path:
    """Makes nodes on one switch."""
    document = {
        "name": "small",
        "nodes": [{"name": f"n{i}", "cores": cores, "port_bytes_per_s": 1e8} for i in range(nodes)],
        "latency_s": 5e-5,
        "bytes_per_s": 1e8,
        "levels": [{"width": cores, "latency_s": 1e-6, "bytes_per_s": 4e9}],
    }
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(document))
    return path


def test_a_placement_and_its_reasons(checked: Antiphon, tmp_path: Path) -> None:
    """GIVEN partners on different nodes THEN they are brought together, and the gain is said for each kind of call."""
    out = tmp_path / "placement.json"
    done = checked("map", recorded(tmp_path), machine(tmp_path), "-o", out, "--json", "--pin", "5:n0")
    told = json.loads(done.stdout)
    placement = Placement.load(out)
    assert all(placement.node_of_rank[r] == placement.node_of_rank[r + 4] for r in range(4))
    assert placement.hosts[5] == "n0"
    assert told["worth_it"] and told["gain"]["block"] > 5 and told["gain"]["current"] > 5
    rows = {row["name"]: row for row in told["calls"]}
    assert rows["point-to-point"]["costs_s"]["chosen"] < rows["point-to-point"]["costs_s"]["block"] / 5
    assert rows["barrier"]["algorithm"]
    shown = checked("map", recorded(tmp_path), machine(tmp_path)).stdout
    assert "pairs: 8 ranks on 2 nodes of small" in shown and "all together" in shown
    assert "Expected of communication" in shown and "Not worth it" not in shown


def test_a_phase(checked: Antiphon, tmp_path: Path) -> None:
    """GIVEN a phase, traffic that was cut, or messages alone THEN the placement is for that part alone."""
    trace, where, cut = recorded(tmp_path), machine(tmp_path), tmp_path / "cut.traffic"
    checked("traffic", trace, "--phases", 2, "-o", cut)

    def calls(file: Path, *arguments: object) -> dict[str, int]:
        told = json.loads(checked("map", file, where, *arguments, "--json").stdout)
        return {row["name"]: row["calls"] for row in told["calls"]}

    # The run lasts 100 µs; its 20 messages a rank end after 20 µs, and the barrier follows.
    assert calls(trace)["point-to-point"] == 20 * RANKS
    assert calls(trace, "--phase", "1/20")["point-to-point"] == 5 * RANKS
    assert calls(trace, "--between", "0:0.00001") == {"point-to-point": 10 * RANKS}
    assert calls(cut, "--phase", "0") == calls(trace)
    assert calls(trace).keys() == {"point-to-point", "barrier"}
    assert calls(trace, "--ignore-collectives") == {"point-to-point": 20 * RANKS}


def test_not_worth_it(checked: Antiphon, tmp_path: Path) -> None:
    """GIVEN ranks that are where they should be THEN that is said; GIVEN unknown nodes, so is that."""
    good = checked("map", recorded(tmp_path), machine(tmp_path, nodes=1, cores=8))
    assert "Not worth it" in good.stdout
    assert "nodes that the machine does not know" in good.stderr
    cyclic = checked("map", recorded(tmp_path), machine(tmp_path, nodes=4, cores=2))
    assert "cyclic is as good and needs no file" in cyclic.stdout


def test_an_order_of_launchers_is_advised_only_where_it_does_the_same(checked: Antiphon, tmp_path: Path) -> None:
    """GIVEN options that launchers' own orders do not know THEN none of these is said to need no file."""
    for options in (["--cores-per-node", 2], ["--max-per-node", 2], ["--cores-per-node", 2, "--pin", "0:n0"]):
        told = json.loads(checked("map", recorded(tmp_path), machine(tmp_path, 4), *options, "--json").stdout)
        assert told["worth_it"] and told["as_good"] is None


def test_ranks_that_share_cores(checked: Antiphon, tmp_path: Path) -> None:
    """GIVEN more ranks than cores THEN the placement has slots for all, and its own reader takes it."""
    out = tmp_path / "ranks"
    checked("map", recorded(tmp_path), machine(tmp_path, 1), "--oversubscribe", "--launcher", "openmpi5", "-o", out)
    assert [(node.slots, node.cores) for node in Placement.load(tmp_path / "ranks.json").nodes] == [(8, 4)]
    assert "rank 7=n0 slot=0-3" in out.read_text()


def in_hydras_order(file: Path) -> list[str]:
    """Returns the host of each rank: Hydra fills the lines of its file one after the other."""
    lines = [line.partition(":") for line in file.read_text().splitlines() if not line.startswith("#")]
    return [host for host, _, slots in lines for _ in range(int(slots or 1))]


def test_files_of_launchers(checked: Antiphon, tmp_path: Path) -> None:
    """GIVEN a launcher THEN its file and the placement are written; GIVEN a placement, a file for another launcher."""
    ranks = tmp_path / "ranks"
    arguments = ["map", recorded(tmp_path), machine(tmp_path), "-o", ranks, "--launcher", "openmpi5"]
    done = checked(*arguments)
    assert f"--map-by rankfile:file={ranks} ./program" in done.stderr
    placement = Placement.load(tmp_path / "ranks.json")
    assert ranks.read_text().splitlines()[1] == f"rank 0={placement.hosts[0]} slot={placement.core_of_rank[0]}"
    hosts = tmp_path / "hosts"
    checked("map", tmp_path / "ranks.json", "-o", hosts, "--launcher", "hydra")
    assert in_hydras_order(hosts) == placement.hosts
    again = checked(*arguments, fails=True)
    assert "is there already" in again.stderr
    checked(*arguments, "--overwrite")


def test_a_run_is_told(checked: Antiphon, tmp_path: Path) -> None:
    """GIVEN a placement, or a trace to apply THEN `antiphon run` gives its launcher the file."""
    out = tmp_path / "p.json"
    trace, where = recorded(tmp_path), machine(tmp_path)
    checked("map", trace, where, "-o", out)
    told = checked("run", "--dry-run", "--mpi", "openmpi", "--placement", out, "--strict-placement", "/bin/true").stdout
    assert "-n 8" in told and f"ANTIPHON_PLACEMENT={out}" in told and "ANTIPHON_PLACEMENT_STRICT=1" in told
    file = Path(told.split("rankfile:file=")[1].split()[0])
    assert file.read_text().count("\nrank ") == 8
    hydra = checked("run", "--dry-run", "--mpi", "mpich", "--placement", out, "/bin/true").stdout
    assert in_hydras_order(Path(hydra.split(" -f ")[1].split()[0])) == Placement.load(out).hosts
    wrong = checked("run", "--dry-run", "--mpi", "mpich", "--placement", out, "-n", "4", "/bin/true", fails=True)
    assert "the placement is for 8 ranks" in wrong.stderr
    applied = checked("run", "--dry-run", "--mpi", "openmpi", "--apply", trace, "--profile", where, "/bin/true")
    assert "rankfile:file=" in applied.stdout and "Expected of communication" in applied.stderr
    # The placement lies where all nodes can read it, as they could write the trace.
    beside = trace.with_name(trace.name + ".placement.json")
    assert f"ANTIPHON_PLACEMENT={beside}" in applied.stdout and Placement.load(beside).ranks == 8


def test_a_job_is_where_a_trace_is_applied(checked: Antiphon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a batch job on some of the machine's nodes THEN its ranks are placed on these, by the job's slots."""
    nodes = tmp_path / "nodes"
    nodes.write_text("n3\n" * 6 + "n1\n" * 2)
    monkeypatch.setenv("PBS_NODEFILE", str(nodes))
    trace, where = recorded(tmp_path), machine(tmp_path, nodes=4)
    checked("run", "--dry-run", "--mpi", "mpich", "--apply", trace, "--profile", where, "/bin/true")
    hosts = Placement.load(trace.with_name(trace.name + ".placement.json")).hosts
    assert sorted(hosts) == ["n1"] * 2 + ["n3"] * 6


def test_an_mpirun_of_the_library_is_told(checked: Antiphon, tmp_path: Path) -> None:
    """GIVEN the path of a launcher with a placement THEN it is told if it is of the program's library, or an error."""
    out = tmp_path / "p.json"
    checked("map", recorded(tmp_path), machine(tmp_path), "-o", out)
    run = ("run", "--dry-run", "--mpi", "mpich", "--placement", out, "--launcher")
    for name in ("mpiexec.hydra", "prterun"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    line = checked(*run, tmp_path / "mpiexec.hydra", "/bin/true").stdout
    assert line.startswith(f"{tmp_path}/mpiexec.hydra -n 8 ")
    assert in_hydras_order(Path(line.split(" -f ")[1].split()[0])) == Placement.load(out).hosts
    for other in (tmp_path / "prterun", "flux"):
        assert "cannot be told where ranks go" in checked(*run, other, "/bin/true", fails=True).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{trace}", "{machine}", "--pin", "0:n9"], "has no such node"),
        (["{trace}", "{machine}", "--pin", "nonsense"], "not RANK:NODE"),
        (["{trace}", "{machine}", "--pin", "9:n0"], "pin of rank 9"),
        (["{trace}", "{machine}", "--method", "magic"], "no such method"),
        (["{trace}", "{machine}", "--launcher", "pigeon", "-o", "x"], "no such launcher"),
        (["{trace}", "{machine}", "--max-per-node", "3"], "8 ranks do not fit"),
        (["{trace}", "{trace}"], "pairs.trace"),
        (["{trace}", "missing.json"], "No such file"),
        (["missing.trace", "{machine}"], "No such file"),
        (["{trace}", "{machine}", "--phase", "1"], "as K/N"),
        (["{trace}", "{machine}", "--phase", "second"], "expected K"),
        (["{trace}", "{machine}", "--phase", "7/8"], "no rank sends anything"),
        (["{trace}", "{machine}", "--phase", "7/8"], "MPI_Put"),
        (["{trace}", "{machine}", "--between", "now"], "expected A:B"),
        (["{machine}", "--launcher", "hydra", "-o", "x"], "neither a trace nor a placement"),
        (["{machine}", "{trace}"], "the trace comes first"),
        ([], "no TRACE"),
    ],
)
def test_errors(checked: Antiphon, tmp_path: Path, arguments: list[str], message: str) -> None:
    """GIVEN something that does not fit THEN the error says what, and what to do."""
    names = {"{trace}": recorded(tmp_path), "{machine}": machine(tmp_path)}
    done = checked("map", *(names.get(a, a) for a in arguments), fails=True)
    assert message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_lists(checked: Antiphon) -> None:
    """GIVEN --list THEN methods and launchers are shown."""
    told = json.loads(checked("map", "--list", "--json").stdout)
    assert {"antiphon", "block", "cyclic", "mpipp"} <= {m["name"] for m in told["methods"]}
    assert set(told["launchers"]) == {"openmpi4", "openmpi5", "hydra", "slurm", "cray"}
    assert "launchers:" in checked("map", "--list").stdout
