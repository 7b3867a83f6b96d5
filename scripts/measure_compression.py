# SPDX-License-Identifier: Apache-2.0
"""Times the example programs in a lab without Antiphon, with it, and with compression on top, by turns.

Every run's time per step and the hash of its final state are appended to a file of JSON lines, one per case, so that
several short calls add up; `--table` prints what is in such files. Results must be equal bit for bit, or the script
ends with 1.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from antiphon import mpi
from antiphon.bench import testbed
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.lab import Lab, load_cluster
from antiphon.mpi import launch
from antiphon.packed import read_text

#: Maps a name to a program and its arguments. A run takes a few seconds on 16 nodes with Fast Ethernet.
CASES = {
    "euler": ("euler3d", "--local 20 --steps 16 --warm-up 2"),
    "euler-long": ("euler3d", "--local 20 --steps 60 --warm-up 4"),
    "euler-quiet": ("euler3d", "--local 24 --steps 10 --warm-up 0"),
    "sweep": ("sweep3d", "--local 8x8x256 --layers 64 --steps 3 --warm-up 2"),
    "chebyshev": ("cg3d", "--local 128x128x4 --steps 1 --warm-up 0 --method chebyshev"),
    "chebyshev-thin": ("cg3d", "--local 128x128x2 --steps 1 --warm-up 0 --method chebyshev"),
    "cg": ("cg3d", "--local 96x96x4 --steps 1 --warm-up 0"),
    "sort-W": ("integer_sort", "W"),
    "sort-A": ("integer_sort", "A 4"),
    "fft-S": ("fft3d", "S"),
    "fft-W": ("fft3d", "W 2"),
}
MODES = ("plain", "off", "auto")
#: These fields of each row of a summary are counted.
COUNTED = ("bytes", "wire_bytes", "messages", "encoded", "encode_s", "decode_s")
TIMEOUT_S = 60.0
#: Each rank keeps to one core, because a placement by the kernel makes a step up to twice as long.
PINNED = 'exec taskset -c $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} % $(nproc --all))) "$@"'


@dataclass(frozen=True)
class Run:
    """One run: what a step took, what the program says of its result, and what compression did."""

    mode: str
    step_s: float
    state: str
    coded: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        return {"mode": self.mode, "step_s": self.step_s, "state": self.state, **self.coded}


def parse(mode: str, text: str, summary: Path) -> Run:
    """Reads a program's last lines."""
    lines = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if lines.get("result") != "verified":
        raise AntiphonError(f"the result is not right:\n{text}", exit_code=EXIT_FAILURE)
    step = next((value for name, value in lines.items() if name.startswith("time per ")), lines.get("time", ""))
    return Run(mode, float(step.split()[0]), lines.get("state", ""), coding(summary))


def coding(summary: Path) -> dict[str, float]:
    """Returns the program's bytes over bytes on the wire, how many messages were encoded, and all ranks' time in
    codecs, from the preload object's summary.
    """
    rows = json.loads(summary.read_text(encoding="utf-8")).get("compression", []) if summary.exists() else []
    total = {key: sum(row[key] for row in rows) for key in COUNTED}
    rate = total["bytes"] / total["wire_bytes"] if rows else 1.0
    return {"rate": round(rate, 4), **{key: round(total[key], 6) for key in COUNTED if rows and "bytes" not in key}}


