#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs that check themselves (programs/random), plainly and under Antiphon with random settings.

  .venv/bin/python tests/mpi/random_programs.py --seeds 1-1000         a program, a library and settings for each seed
  .venv/bin/python tests/mpi/random_programs.py --seeds 17 --reduce    leaves out of seed 17 what need not be there

A seed that fails under Antiphon runs plainly, and counts where that passes. Each failure is printed with its settings.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from antiphon import core
from antiphon.mpi import Mpi, discover, launch

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "programs" / "random"
BUILD = HERE.parents[1] / "build" / "random"
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-O0", "-pthread"]
#: The program says by itself where it hangs, before this.
LIMIT_S, PATIENCE_S = 120, 25
ERRORS = re.compile(r"^errors.*$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Case:
    """A random program, and the settings with which it runs."""

    seed: int
    ranks: int
    threads: int
    steps: int
    variables: dict[str, str]
    omitted: tuple[tuple[int, int], ...] = ()

    def arguments(self) -> list[str]:
        """Returns the program's arguments."""
        omitted = ",".join(f"{first}-{last}" for first, last in self.omitted)
        words = {"steps": self.steps, "threads": self.threads, "omit": omitted, "patience": PATIENCE_S}
        return [str(self.seed), *(f"{name}={value}" for name, value in words.items() if value != "")]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a run ended, and what it printed."""

    code: int
    text: str

    @property
    def errors(self) -> set[str]:
        """The errors that the program made on purpose, each as "call=class"."""
        return {word for line in ERRORS.findall(self.text) for word in line.split()[1:]}

    @property
    def passed(self) -> bool:
        """Whether all results were right."""
        return self.code == 0 and "verified" in self.text.split()

    def essence(self) -> str:
        """The lines that say what went wrong."""
        told = re.findall(r"^.*(?:wrong:|hangs:|antiphon|rror|ignal|terminate|Assert).*$", self.text, re.MULTILINE)
        return "\n".join(
            [f"  ended with {self.code}", *(f"  {line[:300]}" for line in (told or [self.text[-500:]])[:12])]
        )


def nodes(rng: random.Random, ranks: int) -> str:
    """Returns which ranks share a node: blocks, dealt out, or anyhow."""
    count = rng.randint(1, ranks)
    names = {
        "blocks": [rank * count // ranks for rank in range(ranks)],
        "dealt": [rank % count for rank in range(ranks)],
        "anyhow": [rng.randrange(count) for _ in range(ranks)],
    }[rng.choice(["blocks", "dealt", "dealt", "anyhow"])]
    return ",".join("abcdefghi"[name] for name in names)


def forced(rng: random.Random) -> str:
    """Returns a random algorithm with random parameters for each of some collectives."""
    parts = ["*:on"] if rng.random() < 0.7 else []
    for collective in core.collectives():
        if rng.random() < 0.4:
            continue
        algorithm = rng.choice(core.algorithms(collective.name))
        values = [
            f"{p.name}={rng.choice([p.min, p.default, min(p.max, max(p.min, 2 ** rng.randint(0, 14)))])}"
            for p in algorithm.parameters
            if rng.random() < 0.5
        ]
        parts.append(f"{collective.name}:{algorithm.name}" + (":" + ",".join(values) if values else ""))
    return ";".join(parts)


#: Each setting, how often it is set, and its values.
SETTINGS: dict[str, tuple[float, Callable[[random.Random], str]]] = {
    "ANTIPHON_FORCE": (0.6, lambda rng: "*:on" if rng.random() < 0.35 else forced(rng)),
    "ANTIPHON_LINK_BITS_PER_S": (0.7, lambda rng: rng.choice(["10000000", "100000000", "1000000000"])),
    "ANTIPHON_ADAPT": (0.6, lambda rng: rng.choice(["off", "run", "keep", "run,reductions", "keep,reductions"])),
    "ANTIPHON_COMPRESS": (0.5, lambda rng: rng.choice(["off", "auto", "on", "force", "force"])),
    "ANTIPHON_CODEC": (0.3, lambda rng: rng.choice(["spatial", "lz4", "zstd", "dfcm"])),
    "ANTIPHON_COMPRESS_MIN_BYTES": (0.2, lambda rng: rng.choice(["64", "200", "4096"])),
    "ANTIPHON_COMPRESS_MEMORY_BYTES": (0.1, lambda rng: rng.choice(["0", "4096", "1048576"])),
    "ANTIPHON_SHARED_MEMORY": (0.3, lambda rng: rng.choice(["off", "copy"])),
    "ANTIPHON_CREDIT_BYTES": (0.2, lambda rng: rng.choice(["1000", "20000", "200000"])),
    "ANTIPHON_MODEL": (0.15, lambda rng: "off"),
    "ANTIPHON_PROGRESS": (0.15, lambda rng: "thread"),
    "ANTIPHON_REORDER": (0.2, lambda rng: "1"),
    "ANTIPHON_TOPOLOGY": (0.2, lambda rng: rng.choice(["off", "left=a,c;right=b,d,e,f,g,h,i"])),
    "ANTIPHON_MULTICAST_INTERFACE": (0.2, lambda rng: "lo"),
    "ANTIPHON_MULTICAST_LOSS": (0.05, lambda rng: "0.02"),
    "ANTIPHON_YIELD": (0.05, lambda rng: "0"),
    "ANTIPHON_VERBOSE": (0.1, lambda rng: "2"),
    "ANTIPHON_SUMMARY": (0.3, lambda rng: "@summary.json"),
    "ANTIPHON_TRACE": (0.2, lambda rng: "@trace"),
    "ANTIPHON_METRICS": (0.1, lambda rng: "@metrics.txt"),
    "ANTIPHON_CAPTURE": (0.05, lambda rng: "@captured"),
    "ANTIPHON_TRACE_BYTES": (0.05, lambda rng: "1048576"),
}


def case_of(seed: int, most_ranks: int = 9, steps: int = 0) -> Case:
    """Returns the program and the settings of a seed."""
    rng = random.Random(seed)
    ranks = min(most_ranks, rng.choice([1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9]))
    threads = rng.choice([1, 1, 1, 1, 2, 3])
    variables = {name: value(rng) for name, (share, value) in SETTINGS.items() if rng.random() < share}
    if rng.random() < 0.9:
        variables["ANTIPHON_NODES"] = nodes(rng, ranks)
    return Case(seed, ranks, threads, steps or rng.randint(100, 300) // threads, variables)


def variables_of(case: Case, folder: Path) -> dict[str, str]:
    """Returns a case's settings, with files in this folder."""
    return {name: value.replace("@", f"{folder}/") for name, value in case.variables.items()}


def build(mpi: Mpi) -> Path:
    """Compiles the program with a library's wrapper, unless that has been done."""
    names = ["mpicc_abi"] if mpi.abi == "mpiabi" else [f"mpicc.{mpi.family}", "mpicc"]
    wrapper = next(path for name in names if (path := mpi.prefix / "bin" / name).exists())
    program = BUILD / re.sub(r"\W+", "-", f"{mpi.abi}-{mpi.version}")
    newest = max(file.stat().st_mtime for file in SOURCES.iterdir())
    if not program.exists() or program.stat().st_mtime < newest:
        BUILD.mkdir(parents=True, exist_ok=True)
        sources = sorted(SOURCES.glob("*.cpp"))
        subprocess.run([wrapper, *FLAGS, *sources, "-o", program, "-lstdc++"], check=True)
    return program


def start(program: Path, mpi: Mpi, case: Case, preload: bool) -> Outcome:
    """Runs a case in a folder of its own."""
    hidden = ("LD_PRELOAD", "LD_LIBRARY_PATH")
    env = {name: value for name, value in os.environ.items() if name not in hidden and not name.startswith("ANTIPHON")}
    with tempfile.TemporaryDirectory(prefix="antiphon-random-") as folder:
        variables = launch.yielding(mpi)
        if preload:
            variables |= variables_of(case, Path(folder))
            variables |= {"LD_PRELOAD": str(launch.preload_object(mpi.abi)), "XDG_CACHE_HOME": f"{folder}/cache"}
        argv = [str(program), *case.arguments(), f"scratch={folder}"]
        command = launch.launch_command(mpi, case.ranks, argv, variables, oversubscribe=True, as_root=True)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=folder, start_new_session=True
        )
        try:
            text, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                text, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                text, _ = process.communicate()
            return Outcome(124, text.decode(errors="replace"))
    return Outcome(process.returncode, text.decode(errors="replace"))


