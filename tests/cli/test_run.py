# SPDX-License-Identifier: Apache-2.0
"""Checks `antiphon run` with real programs, launchers and libraries; the preload object only reports its loading."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from antiphon import cli
from antiphon.mpi import discover

RANKS = 3
PROFILE = Path(__file__).parent.parent / "data" / "ethernet-16.openmpi.json"


def run_ok(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0, result.stderr
    assert f"ranks {RANKS} sum {RANKS}" in result.stdout
    assert result.stderr.count("intercepted") == RANKS
    return result.stdout


def test_every_rank_is_intercepted(mpi, program, antiphon, objects):
    out = run_ok(antiphon("run", "-n", RANKS, program, "LD_PRELOAD"))
    for rank in range(RANKS):
        assert f"{rank} LD_PRELOAD={objects}/libantiphon-{mpi.abi}.so\n" in out


def test_ranks_find_programs_as_the_shell_does(native_program, antiphon, tmp_path):
    """GIVEN a folder that goes first on the PATH, as a virtual environment does THEN ranks look there first, too."""
    folder = tmp_path / "first"
    folder.mkdir()
    shutil.copy(native_program, folder / "true")
    run_ok(antiphon("run", "-n", RANKS, "true", PATH=f"{folder}:{os.environ['PATH']}"))


def test_settings_reach_every_rank(native_program, antiphon, tmp_path):
    (tmp_path / "p.json").write_bytes(PROFILE.read_bytes())
    force = "alltoall:rotated:piece_bytes=16384,window=2;*:on"
    one, other = force.split(";")
    options = ["--profile", "p.json", "--force", one, "--summary=out.json", "--off", "--force", other]
    names = ["ANTIPHON_PROFILE", "ANTIPHON_FORCE", "ANTIPHON_SUMMARY", "ANTIPHON", "ANTIPHON_VERBOSE"]
    out = run_ok(antiphon("run", "-n", RANKS, *options, native_program, *names, ANTIPHON_VERBOSE="1"))
    values = [f"{tmp_path}/p.json", force, f"{tmp_path}/out.json", "off", "1"]
    for rank in range(RANKS):
        for name, value in zip(names, values, strict=True):
            assert f"{rank} {name}={value}\n" in out


def test_no_rank_starts_with_a_broken_profile(compiled, antiphon, tmp_path):
    """GIVEN a profile that is cut short, newer, foreign or changed by hand THEN one line says where; nothing runs."""
    program = compiled(discover()[0])
    text = PROFILE.read_text()
    soon = json.loads(text)
    soon["link_classes"][0]["latency_s"] = "soon"
    newer = text.replace('"version": 1', '"version": 9', 1)
    for broken, said in (
        (text[:3000], "not valid JSON"),
        (newer, "version: this profile has version 9"),
        ('{"a": 1}', 'the field "format" is missing'),
        (json.dumps(soon), "link_classes[0].latency_s"),
    ):
        (tmp_path / "p.json").write_text(broken)
        result = antiphon("run", "-n", RANKS, "--profile", "p.json", program)
        assert result.returncode == 2 and result.stdout == ""
        assert said in result.stderr.splitlines()[0], result.stderr


@pytest.mark.parametrize(("options", "variables", "said"), [
    (["--force", "alltoall:nosuch"], {}, 'error: --force alltoall:nosuch: alltoall has no algorithm "nosuch"'),
    (["--force", "alltoal:rotated"], {}, 'there is no collective "alltoal"'),
    (["--force", "*:rotated"], {}, '"*" takes on, library or auto'),
    (["--force", "alltoall"], {}, '"alltoall" is not COLLECTIVE:CHOICE'),
    (["--force", "alltoall:rotated:window=two"], {}, '"two" is not a whole number'),
    (["--plan", "cut.json"], {}, "error: --plan "),
    (["--profile", "decided.json"], {}, 'decisions.rules[0].use: bcast has no algorithm "chian"'),
    ([], {"ANTIPHON_FORCE": "*:"}, "error: ANTIPHON_FORCE=*:"),
    ([], {"ANTIPHON_PLAN": "/nowhere/plan.json"}, "error: ANTIPHON_PLAN=/nowhere/plan.json cannot be read"),
    ([], {"ANTIPHON_VERBOSE": "loud"}, "error: ANTIPHON_VERBOSE=loud is not a whole number"),
    ([], {"ANTIPHON": "maybe"}, "error: ANTIPHON=maybe is none of on, off, 1, 0"),
    ([], {"ANTIPHON_MULTICAST_LOSS": "1.5"}, "is not a share from 0 to 1"),
    ([], {"ANTIPHON_SUMARY": "1"}, "hint: did you mean ANTIPHON_SUMMARY?"),
])  # fmt: skip
def test_no_rank_starts_with_wrong_settings(
    options, variables, said, any_program, objects, tmp_path, monkeypatch, capsys
):
    (tmp_path / "cut.json").write_text('{"version": 1, "patterns": [')
    profile = json.loads(PROFILE.read_text())
    profile["decisions"] = {"version": 1, "rules": [{"collective": "bcast", "use": "chian"}]}
    (tmp_path / "decided.json").write_text(json.dumps(profile))
    monkeypatch.chdir(tmp_path)
    for name, value in {"ANTIPHON_LIB_DIR": str(objects), **variables}.items():
        monkeypatch.setenv(name, value)
    assert cli.main(["run", "--dry-run", "-n", str(RANKS), *options, str(any_program)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and "\nhint: " in err, err


#: What ranks would write, over what is read or over each other.
OVER = {
    "the program": ["--metrics", "./prog"],
    "the profile": ["--profile", "p.json", "--summary=same.json"],
    "a profile by the environment": ["--trace", "same.json"],
    "a placement": ["--placement", "x/../placed.json", "--metrics", "placed.json"],
    "another output": ["--metrics", "new", "--trace", "./new"],
}


FORMS = (["run", "--dry-run"], ["env"], ["lab", "run", "--nodes", 2])


@pytest.mark.parametrize("form", FORMS, ids=lambda words: words[0])
@pytest.mark.parametrize("what", OVER)
def test_no_rank_replaces_what_is_read(what, form, compiled, command, objects, tmp_path, monkeypatch):
    """GIVEN an output that is an input or another output THEN that is an error before anything is started."""
    (tmp_path / "prog").symlink_to(compiled(discover()[0]))
    (tmp_path / "p.json").write_bytes(PROFILE.read_bytes())
    os.link(tmp_path / "p.json", tmp_path / "same.json")
    nodes = {"nodes": [{"name": "localhost", "slots": 1}], "node_of_rank": [0]}
    (tmp_path / "placed.json").write_text(json.dumps({"format": "antiphon-placement", "version": 1, **nodes}))
    (tmp_path / "x").mkdir()
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(objects))
    if "environment" in what:
        monkeypatch.setenv("ANTIPHON_PROFILE", str(tmp_path / "p.json"))
    result = command(*form, *OVER[what], "./prog")
    assert (result.returncode, result.stdout) == (2, "")
    said = "is named for two outputs" if what == "another output" else "is what the command reads"
    assert said in result.stderr and "\nhint: name another file" in result.stderr, result.stderr


def test_no_rank_replaces_the_hostfile(compiled, command, objects, tmp_path, monkeypatch):
    (tmp_path / "hosts").write_text("localhost slots=2\n")
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(objects))
    for words in (["run", "--dry-run", "--trace", "hosts"], ["trace", "--overwrite", "-o", "hosts"]):
        result = command(*words, "--hostfile", "hosts", compiled(discover()[0]))
        assert result.returncode == 2 and "hosts is what the command reads" in result.stderr, result.stderr


def test_an_older_summary_is_replaced(compiled, command, objects, tmp_path, monkeypatch):
    """GIVEN the outputs of an earlier run, or one device for two THEN nothing is wrong with them."""
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(objects))
    for name in ("s.json", "m"):
        (tmp_path / name).write_text("old")
    outputs = ["--summary=s.json", "--metrics", "m"]
    for words in (outputs, ["--summary=/dev/null", "--metrics", "/dev/null"]):
        assert command("run", "-n", 2, "--dry-run", *words, compiled(discover()[0])).returncode == 0


def test_a_profile_of_another_machine_warns(native_program, antiphon, tmp_path):
    other = json.loads(PROFILE.read_text())
    other["machine"]["fingerprint"] = "mpi=openmpi;cpu=Z80;cores=2"
    (tmp_path / "p.json").write_text(json.dumps(other))
    result = antiphon("run", "-n", RANKS, "--profile", "p.json", native_program)
    run_ok(result)
    assert "was taken on another machine (processor: measured on 'Z80'" in result.stderr


def test_the_launcher_itself_is_not_preloaded(mpi, program, antiphon):
    """The launcher's command line holds only what the ranks need, and its environment nothing."""
    line = antiphon("run", "-n", 2, "--dry-run", program).stdout
    words = shlex.split(line)
    assert shutil.which(words[0]) == str(mpi.launcher)
    assert any("LD_PRELOAD" in word for word in words[1:])


