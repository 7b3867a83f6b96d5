# SPDX-License-Identifier: Apache-2.0
"""Checks what SECURITY.md says of the preload objects: programs with more rights than their caller, planted links."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HALO = Path(__file__).resolve().parent / "programs" / "halo.c"
#: Says to every object that this process has gained rights, as the system says to a setuid program.
SECURE = """
#include <elf.h>
unsigned long getauxval(unsigned long type) { return type == AT_SECURE; }
"""


@pytest.fixture
def secure(tmp_path: Path) -> Path:
    (tmp_path / "secure.c").write_text(SECURE)
    command = ["cc", "-shared", "-fPIC", "-fno-builtin", tmp_path / "secure.c", "-o", tmp_path / "secure.so"]
    subprocess.run(command, check=True, timeout=60)
    return tmp_path / "secure.so"


def test_a_program_with_more_rights_takes_no_settings(wheel, compiled, run_ranks, secure, tmp_path) -> None:
    """GIVEN a process that has gained rights THEN no file that a variable names is written, and calls pass through."""
    program = compiled(wheel, [HALO])
    files = {"ANTIPHON_TRACE": str(tmp_path / "x.trace"), "ANTIPHON_CAPTURE": str(tmp_path / "captured")}
    plain = run_ranks(wheel, 1, [program, 1], **files)
    assert plain.returncode == 0, plain.text
    assert plain.summary and (tmp_path / "x.trace").exists() and (tmp_path / "captured").exists()
    (tmp_path / "x.trace").unlink()
    (tmp_path / "captured" / "rank-0.msgs").unlink()
    (tmp_path / "captured").rmdir()
    result = run_ranks(wheel, 1, [program, 1], before=[secure], **files)
    assert result.returncode == 0, result.text
    assert not result.summary and not (tmp_path / "x.trace").exists() and not (tmp_path / "captured").exists()


def test_a_link_in_place_of_a_part_is_not_followed(wheel, compiled, run_ranks, tmp_path) -> None:
    """GIVEN links under the names of what a rank writes while it runs THEN what they lead to stays as it is."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "captured").mkdir()
    parts = [tmp_path / "x.trace.rank0", tmp_path / "captured" / "rank-0.msgs"]
    for part in parts:
        part.symlink_to(victim)
    files = {"ANTIPHON_TRACE": str(tmp_path / "x.trace"), "ANTIPHON_CAPTURE": str(tmp_path / "captured")}
    result = run_ranks(wheel, 1, [compiled(wheel, [HALO]), 1], **files)
    assert result.returncode == 0, result.text
    assert victim.read_text() == "precious"
    assert (tmp_path / "x.trace").read_bytes().startswith(b"\x89ATR")
    assert parts[1].is_file() and not parts[1].is_symlink()
