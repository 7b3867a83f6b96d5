#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the packages of dist/ on clean systems, as a user without root, and runs accelerated programs there.

clean_roots.py [--suite bookworm] [--suite trixie] [source] [tests] [wheel] [sdist] [deb] [rpm] [image]

Each suite gets a root made by debootstrap, kept in build/roots. A package goes into a copy of it that is thrown away.
Then a user runs `antiphon selftest` on an emulated cluster of four nodes, and on one node a program with a forced
algorithm, whose summary must name it. `source` has the last commit's files, and runs README's `make demo`; `tests` runs
`make test`, too. With `deb` and `rpm` the user also compiles programs against the package of headers, by pkg-config and
by CMake, and runs them; rpm is not asked for dependencies, which Debian's packages are. `image` builds the image of
packaging/docker by buildah, on that root as its base, and runs that program in it. Prints how long each step took; exit
code 1: a step failed. This needs root and debootstrap.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOTS = ROOT / "build" / "roots"
DIST = ROOT / "dist"
USER = 1000
#: The Python of each suite, for which wheels are fetched.
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
#: What a user of a distribution's packages has: an MPI library, and what compiles programs for it. debootstrap does not
#: see that libopenmpi-dev needs automake.
DISTRIBUTION = ("automake", "cmake", "g++", "iproute2", "libopenmpi-dev", "make", "openmpi-bin", "pkg-config",
                "python3-jinja2", "python3-jsonschema", "python3-numpy", "python3-pyelftools",
                "python3-rich")  # fmt: skip
#: What a machine has besides the package: Python, what the emulated cluster needs.
SYSTEM = {
    "source": ("g++", "iproute2", "make", "nftables", "python3-venv"),
    "tests": ("g++", "iproute2", "make", "nftables", "python3-venv"),
    "wheel": ("python3-venv", "iproute2"),
    "sdist": ("python3-venv", "iproute2", "g++"),
    "image": ("python3-venv", "iproute2"),
    "deb": DISTRIBUTION,
    "rpm": (*DISTRIBUTION, "rpm"),
}
#: Whom this machine trusts when it fetches from PyPI.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CLUSTER = 'nodes = 4\nrate = "100mbit"\n'
#: Becomes the root's only process tree: users cannot make namespaces within a chroot.
ENTER = """
set -e
mount --bind "$1" "$1"; cd "$1"; mkdir -p .old proc sys dev
mount -t proc proc proc; mount --rbind /sys sys; mount --rbind /dev dev
mount -t tmpfs tmpfs tmp
pivot_root . .old; cd /; umount -l .old
shift; exec "$@"
"""
#: A program on one node, with an algorithm that a run would not choose there.
PROGRAM = """
cd /tmp
program="$(antiphon prefix --lib)/antiphon-demo-fft3d-$2"
export OMPI_MCA_rmaps_base_oversubscribe=1
antiphon run -n 4 --mpi "$1" --force alltoall:rotated --summary=/tmp/run.json "$program" S
grep -q '"algorithm": "rotated' /tmp/run.json
"""
#: A project that is built against the package of headers.
PROJECT = ROOT / "tests" / "data" / "user"
#: Builds it into a folder of /tmp, and runs both of its programs, one of them under Antiphon.
BY_PKG_CONFIG = """
mkdir /tmp/by-pkg-config; cd /tmp/by-pkg-config
mpicc /user/calls.c $(pkg-config --cflags --libs antiphon) -o calls
cc /user/codecs.c $(pkg-config --cflags --libs antiphon-codec) -o codecs
"""
BY_CMAKE = """
cmake -S /user -B /tmp/by-cmake -DCMAKE_C_COMPILER=mpicc; cmake --build /tmp/by-cmake; cd /tmp/by-cmake
"""
BUILT = """
export OMPI_MCA_rmaps_base_oversubscribe=1
test "$(./codecs)" = "codecs 1"
antiphon run -n 2 --mpi "$(echo /usr/lib/*/libmpi.so.40)" ./calls | grep -x "version [1-9][0-9]*"
"""


