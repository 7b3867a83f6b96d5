# SPDX-License-Identifier: Apache-2.0
"""Compares the C API with what programs of this minor version were built against, and with what is exported."""

from __future__ import annotations

import re
import shutil
import subprocess
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
    symbols = (ROOT / "packaging" / "debian" / "antiphon.symbols").read_text(encoding="utf-8")
    assert set(re.findall(r"^ (antiphon_\w+)@Base ", symbols, re.MULTILINE)) == functions


@pytest.fixture
def abidiff() -> None:
    if shutil.which("abidiff") is None or shutil.which("abidw") is None:
        pytest.skip("abidiff is not installed (Debian's package abigail-tools)")


def test_functions_and_types_of_the_built_library_are_unchanged(abi: ModuleType, abidiff: None) -> None:
    """GIVEN the codecs' library that `make setup` built THEN a program that was built before finds what it knows."""
    built = ROOT / "build" / "wheel"
    if not abi.with_types(built):
        pytest.skip(f"{built} has no library with debug information: make setup")
    assert all(abi.kept_types(path).is_file() for path in abi.with_types(built))
    assert not "".join(map(abi.differing_types, abi.with_types(built)))


LIBRARY = """
# 1 "antiphon_codec.h"
struct Options { int codec; long bytes; };
extern "C" int antiphon_codec_take(const Options* options) { return options->codec; }
extern "C" int antiphon_codec_give(int codec) { return codec; }
extern "C" int antiphon_core_query(int private_part) { return private_part; }
"""


@pytest.mark.parametrize(("old", "new", "said"), [
    ("", "", ""),
    ("int private_part", "long private_part", ""),
    ("int codec; long bytes", "long bytes; int codec", "antiphon_codec_take"),
    ("_give(int codec)", "_give(long codec)", "antiphon_codec_give"),
    ("antiphon_codec_give", "antiphon_codec_gave", "antiphon_codec_give"),
])  # fmt: skip
def test_changed_types_are_seen(
    abi: ModuleType, abidiff: None, old: str, new: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a library whose structure or function changed THEN abidiff names the function that a program calls."""
    monkeypatch.setattr(abi, "kept", lambda: tmp_path / "0.1.txt")
    library = tmp_path / abi.LIBRARIES[0]
    for text in (LIBRARY, LIBRARY.replace(old, new)):
        command = ["g++", "-g", "-shared", "-fPIC", "-x", "c++", "-", "-o", library]
        subprocess.run(command, input=text, text=True, timeout=60, check=True)
        if not abi.kept_types(library).exists():
            abi.write_types(library)
    assert abi.with_types(tmp_path) == [library]
    assert said in abi.differing_types(library) and bool(said) == bool(abi.differing_types(library))


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