def test_existing_preloads_are_kept(native_program, antiphon, objects, tmp_path):
    source = tmp_path / "other.c"
    source.write_text("int antiphon_test_other;")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", tmp_path / "other.so"], check=True, timeout=60)
    out = run_ok(antiphon("run", "-n", RANKS, native_program, "LD_PRELOAD", LD_PRELOAD=str(tmp_path / "other.so")))
    assert f"LD_PRELOAD={tmp_path}/other.so:{objects}/" in out


def test_a_program_with_the_address_sanitizer(mpi, compiled, antiphon, tmp_path):
    """GIVEN a program linked to a shared libasan, alone or in a script THEN every rank runs, and is intercepted."""
    if mpi.prefix.parent.name != "mpi" or mpi.abi == "mpiabi":
        pytest.skip("one library of each family is enough")
    source, program = compiled(mpi).parent / "program.c", tmp_path / "checked"
    subprocess.run([mpi.prefix / "bin/mpicc", "-fsanitize=address", source, "-o", program], check=True, timeout=60)
    script = tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    for start in (program, script):
        run_ok(antiphon("run", "-n", RANKS, start, ASAN_OPTIONS="detect_leaks=0"))


def test_exit_code_of_the_program(native_program, antiphon):
    assert antiphon("run", "-n", 1, native_program, "exit", "7").returncode == 7


