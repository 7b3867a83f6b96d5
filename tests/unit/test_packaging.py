# SPDX-License-Identifier: Apache-2.0
"""Compares packages' files with the one place for the version, with the dependencies, and with what is installed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from antiphon import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
#: Each names the version as its tool wants it.
VERSIONS = {
    "debian/changelog": r"antiphon \(([\d.]+)-\d+\)",
    "rpm/antiphon.spec": r"^Version:\s+(\S+)$",
    "spack/package.py": r'^    version\("([\d.]+)"',
    "easybuild/antiphon-0.1.0-GCCcore-14.2.0.eb": r"^version = '([\d.]+)'",
    "conda/meta.yaml": r'set version = "([\d.]+)"',
    "containers/Dockerfile": r"antiphon-([\d.]+)-\*x86_64",
    "containers/antiphon.def": r"antiphon-([\d.]+)-\*x86_64",
}
#: What the names of PyPI's packages begin with elsewhere.
PREFIXES = {"debian/control": "python3-", "rpm/antiphon.spec": "python3-", "spack/package.py": "py-",
            "conda/meta.yaml": ""}  # fmt: skip


def read(name: str) -> str:
    return (PACKAGING / name).read_text(encoding="utf-8")


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import packages

    return packages


@pytest.mark.parametrize("name", VERSIONS)
def test_the_version_is_everywhere_the_same(name: str) -> None:
    assert re.findall(VERSIONS[name], read(name), re.MULTILINE)[0] == __version__


def test_every_file_with_a_version_is_compared() -> None:
    """GIVEN a package's file that has the version in it THEN the test above looks at it."""
    listed = subprocess.run(["git", "ls-files", "packaging"], cwd=ROOT, capture_output=True, text=True, check=True)
    having = {n for n in listed.stdout.split() if f"{__version__}" in (ROOT / n).read_text(encoding="utf-8")}
    assert {name.removeprefix("packaging/") for name in having} <= VERSIONS.keys()


def test_headers_and_the_last_changes_have_the_version() -> None:
    header = (ROOT / "include" / "antiphon.h").read_text(encoding="utf-8")
    parts = [re.search(rf"ANTIPHON_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert ".".join(parts) == __version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## ([\d.]+)", changes, re.MULTILINE)[1] == __version__


@pytest.mark.parametrize("name", PREFIXES)
def test_dependencies_are_those_of_the_wheel(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        plain, marker = re.match(r"([\w-]+)[^;]*(;.*)?", requirement).groups()
        if marker is None:  # the others are for Pythons that distributions no longer have
            assert PREFIXES[name] + plain in read(name), plain


def test_recipes_in_python_are_python() -> None:
    """GIVEN the recipes that are read as Python THEN they parse, and name what their tools ask for."""
    spack = ast.parse(read("spack/package.py"))
    assert [node.name for node in spack.body if isinstance(node, ast.ClassDef)] == ["Antiphon"]
    easyconfig = ast.parse(read("easybuild/antiphon-0.1.0-GCCcore-14.2.0.eb"))
    names = {target.id for node in easyconfig.body if isinstance(node, ast.Assign) for target in node.targets}
    assert {"easyblock", "name", "version", "homepage", "description", "toolchain", "dependencies"} <= names


def test_wrong_packages_are_named(packages: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["packages.py", "wheels"])
    with pytest.raises(SystemExit, match="no package is called wheels\nhint: there are sdist, wheel"):
        packages.main()


def test_a_wheel_that_lacks_an_object_is_refused(packages: ModuleType, tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "antiphon-1-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("antiphon/lib/libantiphon-openmpi.so", b"")
    with pytest.raises(SystemExit, match="lacks the preload object for mpich"):
        packages.checked(path, "x86_64")
    with pytest.raises(SystemExit, match="has another tag"):
        packages.checked(path, "aarch64")


def test_site_headers_are_taken(packages: ModuleType, tmp_path: Path) -> None:
    """GIVEN a site's headers with a licence THEN both come into the source package."""
    for name in ("openmpi", "mpich"):
        (tmp_path / "site" / name / "include").mkdir(parents=True)
        (tmp_path / "site" / name / "include" / "mpi.h").write_text(f"/* {name} */\n")
        (tmp_path / "site" / name / "LICENSE").write_text("free\n")
    packages.copy_headers(packages.mpi_headers(tmp_path / "site"), tmp_path / "tree")
    assert (tmp_path / "tree" / "mpich" / "include" / "mpi.h").read_text() == "/* mpich */\n"
    assert (tmp_path / "tree" / "openmpi" / "LICENSE").is_file()
