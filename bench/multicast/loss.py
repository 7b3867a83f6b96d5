#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Broadcasts by multicast while links lose packets; compares every byte and reports the time of an operation.

  loss.py --mpi openmpi --operations 10000 --percent 0,0.1,1,5 -o loss.jsonl

Every third of a lab's nodes loses packets on arrival. Needs root, and an mpicc of that library.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from antiphon.lab import Lab, load_cluster
from antiphon.lab.spec import Loss
from antiphon.mpi import Mpi, by_name, launch

PROGRAM = Path(__file__).parents[2] / "tests" / "lab" / "multicast.c"
TIMEOUT_S = 170


def build(mpi: Mpi, folder: Path) -> Path:
    """Build the program that checks every byte."""
    mpicc = shutil.which("mpicc", path=str(mpi.launcher.parent))
    if mpicc is None:
        raise SystemExit(f"{mpi.label} has no mpicc")
    program = folder / "multicast"
    subprocess.run([mpicc, "-O2", "-o", program, PROGRAM], check=True)
    return program


def measure(args: argparse.Namespace, mpi: Mpi, program: Path, percent: float) -> dict[str, Any]:
    """Run once in a new lab."""
    spec = load_cluster(args.cluster)
    lossy = tuple(range(3, spec.nodes + 1, 3))
    if percent > 0:
        spec = replace(spec, loss=Loss(percent, "udp", lossy))
    summary = program.with_name("summary.json")
    env = {"ANTIPHON_SUMMARY": str(summary), "ANTIPHON_FORCE": "bcast:multicast"}
    argv = [program, str(args.operations), str(args.longest_bytes), "b"]
    with Lab(spec) as lab:
        preload = [launch.preload_object(mpi.abi)]
        said = lab.mpirun(mpi, spec.nodes, argv, env=env, preload=preload, timeout_s=TIMEOUT_S).check().stdout
    found = re.search(r"operations (\d+) wrong (\d+) ms_each ([\d.]+)", said)
    if found is None:
        raise SystemExit(f"the program failed:\n{said}")
    return {
        "mpi": mpi.label, "cluster": args.cluster, "loss_percent": percent, "lossy_nodes": len(lossy),
        "nodes": spec.nodes, "longest_bytes": args.longest_bytes, "operations": int(found[1]), "wrong": int(found[2]),
        "ms_each": float(found[3]), "multicast": json.loads(summary.read_text(encoding="utf-8"))["multicast"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi", help="the library (default: openmpi)")
    parser.add_argument("--cluster", default="ethernet-16", help="the lab's cluster (default: ethernet-16)")
    parser.add_argument("--operations", type=int, default=10000, help="broadcasts of random length (default: 10000)")
    parser.add_argument("--longest-bytes", type=int, default=8192, help="of a broadcast (default: 8192)")
    parser.add_argument("--percent", default="0,0.1,1,5", help="shares to lose, by turns (default: 0,0.1,1,5)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file to append a line to for each run")
    args = parser.parse_args()
    mpi = by_name(args.mpi)
    with tempfile.TemporaryDirectory() as folder:
        program = build(mpi, Path(folder))
        for percent in map(float, args.percent.split(",")):
            row = measure(args, mpi, program, percent)
            with args.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{percent} %: {row['ms_each']} ms each, {row['wrong']} wrong, {row['multicast']}")


if __name__ == "__main__":
    main()
