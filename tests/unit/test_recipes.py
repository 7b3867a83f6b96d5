# SPDX-License-Identifier: Apache-2.0
"""Checks that every recipe needs what pyproject.toml says, and that its gaps are filled in."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
#: How each recipe writes a package and its least version; None: it pins versions or leaves them to the system.
WRITTEN = {
    "spack/packages/antiphon/package.py": 'depends_on("py-{}@{}:"',
    "conda/recipe.yaml": "- {} >={}",
    "debian/control": None,
    "antiphon.spec": None,
}


def needed() -> dict[str, str]:
    """Returns what every installation needs, with the least version."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = \[(.*)\]$", text, re.MULTILINE)
    assert listed is not None
    found = dict(re.findall(r'"([a-z0-9]+)>=([\d.]+)"', listed[1]))
    assert len(found) >= 5
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_a_recipe_needs_what_the_package_needs(name: str) -> None:
    text = (PACKAGING / name).read_text(encoding="utf-8")
    form = WRITTEN[name]
    for package, version in needed().items():
        if form is None:
            assert f"python3-{package}" in text
        else:
            assert any(form.format(package, said) in text for said in (version, version.removesuffix(".0"))), package


def test_options_of_builds_exist() -> None:
    """GIVEN the CMake options that packages set THEN the build knows them."""
    known = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake")])
    for name in ("antiphon.spec", "debian/rules"):
        for option in re.findall(r"-D(ANTIPHON_\w+)=", (PACKAGING / name).read_text(encoding="utf-8")):
            assert re.search(rf"(set|option)\({option} ", known), option


@pytest.fixture
def recipes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import recipes

    monkeypatch.setattr(recipes, "TARGET", tmp_path / "recipes")
    return recipes


def test_gaps_are_filled_in(recipes: ModuleType, tmp_path: Path) -> None:
    """GIVEN a source package THEN each recipe names its version and its checksum, and no gap is left."""
    source = tmp_path / "antiphon-7.8.9.tar.gz"
    source.write_bytes(b"source")
    facts = recipes.Source.of(source, "7.8.9")
    for name in recipes.RECIPES:
        folder = recipes.write(name, facts)
        texts = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()}
        assert texts and not any(re.search(r"@\w+@", text) for text in texts.values())
        if name in ("spack", "easybuild", "conda"):
            assert any(facts.sha256 in text and "7.8.9" in text for text in texts.values())
    assert (tmp_path / "recipes" / "easybuild" / "Antiphon-7.8.9-gfbf-2024a.eb").is_file()


def test_a_broken_recipe_is_refused(recipes: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "package.py").write_text("class Antiphon(PythonPackage:\n")
    with pytest.raises(SyntaxError):
        recipes.check_spack(tmp_path, tmp_path)
    with pytest.raises(SystemExit, match="error: there is no recipe for nix\nhint: there are spack, easybuild"):
        recipes.make(recipes.Source("1", tmp_path, ""), ["nix"])
    with pytest.raises(SystemExit, match="false refuses"):
        recipes.checked_by(["false", "recipe"])
