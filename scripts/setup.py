#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes .venv: Antiphon with its preload objects, two MPI libraries, and what the tests need.

Needs Python 3.10 or newer and GCC 11 or newer. Every step is skipped when nothing it depends on has changed.
As root on Debian or Ubuntu, missing system packages are installed; otherwise what will not work is said.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import fetch_mpi_headers

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "stamps"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
#: The installed package is made of these.
SOURCES = ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "cmake", "include", "lab", "mpi", "python",
           "share", "src", "third_party", "bench", "examples")  # fmt: skip
#: Lists program, Debian package, and what is missing without it.
TOOLS = (
    ("ip", "iproute2", "no emulated cluster"),
    ("tc", "iproute2", "no emulated cluster"),
    ("nft", "nftables", "no packet loss in the emulated cluster"),
)
OLDEST_CMAKE = (3, 22)


def say(text: str) -> None:
    """Writes progress to stderr."""
    print(f"==> {text}", file=sys.stderr, flush=True)


def fail(text: str, hint: str) -> None:
    """Ends with an error that says what to do."""
    sys.exit(f"error: {text}\nhint: {hint}")


def call(command: Sequence[str | Path], **options: object) -> None:
    """Runs a command; if it fails, its own message is the explanation."""
    env = {**os.environ, "PATH": f"{VENV / 'bin'}:{os.environ['PATH']}", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    words = [str(word) for word in command]
    result = subprocess.run(words, env=env, check=False, **options)  # type: ignore[call-overload]
    if result.returncode != 0:
        fail(f"`{' '.join(words)}` failed", "see its message above")


@functools.lru_cache(maxsize=1)
def can_apt() -> bool:
    """Returns whether system packages may be installed."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


@functools.lru_cache(maxsize=1)
def apt_update() -> None:
    """Updates the package lists once per run, and only if something is to be installed."""
    subprocess.run(["apt-get", "update", "-qq"], stdout=subprocess.DEVNULL, check=False)


def apt_install(packages: Sequence[str]) -> bool:
    """Installs Debian packages; returns False if that failed."""
    say(f"apt-get install {' '.join(packages)}")
    apt_update()
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages]
    return subprocess.run(command, stdout=subprocess.DEVNULL, env=env, check=False).returncode == 0


def check_place() -> None:
    """Checks that what is built can be preloaded."""
    if re.search(r"[:\s]", str(ROOT)):
        fail(f"{ROOT} has a blank or a colon, and LD_PRELOAD has no way to write these",
             "move the source tree to a path without them")  # fmt: skip


def check_python_and_compiler() -> None:
    """Checks for the two things that cannot come from PyPI."""
    if sys.version_info < (3, 10):  # noqa: UP036 (this script is what finds out)
        fail(f"Python {sys.version.split()[0]} is older than 3.10", "name a newer one: make setup PYTHON3=python3.11")
    if not choose_compilers() and not (can_apt() and apt_install(["g++"]) and choose_compilers()):
        fail("no C++ compiler found", "install GCC 11 or newer, as by `apt-get install g++`, or set CXX")


def choose_compilers() -> bool:
    """Names the installed compilers; otherwise the build takes those that Python itself was built with."""
    for variable, names in (("CXX", ("c++", "g++", "clang++")), ("CC", ("cc", "gcc", "clang"))):
        found = next((name for name in (os.environ.get(variable), *names) if name and shutil.which(name)), None)
        if found is None:
            return False
        os.environ[variable] = found
    return True


def system_tools() -> None:
    """Installs the tools of the emulated cluster."""
    path = f"{os.environ['PATH']}:/sbin:/usr/sbin"
    missing = [tool for tool in TOOLS if not shutil.which(tool[0], path=path)]
    if missing and can_apt():
        apt_install(sorted({package for _, package, _ in missing}))
        missing = [tool for tool in missing if not shutil.which(tool[0], path=path)]
    for program, package, without in missing:
        say(f"{program} is missing: {without} (as root: apt-get install {package})")


def version_of_venv() -> str | None:
    """Returns the version of .venv's Python; None where there is none, or none that works and has pip."""
    if not PYTHON.exists():
        return None
    code = "import pip, sys; print('{}.{}'.format(*sys.version_info))"
    asked = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


def make_venv() -> None:
    """Makes a virtual environment with pip."""
    found = version_of_venv()
    if found is not None and found != VERSION:
        fail(f".venv is of Python {found}, and this is {VERSION}",
             f"remove {VENV} to have it made again, or name the other: make setup PYTHON3=python{found}")  # fmt: skip
    if found is not None:
        return
    probe = subprocess.run([sys.executable, "-c", "import ensurepip, venv"], capture_output=True, check=False)
    if probe.returncode != 0:
        package = f"python{VERSION}-venv"
        if not (can_apt() and apt_install(["python3-venv", package])):
            fail("this Python makes no virtual environments (no ensurepip)", f"as root: apt-get install {package}")
    say("virtual environment .venv")
    # Its content (a fetched MPI, for example) stays; only a broken Python is replaced.
    call([sys.executable, "-m", "venv", "--clear", VENV] if PYTHON.is_symlink() and not PYTHON.exists() else
         [sys.executable, "-m", "venv", VENV])  # fmt: skip


def mpi_libraries() -> None:
    """Installs Open MPI and MPICH from PyPI, in prefixes of their own."""
    folder = VENV / "mpi"
    for name, requirement in fetch_mpi_headers.WHEELS.items():
        if not fetch_mpi_headers.is_current(folder / name, requirement):
            say(f"MPI library {requirement} from PyPI")
            try:
                fetch_mpi_headers.install(folder / name, requirement, str(PYTHON))
            except subprocess.CalledProcessError:
                fail(f"pip could not install {requirement}", "see its message above; is PyPI reachable?")


def build_tools() -> list[str]:
    """Returns what building needs from PyPI: CMake and Ninja only where the system's are missing or too old."""
    tools = ["pip>=23.1", "scikit-build-core>=0.10"]  # Older versions of pip have no -C.
    path = os.pathsep.join(entry for entry in os.environ["PATH"].split(os.pathsep) if Path(entry) != VENV / "bin")
    cmake = shutil.which("cmake", path=path)
    text = subprocess.run([cmake, "--version"], capture_output=True, text=True, check=False).stdout if cmake else ""
    version = tuple(int(part) for part in text.split()[2].split("-")[0].split(".")[:2]) if text else (0, 0)
    if version < OLDEST_CMAKE:
        tools.append("cmake>=3.22")
    if not shutil.which("ninja", path=path):
        tools.append("ninja")
    return tools


def stamp_text(key: str) -> str:
    """Returns what a stamp says: what was installed serves one version of Python, in one place."""
    return f"Python {VERSION} in {VENV}: {key}"


def is_done(step: str, key: str) -> bool:
    """Returns whether `step` was done with the same `key` before."""
    stamp = STAMPS / step
    return stamp.is_file() and stamp.read_text() == stamp_text(key)


def done(step: str, key: str) -> None:
    """Records that `step` was done."""
    STAMPS.mkdir(exist_ok=True)
    (STAMPS / step).write_text(stamp_text(key))


def digest(paths: Sequence[str]) -> str:
    """Returns a hash of the contents of files and directories."""
    total = hashlib.sha256()
    for name in paths:
        top = ROOT / name
        for file in [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file()):
            if "__pycache__" not in file.parts and ROOT / "python/antiphon/lib" not in file.parents:
                total.update(f"{file.relative_to(ROOT)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def python_build_tools() -> None:
    """Installs build tools into .venv, not into a new environment per build: rebuilding then takes seconds."""
    tools = build_tools()
    if not is_done("tools", str(tools)):
        say("build tools from PyPI")
        call([PYTHON, "-m", "pip", "install", "--quiet", *tools])
        done("tools", str(tools))


def install_antiphon(extras: str, demo: bool) -> None:
    """Builds the wheel (incrementally, in build/wheel) and installs it with what it and the tests need.

    With `demo`, the wheel has no more compiled parts than `antiphon demo` runs, and nothing is installed for the tests.
    """
    sources = digest(SOURCES)
    key = f"demo {sources}" if demo else f"{extras} {sources}"
    good_enough = (key, f"{extras} {sources}")
    if any(is_done("antiphon", known) for known in good_enough) and (VENV / "bin" / "antiphon").exists():
        return
    say("build and install antiphon" + (", as far as the demo needs it" if demo else ""))
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(len(os.sched_getaffinity(0))))
    options = ["--no-build-isolation", "--quiet", "-C", "build-dir=build/wheel"]
    options += ["-C", f"cmake.define.ANTIPHON_MPI_WHEELS={VENV / 'mpi'}"]
    if demo:
        options += ["-C", "build.targets=demo", "-C", "install.components=demo"]
        extras = ""
    call([PYTHON, "-m", "pip", "install", *options, f"{ROOT}[{extras}]" if extras else ROOT])
    done("antiphon", key)


def main() -> int:
    """Runs all steps in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--extras", default="test", help="extras of pyproject.toml to install (default: test)")
    parser.add_argument("--demo", action="store_true", help="build no more than `antiphon demo` needs")
    args = parser.parse_args()
    check_place()
    check_python_and_compiler()
    system_tools()
    make_venv()
    mpi_libraries()
    python_build_tools()
    install_antiphon(args.extras, args.demo)
    return 0


if __name__ == "__main__":
    sys.exit(main())
