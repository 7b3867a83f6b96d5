#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes recipes of other package managers, and of images of containers, into dist/recipes.

recipes.py [spack] [easybuild] [conda] [docker] [apptainer]      (default: all)

They get the version and the checksum of the source package in dist/, and each is checked: EasyBuild checks its style
and finds all that it needs, rattler-build renders the one for conda, for two Pythons on two processors, hadolint reads
the Dockerfile, spython the definition for Apptainer. The one for Spack is compiled only, because Spack is not on PyPI.
Their tools come from PyPI into .venv/recipes, once.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import tool_environment

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"
TARGET = ROOT / "dist" / "recipes"
#: EasyBuild's robot names a file by what it builds and with which tools.
EASYCONFIG = "Antiphon-@version@-gfbf-2024a.eb"
CONDA_RENDERING = """
import sys
from rattler_build import RenderConfig, Stage0Recipe, VariantConfig
from rattler_build.tool_config import PlatformConfig
recipe = Stage0Recipe.from_file(sys.argv[1])
variants = VariantConfig({"python": ["3.10.*", "3.13.*"], "c_compiler": ["gcc"], "cxx_compiler": ["gxx"],
                          "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]})
for platform in ("linux-64", "linux-aarch64"):
    rendered = recipe.render(variants, RenderConfig(platform=PlatformConfig(target_platform=platform)))
    assert len(rendered) == 2 and all("numpy >=1.23" in one.recipe.requirements.to_dict()["run"] for one in rendered)
"""


class Source(NamedTuple):
    """The source package that recipes build."""

    version: str
    path: Path
    sha256: str

    @classmethod
    def of(cls, path: Path, version: str) -> Source:
        """Returns what recipes say of a source package."""
        return cls(version, path, hashlib.sha256(path.read_bytes()).hexdigest())

    def fill(self, text: str) -> str:
        """Returns a recipe's text with its gaps filled in."""
        facts = {"version": self.version, "sha256": self.sha256, "source_url": self.path.resolve().as_uri()}
        for name, value in facts.items():
            text = text.replace(f"@{name}@", value)
        return text


def checked_by(command: Sequence[str | Path], **variables: str) -> None:
    """Ends with what a tool has to say against a recipe."""
    words = [str(word) for word in command]
    said = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        sys.exit(f"error: {Path(words[0]).name} refuses {words[-1]}\n{(said.stdout + said.stderr).strip()}")


def check_spack(repository: Path, _: Path) -> None:
    """Compiles the recipe."""
    for path in repository.rglob("package.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


def check_easybuild(folder: Path, tools: Path) -> None:
    """Lets EasyBuild check its style, and find everything that it needs. No module is loaded."""
    (path,) = folder.glob("*.eb")
    modules = sorted(Path("/usr/lib").glob("*/modulecmd.tcl"))
    if not modules:
        sys.exit("error: EasyBuild needs Environment Modules\nhint: apt-get install environment-modules")
    home = tools / "modules"
    (home / "libexec").mkdir(parents=True, exist_ok=True)
    link = home / "libexec" / "modulecmd.tcl"
    link.unlink(missing_ok=True)
    link.symlink_to(modules[0])
    settings = {"PREFIX": str(tools / "easybuild"), "MODULES_TOOL": "EnvironmentModules", "MODULE_SYNTAX": "Tcl",
                "ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES": "1"}  # fmt: skip
    variables = {f"EASYBUILD_{name}": value for name, value in settings.items()}
    variables |= {"MODULESHOME": str(home), "PATH": f"{tools / 'bin'}:{os.environ['PATH']}"}
    checked_by([tools / "bin" / "eb", "--check-contrib", path], **variables)
    checked_by([tools / "bin" / "eb", "--dry-run-short", f"--robot={tools}/easybuild/easyconfigs", path], **variables)


def check_conda(folder: Path, tools: Path) -> None:
    """Renders the recipe."""
    checked_by([tools / "bin" / "python", "-c", CONDA_RENDERING, folder / "recipe.yaml"])


def check_docker(folder: Path, tools: Path) -> None:
    """Lets hadolint read the file."""
    checked_by([tools / "bin" / "hadolint", folder / "Dockerfile"])


def check_apptainer(folder: Path, tools: Path) -> None:
    """Reads the definition, and the shell's part of it by the shell."""
    path = folder / "antiphon.def"
    checked_by([tools / "bin" / "spython", "recipe", "--parser", "singularity", path])
    sections = path.read_text(encoding="utf-8").split("\n%")
    for section in sections:
        name, _, script = section.partition("\n")
        if name in ("post", "test", "runscript"):
            checked_by(["sh", "-n", "-c", script])


class Recipe(NamedTuple):
    """Where a recipe's files are, what one of them is called when it is filled in, and how it is checked."""

    renamed: dict[str, str]
    check: Callable[[Path, Path], None]


RECIPES = {
    "spack": Recipe({}, check_spack),
    "easybuild": Recipe({"antiphon.eb": EASYCONFIG}, check_easybuild),
    "conda": Recipe({}, check_conda),
    "docker": Recipe({}, check_docker),
    "apptainer": Recipe({}, check_apptainer),
}


def write(name: str, source: Source) -> Path:
    """Fills a recipe in, and returns its folder."""
    folder, recipe = TARGET / name, RECIPES[name]
    shutil.rmtree(folder, ignore_errors=True)
    for path in sorted(path for path in (PACKAGING / name).rglob("*") if path.is_file() and path.suffix != ".pyc"):
        relative = path.relative_to(PACKAGING / name)
        to = folder / relative.parent / source.fill(recipe.renamed.get(path.name, path.name))
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(source.fill(path.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


def make(source: Source, names: Sequence[str]) -> list[Path]:
    """Writes recipes, and checks them; a recipe that its tool refuses ends this with the tool's words."""
    unknown = [name for name in names if name not in RECIPES]
    if unknown:
        sys.exit(f"error: there is no recipe for {unknown[0]}\nhint: there are {', '.join(RECIPES)}")
    tools = tool_environment.install("recipes")
    folders = []
    for name in names or RECIPES:
        folders.append(write(name, source))
        RECIPES[name].check(folders[-1], tools)
    return folders


def main() -> int:
    """Makes what is asked for from the newest source package in dist/."""
    import packages

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="RECIPE", help=f"{', '.join(RECIPES)} (default: all)")
    args = parser.parse_args()
    path = packages.DIST / f"antiphon-{packages.version()}.tar.gz"
    if not path.is_file():
        sys.exit(f"error: {path.relative_to(ROOT)} is missing\nhint: make packages ARGS=sdist")
    for folder in make(Source.of(path, packages.version()), args.names):
        print(folder.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
