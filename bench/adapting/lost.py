# SPDX-License-Identifier: Apache-2.0
"""What does trying cost programs? Runs them on a lab with an empty cache, and reads what their summaries say.

  python bench/adapting/lost.py --mpi openmpi,mpich --runs 3 "fft3d S 200" "gauss 1024" "integer_sort S 200" --json FILE

For each program and library: what was tried on the way, and the time by which tried calls were slower than the way in
use, with that of agreeing, over all such calls' time (docs/concepts/adapting.md): the worst of a run's rows, in the
median run and in the worst. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from antiphon.bench.testbed import program
from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, by_name, launch


def tried_in(lab: Lab, mpi: Mpi, argv: list[str]) -> list[dict[str, Any]]:
    """Runs the program once, and returns the rows of its summary that say what was tried."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "summary.json")
        env = {"ANTIPHON_SUMMARY": str(file), "ANTIPHON_ADAPT": "run", "XDG_CACHE_HOME": folder}
        lab.mpirun(mpi, lab.spec.ranks, argv, env=env, preload=[launch.preload_object(mpi.abi)], map_by="slot").check()
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["tried"]
        return rows


def main() -> None:
    """Measures and prints a line for each program and library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--cluster", default="ethernet-16")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("programs", nargs="+", help="each an example and its arguments, in one word")
    args = parser.parse_args()
    found: dict[str, dict[str, list[list[dict[str, Any]]]]] = {}
    for name in args.mpi.split(","):
        mpi = by_name(name)
        with Lab(load_cluster(args.cluster)) as lab:
            for line in args.programs:
                words = line.split()
                argv = [str(program(f"demo-{words[0]}", mpi.abi)), *words[1:]]
                runs = [tried_in(lab, mpi, argv) for _ in range(args.runs)]
                found.setdefault(name, {})[line] = runs
                lost = [max((row["lost"] for row in run), default=0.0) for run in runs]
                changed = sorted({f"{row['collective']}: {row['tried']} beside {row['in_use']}"
                                  for run in runs for row in run})  # fmt: skip
                print(f"{name:8} {line:24} lost {statistics.median(lost):6.2%}, at most {max(lost):6.2%}; "
                      f"{'; '.join(changed) or 'nothing was tried'}", flush=True)  # fmt: skip
    if args.json is not None:
        args.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