#: The errors that a program made plainly, each as "call=class".
KNOWN_ERRORS: dict[Path, set[str]] = {}


def differs(program: Path, mpi: Mpi, case: Case) -> Outcome | None:
    """Returns how a case ends under Antiphon, if it ends otherwise than plainly."""
    known = KNOWN_ERRORS.setdefault(program, set())
    outcome = start(program, mpi, case, preload=True)
    if outcome.passed and outcome.errors <= known:
        return None
    plain = start(program, mpi, case, preload=False)
    if not plain.passed:
        return None
    known |= plain.errors
    return None if outcome.passed and outcome.errors <= known else outcome


def shorter(case: Case, fails: Callable[[Case], bool]) -> Iterator[Case]:
    """Yields ever shorter cases that fail: fewer steps, then fewer settings."""
    length = case.steps
    left = [step for step in range(case.steps) if not any(a <= step <= b for a, b in case.omitted)]
    while length >= 1:
        at = 0
        while at < len(left):
            kept = left[:at] + left[at + length :]
            tried = dataclasses.replace(case, omitted=ranges(set(range(case.steps)) - set(kept)))
            if len(kept) < len(left) and fails(tried):
                case, left = tried, kept
                yield case
            else:
                at += length
        length //= 2
    for name in sorted(case.variables):
        variables = {other: value for other, value in case.variables.items() if other != name}
        tried = dataclasses.replace(case, variables=variables)
        if fails(tried):
            case = tried
            yield case


