# SPDX-License-Identifier: Apache-2.0
"""Checks launch lines, hostfiles and the ranks' environment: pure functions, no MPI needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import antiphon
from antiphon import cli
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi, launch
from antiphon.mpi.launch import (
    Settings,
    check_settings,
    environment_without,
    launch_command,
    rank_environment,
    read_hostfile,
    srun_command,
)

OPEN_MPI = Mpi(
    family="openmpi", abi="openmpi", name="Open MPI", version="5.0.11", vendor="", soname="libmpi.so.40",
    prefix=Path("/opt/ompi"), libmpi=Path("/opt/ompi/lib/libmpi.so.40"), launcher=Path("/opt/ompi/bin/mpirun"),
)  # fmt: skip
MPICH = Mpi(
    family="mpich", abi="mpich", name="MPICH", version="5.0.2", vendor="", soname="libmpi.so.12",
    prefix=Path("/opt/mpich"), libmpi=Path("/opt/mpich/lib/libmpi.so.12"),
    launcher=Path("/opt/mpich/bin/mpiexec.hydra"),
)  # fmt: skip
ENV = {"LD_PRELOAD": "/a/libantiphon.so", "ANTIPHON_FORCE": "alltoall:rotated:window=2,piece_bytes=16384;bcast:chain"}
PROGRAM = ["./prog", "-n", "5"]


@pytest.fixture(autouse=True)
def objects(tmp_path, monkeypatch):
    for abi in ("openmpi", "mpich", "mpiabi"):
        (tmp_path / f"libantiphon-{abi}.so").touch()
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(tmp_path))
    return tmp_path


def test_the_parts_of_an_editable_installation_are_not_beside_the_sources(tmp_path, monkeypatch, capsys):
    """GIVEN a package of two folders, as `pip install -e .` makes it THEN lib and include are found in the second."""
    sources, built = tmp_path / "sources", tmp_path / "built"
    for folder in (sources, built / "lib", built / "include"):
        folder.mkdir(parents=True)
    (built / "include" / "antiphon.h").touch()
    monkeypatch.delenv("ANTIPHON_LIB_DIR")
    monkeypatch.setattr(antiphon, "__path__", [str(sources), str(built)])
    assert launch.lib_dir() == built / "lib"
    assert cli.main(["prefix", "--include"]) == 0
    assert capsys.readouterr().out == f"{built / 'include'}\n"


def test_open_mpi():
    assert launch_command(OPEN_MPI, 4, PROGRAM, ENV, extra=["--bind-to", "none"]) == [
        "/opt/ompi/bin/mpirun", "-n", "4", "-x", f"LD_PRELOAD={ENV['LD_PRELOAD']}",
        "-x", f"ANTIPHON_FORCE={ENV['ANTIPHON_FORCE']}", "--bind-to", "none", "./prog", "-n", "5",
    ]  # fmt: skip


def test_hydra():
    assert launch_command(MPICH, 4, PROGRAM, ENV, extra=["-bind-to", "core"]) == [
        "/opt/mpich/bin/mpiexec.hydra", "-n", "4", "-genv", "LD_PRELOAD", ENV["LD_PRELOAD"],
        "-genv", "ANTIPHON_FORCE", ENV["ANTIPHON_FORCE"], "-bind-to", "core", "./prog", "-n", "5",
    ]  # fmt: skip


def test_only_open_mpi_needs_leave_for_root_and_more_ranks_than_cores():
    flags = ["--allow-run-as-root", "--oversubscribe"]
    assert launch_command(OPEN_MPI, 4, PROGRAM, {}, oversubscribe=True, as_root=True)[1:3] == flags
    assert not set(flags) & set(launch_command(OPEN_MPI, 4, PROGRAM, {}))
    hydra = launch_command(MPICH, 4, PROGRAM, {})
    assert launch_command(MPICH, 4, PROGRAM, {}, oversubscribe=True, as_root=True) == hydra


def test_without_a_number_of_ranks(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("one:3\ntwo\n")
    assert "-n" not in launch_command(OPEN_MPI, None, ["./prog"], {}, hosts)
    assert launch_command(MPICH, None, ["./prog"], {}, hosts)[1:3] == ["-n", "4"]


@pytest.mark.parametrize(("mpi", "text", "options"), [
    (OPEN_MPI, "one slots=2\ntwo\n", ["--hostfile", "FILE"]),
    (OPEN_MPI, "one:2\ntwo:3 # the fat one\n", ["--host", "one:2,two:3"]),
    (MPICH, "one:2\ntwo\n", ["-f", "FILE"]),
    (OPEN_MPI, "one:2 ifname=eth0\ntwo\n", ["--host", "one:2,two:1"]),
    (OPEN_MPI, "one ifname=eth0 # slots=9\n", ["--host", "one:1"]),
    (OPEN_MPI, "one slots = 3 # one:9\n", ["--hostfile", "FILE"]),
    (MPICH, "one slots = 3\ntwo max-slots=4 slots=\"2\"\n", ["-hosts", "one:3,two:2"]),
    (MPICH, "one:2 ifname=eth0 # slots=9\n", ["-f", "FILE"]),
    (MPICH, "# cluster\none slots=2 max_slots=4\ntwo\n", ["-hosts", "one:2,two:1"]),
    (MPICH, "one slots=1\ntwo\none slots=1\n", ["-hosts", "one:2,two:1"]),
])  # fmt: skip
def test_either_hostfile_works_with_either_launcher(mpi, text, options, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text(text)
    command = launch_command(mpi, 2, ["./prog"], {}, hosts)
    assert command[3:] == [word.replace("FILE", str(hosts)) for word in options] + ["./prog"]


@pytest.mark.parametrize(("word", "host", "slots"), [
    ("fe80::1", "fe80::1", 1), ("2001:db8::5:4 slots=2", "2001:db8::5:4", 2), ("[fe80::1]:4", "fe80::1", 4),
    ("[::1]", "::1", 1), ("node:4", "node", 4), ("::1:2", "::1:2", 1),
])  # fmt: skip
def test_addresses_of_ipv6_stay_whole(word, host, slots, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text(f"{word}\n")
    assert read_hostfile(hosts) == ((host, slots),)


def test_launchers_that_take_no_address_of_ipv6(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("2001:db8::1 slots=2\n")
    assert launch_command(OPEN_MPI, 2, ["./prog"], {}, hosts)[3:5] == ["--hostfile", str(hosts)]
    for mpi, text in ((MPICH, "2001:db8::1 slots=2"), (MPICH, "one\n[fe80::1]:2"), (OPEN_MPI, "one\n[fe80::1]:2"),
                      (OPEN_MPI, "[fe80::1] slots=2")):  # fmt: skip
        hosts.write_text(text)
        with pytest.raises(AntiphonError, match="cannot be told the IPv6 address") as error:
            launch_command(mpi, 2, ["./prog"], {}, hosts)
        assert "name" in error.value.hint


@pytest.mark.parametrize(("text", "part"), [("", "names no host"), ("one\ntwo slots=many\n", ":2: 'many'"),
                                            ("one slots=\n", ":1: ''"), ("[::1]:x\n", ":1: 'x'"),
                                            ("one:0\n", ":1: '0'"), ("one slots=²\n", ":1: '²'"),
                                            ('{"a": 1}\n', """:1: '{"a"' is not a host's name"""),
                                            ("one\n[]\n", ":2: '' is not"), ("\0\0\n", ":1: ")])  # fmt: skip
