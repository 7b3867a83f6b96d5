# SPDX-License-Identifier: Apache-2.0
"""Checks labs without root: the tests that run as root start another process with a user id that owns nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

USER = 59211
PACKAGE = Path(__file__).resolve().parents[2] / "python"

SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from antiphon.errors import AntiphonError
from antiphon.lab import Lab, load_cluster
try:
    with Lab(load_cluster("ethernet-16").with_options(nodes=3)) as lab:
        script = "hostname; id -u; ip -br address show eth0; df /dev/shm | tail -1"
        answer = lab.execute(3, ["sh", "-c", script]).check()
        print(json.dumps({"record": lab.record(), "stdout": answer.stdout}))
except AntiphonError as error:
    print(json.dumps({"refused": str(error)}))
"""


def as_user() -> list[str]:
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv is needed to become another user")
    return [setpriv, f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "/usr/bin/env"]


def usable_python(prefix: list[str]) -> str:
    """Returns a Python that this user may start, because root's own may be out of reach."""
    for path in (sys.executable, "/usr/bin/python3"):
        check = [*prefix, path, "-c", f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); import antiphon.lab"]
        try:
            if subprocess.run(check, capture_output=True, timeout=30, check=False, cwd="/").returncode == 0:
                return path
        except OSError:
            continue
    pytest.skip("another user cannot reach a Python with this package")


def test_a_lab_without_root() -> None:
    prefix = as_user()
    environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*prefix, usable_python(prefix), "-c", SCRIPT, str(PACKAGE)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, cwd="/", check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    if "refused" in answer:
        pytest.skip(f"no lab for users on this machine: {answer['refused']}")
    assert answer["record"]["mode"] == "user"
    host, user, address, shared_memory = answer["stdout"].splitlines()
    assert (host, user) == ("node03", "0")
    assert "10.77.0.3/24" in address
    assert shared_memory.split()[0] == "tmpfs"
    assert not Path(answer["record"]["state_dir"]).exists()
    if prefix:
        shutil.rmtree(Path(answer["record"]["state_dir"]).parent)
