# SPDX-License-Identifier: Apache-2.0
"""Times programs on a lab under one plan: off, without a plan, each part alone, all together, and on another input.

  python bench/together/measure.py --cluster ethernet-16 --mpi openmpi --rounds 3 samples.json
  python bench/together/measure.py --table samples.json…

All ways take turns in each round, and every result is compared with that of the plain run. A file that is there is
continued.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.bench.testbed import program
from antiphon.lab import load_cluster
from antiphon.mpi import Mpi, by_name

LAB = "together"
LIMIT_S = 90
#: What programs print of their results; the rest are times and sizes.
RESULT = re.compile(r"^(state|sum of distances|result|verified|largest error)\b.*", re.MULTILINE)
TIME = re.compile(r"^time: ([\d.]+) (s)|: ([\d.]+) (ms|s)\b", re.MULTILINE)
UNITS_S = {"s": 1.0, "ms": 1e-3}
SINGLE_PARTS = ("placement", "algorithms", "patterns", "compression")


@dataclass(frozen=True)
class Program:
    """A program, the input that the plan is made of, and another one."""

    title: str
    name: str
    arguments: str
    other: str


PROGRAMS = (
    Program("integer sort", "integer_sort", "W", "S"),
    Program("3-D FFT", "fft3d", "S", "W"),
    Program("2-D FFT", "slabs", "1024 2 4", "512 2 4"),
    Program("conjugate gradients", "cg3d", "--grid 96x48x48 --steps 1", "--grid 64x64x64 --steps 1"),
    Program("Chebyshev", "cg3d", "--grid 64x64x64 --steps 1 --method chebyshev",
            "--grid 96x48x48 --steps 1 --method chebyshev"),
    Program("LU", "lookahead", "768 24", "384 24"),
    Program("wavefronts", "sweep3d", "--local 8x8x64 --steps 8", "--local 8x8x32 --steps 8"),
    Program("line solves (ADI)", "adi3d", "--local 24x24x24 --steps 10", "--local 16x16x16 --steps 10"),
    Program("multigrid", "multigrid", "--local 32x32x32 --steps 5", "--local 16x16x16 --steps 5 --levels 3"),
    Program("gas dynamics", "euler3d", "--local 16 --steps 20", "--local 12 --steps 20"),
    Program("Gaussian elimination", "gauss", "512", "256"),
    Program("shortest paths", "shortest_paths", "768", "384"),
    Program("software DSM", "dsm", "mpi 4 10", "mpi 2 10"),
)  # fmt: skip


def antiphon(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs a command of Antiphon's."""
    command = [sys.executable, "-m", "antiphon", *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@dataclass
class Study:
    """One library on one cluster; the lab is up."""

    cluster: str
    mpi: Mpi
    ranks: int
    folder: Path

    def words(self, one: Program, other: bool = False) -> list[str]:
        """Returns the program's command line."""
        arguments = one.other if other else one.arguments
        return [str(program(f"demo-{one.name}", self.mpi.abi)), *arguments.split()]

    def plans(self, one: Program) -> dict[str, Path]:
        """Records a run, and returns the plan of all parts and those of single ones, where there are any."""
        trace, every = self.folder / "run.trace", self.folder / "all.plan"
        done = antiphon("plan", "--lab", LAB, "-n", self.ranks, "--mpi", self.mpi.prefix, "--map-by", "slot",
                        "--overwrite", "--trace", trace, "-o", every, *self.words(one))  # fmt: skip
        if done.returncode:
            raise SystemExit(done.stderr)
        found = {"all": every}
        for part in SINGLE_PARTS[:3]:
            alone = self.folder / f"{part}.plan"
            done = antiphon("plan", "--cluster", self.cluster, "--parts", part, "--overwrite", "-o", alone, "--json",
                            trace)  # fmt: skip
            if done.returncode:
                raise SystemExit(done.stderr)
            if json.loads(done.stdout)["parts"]:
                found[part] = alone
        return found

    def ways(self, plans: Mapping[str, Path]) -> Iterator[tuple[str, bool, list[str]]]:
        """Yields a name, whether it is on the other input, and the options of `antiphon lab run`."""
        yield "off", False, ["--plain"]
        yield "no plan", False, []
        for part, plan in plans.items():
            yield part, False, ["--plan", str(plan)]
        yield "compression", False, ["--compress", "on"]
        yield "other, off", True, ["--plain"]
        yield "other, no plan", True, []
        yield "other, all", True, ["--plan", str(plans["all"])]

    def run(self, one: Program, other: bool, options: Sequence[str]) -> dict[str, Any]:
        """Runs the program once."""
        summary = self.folder / "summary.json"
        summary.unlink(missing_ok=True)
        more = [] if "--plain" in options else ["--adapt", "run", f"--summary={summary}"]
        done = antiphon("lab", "run", "--name", LAB, "-n", self.ranks, "--map-by", "slot", "--mpi", self.mpi.prefix,
                        "--timeout", LIMIT_S, *options, *more, *self.words(one, other))  # fmt: skip
        found = TIME.search(done.stdout)
        seconds = None if found is None else float(found[1] or found[3]) * UNITS_S[found[2] or found[4]]
        used = json.loads(summary.read_text()).get("plan") if summary.is_file() else None
        result = [line.group() for line in RESULT.finditer(done.stdout)]
        return {"time_s": seconds, "result": result, "exit_code": done.returncode, "plan": used}


def measure(study: Study, one: Program, rounds: int) -> dict[str, Any]:
    """Measures a program in all ways, by turns."""
    plans = study.plans(one)
    ways = list(study.ways(plans))
    samples: dict[str, list[dict[str, Any]]] = {name: [] for name, _, _ in ways}
    for turn in range(rounds):
        for name, other, options in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
            samples[name].append(study.run(one, other, options))
    document = json.loads(plans["all"].read_text())
    parts = {key: document.get(key) for key in ("made_for", "compression", "expected")}
    parts["rules"] = (document.get("decisions") or {}).get("rules")
    parts["places"] = "placement" in document
    parts["patterns"] = len(document.get("patterns") or ())
    return {"title": one.title, "arguments": one.arguments, "other": one.other, "plan": parts, "samples": samples}


def median_s(samples: Sequence[Mapping[str, Any]]) -> float | None:
    """Returns the median of the runs that ended well."""
    times = [one["time_s"] for one in samples if one["exit_code"] == 0 and one["time_s"]]
    return statistics.median(times) if times else None


def facts(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the table says of a program."""
    times = {name: median_s(samples) for name, samples in row["samples"].items()}
    parts = {name: times[name] for name in ("no plan", *SINGLE_PARTS) if times.get(name)}
    best = min(parts, key=lambda name: parts[name] or 0.0)
    plain, own = {}, {}
    for name, samples in row["samples"].items():
        kind = "other" if name.startswith("other") else "same"
        (plain if name.endswith("off") else own).setdefault(kind, []).extend(map(str, (s["result"] for s in samples)))
    alike = all(set(own[kind]) == set(plain[kind]) and len(set(own[kind])) == 1 for kind in own)
    return {"times": times, "best": best, "best_s": parts[best], "alike": alike}


def table(files: Sequence[Path]) -> None:
    """Prints the figures as rows of Markdown."""
    for file in files:
        document = json.loads(file.read_text())
        print(f"\n{document['cluster']}, {document['mpi']}, {document['ranks']} ranks, {document['rounds']} rounds\n")
        heading = ["program", "off", "no plan", *SINGLE_PARTS, "all"]
        heading += ["over off", "over best part", "other input", "bits"]
        print("| " + " | ".join(heading) + " |\n|" + "---|" * len(heading))
        for row in document["programs"]:
            found = facts(row)
            times = found["times"]
            cells = [f"{times[w]:.3g}" if times.get(w) else "–" for w in ("off", "no plan", *SINGLE_PARTS, "all")]
            over = [times["off"] / times["all"], found["best_s"] / times["all"]]
            over.append(times["other, no plan"] / times["other, all"])
            ratios = [f"{over[0]:.2f}×", f"{over[1]:.2f} ({found['best']})", f"{over[2]:.2f}"]
            print("| " + " | ".join([row["title"], *cells, *ratios, "same" if found["alike"] else "differ"]) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", default="ethernet-16")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="titles of programs, separated by commas")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("samples", type=Path, nargs="+")
    args = parser.parse_args()
    if args.table:
        return table(args.samples)
    (file,), spec, mpi = args.samples, load_cluster(args.cluster), by_name(args.mpi)
    document = {"cluster": args.cluster, "mpi": mpi.label, "ranks": spec.ranks, "rounds": args.rounds, "programs": []}
    if file.is_file():
        document = json.loads(file.read_text())
    done = {row["title"] for row in document["programs"]}
    wanted = [one for one in PROGRAMS if one.title not in done and (not args.only or one.title in args.only.split(","))]
    antiphon("lab", "up", "--name", LAB, "--cluster", args.cluster)
    try:
        with tempfile.TemporaryDirectory(prefix="antiphon-together-") as folder:
            study = Study(args.cluster, mpi, spec.ranks, Path(folder))
            for one in wanted:
                document["programs"].append(measure(study, one, args.rounds))
                file.write_text(json.dumps(document) + "\n")
                print(one.title, {k: v and round(v, 3) for k, v in facts(document["programs"][-1])["times"].items()},
                      flush=True)  # fmt: skip
    finally:
        antiphon("lab", "down", "--name", LAB)
    return None


if __name__ == "__main__":
    main()