def say(text: str) -> None:
    """Writes progress to stderr."""
    print(f"==> {text}", file=sys.stderr, flush=True)


@dataclass
class Clean:
    """A copy of a suite's root, and what was done in it."""

    suite: str
    kind: str
    root: Path
    steps: list[tuple[str, float, bool]] = field(default_factory=list)

    def step(self, name: str, do: Callable[[], bool]) -> bool:
        """Does something and keeps how long it took; nothing after a failure."""
        if self.steps and not self.steps[-1][2]:
            return False
        say(f"{self.suite} {self.kind}: {name}")
        began = time.monotonic()
        good = do()
        self.steps.append((name, time.monotonic() - began, good))
        return good

    def run(self, script: str, *words: str, user: bool = True, timeout_s: float = 900) -> bool:
        """Runs a shell script in the root, as an ordinary user or as root."""
        who = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if user else []
        env = ["env", "-i", "HOME=/home/user" if user else "HOME=/root", "DEBIAN_FRONTEND=noninteractive",
               "PATH=/home/user/venv/bin:/usr/bin:/bin:/usr/sbin:/sbin", f"PIP_CERT={CERTIFICATES}"]  # fmt: skip
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "enter", str(self.root)]
        command += [*who, *env, "sh", "-e", "-c", script, "script", *words]
        log = self.root.with_suffix(".log")
        with log.open("ab") as file:
            done = subprocess.run(
                command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, timeout=timeout_s, check=False
            )
        if done.returncode != 0:
            print("".join(log.read_text(errors="replace").splitlines(True)[-15:]), file=sys.stderr)
        return done.returncode == 0


def mirror(suite: str) -> str:
    """Returns where this machine gets Debian from."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=True
    )
    found = [line for line in dict.fromkeys(listed.stdout.split()) if "security" not in line]
    if not found:
        sys.exit("error: apt knows no mirror\nhint: apt-get update")
    return found[0]


def base(suite: str, packages: Sequence[str]) -> Path:
    """Returns the suite's root with these packages; it is made once."""
    name = f"{suite}-{'-'.join(sorted(packages))}"
    kept = ROOTS / f"{abs(hash_of(name)):x}"
    if (kept / ".done").is_file():
        return kept
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    say(f"{suite}: a clean root with {', '.join(packages)}")
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite, str(kept), mirror(suite)]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(f"error: debootstrap of {suite} failed\nhint: see {kept}/debootstrap/debootstrap.log")
    home = kept / "home" / "user"
    home.mkdir(parents=True)
    os.chown(home, USER, USER)
    with (kept / "etc" / "passwd").open("a") as file:
        file.write(f"user:x:{USER}:{USER}::/home/user:/bin/sh\n")
    (kept / ".done").touch()
    return kept


def hash_of(text: str) -> int:
    """Returns a number that stays the same from run to run."""
    import zlib

    return zlib.crc32(text.encode())


def wheels_for(suite: str, package: Path) -> Path:
    """Fetches what the package needs from PyPI, and MPICH."""
    folder = ROOTS / f"wheels-{suite}"
    folder.mkdir(parents=True, exist_ok=True)
    names = [
        "mpich==5.0.*",
        "jinja2",
        "jsonschema",
        "numpy",
        "pyelftools",
        "rich",
        "scikit-build-core",
        "cmake",
        "ninja",
        "pip",
    ]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "-d", folder, "--only-binary=:all:"]
    command += ["--python-version", PYTHONS[suite]]
    command += [word for name in ("manylinux_2_28", "manylinux2014") for word in ("--platform", f"{name}_x86_64")]
    if subprocess.run([*command, *names], check=False).returncode != 0:
        sys.exit("error: pip could not fetch the dependencies\nhint: see its message above")
    shutil.copy(package, folder)
    return folder


def newest(pattern: str) -> Path:
    """Returns the newest file of dist/ with that name."""
    found = sorted(DIST.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"error: dist/ has no {pattern}\nhint: make packages")
    return found[-1]


