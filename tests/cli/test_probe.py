# SPDX-License-Identifier: Apache-2.0
"""Runs `antiphon probe` on this machine with few ranks: checks what it writes, and what it leaves on failure."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from antiphon import cli, profile
from antiphon.bench.testbed import HostTestbed, json_lines, program
from antiphon.mpi import cores, discover
from antiphon.probe import recording
from antiphon.probe.session import Session

OURS = [mpi for mpi in discover() if mpi.prefix.is_relative_to(Path(sys.prefix).resolve()) and mpi.launcher]
#: There is one library of each family.
WHEELS = list({mpi.family: mpi for mpi in reversed(OURS)}.values())


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "antiphon", "probe", *map(str, args)]


@pytest.fixture(scope="module", params=WHEELS, ids=lambda mpi: mpi.family)
def mpi(request: pytest.FixtureRequest) -> object:
    return request.param


@pytest.fixture(scope="module")
def measured(mpi: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measures a node once; beside the profile lie its samples and what the command printed."""
    path = tmp_path_factory.mktemp("probe") / "m.json"
    args = command("-n", 2, "--mpi", mpi.launcher, "-o", path, "--budget", 5, "--json", "--name", "here")
    result = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    path.with_suffix(".stdout").write_text(result.stdout)
    return path


def test_a_node_is_measured(measured: Path, mpi: object) -> None:
    document = profile.load(measured)
    assert json.loads(measured.with_suffix(".stdout").read_text()) == document
    machine = document["machine"]
    assert (machine["name"], machine["nodes"], machine["ranks_per_node"], machine["mpi"]["name"]) == (
        "here",
        1,
        2,
        mpi.family,
    )
    # Ranks may be bound to one core each; the node has all that this process may use, and more if it is bound itself.
    assert cores.count() <= document["processors"]["physical_cores"] <= (os.cpu_count() or 1)
    [link] = document["link_classes"]
    assert link["scope"] == "node"
    sizes = [size for size, _ in link["g_s"]]
    assert sizes[0] == 0
    assert sizes[-1] == 1 << 20
    assert 1e8 < link["details"]["bytes_per_s"] < 1e12
    assert 0 < link["latency_s"] < 1e-2
    samples = json.loads(gzip.decompress((measured.parent / document["measurements"]["samples"]).read_bytes()))
    assert samples["format"] == "antiphon-samples"
    points = [event for launch in samples["launches"] for event in launch if event["event"] == "point"]
    assert (
        sum(len(p[key]) for p in points if p["label"] == "node" for key in ("round_ns", "os_ns", "g_ns", "or_ns"))
        == document["measurements"]["samples_taken"]
    )


def test_a_rank_that_dies_leaves_the_earlier_file_whole(tmp_path: Path, mpi: object) -> None:
    path = tmp_path / "m.json"
    path.write_text("the earlier one")
    args = command("-n", 3, "--mpi", mpi.launcher, "-o", path, "--overwrite", "--budget", 30)
    with subprocess.Popen(
        args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as probe:
        _kill_a_rank_of(probe.pid)
        _, errors = probe.communicate(timeout=100)
    assert probe.returncode == 1, errors
    assert "error: the probe failed" in errors
    assert "hint:" in errors
    assert path.read_text() == "the earlier one"
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]


