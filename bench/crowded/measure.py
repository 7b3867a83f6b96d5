#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What do programs gain where ranks share cores: on one node, or on the nodes of a lab, as in containers? And where
a control group limits their processor time, as that of a container?

  python bench/crowded/measure.py --mpi mpich --ranks 4,8 --pairs 5 --json FILE
  antiphon lab up --name crowded --nodes 4 --link-rate 10gbit
  python bench/crowded/measure.py --mpi openmpi --ranks 4 --pairs 5 --lab crowded --json FILE
  python bench/crowded/measure.py --mpi openmpi --ranks 4 --pairs 5 --lab crowded --cpus 0.25 --json FILE

Runs the examples by turns, without Antiphon and with it, and with it but for the library's parameters. Shown are the
medians of the programs' own times. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

from control_group import groups_of_ranks

from antiphon.bench.testbed import program
from antiphon.mpi import Mpi, by_name, launch

PROGRAMS = {
    "gauss": ["256"],
    "integer_sort": [],
    "shortest_paths": [],
    "euler3d": [],
    "multigrid": [],
    "fft3d": [],
    "cg3d": [],
    "sweep3d": ["--local", "12", "--steps", "20"],
}
WAYS = ("plain", "antiphon", "without parameters")
TIME = re.compile(r"^time: ([0-9.e-]+) s$", re.MULTILINE)
LIMIT_S = 120


def command_here(mpi: Mpi, ranks: int, argv: list[str], way: str) -> list[str]:
    """Starts ranks on this machine."""
    env = launch.plain_environment(os.environ)
    if way != "plain":
        env = launch.rank_environment(mpi, launch.Settings(), os.environ)
    if way == "without parameters":
        env["ANTIPHON_LIBRARY_PARAMETERS"] = "off"
    env["LD_LIBRARY_PATH"] = str(mpi.libmpi.parent)
    return launch.launch_command(mpi, ranks, argv, env, oversubscribe=True, as_root=os.geteuid() == 0)


def command_in_lab(mpi: Mpi, ranks: int, argv: list[str], way: str, lab: str) -> list[str]:
    """Starts ranks in a lab, whose ranks of Open MPI would give their cores away by a variable that is taken out."""
    parameters = "off" if way == "without parameters" else "on"
    command = [
        "env",
        f"ANTIPHON_LIBRARY_PARAMETERS={parameters}",
        "ANTIPHON_STORE=off",
        sys.executable,
        "-m",
        "antiphon",
    ]
    command += ["lab", "run", "--name", lab, "-n", str(ranks), "--mpi", str(mpi.prefix)]
    command += ["--plain"] if way == "plain" else []
    return [*command, "--", "env", "-u", "OMPI_MCA_mpi_yield_when_idle", *argv]


def run_s(mpi: Mpi, ranks: int, name: str, way: str, args: argparse.Namespace) -> float:
    """Runs a program once; returns its own time."""
    argv = [str(program(f"demo-{name}", mpi.abi)), *PROGRAMS[name]]
    if not args.lab:
        return timed_s(command_here(mpi, ranks, argv, way))
    with groups_of_ranks(args.cpus, ranks) if args.cpus else nullcontext([]) as before:
        return timed_s(command_in_lab(mpi, ranks, [*before, *argv], way, args.lab))


def timed_s(command: list[str]) -> float:
    """Runs it; returns the time that the program tells."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    found = TIME.search(done.stdout)
    if done.returncode != 0 or "verified" not in done.stdout or found is None:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return float(found.group(1))


def main() -> None:
    """Measures all programs and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="mpich")
    parser.add_argument("--ranks", default="4,8")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each kind (default: 5)")
    parser.add_argument("--lab", metavar="NAME", help="a lab that is up: ranks run on its nodes")
    parser.add_argument("--cpus", type=float, metavar="N", help="cores' worth of time that each rank has in a lab")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="those of PROGRAMS to run, by commas")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    mpi = by_name(args.mpi)
    samples: dict[str, dict[str, list[float]]] = {}
    for ranks in map(int, args.ranks.split(",")):
        for name in args.programs.split(","):
            found = samples.setdefault(f"{name} {ranks}", {way: [] for way in WAYS})
            for _ in range(args.pairs):
                for way in WAYS:
                    found[way].append(run_s(mpi, ranks, name, way, args))
            plain, *others = (1e3 * statistics.median(found[way]) for way in WAYS)
            ratios = ", ".join(f"{way} {plain / ms:.2f}" for way, ms in zip(WAYS[1:], others, strict=True))
            print(f"{name:15} {ranks} ranks: plain {plain:9.1f} ms; times as fast: {ratios}", flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps({"cores": len(os.sched_getaffinity(0)), "cpus": args.cpus, "samples": samples}))


if __name__ == "__main__":
    main()
