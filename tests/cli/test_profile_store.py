# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon profile`, and what doctor and explain say of what is known."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon import profile
from antiphon.checks import profiles
from antiphon.commands import _keeping
from antiphon.errors import AntiphonError
from antiphon.model import limits
from antiphon.mpi import discover
from antiphon.profile import store
from antiphon.tune import document
from antiphon.tune import known as knowledge

Antiphon = Callable[..., "subprocess.CompletedProcess[str]"]
FOUR = ("n1", "n2", "n3", "n4")
LEARNED = {
    "format": "antiphon-learned", "version": 1, "link": {"bits_per_s": 10**8, "measured_s": 1_000_000_000},
    "decisions": {"version": 1, "rules": [{"collective": "bcast", "use": "chain", "why": "learned"}]},
}  # fmt: skip


def of_nodes(*names: str) -> dict[str, Any]:
    """A profile of Fast Ethernet that names its nodes."""
    places = list(range(len(names)))
    made = document.first_guess("four", places, limits.Network(places, 95.6e6))
    made["created"] = "2026-01-01T00:00:00Z"
    made["machine"]["mpi"] = {"name": "openmpi", "version": "5.0.11"}
    rate = made["topology"]["nodes"][0]["port_bytes_per_s"]
    made["topology"]["nodes"] = [{"name": name, "switch": "a", "port_bytes_per_s": rate} for name in names]
    return made


