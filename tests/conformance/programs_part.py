# SPDX-License-Identifier: Apache-2.0
"""Runs programs from outside this project: HPC Challenge and LAMMPS, from Debian, must give the same results."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from libraries import Library, Mode, command
from outcome import Comparison, Verdict
from work import HERE, LOGS, RUNS, file_name, run, say

from antiphon.errors import AntiphonError

PART = "programs"
RANKS = 4
LIMIT_S = 600.0
INPUTS = HERE / "programs"
#: LAMMPS prints 15 digits. Sums over ranks may be added in another order, which moves the last of them. PPPM's
#: parameters come from such sums, so there the trajectories part slowly as well.
MOST_RELATIVE_DIFFERENCE = 1e-9
#: These HPC Challenge results are the same whenever the program is right, unlike its times.
HPCC_EXACT = re.compile(
    r"^(Success|CommWorldProcs|MPIRandomAccess_(Errors|ErrorsFraction|N|LCG_Errors\w*)|HPL_(N|NB|nprow|npcol)"
    r"|PTRANS_(n|nb|nprow|npcol)|MPIFFT_(N|Procs)|\w*_Failures?|\w*RandomAccess\w*Errors\w*)$"
)
#: These measure an error in floating point, which must stay small.
HPCC_SMALL = {"MPIFFT_maxErr": 1e-9, "PTRANS_residual": 1e-9, "HPL_RnormI": 1e-6}


@dataclass(frozen=True)
class Program:
    """One program with its input."""

    name: str
    package: str
    executable: str
    argv: tuple[str, ...]
    inputs: tuple[str, ...]
    #: Reads its results from the directory it ran in.
    results: Callable[[Path], dict[str, float]]
    #: Finds wrong results by comparing those without and with Antiphon.
    compare: Callable[[dict[str, float], dict[str, float]], list[str]]


def thermo(folder: Path) -> dict[str, float]:
    """Returns all numbers of LAMMPS's thermodynamic output."""
    found: dict[str, float] = {}
    columns: list[str] = []
    for line in (folder / "log.lammps").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:1] == ["Step"]:
            columns = words
        elif columns and len(words) == len(columns) and re.match(r"\d+$", words[0]):
            found |= {f"step {words[0]}, {c}": float(w) for c, w in zip(columns[1:], words[1:], strict=True)}
        else:
            columns = []
    return found


def differing_numbers(without: dict[str, float], antiphon: dict[str, float]) -> list[str]:
    """Returns numbers that are further apart than rounding explains."""
    if not without or without.keys() != antiphon.keys():
        return [f"{len(without)} numbers without Antiphon, {len(antiphon)} with it"]
    wrong = []
    for name, a in without.items():
        b = antiphon[name]
        if not abs(a - b) <= MOST_RELATIVE_DIFFERENCE * max(abs(a), abs(b), 1e-3):
            wrong.append(f"{name}: {a!r} without Antiphon, {b!r} with it")
    return wrong


def hpcc_results(folder: Path) -> dict[str, float]:
    """Returns the summary of hpccoutf.txt, and how many of HPL's and PTRANS's checks passed and failed."""
    text = (folder / "hpccoutf.txt").read_text(encoding="utf-8")
    found = {
        f"lines with {word}": float(len(re.findall(rf"\b{word}\b", text))) for word in ("PASSED", "FAILED", "FAILURE")
    }
    summary = text.partition("Begin of Summary section.")[2]
    for name, value in re.findall(r"^(\w+)=(\S+)$", summary, re.MULTILINE):
        if HPCC_EXACT.match(name) or name in HPCC_SMALL:
            found[name] = float(value)
    return found


def differing_checks(without: dict[str, float], antiphon: dict[str, float]) -> list[str]:
    """Returns checks that did not come out as they must."""
    wrong = differing_keys(without, antiphon)
    for name, value in antiphon.items():
        if name in HPCC_SMALL:
            if not abs(value) <= HPCC_SMALL[name]:
                wrong.append(f"{name} is {value!r}")
        elif value != without.get(name):
            wrong.append(f"{name}: {without.get(name)!r} without Antiphon, {value!r} with it")
    if antiphon.get("Success") != 1:
        wrong.append("Success is not 1")
    return wrong


def differing_keys(without: dict[str, float], antiphon: dict[str, float]) -> list[str]:
    """Returns results that only one of them has."""
    return [f"{name}: in one of them only" for name in sorted(without.keys() ^ antiphon.keys())]


PROGRAMS = (
    Program("hpcc", "hpcc", "hpcc", (), ("hpccinf.txt",), hpcc_results, differing_checks),
    Program("lammps melt", "lammps", "lmp", ("-in", "in.melt"), ("in.melt",), thermo, differing_numbers),
    Program("lammps pppm", "lammps", "lmp", ("-in", "in.pppm"), ("in.pppm",), thermo, differing_numbers),
)


def compare(library: Library, force: str) -> Iterator[Comparison]:
    """Runs each program without and with Antiphon."""
    for program in PROGRAMS:
        if shutil.which(program.executable) is None:
            raise AntiphonError(f"{program.executable} is not installed", hint=f"apt-get install {program.package}")
        result = Comparison(program.name, library.label, str(RANKS), force)
        began = time.monotonic()
        say(f"{program.name}, {library.label}, {RANKS} ranks")
        plain = _run(program, library, Mode(), result)
        ours = _run(program, library, Mode(force), result)
        result.without["results"] = Verdict("ok" if plain else "fail")
        wrong = program.compare(plain, ours)
        result.antiphon["results"] = Verdict("fail" if wrong else "ok", "\n".join(wrong))
        result.differences = wrong
        result.seconds = time.monotonic() - began
        _say_used(result, plain, ours)
        yield result


def _run(program: Program, library: Library, mode: Mode, result: Comparison) -> dict[str, float]:
    folder = RUNS / file_name(f"{program.name}-{mode.name}")
    folder.mkdir(parents=True)
    for name in program.inputs:
        shutil.copy(INPUTS / name, folder)
    mode = Mode(mode.force, folder / "summary.json" if mode.force else None)
    start = command(
        library, RANKS, [shutil.which(program.executable) or "", *program.argv], mode, env={"OMP_NUM_THREADS": "1"}
    )
    done = run(start.argv, env=start.env, cwd=folder, log=LOGS / f"{folder.name}.log", timeout_s=LIMIT_S)
    if mode.summary:
        result.count(mode.summary)
    if done.hung or done.returncode != 0:
        say(f"  {'hung' if done.hung else f'exit code {done.returncode}'}: {LOGS / folder.name}.log")
        return {}
    return program.results(folder)


def _say_used(result: Comparison, plain: dict[str, float], ours: dict[str, float]) -> None:
    used = {
        c: ", ".join(f"{what} {n}" for what, n in sorted(calls.items())) for c, calls in sorted(result.calls.items())
    }
    for collective, text in used.items():
        say(f"  {collective}: {text}")
    apart = [abs(a - ours[n]) / max(abs(a), 1e-300) for n, a in plain.items() if n in ours and a != ours[n]]
    say(
        f"  {len(plain)} results, {len(apart)} not bitwise equal, "
        f"largest relative difference {max(apart, default=0):.1e}"
    )
