#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command lines of the documentation on this machine, and says what came out of each.

They run in a temporary folder beside what the pages assume: a program, nodes, a profile, a trace, a plan. At most four
ranks start, and measurements are short. What needs something of another machine is parsed alone
(tests/unit/test_readme.py parses every line), and so is, without --labs, what needs an emulated cluster. Exit code 1: a
command failed. Needs `make setup`, and MPICH in it.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy
import page_commands

ROOT = page_commands.ROOT
MPICH = ROOT / ".venv" / "mpi" / "mpich"
MOST_RANKS = 4
TIMEOUT_S = 120
SOLVER = """#include <mpi.h>
static double in[1 << 17], out[1 << 17];
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int counts[64], starts[64];
  for (int i = 0; i < size; i++) counts[i] = i == rank ? 0 : 500, starts[i] = 500 * i;
  for (int i = 0; i < 20; i++) {
    MPI_Alltoallv(in, counts, starts, MPI_DOUBLE, out, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoall(in, 1024, MPI_DOUBLE, out, 1024, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Bcast(in, 1 << 15, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Sendrecv(in, 4096, MPI_DOUBLE, (rank + 1) % size, 0, out, 4096, MPI_DOUBLE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return MPI_Finalize();
}
"""
SCRIPT = "from mpi4py import MPI\nMPI.COMM_WORLD.allreduce(1)\n"
#: An emulated cluster is in the line, and then also something that a reader is to fill in.
LAB = r" --lab\b|^antiphon lab |antiphon demo"
TO_FILL_IN = r"\b(MPI|NAME|CLUSTER|PROGRAM|RATE|RUN|N|H|FILE)\b|\|[a-z0-9]|(two-N|slow|eight|my-lab|four)\.toml"
#: Why a command is parsed alone, by what is in its line.
NOT_HERE = {
    r"--launcher srun|--mpi /opt|\.venv/bin/python": "names what another machine has",
    r"profile forget|profile show \S|profile show$": "names what is known of other nodes",
    r"--simulator ns3|--method scotch|antiphon simulate": "needs a simulator or a library that may not be here",
    r"codecs --messages (bt|capt)|step\*|bench codecs$": "needs messages that are not in the repository",
    r"--nonblocking --modes|--budget 3|overhead|presence": "measures for minutes",
    r"--placement placement.json|--apply": "starts ranks on the nodes that a placement names",
    r"export --profile|export --to (openmpi|mpich)": "needs a profile with measurements of the library's algorithms",
    r"build/release/|[a-z0-9.] dsm ": "names what another build has",
    r"lab (run|up) --cluster my\.toml|--svg errors\.svg": "needs a cluster's file, or a profile, of one's own",
    r"trace --recover": "needs a run that was killed",
    r"predict --cluster": "predicts for minutes",
    r"tune$|tune --(profile|hostfile|model)|tune -n|traffic --verify": "measures for minutes",
}
if importlib.util.find_spec("mpi4py") is None:
    NOT_HERE[r"script\.py|collectives\.py"] = "needs mpi4py"
#: Shorter forms of what measures.
SHORTER = {"selftest": ["--budget", "5"], "probe": ["--budget", "5"], "bench": ["--budget", "0.1"],
           "compare": ["--rounds", "3"]}  # fmt: skip
#: Programs of the tutorials, whose place the solver takes: the commands are tried, not the programs.
TUTORIALS = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md"))
STARTS_RANKS = ("run", "compare", "trace", "plan", "probe", "selftest", "bench", "doctor")