def test_a_program_elsewhere_on_the_path(native_program, antiphon):
    path = f"{native_program.parent}:{os.environ['PATH']}"
    run_ok(antiphon("run", "-n", RANKS, native_program.name, PATH=path))


def test_an_mpi_named_for_a_wrapper_script(mpi, program, antiphon, tmp_path):
    script = tmp_path / "wrapper"
    script.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    script.chmod(0o755)
    run_ok(antiphon("run", "-n", RANKS, "--mpi", mpi.libmpi, "./wrapper"))


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
def test_mpi4py_under_each_library(mpi, antiphon):
    """PyPI's mpi4py works with either ABI; what it opens at run time is intercepted all the same."""
    if mpi.abi == "mpiabi" or mpi.soname == "libmpich.so.12":
        pytest.skip(f"mpi4py's wheel has no module for {mpi.soname}")
    code = ("from mpi4py import MPI; import sys; c = MPI.COMM_WORLD; total = c.allreduce(1); a = bytearray(4); "
            "c.Allreduce([bytearray(4), MPI.INT], [a, MPI.INT]); "
            "c.rank or print('ranks', c.size, 'sum', total, MPI.Get_library_version())")  # fmt: skip
    result = antiphon("run", "-n", RANKS, "--mpi", mpi.libmpi, sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr
    assert f"ranks {RANKS} sum {RANKS}" in result.stdout and mpi.version in result.stdout
    assert result.stderr.count("intercepted") >= RANKS


def test_a_signal_ends_the_run(mpi, objects, tmp_path):
    """The command has become the launcher, so stopping the command stops the launcher."""
    env = {**os.environ, "ANTIPHON_LIB_DIR": str(objects)}
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\necho started $$\nexec sleep 60\n")
    sleeper.chmod(0o755)
    command = [sys.executable, "-m", "antiphon", "run", "-n", "1", "--mpi", mpi.libmpi, sleeper]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        started = process.stdout.readline().split()
        assert started[0] == "started"
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
    status = Path("/proc", started[1], "status")
    deadline = time.monotonic() + 20
    while status.exists() and "\nState:\tZ" not in status.read_text():  # The rank ends with its launcher.
        assert time.monotonic() < deadline, "the rank outlives its launcher"
        time.sleep(0.05)


def test_slurm_uses_srun(any_program, antiphon, tmp_path):
    """This stand-in for srun shows how it was called, so Slurm itself is not needed."""
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\nprintf "%s\\n" "$@" "force $ANTIPHON_FORCE preload $LD_PRELOAD"\n')
    srun.chmod(0o755)
    variables = {"SLURM_JOB_ID": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    options = ["--force", "alltoall:rotated:piece_bytes=8192,window=2", "--launcher-args", "--mpi=pmix -N 2"]
    lines = antiphon("run", *options, any_program, "x", **variables).stdout.splitlines()
    assert lines[0].startswith("--export=ALL,LD_PRELOAD=/") and lines[0].endswith(".so")
    assert lines[1:] == [
        "--mpi=pmix",
        "-N",
        "2",
        str(any_program),
        "x",
        "force alltoall:rotated:piece_bytes=8192,window=2 preload ",
    ]
    given = antiphon("run", "-n", 2, "--dry-run", any_program, **variables).stdout
    assert not given.startswith("srun")


def test_options_after_the_program_are_the_programs(native_program, antiphon):
    line = antiphon("run", "-n", 2, "--dry-run", "--summary", native_program, "--summary", "-n", "9", "--", "-h").stdout
    assert shlex.split(line)[-6:] == [str(native_program), "--summary", "-n", "9", "--", "-h"]
    assert "ANTIPHON_SUMMARY" in line


@pytest.mark.parametrize(("args", "message"), [
    (["no-such-program"], "error: no-such-program: no such program on the PATH\n"),
    (["/bin/true"], "error: /bin/true: is not linked to an MPI library\n"),
    (["--mpi", "nonsense", "/bin/true"], "error: --mpi nonsense: no such file or directory"),
    ([], "error: the following arguments are required: PROGRAM"),
])  # fmt: skip
def test_mistakes(args, message, antiphon):
    result = antiphon("run", "-n", 1, *args)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(message)
    assert "\nhint: " in result.stderr


def test_no_preload_object(any_program, antiphon, tmp_path):
    result = antiphon("run", "-n", 1, any_program, ANTIPHON_LIB_DIR=str(tmp_path))
    assert result.returncode == 2
    assert "preload object" in result.stderr and "make setup" in result.stderr


@pytest.mark.parametrize(
    ("how", "mpi"),
    [("script", mpi) for mpi in discover()]
    + [(how, mpi) for how in ("shell", "env", "nice") for mpi in discover()[:1]],
    ids=lambda value: value if isinstance(value, str) else f"{value.abi}-{value.version}",
    indirect=["mpi"],
)
def test_programs_that_start_the_program(how, mpi, program, antiphon, tmp_path):
    """GIVEN a script or a tool that names the MPI program THEN its MPI is found, and every rank is intercepted."""
    script = tmp_path / "run.sh"
    script.write_text(f'#!/bin/sh\n# a comment\nexport A=1; exec {program} "$@"\n')
    script.chmod(0o755)
    words = {
        "script": ["./run.sh"],
        "shell": ["sh", "run.sh"],
        "env": ["env", "A=1", program],
        "nice": ["nice", program],
    }
    result = antiphon("run", "-n", RANKS, *words[how])
    run_ok(result)
    assert f"hint: {words[how][0]} starts {program}: with its MPI, {mpi.label}\n" in result.stderr


def test_a_script_of_two_libraries_is_not_guessed(compiled, antiphon, tmp_path):
    programs = [compiled(mpi) for mpi in discover()]
    (tmp_path / "run.sh").write_text("\n".join(map(str, programs)))
    result = antiphon("run", "-n", RANKS, "sh", "run.sh")
    if len({mpi.libmpi.resolve() for mpi in discover()}) > 1:
        assert result.returncode == 2 and result.stdout == ""
        assert "names programs of several MPI libraries" in result.stderr and "--mpi" in result.stderr


SETTINGS = "--trace=t --metrics=m --capture=d --plan=p --compress=on --reorder --adapt=off --strict-placement --off"


@pytest.mark.parametrize("option", SETTINGS.split())
def test_a_plain_run_on_a_lab_has_no_setting_of_antiphon(option, any_program, command):
    """GIVEN a program that starts the MPI program THEN that is found, and the option is refused."""
    result = command("lab", "run", "--plain", option, "-n", 2, "/usr/bin/env", any_program)
    assert result.returncode == 2
    assert result.stderr.startswith(f"hint: /usr/bin/env starts {any_program}: with its MPI, ")
    assert f"error: {option.partition('=')[0]} has no meaning with --plain\n" in result.stderr