def with_pip(clean: Clean, package: Path) -> None:
    """Installs a wheel or a source package into a virtual environment of the user's."""
    shutil.copytree(wheels_for(clean.suite, package), clean.root / "wheels")
    clean.step("virtual environment", lambda: clean.run("python3 -m venv /home/user/venv"))
    isolated = "--no-build-isolation" if clean.kind == "sdist" else ""
    if isolated:
        clean.step(
            "build tools", lambda: clean.run("pip install -q --no-index -f /wheels scikit-build-core cmake ninja pip")
        )
    script = f"pip install -q --no-index -f /wheels {isolated} /wheels/{package.name} mpich"
    clean.step("pip install", lambda: clean.run(script, timeout_s=1800))
    used(clean, "/home/user/venv/lib/libmpi.so.12")


def with_make(clean: Clean, tests: bool) -> None:
    """Runs README's commands in the source, as who has cloned it; pip fetches what they need."""
    for path in (Path("/etc/resolv.conf"), CERTIFICATES):
        copy = clean.root / path.relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    home = clean.root / "home" / "user"
    archive = ["git", "archive", "--prefix=antiphon/", "HEAD"]
    files = subprocess.run(archive, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", home], input=files, check=True)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", home / "antiphon"], check=True)
    clean.step("make demo", lambda: clean.run("cd ~/antiphon; make demo", timeout_s=3600))
    if tests:
        clean.step("make test", lambda: clean.run("cd ~/antiphon; make test", timeout_s=4 * 3600))


def with_distribution(clean: Clean, packages: Sequence[Path]) -> None:
    """Installs the packages of a distribution for everybody; what they depend on is there."""
    (clean.root / "packages").mkdir()
    for package in packages:
        shutil.copy(package, clean.root / "packages")
    shutil.copytree(PROJECT, clean.root / "user")
    install = "dpkg -i" if clean.kind == "deb" else "rpm -i --nodeps"
    clean.step(f"{clean.kind} installed", lambda: clean.run(f"{install} /packages/*", user=False))
    used(clean, "$(echo /usr/lib/*/libmpi.so.40)", "openmpi")
    clean.step("program by pkg-config", lambda: clean.run(BY_PKG_CONFIG + BUILT))
    clean.step("program by CMake", lambda: clean.run(BY_CMAKE + BUILT))