@pytest.fixture
def known_here(command: Antiphon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provides a store with a profile of four nodes and what runs have learned of them to this process."""
    folder = tmp_path / "store"
    entry = store.save(of_nodes(*FOUR), (), [folder]).parent
    (entry / "learned.tcp.eth0.0.json").write_text(json.dumps(LEARNED))
    monkeypatch.setenv("ANTIPHON_STORE", str(folder))
    return folder


def test_list_and_show_say_every_fact_and_its_source(command: Antiphon, known_here: Path, antiphon: Antiphon) -> None:
    [row] = json.loads(antiphon("profile", "list", "--json", ANTIPHON_STORE=str(known_here)).stdout)
    assert (row["mpi"], row["nodes"], row["learned_rules"]) == ("openmpi-5", list(FOUR), 1)
    assert row["link_bits_per_s"] == 10**8
    assert row["name"] in command("profile", "list").stdout
    [shown] = json.loads(command("profile", "show", "openmpi", "--json").stdout)
    facts = {(fact["name"], fact["source"]): fact["value"] for fact in shown["facts"]}
    learned = Path(row["path"], "learned.tcp.eth0.0.json")
    assert facts["link rate", f"measured, {row['profile']}"] == "100mbit"
    assert facts["learned", str(learned)] == "1 rule (tcp, eth0)"
    [old] = [source for name, source in facts if name == "link rate" and source.endswith(str(learned))]
    assert "too old, it will be measured again" in old
    assert "4 (n1, n2, n3, n4)" in command("profile", "show").stdout


def test_use_names_a_profile_for_its_nodes_or_others(command: Antiphon, tmp_path: Path, known_here: Path) -> None:
    profile.write(tmp_path / "m.json", of_nodes("a", "b"))
    (tmp_path / "nodes").write_text("x slots=2\ny slots=2\n")
    assert command("profile", "use", "m.json").returncode == 0
    used = json.loads(command("profile", "use", "m.json", "--hostfile", "nodes", "--json").stdout)
    assert used["nodes"] == ["x", "y"]
    assert profile.load(used["path"]) == of_nodes("a", "b")
    assert sorted(entry.nodes for entry in store.entries([tmp_path / "store"])) == [("a", "b"), FOUR, ("x", "y")]
    nameless = of_nodes("a", "b")
    nameless["topology"]["nodes"] = [{"switch": "a", "port_bytes_per_s": 1e7, "count": 2}]
    profile.write(tmp_path / "m.json", nameless)
    refused = command("profile", "use", "m.json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "error: the profile does not name its nodes\nhint: name them with --hostfile FILE\n"


def test_use_names_a_profile_for_every_library_that_it_has_decisions_for(command: Antiphon, known_here: Path) -> None:
    """GIVEN a profile of Open MPI that was tuned for MPICH, too WHEN it is used THEN runs with both find it."""
    tuned = of_nodes("a", "b")
    tuned["decisions"] = {"version": 1, "rules": [{"collective": "bcast", "mpi": "mpich", "use": "chain"}]}
    evidence = {"purpose": "decisions", "mpi": "mpich", "library": "MPICH 4.2.3", "version": "4.2.3"}
    tuned["measurements"] = {"tune": [evidence, {**evidence, "purpose": "export", "version": "3.4"}]}
    profile.write(Path("m.json"), tuned)
    used = json.loads(command("profile", "use", "m.json", "--json").stdout)
    assert [Path(path).parent.name.partition(".")[0] for path in used["paths"]] == ["openmpi-5", "mpich-4"]
    assert {entry.mpi for entry in store.entries() if entry.nodes == ("a", "b")} == {"openmpi-5", "mpich-4"}


def test_libraries_of_a_profile_are_those_measured_tuned_and_modelled() -> None:
    modelled = of_nodes("a", "b")
    modelled["machine"]["mpi"] = {"name": "mpiabi", "version": "5.0.1"}
    modelled["decisions"] = {"version": 1, "rules": [{"collective": "bcast", "mpi": "openmpi", "use": "chain"}]}
    assert _keeping.libraries_of(modelled) == [("mpich", "5.0.1"), ("openmpi", "5.0")]
    del modelled["machine"]["mpi"], modelled["decisions"]
    with pytest.raises(AntiphonError, match="does not say which MPI library"):
        _keeping.libraries_of(modelled)


def test_a_probe_into_another_file_leaves_the_decisions_that_runs_follow(known_here: Path, capsys) -> None:
    """GIVEN a tuned profile that runs find WHEN another one without decisions is kept for its nodes, or for a part of
    them THEN runs still find the decisions; not on another machine with nodes of these names.
    """
    decisions = {"version": 1, "rules": [{"collective": "bcast", "mpi": "openmpi", "use": "chain"}]}
    [entry] = store.entries()
    tuned = of_nodes(*FOUR) | {"decisions": decisions, "measurements": {"tune": [{"purpose": "decisions"}]}}
    tuned["machine"]["fingerprint"] = "mpi=openmpi;cores=4"
    store.save(tuned)
    for nodes in (FOUR, FOUR[:2]):
        probed = of_nodes(*nodes)
        probed["machine"]["fingerprint"] = "mpi=other;cores=4"
        _keeping.keep_in([known_here], probed, Path("other.json"), [("openmpi", "5.0.11")])
        found = store.serving(nodes, ("openmpi", "5.0.11"), [known_here])
        kept = profile.load(found.profile)
        assert (kept["decisions"], found.nodes) == (decisions, nodes)
        assert kept["measurements"]["tune"] == tuned["measurements"]["tune"]
        assert "decisions" not in probed
        assert f"with the decisions that runs had there ({found.profile})" in capsys.readouterr().err
    probed = of_nodes(*FOUR)
    probed["machine"]["fingerprint"] = "mpi=openmpi;cores=64"
    _keeping.keep_in([known_here], probed, Path("other.json"), [("openmpi", "5.0.11")])
    assert "had decisions for another machine (cores of a node" in capsys.readouterr().err
    assert profile.load(entry.path / "profile.json") == probed


def test_use_takes_the_library_that_is_named(command: Antiphon, known_here: Path) -> None:
    [library] = discover(most=1)
    profile.write(Path("m.json"), of_nodes("a", "b") | {"decisions": {"version": 1, "rules": []}})
    assert command("profile", "use", "m.json", "--mpi", str(library.libmpi)).returncode == 0
    [entry] = [entry for entry in store.entries() if entry.nodes == ("a", "b")]
    assert entry.mpi.partition("-")[0] == library.family


#: A file system on which everybody may write every file, whatever a program asks for, as Azure Files.
WITHOUT_MODES = """
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int fchmod(int file, mode_t mode) { (void)mode; return (int)syscall(SYS_fchmod, file, 0777); }
"""


def test_nothing_is_put_where_nobody_may_read_it_again(antiphon: Antiphon, tmp_path: Path) -> None:
    (tmp_path / "modes.c").write_text(WITHOUT_MODES)
    object_file = tmp_path / "modes.so"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "modes.c", "-o", object_file], check=True, timeout=60)
    profile.write(tmp_path / "m.json", of_nodes("a", "b"))
    folder = tmp_path / "share"
    refused = antiphon("profile", "use", "m.json", ANTIPHON_STORE=str(folder), LD_PRELOAD=str(object_file))
    assert (refused.returncode, refused.stdout) == (1, ""), refused.stderr
    assert "this file system keeps no modes, so everybody could write it: ANTIPHON_STORE can name" in refused.stderr
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_forget_removes_what_it_is_told_to(
    command: Antiphon, known_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [entry] = store.entries([known_here])
    assert command("profile", "forget").returncode == 2
    wrong = command("profile", "forget", "mpich")
    assert (wrong.returncode, wrong.stderr.splitlines()[0]) == (2, "error: nothing is known under 'mpich'")
    assert command("profile", "forget", "--learned", entry.name[:15]).returncode == 0
    assert entry.profile.is_file() and not entry.learned[0].exists()
    gone = json.loads(command("profile", "forget", "--all", "--json").stdout)
    assert gone == {"forgotten": [str(entry.path)]}
    assert command("profile", "list", "--json").stdout == "[]\n"
    assert "nothing is known" in command("profile", "list").stdout
    monkeypatch.setenv("ANTIPHON_STORE", "off")
    assert "the store is off" in command("profile", "list").stdout


def test_forget_leaves_what_is_not_of_the_store(command: Antiphon, known_here: Path) -> None:
    """GIVEN a store among other files WHEN all is forgotten THEN only what Antiphon wrote goes."""
    [entry] = store.entries()
    for name in (".ssh", "thesis", "openmpi-5.old"):
        (known_here / name).mkdir()
        (known_here / name / "profile.json").write_text("{}")
    (known_here / "thesis" / "about.json").write_text('{"format": "other", "mpi": "m", "nodes": []}')
    for name in (".lock", "about.json.18446744073709551615", "learned.tcp.eth0.0.json.7", "profile.json.bak"):
        (entry.path / name).touch()
    assert store.entries() == [entry]
    assert "nothing is known under 'thesis'" in command("profile", "forget", "thesis").stderr
    result = command("profile", "forget", "--all", "--json")
    assert json.loads(result.stdout) == {"forgotten": [str(entry.path)]}
    assert result.stderr == f"warning: {entry.path} stays: it has files that are not Antiphon's\n"
    left = [str(path.relative_to(known_here)) for path in known_here.rglob("*") if path.is_file()]
    own = ["openmpi-5.old/profile.json", "thesis/about.json", "thesis/profile.json", f"{entry.name}/profile.json.bak"]
    assert sorted(left) == sorted([".ssh/profile.json", *own])


def test_without_a_cache_nothing_is_written(
    command: Antiphon, known_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN neither HOME nor a cache THEN the directory that is read is neither written nor cleared."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("ANTIPHON_STORE", f":{known_here}")
    assert store.directories() == [None, known_here]
    assert command("profile", "forget", "--all").stdout == "nothing to forget\n"
    with pytest.raises(AntiphonError, match="no directory to write to"):
        store.save(of_nodes("a", "b"))
    nowhere, read = profiles.checks()
    assert (nowhere.name, nowhere.status, read.name, read.status) == ("written by runs", "warn", "read by runs", "ok")
    assert "neither XDG_CACHE_HOME nor HOME is set" in nowhere.detail and "1 set of nodes" in read.detail


def test_a_home_that_may_not_be_entered_is_no_store(
    tmp_path: Path, known_here: Path, monkeypatch: pytest.MonkeyPatch, closed: Callable[[Path], Any]
) -> None:
    """GIVEN a directory of the store that another user owns THEN doctor warns, and all else finds nothing there."""
    monkeypatch.setenv("ANTIPHON_STORE", f"{known_here}:{known_here}")
    with closed(tmp_path):
        found = store.entries()
        before = knowledge.of(of_nodes(*FOUR), None, ("openmpi", "5.0.11"), store.directories())
        written, read = profiles.checks()
    assert (found, before.files) == ([], [])
    assert (written.status, written.detail) == (
        "warn", f"{known_here} cannot be written: runs cannot keep what they learn"
    )  # fmt: skip
    assert (read.status, read.detail) == ("warn", f"{known_here} cannot be read: Permission denied")


def test_a_broken_file_is_named(command: Antiphon, known_here: Path) -> None:
    [entry] = store.entries([known_here])
    entry.learned[0].write_text("{")
    entry.profile.write_text("{}")
    shown = command("profile", "show")
    assert shown.returncode == 0
    assert "broken" in shown.stdout and str(entry.profile) in shown.stderr
    lines = json.loads(command("doctor", "--json").stdout)["checks"]
    warned = [line for line in lines if line["group"] == "profiles" and line["status"] == "warn"]
    assert [line["hint"] for line in warned] == [f"`antiphon profile forget {entry.name}`"] * 2


class Place:
    """Stands for a testbed with these directories."""

    def __init__(self, *folders: Path) -> None:
        self.stores = lambda: folders


def test_probe_and_tune_keep_a_profile_for_each_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    libraries = list({mpi.family: mpi for mpi in discover()}.values())
    _keeping.keep(of_nodes(*FOUR), tmp_path / "m.json", Place(tmp_path / "kept"), libraries)  # type: ignore[arg-type]
    entries = store.entries([tmp_path / "kept"])
    assert {entry.mpi.partition("-")[0] for entry in entries} == {mpi.family for mpi in libraries}
    assert capsys.readouterr().err.count("kept: runs on these nodes find it") == len(libraries)
    _keeping.keep(of_nodes("alone"), tmp_path / "m.json", Place(tmp_path / "none"), libraries)  # type: ignore[arg-type]
    _keeping.keep(of_nodes(*FOUR), tmp_path / "m.json", Place(), libraries)  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()
    _keeping.keep(of_nodes(*FOUR), tmp_path / "m.json", Place(Path("/dev/null/x")), libraries)  # type: ignore[arg-type]
    assert "warning: not kept for runs to find: cannot write /dev/null/x" in capsys.readouterr().err
    with pytest.raises(AntiphonError, match="the store is off"):
        store.save(of_nodes(*FOUR), (), [])


def test_explain_says_where_its_facts_come_from(command: Antiphon, tmp_path: Path) -> None:
    profile.write(tmp_path / "m.json", of_nodes(*FOUR))
    args = ("explain", "bcast", "--ranks", "4", "--bytes", "64k", "--profile", "m.json", "--json")
    facts = {fact["name"]: fact for fact in json.loads(command(*args).stdout)["facts"]}
    assert facts["link rate"] == {"name": "link rate", "value": "100mbit", "source": "the profile m.json"}
    assert facts["library"]["source"] == "the profile m.json"