def ranges(steps: set[int]) -> tuple[tuple[int, int], ...]:
    """Returns steps as ranges of the first and the last of those that follow each other."""
    found: list[tuple[int, int]] = []
    for step in sorted(steps):
        if found and found[-1][1] == step - 1:
            found[-1] = (found[-1][0], step)
        else:
            found.append((step, step))
    return tuple(found)


def command_of(program: Path, mpi: Mpi, case: Case) -> str:
    """Returns what runs a case by hand."""
    variables = launch.yielding(mpi) | variables_of(case, Path("/tmp"))
    variables |= {"LD_PRELOAD": str(launch.preload_object(mpi.abi))}
    argv = [str(program), *case.arguments()]
    return shlex.join(launch.launch_command(mpi, case.ranks, argv, variables, oversubscribe=True, as_root=True))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--seeds", default="1-100", metavar="A-B", help="which programs (default: 1-100)")
    add("--library", default="", metavar="WORD", help="only libraries whose name has this, as `openmpi-5`")
    add("--ranks", type=int, default=9, help="the most ranks (default: 9)")
    add("--steps", type=int, default=0, help="so many steps each")
    add("--repeat", type=int, default=1, help="runs of each seed, or of each shorter case")
    add("--case", type=Path, metavar="FILE", help="a case as --failures has it, instead of seeds")
    add("--failures", type=Path, metavar="FILE", help="append cases that fail, a line of JSON each")
    add("--reduce", action="store_true", help="make what fails shorter")
    return parser.parse_args(argv)


def name_of(mpi: Mpi) -> str:
    """Returns a library's name for --library."""
    return f"{mpi.abi}-{mpi.version}"


def read_case(path: Path) -> tuple[str, Case]:
    """Reads a case that --failures wrote."""
    data = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    library = str(data.pop("library"))
    data["omitted"] = tuple(tuple(pair) for pair in data["omitted"])
    return library, Case(**data)


def reduce(program: Path, mpi: Mpi, case: Case, repeat: int) -> Case:
    """Makes a case shorter as long as it fails in one of some runs."""
    least = case
    for least in shorter(case, lambda tried: any(differs(program, mpi, tried) for _ in range(repeat))):
        left = least.steps - sum(last - first + 1 for first, last in least.omitted)
        print(f"  {left} steps, {len(least.variables)} settings", flush=True)
    return least


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the seeds; returns 1 where one fails under Antiphon alone."""
    args = parse(argv)
    libraries = [mpi for mpi in discover() if args.library in name_of(mpi)]
    first, _, last = args.seeds.partition("-")
    cases = [case_of(seed, args.ranks, args.steps) for seed in range(int(first), int(last or first) + 1)]
    if args.case:
        library, case = read_case(args.case)
        libraries, cases = [mpi for mpi in libraries if name_of(mpi) == library], [case]
    failures = 0
    for case in cases * args.repeat:
        mpi = libraries[case.seed % len(libraries)]
        program = build(mpi)
        outcome = differs(program, mpi, case)
        if outcome is None:
            continue
        failures += 1
        print(f"seed {case.seed} with {name_of(mpi)} on {case.ranks} ranks:\n{outcome.essence()}", flush=True)
        if args.reduce:
            case = reduce(program, mpi, case, args.repeat)
        print(f"  {command_of(program, mpi, case)}", flush=True)
        if args.failures:
            with args.failures.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"library": name_of(mpi), **dataclasses.asdict(case)}) + "\n")
    print(f"{len(cases) * args.repeat - failures} passed, {failures} failed", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
