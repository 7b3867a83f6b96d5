# SPDX-License-Identifier: Apache-2.0
"""Checks what the preload object does, without `antiphon run`, with settings that it cannot use."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.model import limits
from antiphon.mpi import Mpi
from antiphon.profile import store
from antiphon.tune import document

Run = Callable[..., Any]
PATTERNS = Path(__file__).resolve().parent / "programs" / "patterns.c"
PROFILE = Path(__file__).resolve().parents[1] / "data" / "ethernet-16.openmpi.json"
BROKEN = '{"version": 1, "decisions": {"version": 1, "rules": [{"collective": "bcast", "use": "chain:pice_bytes=8k"}]}}'


@pytest.mark.parametrize(("name", "value", "said"), [
    ("ANTIPHON_FORCE", "bcast:chain;alltoall:nosuch", 'alltoall has no algorithm "nosuch" (there are: '),
    ("ANTIPHON_FORCE", "alltoall:rotated:windw=2", 'has no parameter windw'),
    ("ANTIPHON_VERBOSE", "loud", "ANTIPHON_VERBOSE=loud is not a whole number"),
    ("ANTIPHON_MULTICAST_TIMEOUT_MS", "9300000000000", "9300000000000 is not a whole number up to 3600000 "),
    ("ANTIPHON_SUMARY", "1", "did you mean ANTIPHON_SUMMARY?"),
    ("ANTIPHON_PLAN", "/no/such/plan.json", "ANTIPHON_PLAN=/no/such/plan.json cannot be read"),
    ("ANTIPHON_PROFILE", BROKEN, 'has no parameter pice_bytes'),
    ("ANTIPHON_CAPTURE", "/tmp/" + 300 * "x", "cannot be written: File name too long"),
])  # fmt: skip
def test_stands_aside(
    native: Mpi, name: str, value: str, said: str, compiled: Callable[..., Path], run_ranks: Run, tmp_path: Path
) -> None:
    """GIVEN a setting that cannot be used THEN one line says which, and every call is the library's."""
    if native.family != "mpich" and name != "ANTIPHON_VERBOSE":
        pytest.skip("settings are read alike under every library")
    if value is BROKEN:
        (tmp_path / "p.json").write_text(value)
        value = str(tmp_path / "p.json")
    result = run_ranks(native, 2, [compiled(native, [PATTERNS]), 1], **{name: value})
    assert result.returncode == 0, result.text
    assert "fine" in result.text.split()
    lines = result.lines("antiphon: ")
    assert len(lines) == 1 and said in lines[0] and lines[0].endswith("every call is left to the library"), lines
    assert result.summary == {}


@pytest.mark.parametrize(("given", "value", "source"), [
    ("", "142.3 KiB", "the profile {}"), ("0", "unknown", "ANTIPHON_CREDIT_BYTES"),
    ("65536", "64 KiB", "ANTIPHON_CREDIT_BYTES"),
])  # fmt: skip
def test_who_says_the_credit(
    native: Mpi, given: str, value: str, source: str, compiled: Callable[..., Path], run_ranks: Run
) -> None:
    """GIVEN a profile and a variable THEN the summary names the one that counts: an empty variable does not."""
    variables = {"ANTIPHON_PROFILE": str(PROFILE), "ANTIPHON_CREDIT_BYTES": given}
    result = run_ranks(native, 2, [compiled(native, [PATTERNS]), 1], **variables)
    assert result.returncode == 0, result.text
    credit = result.fact("credit")
    assert (credit["value"], credit["source"]) == (value, source.format(PROFILE))


def test_paths_may_have_any_bytes(native: Mpi, compiled: Callable[..., Path], run_ranks: Run, tmp_path: Path) -> None:
    """GIVEN a path that is no UTF-8 THEN ranks with the same variables agree, and the file has that name."""
    summary = tmp_path / os.fsdecode(b"caf\xe9 \xff.json")
    result = run_ranks(native, 2, [compiled(native, [PATTERNS]), 1], ANTIPHON_SUMMARY=str(summary))
    assert result.returncode == 0, result.text
    assert not result.lines("antiphon: ")
    assert summary.is_file()


def test_a_profile_that_is_found_is_not_for_other_transports(
    native: Mpi, compiled: Callable[..., Path], run_ranks: Run, tmp_path: Path
) -> None:
    """WHEN messages do not travel by TCP THEN a profile that is found is passed over, with its rate and decisions, and
    the summary says so; one that is named is used.
    """
    if native.family != "mpich":
        pytest.skip("only MPICH takes the ranks of one machine for nodes")
    made = document.first_guess("here", [0], limits.Network([0], 12e6))
    made["machine"]["mpi"] = {"name": native.abi, "version": native.version}
    made["decisions"] = {"version": 1, "rules": [{"collective": "*", "use": "library", "why": "of the profile"}]}
    path = str(store.save(made, [socket.gethostname()], [tmp_path / "store"]))
    apart = {"MPIR_CVAR_NOLOCAL": "1", "ANTIPHON_STORE": str(tmp_path / "store")}
    other = apart | {"UCX_NET_DEVICES": "mlx5_0:1"}  # There is none, and shared memory needs none.

    def run(**variables: str) -> tuple[str, str, bool]:
        result = run_ranks(native, 2, [compiled(native, [PATTERNS]), 1], **variables)
        assert result.returncode == 0, result.text
        profile, rate = result.fact("profile"), result.fact("link rate")
        assert path in profile["text"]
        return profile["value"], rate["source"], result.reasons("alltoallv") == {"of the profile"}

    assert run(**apart) == (path, f"the profile {path}", True)
    assert run(**other) == ("none", "", False)
    assert run(**other, ANTIPHON_LINK_BITS_PER_S="100000000") == (path, "ANTIPHON_LINK_BITS_PER_S", True)
    assert run(**other, ANTIPHON_PROFILE=path) == (path, f"the profile {path}", True)