def test_samples_can_be_looked_at_again_and_decisions_stay(measured: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    tuned = {**profile.load(measured), "decisions": {"version": 1, "rules": []}}
    profile.write(again, tuned)
    result = subprocess.run(
        command("--again", measured.with_name("m.samples.json.gz"), "-o", again, "--name", "renamed"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    found = profile.load(again)
    assert found.pop("decisions") == tuned["decisions"]
    assert "tune" in found["measurements"]["notes"].pop()
    assert found["machine"].pop("name") == "renamed"
    before = profile.load(measured)
    before["machine"].pop("name")
    assert found == before


def tuned_on(measured: Path, path: Path, part: str, other: str) -> dict[str, object]:
    """Writes the measured profile with decisions, as of a machine that differs in one part of the fingerprint."""
    tuned = {**profile.load(measured), "decisions": {"version": 1, "rules": []}}
    parts = dict(word.split("=", 1) for word in tuned["machine"]["fingerprint"].split(";")) | {part: other}
    tuned["machine"]["fingerprint"] = ";".join("=".join(item) for item in parts.items())
    profile.write(path, tuned)
    return tuned


def test_decisions_stay_when_another_mpi_is_probed(measured: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    tuned = tuned_on(measured, path, "mpi", "another")
    assert cli.main(["probe", "--again", str(measured.with_name("m.samples.json.gz")), "-o", str(path)]) == 0
    assert profile.load(path)["decisions"] == tuned["decisions"]


def test_decisions_for_another_machine_are_dropped_only_when_told(measured: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "m.json"
    tuned = tuned_on(measured, path, "cores", "4096")
    words = ["probe", "--again", str(measured.with_name("m.samples.json.gz")), "-o", str(path)]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert f"error: {path} has decisions for another machine (cores of a node: measured on '4096'" in said
    assert "hint: --overwrite drops them" in said
    assert profile.load(path) == tuned
    assert cli.main([*words, "--overwrite"]) == 0
    assert "'): they are dropped" in capsys.readouterr().err
    assert "decisions" not in profile.load(path)


def test_that_decisions_would_be_dropped_is_said_before_measuring(measured: Path, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "m.json"
    tuned_on(measured, path, "hosts", "elsewhere#")

    def measure(session: Session, name: str) -> None:
        samples = json.loads(gzip.decompress(measured.with_name("m.samples.json.gz").read_bytes()))
        for event in samples["launches"][0]:
            session.on_event(event)
        raise AssertionError("it is measured")

    monkeypatch.setattr(recording, "measured", measure)
    assert cli.main(["probe", "-n", "2", "-o", str(path)]) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]


def _kill_a_rank_of(ancestor: int) -> None:
    """Ends the last rank among a process's descendants, once all of them have been there for a while."""
    deadline = time.monotonic() + 60
    seen: list[int] = []
    while time.monotonic() < deadline:
        ranks = [pid for pid in _descendants(ancestor) if b"antiphon-probe-" in _command_line(pid).split(b"\0")[0]]
        if len(ranks) == 3 and ranks == seen:
            with contextlib.suppress(ProcessLookupError):  # That launch has just ended, so this waits for the next one.
                os.kill(max(ranks), signal.SIGKILL)
                return
        seen = ranks
        time.sleep(0.2)
    raise AssertionError("the probe has started no ranks")


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(folder.name))
    found, frontier = [], [pid]
    while frontier:
        mine = children.get(frontier.pop(), [])
        found += mine
        frontier += mine
    return found


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("-n", 1), "at least 2 ranks"),
        (("--budget", 1), "less than 5 seconds"),
        (("-o", "/nowhere/m.json"), "cannot write"),
        (("--mpi", "/nowhere"), "/nowhere"),
        (("--lab", "--hostfile", "x"), "not for a lab"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(args: tuple[object, ...], said: str, capsys) -> None:
    assert cli.main(["probe", *map(str, args)]) == 2
    assert said in capsys.readouterr().err


#: Files that a probe would have replaced, in a folder with hosts, samples, a profile and the folder d.samples.json.gz.
REFUSED = {
    "hosts": (["--hostfile", "hosts", "-o", "./hosts", "--overwrite"], "hosts is what the command reads"),
    "samples": (
        ["--again", "m.samples.json.gz", "-o", "m.samples.json.gz", "--overwrite"],
        "is what the command reads",
    ),
    "own samples": (["--hostfile", "x.samples.json.gz", "-o", "x"], "x.samples.json.gz is what the command reads"),
    "another file": (["-o", "hosts"], "hosts is there already\nhint: replace it with --overwrite"),
    "no place": (["-o", "/dev/stdout"], "cannot write /dev/stdout.samples.json.gz"),
    "a folder": (["-o", "d.json"], "d.samples.json.gz is a directory"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_no_other_file_is_replaced(what: str, tmp_path: Path, monkeypatch, capsys) -> None:
    """GIVEN a file that is read, or is no profile, or no place for samples THEN that is said before all else."""
    monkeypatch.chdir(tmp_path)
    for name in ("hosts", "m.samples.json.gz", "x.samples.json.gz"):
        (tmp_path / name).write_text("localhost")
    (tmp_path / "d.samples.json.gz").mkdir()
    options, said = REFUSED[what]
    assert cli.main(["probe", "-n", "2", "--mpi", "nothing", *options]) != 0
    assert said in capsys.readouterr().err
    assert (tmp_path / "hosts").read_text() == (tmp_path / "m.samples.json.gz").read_text() == "localhost"


def test_an_older_profile_is_replaced(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.json").write_text('{"format": "antiphon-profile", "version": 0}')
    assert cli.main(["probe", "-n", "2", "--mpi", "nothing", "-o", "m.json"]) == 2
    assert "--mpi nothing" in capsys.readouterr().err


@pytest.mark.parametrize(("output", "samples"), [
    ("net.json", "net.samples.json.gz"),
    ("net.mpich", "net.mpich.samples.json.gz"),
    ("net.openmpi", "net.openmpi.samples.json.gz"),
    ("net", "net.samples.json.gz"),
])  # fmt: skip
def test_samples_are_named_as_the_profile_is(output: str, samples: str, tmp_path: Path, monkeypatch, capsys) -> None:
    """GIVEN a folder in the place of the samples THEN the error names it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / samples).mkdir()
    assert cli.main(["probe", "-n", "2", "--mpi", "nothing", "-o", output]) == 2
    assert f"error: {samples} is a directory" in capsys.readouterr().err


#: Gives ranks another file of their status: that of a machine with many cores.
STATUS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static FILE *opened(const char *name, const char *path, const char *mode) {
  FILE *(*next)(const char *, const char *) = (FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, name);
  return next(strcmp(path, "/proc/self/status") == 0 ? getenv("TEST_STATUS") : path, mode);
}
FILE *fopen(const char *path, const char *mode) { return opened("fopen", path, mode); }
FILE *fopen64(const char *path, const char *mode) { return opened("fopen64", path, mode); }
"""


def test_a_long_list_of_cores_is_whole(mpi: object, tmp_path: Path) -> None:
    """GIVEN ranks that may run on every second of 400 cores THEN none of these is cut off."""
    listed = ",".join(map(str, range(0, 400, 2)))
    (tmp_path / "status").write_text(f"Name:\tprobe\nCpus_allowed_list:\t{listed}\n")
    (tmp_path / "status.c").write_text(STATUS)
    words = ["cc", "-shared", "-fPIC", tmp_path / "status.c", "-o", tmp_path / "status.so", "-ldl"]
    subprocess.run(words, check=True, timeout=60)
    env = {"LD_PRELOAD": str(tmp_path / "status.so"), "TEST_STATUS": str(tmp_path / "status")}
    events: list[dict] = []
    how = {"preload": False, "env": env, "on_line": json_lines(events.append), "timeout_s": 60}
    ended = HostTestbed().run(mpi, 2, [str(program("probe", mpi.abi)), "--do", "identify"], **how)
    assert ended.exit_code == 0, ended.stderr
    assert events[0]["allowed_cores"] == [listed, listed]
