# SPDX-License-Identifier: Apache-2.0
"""Gives the output of `antiphon env` to real shells and real launchers."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess

import pytest

FORCE = "alltoall:rotated:window=2;*:on"


@pytest.fixture
def here(command, objects, monkeypatch):
    """Runs the command in this process, with the same objects as `antiphon`."""
    monkeypatch.setenv("ANTIPHON_LIB_DIR", str(objects))
    return command


def shell(command: list[str], script: str) -> str:
    env = {key: value for key, value in os.environ.items() if not key.startswith("ANTIPHON") and key != "LD_PRELOAD"}
    result = subprocess.run([*command, script], capture_output=True, text=True, env=env, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_sh_evaluates_it(mpi, program, antiphon, objects):
    out = antiphon("env", program, "--force", FORCE, "--summary").stdout
    script = f'eval {shlex.quote(out)}; echo "$LD_PRELOAD|$ANTIPHON_FORCE|$ANTIPHON_SUMMARY"'
    assert shell(["sh", "-c"], script) == f"{objects}/libantiphon-{mpi.abi}.so|{FORCE}|1\n"


@pytest.mark.parametrize("name", ["csh", "fish"])
def test_other_shells(name, any_program, here):
    out = here("env", "--shell", name, "--force", FORCE, any_program).stdout
    start = {"csh": "setenv ANTIPHON_FORCE '", "fish": "set -gx ANTIPHON_FORCE '"}[name]
    assert f"{start}{FORCE}';\n" in out
    if shutil.which(name):
        assert shell([name, "-c"], f"eval {shlex.quote(out)}; echo $ANTIPHON_FORCE") == FORCE + "\n"


def test_mpirun_takes_it(mpi, program, antiphon):
    """Runs the guide's line: mpirun $(antiphon env --mpirun ./prog) -n 2 ./prog"""
    options = antiphon("env", "--mpirun", program, "--summary").stdout.split()
    root = ["--allow-run-as-root"] if mpi.family == "openmpi" and os.geteuid() == 0 else []
    command = [mpi.launcher, *root, *options, "-n", "2", program, "ANTIPHON_SUMMARY"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert "0 ANTIPHON_SUMMARY=1" in result.stdout and "1 ANTIPHON_SUMMARY=1" in result.stdout
    assert result.stderr.count("intercepted") == 2


def test_an_empty_setting_is_none(any_program, here, monkeypatch):
    monkeypatch.setenv("ANTIPHON_FORCE", "")
    options = here("env", "--mpirun", any_program)
    assert options.returncode == 0 and "ANTIPHON_FORCE" not in options.stdout, options.stderr


def test_slurm_gets_one_word(any_program, here):
    out = here("env", "--slurm", "--summary", any_program).stdout
    parts = dict(part.split("=", 1) for part in out.strip().split(","))
    assert parts["LD_PRELOAD"].endswith(".so") and parts["ANTIPHON_SUMMARY"] == "1"
    assert parts["ANTIPHON_ALL_RANKS"] == "1", "under Slurm's own PMI, ranks cannot ask about each other"
    refused = here("env", "--slurm", "--force", "alltoall:rotated:piece_bytes=8192,window=2", any_program)
    assert refused.returncode == 2 and "comma" in refused.stderr


def test_json_describes_the_mpi(mpi, program, antiphon):
    data = json.loads(antiphon("env", "--json", program).stdout)
    assert data["mpi"]["abi"] == mpi.abi and data["mpi"]["version"] == mpi.version
    assert data["variables"]["LD_PRELOAD"].endswith(f"libantiphon-{mpi.abi}.so")


def test_by_the_name_of_the_mpi_alone(mpi, antiphon):
    out = antiphon("env", "--mpi", mpi.libmpi).stdout
    assert f"libantiphon-{mpi.abi}.so" in out


def test_needs_a_program_or_an_mpi(here):
    result = here("env")
    assert (result.returncode, result.stdout) == (2, "")
    assert "hint: antiphon env ./solver" in result.stderr


def test_adaptation(any_program, here):
    """GIVEN --adapt THEN the ranks get a variable that the object understands; what means nothing is refused."""
    assert "export ANTIPHON_ADAPT=run\n" in here("env", "--adapt", "run", any_program).stdout.replace(";", "")
    assert "ANTIPHON_ADAPT" not in here("env", any_program).stdout
    assert here("env", "--adapt", "always", any_program).returncode == 2


def test_compression(any_program, here):
    """GIVEN --compress THEN the ranks get a variable; without it there is none, because a profile then decides."""
    assert "export ANTIPHON_COMPRESS=on\n" in here("env", "--compress", "on", any_program).stdout.replace(";", "")
    assert "ANTIPHON_COMPRESS" not in here("env", any_program).stdout
    assert here("env", "--compress", "force", any_program).returncode == 2
