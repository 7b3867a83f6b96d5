# SPDX-License-Identifier: Apache-2.0
"""Compares the C API with what programs of this minor version were built against, and with what is exported."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from antiphon.mpi import ABIS, elf, launch

ROOT = Path(__file__).resolve().parents[2]
#: Between the core and its Python package, which come together.
PRIVATE = re.compile(r"antiphon_(core|traffic)_")


@pytest.fixture
def abi(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import abi

    return abi


def exported(path: Path) -> set[str]:
    return {name for name in elf.dynamic_symbols(path)[0] if name.startswith("antiphon_") and not PRIVATE.match(name)}


def named(lines: set[str], kind: str) -> set[str]:
    return {re.search(r"(antiphon_\w+)\(", line)[1] for line in lines if line.startswith(kind)}


def test_nothing_of_the_api_has_gone_or_changed(abi: ModuleType) -> None:
    """GIVEN the API of this minor version THEN programs that were built against it find all of it unchanged."""
    before, now = set(abi.kept().read_text(encoding="utf-8").splitlines()), abi.now()
    assert not before - now, "a new minor version, and scripts/abi.py --write"
    assert not now - before, "what is new belongs into packaging/abi: scripts/abi.py --write"


@pytest.mark.parametrize("name", ABIS)
def test_preload_objects_export_what_headers_look_up(abi: ModuleType, name: str) -> None:
    assert exported(launch.preload_object(name)) == named(abi.now(), "symbol")


def test_the_core_exports_the_codecs(abi: ModuleType) -> None:
    functions = {name for name in named(abi.now(), "function") if name.startswith("antiphon_codec_")}
    assert len(functions) > 10 and exported(launch.lib_dir() / "libantiphon_core.so") == functions


HEADER = """
enum { ANTIPHON_OK = 0 };
typedef struct { int phase; } antiphon_part;
static inline int antiphon_force(int comm, const char* choice) {
  static int (*function)(int, const char*);
  *(void**)&function = antiphon_find("antiphon_impl_force");
  return function(comm, choice);
}
"""


@pytest.mark.parametrize(("old", "new", "gone"), [
    ("ANTIPHON_OK = 0", "ANTIPHON_OK = 1", ["constant ANTIPHON_OK = 0"]),
    ("int phase;", "long phase;", ["structure antiphon_part { int phase; }"]),
    ("(int, const char*)", "(int)", ["symbol int antiphon_impl_force(int, const char*)"]),
    ("const char* choice", "char* choice", ["function int antiphon_force(int comm, const char* choice)"]),
])  # fmt: skip
def test_changes_are_seen(
    abi: ModuleType, old: str, new: str, gone: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """GIVEN a header that changed THEN the comparison names what has gone, and fails."""
    kept = tmp_path / "0.1.txt"
    kept.write_text("\n".join(sorted(abi.described(HEADER))) + "\n")
    monkeypatch.setattr(abi, "kept", lambda: kept)
    monkeypatch.setattr(abi, "now", lambda: abi.described(HEADER.replace(old, new)))
    monkeypatch.setattr(sys, "argv", ["abi.py"])
    assert abi.main() == 1
    assert [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines() if line.startswith("gone")] == gone