class Place:
    """The folder that commands run in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("ANTIPHON")}
        self.env |= {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "NO_COLOR": "1", "BROWSER": "true"}
        self.env["PATH"] = f"{Path(sys.executable).parent}:{MPICH / 'bin'}:{self.env['PATH']}"
        self.env["HWLOC_COMPONENTS"] = "-gl"

    def antiphon(self, words: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
        """Runs a command."""
        return subprocess.run(
            [sys.executable, "-m", "antiphon", *words],
            cwd=self.folder,
            env=self.env | more,
            text=True,
            capture_output=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def need(self, *words: str, **more: str) -> None:
        """Runs a command that others rest on."""
        done = self.antiphon(words, **more)
        if done.returncode != 0:
            sys.exit(f"error: `antiphon {' '.join(words)}` failed\n{done.stderr}")

    def prepare(self) -> None:
        """Makes what the pages assume."""
        f = self.folder
        (f / "solver.c").write_text(SOLVER)
        subprocess.run([MPICH / "bin" / "mpicc", "-O1", "solver.c", "-o", "solver"], cwd=f, check=True)
        for name in ("program", "collectives", "integer_sort", "solver.scorep", *TUTORIALS):
            shutil.copy(f / "solver", f / name)
        (f / "tests" / "data").mkdir(parents=True)
        shutil.copy(ROOT / "tests" / "data" / "ethernet-16.openmpi.json", f / "tests" / "data")
        (f / "script.py").write_text(SCRIPT)
        shutil.copytree(ROOT / "examples" / "mpi4py", f / "examples" / "mpi4py")
        (f / "nodes").write_text("localhost slots=4\n")
        for name in ("machine.json", "cluster.json", "a.json", "b.json"):
            shutil.copy(ROOT / "tests" / "data" / "gigabit-8.mpich.json", f / name)
        numpy.arange(1 << 18, dtype="f8").tofile(f / "field.raw")
        (f / "my.json").write_text('{"version": 1, "size": 4, "messages": [[0, 1, 9000], [1, 2, 9000], [2, 0, 9000]]}')
        for path in (ROOT / "tests" / "data" / "taurus").iterdir():
            shutil.copy(path, f / path.name)
        self.record()

    def record(self) -> None:
        """Records a run, and makes of it what commands make of runs."""
        f, apart = self.folder, {"ANTIPHON_NODES": "node0,node1,node2,node3"}
        self.need("run", "-n", "4", "--summary=run.json", "--trace", "run.trace", "./solver", **apart)
        self.need("run", "-n", "4", "--capture", "captured", "--force", "*:on", "./solver", **apart)
        shutil.copy(f / "captured" / "rank-0.msgs", f / "run.msgs")
        for name in ("solver", *TUTORIALS):
            shutil.copy(f / "run.trace", f / f"{name}.trace")
        self.need("plan", "--profile", "machine.json", "-o", "solver.plan", "solver.trace")
        for name in TUTORIALS:
            shutil.copy(f / "solver.plan", f / f"{name}.plan")
        self.need("compile", "run.trace", "-o", "plan.json")
        self.need("map", "solver.trace", "machine.json", "-o", "placement.json")
        shutil.copy(f / "placement.json", f / "run.placement")
        bench = "bench bcast -n 2 --bytes 1k --budget 0.05 --mpi mpich --algorithms all --json results.json"
        self.need(*shlex.split(bench))
        self.need(*next(line.words[1:] for line in page_commands.lines() if "-o my.toml" in line.text))
        for name in ("earlier", "a-results", "b-results"):
            shutil.copy(f / "results.json", f / f"{name}.json")


def here(words: list[str], folder: Path) -> list[str]:
    """Returns a shorter form that leaves the rest of the machine alone."""
    name = words[1]
    changed = [re.sub(r"^(/opt|/var|/tmp|~)/", f"{folder}-copy/", word) for word in words[1:]]
    changed = [re.sub(r"=(/tmp|/var)/", f"={folder}-copy/", word) for word in changed]
    changed = ["mpich" if before == "--mpi" else word for before, word in zip(["", *changed], changed, strict=False)]
    if re.search(LAB, " ".join(words)):
        return in_a_lab(changed)
    if name in STARTS_RANKS:
        for i, word in enumerate(changed[:-1]):
            if word == "-n" and int(changed[i + 1]) > MOST_RANKS:
                changed[i + 1] = str(MOST_RANKS)
    if name == "explain" or "--budget" in changed or "--list" in changed:
        return changed
    return [*changed[:1], *SHORTER.get(name, []), *changed[1:]]


def in_a_lab(words: list[str]) -> list[str]:
    """Returns a shorter form: one size, one collective, the first modes, and little time for each."""
    collectives = list(itertools.takewhile(lambda word: not word.startswith("-"), words[1:]))
    short = [words[0], *collectives[:1], *words[1 + len(collectives) :]] if words[0] == "bench" else list(words)
    for i, word in enumerate(short[:-1]):
        if word in ("--bytes", "--modes"):
            short[i + 1] = short[i + 1].split(",")[0]
    if "--budget" in short:
        short[short.index("--budget") + 1] = "0.05"
    elif words[0] in ("bench", "selftest", "probe"):
        short[1:1] = ["--budget", "0.05" if words[0] == "bench" else "10"]
    return short


def reason(text: str, *, labs: bool) -> str | None:
    """Returns why a command does not run here, or None."""
    if re.search(LAB, text):
        if not labs:
            return "needs an emulated cluster"
        if re.search(TO_FILL_IN, text):
            return "the form of a command"
    return next((why for pattern, why in NOT_HERE.items() if re.search(pattern, text)), None)


def fresh(folder: Path, words: Sequence[str]) -> Path:
    """Returns a copy of the folder without what the command writes."""
    copy = folder.with_name(folder.name + "-copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    written = [
        word for before, word in zip(words, words[1:], strict=False) if before in ("-o", "--json", "--profile-out")
    ]
    if "-o" not in words:
        named = [word for word in words if word.startswith("./") or word.endswith(".trace")]
        written += [f"{Path(word).stem}.{words[0]}" for word in named if words[0] in ("trace", "plan")]
    if words[0] != "trace" or "-n" in words:
        for path in (copy / name for name in written):
            if path.is_file():
                path.unlink()
    return copy


def make_folders(words: Sequence[str], copy: Path) -> None:
    """Makes the folders of files of metrics that a command writes, which stand alone or as a variable's value."""
    for word in words:
        if word.endswith(".prom"):
            (copy / word.rpartition("=")[2]).parent.mkdir(parents=True, exist_ok=True)


