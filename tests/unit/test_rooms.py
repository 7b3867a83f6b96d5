# SPDX-License-Identifier: Apache-2.0
"""Checks that the rooms of mpi/ depend on each other in one direction (scripts/check_rooms.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_rooms.py"


def check(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def written(mpi: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = mpi / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return mpi


def test_no_room_includes_a_higher_one() -> None:
    """GIVEN the sources of mpi/ THEN the check has nothing to say."""
    done = check()
    assert (done.returncode, done.stderr) == (0, "")


def test_an_include_of_a_higher_room_is_found(tmp_path: Path) -> None:
    """GIVEN a source in job/ that includes a header of entry/ THEN its file, its line and a remedy are told."""
    files = {"job/world.cpp": '#include <vector>\n#include "entry/state.hpp"\n', "entry/state.hpp": "#pragma once\n"}
    done = check("--mpi", written(tmp_path, files))
    assert done.returncode == 1
    assert "mpi/job/world.cpp:2: job/ includes entry/state.hpp" in done.stderr
    assert "move what both need to a lower room" in done.stderr


def test_rooms_on_one_floor_do_not_know_each_other(tmp_path: Path) -> None:
    """GIVEN a header of multicast/ that includes one of compress/ THEN it is found."""
    files = {"multicast/groups.hpp": '#include "compress/cost.hpp"\n', "compress/cost.hpp": "#pragma once\n"}
    done = check("--mpi", written(tmp_path, files))
    assert done.returncode == 1
    assert "mpi/multicast/groups.hpp:1: multicast/ includes compress/cost.hpp" in done.stderr
    assert "the same floor" in done.stderr


def test_a_circle_of_modules_is_found(tmp_path: Path) -> None:
    """GIVEN two modules of one room of which each includes the other THEN both are named."""
    files = {
        "call/one.hpp": "#pragma once\n",
        "call/two.hpp": '#include "call/one.hpp"\n',
        "call/one.cpp": '#include "call/one.hpp"\n#include "call/two.hpp"\n',
    }
    done = check("--mpi", written(tmp_path, files))
    assert done.returncode == 1
    assert "these modules include each other: call/one, call/two" in done.stderr


def test_a_missing_header_is_found(tmp_path: Path) -> None:
    """GIVEN an include of a header that is not there THEN it is found."""
    done = check("--mpi", written(tmp_path, {"call/one.cpp": '#include "job/gone.hpp"\n'}))
    assert done.returncode == 1
    assert "there is no mpi/job/gone.hpp" in done.stderr
