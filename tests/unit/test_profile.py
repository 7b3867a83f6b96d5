# SPDX-License-Identifier: Apache-2.0
"""Checks profile files: one line names the field that is wrong; writing is all or nothing; machines are compared."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon import profile
from antiphon.errors import AntiphonError

CURVE = [[0, 1e-6], [1024, 2e-6], [1024, 5e-6], [65536, 5e-3]]


def minimal() -> dict[str, Any]:
    curve = lambda: copy.deepcopy(CURVE)  # noqa: E731
    return {
        "format": "antiphon-profile",
        "version": 1,
        "machine": {"name": "m", "nodes": 2, "fingerprint": "mpi=mpich;cpu=A;cores=2;hosts=n#"},
        "link_classes": [
            {"name": "x", "scope": "switch", "latency_s": 1e-5, "os_s": curve(), "or_s": curve(), "g_s": curve()}
        ],
        "topology": {"switches": [{"name": "s"}], "nodes": [{"switch": "s", "port_bytes_per_s": 1e7, "count": 2}]},
    }


def broken(change: Callable[[dict[str, Any]], object]) -> str:
    document = minimal()
    change(document)
    with pytest.raises(AntiphonError) as error:
        profile.check(document, "m.json")
    assert "\n" not in error.value.message
    assert len(error.value.message) < 250
    assert error.value.hint
    return error.value.message


def test_a_good_one_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    profile.write(tmp_path / "m.json", minimal())
    assert profile.load(tmp_path / "m.json") == minimal()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda d: d.update(format="other"), "format"),
        (lambda d: d.pop("format"), "format"),
        (lambda d: d.update(version=2), "version: 2 is newer"),
        (lambda d: d.update(version="1"), "version"),
        (lambda d: d.pop("topology"), "topology"),
        (lambda d: d["link_classes"][0].update(latency_s=-1), "link_classes[0].latency_s"),
        (lambda d: d["link_classes"][0].update(latency_s="fast"), "link_classes[0].latency_s"),
        (lambda d: d["link_classes"][0]["g_s"].__setitem__(2, [1024]), "link_classes[0].g_s[2]"),
        (lambda d: d["link_classes"][0].update(g_s=[[0, 1.0], [64, 1.0], [32, 1.0]]), "link_classes[0].g_s[2]"),
        (
            lambda d: d["link_classes"][0].update(g_s=[[0, 1.0], [64, 1.0], [64, 1.0], [64, 1.0]]),
            "link_classes[0].g_s[3]",
        ),
        (lambda d: d["link_classes"].append(d["link_classes"][0]), "link_classes[1].scope"),
        (lambda d: d["link_classes"][0].update(latencys=1), "link_classes[0]"),
        (lambda d: d["topology"]["nodes"][0].update(switch="t"), "topology.nodes[0].switch"),
        (lambda d: d["topology"]["nodes"][0].update(port_bytes_per_s=0), "topology.nodes[0].port_bytes_per_s"),
        (
            lambda d: d["topology"]["switches"][0].update(parent="s", uplink_bytes_per_s=1.0),
            "topology.switches[0].parent",
        ),
        (lambda d: d.update(contention={"credit_bytes": 1.5}), "contention.credit_bytes"),
    ],
)
def test_broken_by_hand(change: Callable[[dict[str, Any]], object], field: str) -> None:
    assert field in broken(change)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_cut_short(tmp_path: Path, share: float) -> None:
    text = json.dumps(minimal())
    (tmp_path / "m.json").write_text(text[: int(len(text) * share)])
    with pytest.raises(AntiphonError, match=r"m.json: line 1: .*(cut short|not JSON)"):
        profile.load(tmp_path / "m.json")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[1]", b"nonsense", b'{"a": 1}'])
def test_foreign_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(AntiphonError, match=r"m\.json"):
        profile.load(tmp_path / "m.json")


def test_a_bad_document_does_not_touch_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    profile.write(path, minimal())
    before = path.read_bytes()
    with pytest.raises(AntiphonError):
        profile.write(path, {**minimal(), "version": 0})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.json"
    profile.write(path, minimal())
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AntiphonError, match="No space left"):
        profile.write(path, {**minimal(), "tool": "x"})
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_another_machine_is_told() -> None:
    same = profile.fingerprint(mpi="mpich", cpu_model="A", cores=2, hosts=["n1", "n22"])
    assert profile.mismatch_warning(minimal(), same) is None
    other = profile.fingerprint(mpi="openmpi", cpu_model="A", cores=64, hosts=["n1"])
    warning = profile.mismatch_warning(minimal(), other)
    assert warning is not None
    assert "MPI library" in warning
    assert "cores" in warning
    assert "processor:" not in warning
    assert profile.mismatch_warning({**minimal(), "machine": {"name": "m", "nodes": 2}}, other) is None


def test_lines_are_short_enough_to_read(tmp_path: Path) -> None:
    document = minimal()
    document["link_classes"][0]["g_s"] = [[i, 1e-5 * (i + 1) / 3] for i in range(200)]
    text = profile.json_text(document)
    assert json.loads(text) == document
    assert max(map(len, text.splitlines())) <= 125


def test_a_process_bound_to_a_core_is_on_the_same_machine() -> None:
    """Sets the processors as on a node of a lab."""
    code = "import os; from antiphon import profile; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    bound = subprocess.run([sys.executable, "-c", code + "print(profile.here())"], capture_output=True, check=True)
    assert bound.stdout.decode().strip() == profile.here()


def test_a_run_warns_only_of_another_machine(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    document = minimal()
    document["machine"]["fingerprint"] = "mpi=mpich;" + profile.here(["n1"])
    profile.write(path, document)
    assert profile.warning_for_run(path) is None
    assert profile.warning_for_run(path, ["n7", "n8"]) is None
    assert "names of nodes" in (profile.warning_for_run(path, ["other1"]) or "")
    document["machine"]["fingerprint"] = "mpi=mpich;cpu=Z80;cores=1"
    profile.write(path, document)
    assert "processor" in (profile.warning_for_run(path) or "")
    path.write_text("{")
    assert profile.warning_for_run(path) is None
