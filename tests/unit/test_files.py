# SPDX-License-Identifier: Apache-2.0
"""Checks that files are written whole or not at all, through links, pipes and devices, by every command that has -o."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.errors import AntiphonError
from antiphon.output import files

DATA = Path(__file__).resolve().parents[1] / "data"
PROFILE = str(DATA / "ethernet-16.openmpi.json")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "page"
    target.write_text("old")
    target.chmod(0o640)
    (tmp_path / "near").symlink_to("real/page")
    (tmp_path / "far").symlink_to(tmp_path / "near")
    files.write(tmp_path / "far", "new")
    assert target.read_text() == "new" and stat.S_IMODE(target.stat().st_mode) == 0o640
    assert (tmp_path / "far").is_symlink() and (tmp_path / "near").is_symlink()
    (tmp_path / "dangling").symlink_to("made")
    files.write(tmp_path / "dangling", b"\0")
    assert (tmp_path / "made").read_bytes() == b"\0" and (tmp_path / "dangling").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "far", "made", "near", "real"]


def test_a_pipe_gets_the_content(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    files.check(pipe, overwrite=False)
    files.write(pipe, b"x" * 200_000)
    reader.join(10)
    assert got == [b"x" * 200_000] and stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_lock_keeps_others_out_for_a_while(tmp_path, monkeypatch):
    """GIVEN a lock that somebody holds THEN another one waits for it, but not for ever."""
    path, order = tmp_path / "file", []

    def enter() -> None:
        with files.locked(path):
            order.append("other")

    other = threading.Thread(target=enter)
    with files.locked(path):
        other.start()
        other.join(0.1)
        order.append("first")
    other.join(10)
    assert order == ["first", "other"]
    monkeypatch.setattr(files, "_LOCK_TRIES", 2)
    with files.locked(path):
        enter()
    with files.locked(tmp_path / "none" / "file"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    room = [3]

    def write(descriptor: int, data: memoryview) -> int:
        room[0] -= 1
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(descriptor, data[:1], 3 - room[0])

    monkeypatch.setattr(files.os, "write", write)
    with pytest.raises(AntiphonError, match="No space left") as caught:
        files.write(path, "new and longer")
    assert caught.value.exit_code != 0
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def commands(tmp_path: Path) -> dict[str, list[str]]:
    """Returns the commands that write one file, whose name is missing at the end."""
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"results": []}))
    return {
        "report": ["report", PROFILE, "-o"],
        "export": ["export", "--to", "goal", "bcast", "--ranks", "4", "--bytes", "1k", "-o"],
        "explain": ["explain", "bcast", "--ranks", "4", "--bytes", "1k", "--svg"],
        "predict": ["predict", "barrier", "--ranks", "2", "--no-sweep", "--svg"],
        "traffic": ["traffic", str(tmp_path / "run.trace"), "-o"],
        "compile": ["compile", str(tmp_path / "run.trace"), "-o"],
        "map": ["map", str(tmp_path / "run.trace"), PROFILE, "-o"],
        "trace": ["trace", "-o"],
        "probe": ["probe", "--again", str(tmp_path / "no.samples"), "-o"],
        "bench": ["bench", "bcast", "--mpi", "none", "--json"],
        "bench-svg": ["bench", "--profile", "none", "--svg"],
        "codecs": ["bench", "codecs", "--codecs", "none", "--json"],
        "tune": ["tune", "--mpi", "none", "--profile"],
    }


@pytest.mark.parametrize("name", ["report", "export", "explain", "predict", "traffic", "compile", "map", "trace",
                                  "probe", "tune", "bench", "bench-svg", "codecs"])  # fmt: skip
def test_nothing_is_done_for_a_file_that_cannot_be_written(name, tmp_path, capsys):
    """GIVEN a directory, a missing directory or a file in a file THEN the error comes before all others."""
    words = commands(tmp_path)[name]
    for where, said in ((tmp_path, "is a directory"), (tmp_path / "no" / "x", "No such file or directory"),
                        (tmp_path / "results.json" / "x", "Not a directory")):  # fmt: skip
        assert cli.main([*words, str(where), *(["/bin/true"] if name == "trace" else [])]) in (1, 2)
        out, err = capsys.readouterr()
        assert out == "" and said in err and str(where) in err, err


@pytest.mark.parametrize("name", ["report", "export", "explain"])
def test_a_full_device_is_an_error(name, tmp_path, capsys):
    (tmp_path / "link").symlink_to("/dev/full")
    for path in ("/dev/full", str(tmp_path / "link")):
        assert cli.main([*commands(tmp_path)[name], path]) == 1
        assert "No space left on device" in capsys.readouterr().err
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode) and (tmp_path / "link").is_symlink()


def test_only_overwrite_replaces(tmp_path, capsys):
    path = tmp_path / "page"
    words = commands(tmp_path)["report"]
    assert cli.main([*words, str(path)]) == 0
    assert cli.main([*words, str(path)]) == 2 and "--overwrite" in capsys.readouterr().err
    assert cli.main([*words, str(path), "--overwrite"]) == 0


@pytest.mark.parametrize("name", ["traffic", "joint", "bench", "bench-svg", "codecs"])
def test_results_are_replaced_only_where_it_is_wanted(name, tmp_path, capsys):
    """GIVEN a file that is there THEN that is the error; with --overwrite the command goes on to the next one."""
    words = commands(tmp_path) | {"joint": ["traffic", "run.trace", "--joint", "--profile", PROFILE, "-o"]}
    (tmp_path / "old").write_text("old")
    assert cli.main([*words[name], str(tmp_path / "old")]) == 2
    assert "is there already\nhint: replace it with --overwrite" in capsys.readouterr().err
    assert cli.main([*words[name], str(tmp_path / "old"), "--overwrite"]) != 0
    assert "is there already" not in capsys.readouterr().err
    assert (tmp_path / "old").read_text() == "old"


#: Commands that read FILE, and are to write it by its other name, SAME.
READERS = {
    "report": "report FILE -o SAME",
    "traffic": "traffic FILE -o SAME",
    "compile": "compile FILE -o SAME",
    "map": f"map FILE {PROFILE} -o SAME",
    "map-beside": "map /bin/true FILE -o SAME --launcher hydra",
    "plan": "plan -o SAME --profile FILE --trace new /bin/true",
    "trace": "trace --to perfetto -o SAME FILE",
    "explain": "explain bcast -n 4 --bytes 1k --profile FILE --svg SAME",
    "explain-plan": "explain --plan FILE --svg SAME",
    "explain-pattern": "explain --pattern FILE --svg SAME",
    "predict": "predict bcast -n 4 --profile FILE --svg SAME",
    "predict-cluster": "predict bcast --cluster FILE --svg SAME",
    "predict-page": "predict --cluster FILE --html SAME",
    "cluster-show": "cluster show FILE --profile-out SAME",
    "cluster-fit": "cluster fit --rate 1gbit --calls FILE --one-way a --pairs b --ring c -o SAME",
    "export": "export --to openmpi-rules --profile FILE -o SAME",
    "export-tree": "export --to mpich-json --libmpi FILE -o SAME",
    "bench": f"bench --profile {PROFILE} --results FILE --json SAME",
    "bench-svg": "bench --mpi none --profile FILE --svg SAME",
    "bench-hosts": "bench --mpi none --hostfile FILE --json SAME",
    "bench-pattern": "bench --mpi none --pattern FILE --json SAME",
    "bench-codecs": "bench codecs --messages FILE --json SAME",
}


@pytest.mark.parametrize("name", READERS)
def test_no_command_replaces_what_it_reads(name, tmp_path, monkeypatch, capsys):
    """GIVEN the same file by another name THEN not even --overwrite replaces it."""
    monkeypatch.chdir(tmp_path)
    source, same = tmp_path / "source", tmp_path / ("same.json" if name == "map-beside" else "same")
    source.write_text("{}")
    same.symlink_to(source)
    line = READERS[name].replace("FILE", str(source)).replace("SAME", f"{tmp_path / 'same'} --overwrite")
    assert cli.main(line.split()) == 2
    assert f"{same.name} is what the command reads" in capsys.readouterr().err
    assert source.read_text() == "{}"


@pytest.mark.parametrize("words", [["report"], ["trace", "--to", "perfetto"]], ids=["report", "trace"])
@pytest.mark.parametrize("directory", [".", "..", "/"])
def test_a_directory_is_no_document(words, directory, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main([*words, directory]) == 2
    assert f"error: {directory} is a directory" in capsys.readouterr().err


def test_names_that_are_no_text_can_be_in_a_file(tmp_path):
    """GIVEN a path with a byte that is no UTF-8, as Python has it in texts THEN that byte is written."""
    files.write(tmp_path / "file", f"path {os.fsdecode(b'm' + bytes([255]))}")
    assert (tmp_path / "file").read_bytes() == b"path m\xff"


def test_results_and_their_chart_are_two_files(tmp_path, capsys):
    same = str(tmp_path / "same")
    assert cli.main(["bench", "--mpi", "none", "--profile", PROFILE, "--json", same, "--svg", same]) == 2
    assert "same is named for two outputs" in capsys.readouterr().err