def try_one(place: Place, line: page_commands.Line, *, labs: bool) -> tuple[str, str]:
    """Returns the outcome in a word, and what is to be known about it."""
    why = "the form of a command" if line.is_form else reason(line.text, labs=labs)
    if why:
        return "parsed", why
    words = here(line.words, place.folder)
    copy = fresh(place.folder, words)
    make_folders(words, copy)
    began = time.monotonic()
    try:
        done = Place(copy).antiphon(words)
    except subprocess.TimeoutExpired:
        return "failed", f"not done after {TIMEOUT_S} s"
    if done.returncode != 0 and not (words[0] == "doctor" and done.returncode == 1):  # 1: it found something
        return "failed", f"exit code {done.returncode}: {' / '.join(done.stderr.strip().splitlines()[-2:])}"
    return "ran", f"{time.monotonic() - began:.1f} s"


def main() -> int:
    """Runs them and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", default="", help="only commands that contain this")
    parser.add_argument("--labs", action="store_true", help="also those that need an emulated cluster")
    args = parser.parse_args()
    only = args.text
    count = {"ran": 0, "parsed": 0, "failed": 0}
    with tempfile.TemporaryDirectory(prefix="antiphon-pages-") as name:
        place = Place(Path(name) / "pages")
        place.folder.mkdir()
        place.prepare()
        for line in {line.text: line for line in page_commands.lines() if only in line.text}.values():
            outcome, what = try_one(place, line, labs=args.labs)
            count[outcome] += 1
            print(f"{outcome:7} {line.page.relative_to(ROOT)}:{line.number}: {line.text}: {what}", flush=True)
    print(f"{count['ran']} ran, {count['parsed']} were parsed alone, {count['failed']} failed", file=sys.stderr)
    return int(count["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