def test_broken_hostfiles(text, part, tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text(text)
    with pytest.raises(AntiphonError) as error:
        read_hostfile(hosts)
    assert part in error.value.message and str(hosts) in error.value.message
    with pytest.raises(AntiphonError, match="No such file"):
        read_hostfile(tmp_path / "none")


def test_no_launcher():
    with pytest.raises(AntiphonError, match=r"no mpirun of Open MPI 5\.0\.11") as error:
        launch_command(replace(OPEN_MPI, launcher=None), 2, PROGRAM, {})
    assert "--mpi" in error.value.hint


def test_srun_sees_no_preload_itself_and_values_keep_their_commas():
    start = srun_command(None, PROGRAM, ENV, ["--mpi=pmix"])
    assert start.command == ["srun", "--export=ALL,LD_PRELOAD=/a/libantiphon.so", "--mpi=pmix", *PROGRAM]
    assert start.env == {"ANTIPHON_FORCE": ENV["ANTIPHON_FORCE"], "ANTIPHON_ALL_RANKS": "1"}
    assert start.shell_line().startswith(f"ANTIPHON_FORCE='{ENV['ANTIPHON_FORCE']}' ANTIPHON_ALL_RANKS=1 srun ")
    with pytest.raises(AntiphonError, match="comma"):
        srun_command(2, PROGRAM, {"LD_PRELOAD": "/a,b/libantiphon.so"})


@pytest.mark.parametrize(("step", "overlaps"), [(None, False), ("0", True), ("17", True), ("4294967290", False),
                                                ("4294967291", False), ("", False)])  # fmt: skip
def test_srun_within_a_step_shares_its_cores(step, overlaps, monkeypatch):
    """GIVEN the shell of `srun --pty bash` THEN srun's new step takes its cores; batch scripts hold none."""
    monkeypatch.delenv("SLURM_STEP_ID", raising=False)
    if step is not None:
        monkeypatch.setenv("SLURM_STEP_ID", step)
    assert (srun_command(2, PROGRAM, ENV).env.get("SLURM_OVERLAP") == "1") is overlaps


def test_preload_comes_behind_what_was_there_and_before_mpi(objects):
    inherited = "/usr/lib/libtool.so /opt/mpich/lib/libmpi.so.12:/old/libantiphon-mpich.so"
    env = rank_environment(OPEN_MPI, Settings(), {"LD_PRELOAD": inherited, "HOME": "/root"})
    own = f"{objects}/libantiphon-openmpi.so"
    assert env == {"LD_PRELOAD": f"/usr/lib/libtool.so:{own}:/opt/mpich/lib/libmpi.so.12"}


def test_a_programs_sanitizer_comes_first(objects):
    env = rank_environment(replace(MPICH, sanitizer=Path("/a/libasan.so.8")), Settings(),
                           {"LD_PRELOAD": "/usr/lib/libtool.so:/a/libasan.so.8"})  # fmt: skip
    assert env == {"LD_PRELOAD": f"/a/libasan.so.8:/usr/lib/libtool.so:{objects}/libantiphon-mpich.so"}


def test_a_program_that_opens_mpi_itself_gets_it_preloaded(objects):
    late = replace(MPICH, late=True, redirect=True)
    env = rank_environment(late, Settings(), {"LD_LIBRARY_PATH": "/mine"})
    assert env["LD_PRELOAD"] == f"{objects}/libantiphon-mpich.so:{MPICH.libmpi}"
    assert env["LD_LIBRARY_PATH"] == "/opt/mpich/lib:/mine"


def test_a_script_of_another_library_gets_no_library_preloaded(objects):
    """GIVEN a script whose MPI is named by the user THEN only mpi4py is told of it: a program brings its own."""
    env = rank_environment(replace(MPICH, redirect=True), Settings(), {})
    assert env["LD_PRELOAD"] == f"{objects}/libantiphon-mpich.so"
    assert env["MPI4PY_LIBMPI"] == str(MPICH.libmpi)


def test_settings_become_variables(tmp_path):
    profile = tmp_path / "p.json"
    profile.write_text("{}")
    settings = Settings(off=True, profile=profile, force="*:on", summary="out.json")
    env = rank_environment(MPICH, settings, {"ANTIPHON_VERBOSE": "2", "ANTIPHON_FORCE": "bcast:chain"})
    del env["LD_PRELOAD"]
    assert env == {"ANTIPHON": "off", "ANTIPHON_PROFILE": str(profile), "ANTIPHON_FORCE": "*:on",
                   "ANTIPHON_SUMMARY": str(Path.cwd() / "out.json"), "ANTIPHON_VERBOSE": "2"}  # fmt: skip
    assert Settings(summary="1").variables() == {"ANTIPHON_SUMMARY": "1"}


@pytest.mark.parametrize("spec", ["alltoall:rotated", "*:on", "bcast:chain;",
                                  "alltoall:rotated:piece_bytes=16384,window=2;bcast:chain"])  # fmt: skip
def test_force_as_documented(spec):
    assert Settings(force=spec).variables() == {"ANTIPHON_FORCE": spec}
    check_settings({"ANTIPHON_FORCE": spec})


@pytest.mark.parametrize("spec", ["alltoall", "alltoall:rotated:window", "alltoall:rotated:window=2;bcast",
                                  "alltoall rotated"])  # fmt: skip
def test_force_with_mistakes(spec):
    with pytest.raises(AntiphonError, match="COLLECTIVE:CHOICE|PARAMETER=VALUE"):
        check_settings({"ANTIPHON_FORCE": spec})


def test_missing_profile(tmp_path):
    with pytest.raises(AntiphonError, match="no such file"):
        Settings(profile=tmp_path / "none.json").variables()


def test_missing_preload_object(objects):
    (objects / "libantiphon-mpich.so").unlink()
    with pytest.raises(AntiphonError, match="preload object for the ABI mpich is missing") as error:
        rank_environment(MPICH, Settings(), {})
    assert "make setup" in error.value.hint


def test_a_path_that_cannot_be_preloaded(tmp_path, monkeypatch):
    folder = tmp_path / "with blank"
    folder.mkdir()
    (folder / "libantiphon-mpich.so").touch()
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(folder))
    with pytest.raises(AntiphonError, match="cannot be preloaded"):
        launch.preload_object("mpich")


@pytest.mark.parametrize("tool", ["", "/tools/libtool.so"])
def test_runs_without_antiphon_differ_by_its_object_and_settings_alone(tool):
    """GIVEN a library that ranks would not find, and a tool that is preloaded, with or without Antiphon's object."""
    mpi, ours = replace(MPICH, redirect=True), "/elsewhere/libantiphon-mpich.so"
    inherited = {"LD_PRELOAD": f"{tool}:{ours}", "LD_LIBRARY_PATH": "/mine", "ANTIPHON_FORCE": "bcast:chain"}
    with_it = rank_environment(mpi, Settings(), inherited)
    own = with_it.pop("LD_PRELOAD").removeprefix(f"{tool}:" if tool else "")
    assert own.endswith("/libantiphon-mpich.so") and with_it.pop("ANTIPHON_FORCE") == "bcast:chain"
    assert environment_without(mpi, inherited) == {"LD_PRELOAD": tool, **with_it}
    assert environment_without(MPICH, {}) == {}