class Images:
    """Images of containers, in a store of their own."""

    def __init__(self, folder: Path) -> None:
        self.folders = [Path(f"{folder}.images"), Path(f"{folder}.run")]
        self.container = ""
        self.command = ["buildah", "--root", self.folders[0], "--runroot", self.folders[1], "--storage-driver", "vfs"]

    def say(self, *words: str | Path) -> str:
        """Returns what buildah says; nothing if it fails."""
        done = subprocess.run([*self.command, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stderr[-1500:], file=sys.stderr)
        return done.stdout.strip() if done.returncode == 0 else ""

    def of_root(self, root: Path, name: str) -> bool:
        """Makes an image of a system's root."""
        empty = self.say("from", "scratch")
        self.say("copy", empty, root, "/")
        return bool(empty and self.say("commit", empty, name))

    def start(self, name: str) -> bool:
        """Makes a container from an image, whose files are copied."""
        self.container = self.say("from", f"localhost/{name}")
        return bool(self.container)

    def run(self, script: str) -> bool:
        """Runs a shell script in the container."""
        line = ["run", "--isolation", "chroot", self.container, "--"]
        line += ["sh", "-e", "-c", f"{script}\necho has ended well"]
        return "has ended well" in self.say(*line)


def with_buildah(clean: Clean, package: Path) -> None:
    """Builds the image of packaging/docker, with what pip needs beside the wheel."""
    context = ROOTS / f"{clean.suite}-context"
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(wheels_for(clean.suite, package), context)
    text = (ROOT / "packaging" / "docker" / "Dockerfile").read_text()
    (context / "Dockerfile").write_text(text.replace("@version@", package.name.split("-")[1]))
    images = Images(context)
    options = ["--isolation", "chroot", "--network", "host", "--build-arg", "BASE=localhost/base"]
    options += ["--build-arg", "PIP_NO_INDEX=1", "-t", "antiphon"]
    as_root = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; set -- openmpi openmpi; "
    clean.step("base image", lambda: images.of_root(clean.root, "base"))
    clean.step("image by Dockerfile", lambda: bool(images.say("build", *options, context)))
    clean.step("container from the image", lambda: images.start("antiphon"))
    clean.step("algorithm forced", lambda: images.run(as_root + PROGRAM))
    for folder in (context, *images.folders):
        shutil.rmtree(folder, ignore_errors=True)


def used(clean: Clean, mpi: str, abi: str = "mpich") -> None:
    """Runs programs with what was installed."""
    (clean.root / "cluster.toml").write_text(CLUSTER)
    clean.step("antiphon --version", lambda: clean.run("antiphon --version"))
    clean.step("algorithm forced", lambda: clean.run(f"set -- {mpi} {abi}; " + PROGRAM))
    clean.step("selftest on a cluster", lambda: clean.run(
        f"cd /tmp; antiphon selftest --mpi {mpi} --lab /cluster.toml --budget 20 --json >out.json; cat out.json; "
        "grep -q '\"ok\": true' out.json"))  # fmt: skip


def tried(suite: str, kind: str) -> Clean:
    """Installs and uses one package on a copy of the suite's root."""
    kept = base(suite, SYSTEM[kind])
    clean = Clean(suite, kind, ROOTS / f"{suite}-{kind}")
    shutil.rmtree(clean.root, ignore_errors=True)
    clean.root.with_suffix(".log").unlink(missing_ok=True)
    subprocess.run(["cp", "-a", "--reflink=auto", kept, clean.root], check=True)
    (clean.root / "etc" / "hosts").write_text("127.0.0.1 localhost\n")  # An installer writes it, debootstrap does not.
    if kind in ("source", "tests"):
        with_make(clean, tests=kind == "tests")
    elif kind == "deb":
        with_distribution(clean, [newest("antiphon_*.deb"), newest("libantiphon-dev_*.deb")])
    elif kind == "rpm":
        with_distribution(clean, [newest("antiphon-[0-9]*.rpm"), newest("antiphon-devel-*.rpm")])
    elif kind == "image":
        with_buildah(clean, newest("antiphon-*x86_64.whl"))
    else:
        with_pip(clean, newest("antiphon-*x86_64.whl" if kind == "wheel" else "antiphon-*.tar.gz"))
    shutil.rmtree(clean.root, ignore_errors=True)
    return clean


def main() -> int:
    """Tries what is asked for, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(SYSTEM)} (default: wheel)")
    parser.add_argument("--suite", action="append", choices=sorted(PYTHONS), help="default: all")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    args = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        sys.exit("error: this needs root and debootstrap\nhint: apt-get install debootstrap")
    unknown = [kind for kind in args.kinds if kind not in SYSTEM]
    if unknown:
        sys.exit(f"error: no package is called {unknown[0]}\nhint: there are {', '.join(SYSTEM)}")
    if "image" in args.kinds and shutil.which("buildah") is None:
        sys.exit("error: images need buildah\nhint: apt-get install buildah")
    done = [tried(suite, kind) for suite in args.suite or PYTHONS for kind in args.kinds or ["wheel"]]
    rows = [(c.suite, c.kind, name, round(seconds, 1), good) for c in done for name, seconds, good in c.steps]
    if args.json:
        print(
            json.dumps(
                [dict(zip(("suite", "kind", "step", "seconds", "ok"), row, strict=True)) for row in rows], indent=1
            )
        )
    else:
        for suite, kind, name, seconds, good in rows:
            print(f"{suite:10} {kind:6} {name:24} {seconds:7.1f} s  {'ok' if good else 'FAILED'}")
    return int(not all(good for *_, good in rows))


if __name__ == "__main__":
    sys.exit(main())