class Measurement:
    """Runs of one MPI in one lab."""

    def __init__(self, lab: Lab, library: mpi.Mpi, profile: Path | None) -> None:
        self._lab = lab
        self._mpi = library
        self._profile = profile

    def run(self, case: str, mode: str) -> Run:
        """Makes one run of a case."""
        name, words = CASES[case]
        with tempfile.TemporaryDirectory(prefix="antiphon-compression-") as folder:
            summary = Path(folder) / "summary.json"
            env = {"ANTIPHON_COMPRESS": mode, "ANTIPHON_SUMMARY": str(summary), "ANTIPHON_STORE": "off"}
            if self._profile is not None:
                env["ANTIPHON_PROFILE"] = str(self._profile)
            with_us = mode != "plain"
            result = self._lab.mpirun(
                self._mpi,
                None,
                ["sh", "-c", PINNED, "pinned", testbed.program(f"demo-{name}", self._mpi.abi), *words.split()],
                env=env if with_us else {},
                preload=[launch.preload_object(self._mpi.abi)] if with_us else [],
                timeout_s=TIMEOUT_S,
                map_by="slot",
            ).check()
            return parse(mode, result.stdout, summary)

    def case(self, case: str, modes: Sequence[str], rounds: int, deadline: float) -> dict[str, Any]:
        """Runs all modes in turn, as often as time allows."""
        runs: list[Run] = []
        longest_s = 0.0
        for number in range(rounds):
            began = time.monotonic()
            if runs and began + longest_s > deadline:
                break
            order = modes if number % 2 == 0 else modes[::-1]
            for mode in order:
                runs.append(self.run(case, mode))
                say(f"{case} {self._mpi.name} {mode}: {runs[-1].step_s:.4f} s, {runs[-1].coded}")
            longest_s = max(longest_s, time.monotonic() - began)
        states = sorted({run.state for run in runs})
        name, words = CASES[case]
        return {
            "case": case,
            "program": f"{name} {words}",
            "mpi": self._mpi.label,
            "cluster": self._lab.spec.name,
            "ranks": self._lab.spec.ranks,
            "pinned": True,
            "same_bits": len(states) == 1,
            "runs": [run.to_json() for run in runs],
        }


def say(text: str) -> None:
    """Reports progress."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def rows_of(files: Sequence[Path]) -> dict[tuple[str, str, str], dict[str, list[float]]]:
    """Returns times per step by (cluster, MPI, case) and mode; under "rate", what compression reached."""
    table: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for file in files:
        for line in read_text(file).splitlines():
            record = json.loads(line)
            row = table.setdefault((record["cluster"], record["mpi"], record["case"]), {})
            for run in record["runs"]:
                row.setdefault(run["mode"], []).append(run["step_s"])
                if run["mode"] == "auto":
                    row.setdefault("rate", []).append(run["rate"])
    return table


def print_table(files: Sequence[Path]) -> None:
    """Prints medians, and how many times faster compression made a step."""
    columns = [
        "cluster",
        "MPI",
        "case",
        *(f"{mode}, ms" for mode in MODES),
        "off / auto",
        "plain / auto",
        "rate",
        "runs",
    ]
    table = Table(*columns)
    for key, row in sorted(rows_of(files).items()):
        medians = {name: statistics.median(values) for name, values in row.items()}
        ms = [f"{1e3 * medians.get(mode, math.nan):.2f}" for mode in MODES]
        gains = [f"{medians.get(mode, math.nan) / medians['auto']:.3f}" for mode in ("off", "plain")]
        table.add_row(*key, *ms, *gains, f"{medians['rate']:.2f}", str(len(row["auto"])))
    Console(width=160).print(table)


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="+", type=Path, help="JSON lines; measured results are appended to the first")
    parser.add_argument("--table", action="store_true", help="measure nothing, print what the files hold")
    parser.add_argument("--mpi", default="openmpi", help="openmpi, mpich or a prefix")
    parser.add_argument("--cluster", default="ethernet-16", help="of the lab")
    parser.add_argument(
        "--profile", type=Path, help="probed on that cluster (default: none; auto then measures the codecs)"
    )
    parser.add_argument("--cases", default=",".join(CASES), help="comma-separated: %(default)s")
    parser.add_argument("--modes", default=",".join(MODES), help="comma-separated: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each mode")
    parser.add_argument("--budget", type=float, default=80, help="seconds; what does not fit is left out")
    return parser.parse_args()


def main() -> int:
    """Returns exit code 1 if a result differs."""
    args = arguments()
    if args.table:
        print_table(args.file)
        return 0
    deadline = time.monotonic() + args.budget
    library = mpi.by_name(args.mpi)
    same = True
    with Lab(load_cluster(args.cluster)) as lab, args.file[0].open("a", encoding="utf-8") as out:
        measurement = Measurement(lab, library, args.profile and args.profile.absolute())
        for case in re.split(r",\s*", args.cases):
            if time.monotonic() > deadline:
                say(f"{case}: no time left")
                continue
            record = measurement.case(case, args.modes.split(","), args.rounds, deadline)
            out.write(json.dumps(record) + "\n")
            out.flush()
            same &= record["same_bits"]
    return 0 if same else EXIT_FAILURE


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AntiphonError as error:
        sys.exit(f"measure_compression: {error.message}")
