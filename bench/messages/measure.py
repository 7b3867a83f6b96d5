# SPDX-License-Identifier: Apache-2.0
"""Compares exchanges of messages, point to point, without and with Antiphon, in launches by turns.

  python bench/messages/measure.py --mpi openmpi --rounds 3 4x1-300mbit FOLDER
  python bench/messages/measure.py --patterns all,shifted --ways "plain,antiphon,as sent" 16x1-100mbit FOLDER
  python bench/messages/measure.py --table FOLDER/*.json.gz

FOLDER gets one file with all samples for each cluster and library. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon.model.limits import PAYLOAD_SHARE
from antiphon.units import parse_rate

LAB = "messages"
SIZES = "32768,65536,98304,131072,262144,1048576"
#: Open MPI's parameters by hand, which Antiphon sets the first of.
BY_HAND = {"OMPI_MCA_btl_tcp_eager_limit": "131072", "OMPI_MCA_btl_tcp_flags": "0x139"}
WAYS: dict[str, tuple[list[str], dict[str, str]]] = {
    "plain": (["--plain"], {}),
    "antiphon": ([], {}),
    "both by hand": (["--plain"], BY_HAND),
    "as sent": ([], {"ANTIPHON_ORDER_MESSAGES": "off"}),
    "compressed": (["--compress", "on"], {}),
    "compressed as sent": (["--compress", "on"], {"ANTIPHON_ORDER_MESSAGES": "off"}),
}
PROGRAM = Path(__file__).with_name("exchange.py")
NEIGHBOURS = {"ring": 2, "grid": 4, "pingpong": 2}


def shape_of(name: str) -> tuple[int, int, str]:
    """Returns nodes, ranks of each, and the links' rate, of a name like 8x1-1gbit."""
    shape = re.fullmatch(r"(\d+)x(\d+)-(\d+[mg]bit)", name)
    if not shape:
        raise SystemExit(f"error: no shape like 8x1-1gbit: {name}")
    return int(shape[1]), int(shape[2]), shape[3]


def antiphon(*words: object, variables: Mapping[str, str] | None = None) -> str:
    command = [sys.executable, "-m", "antiphon", *(str(word) for word in words)]
    ended = subprocess.run(command, check=False, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                           env=os.environ | (variables or {}))  # fmt: skip
    if ended.returncode:
        raise SystemExit(f"failed: antiphon {' '.join(command[3:])}")
    return ended.stdout


def measure(name: str, mpi: str, args: argparse.Namespace, file: Path) -> None:
    nodes, ranks, rate = shape_of(name)
    antiphon("lab", "up", "--name", LAB, "--nodes", nodes, "--ranks-per-node", ranks, "--link-rate", rate)
    samples: list[dict[str, Any]] = []
    try:
        for turn in range(args.rounds):
            for way in args.ways.split(","):
                options, variables = WAYS[way]
                print(f"{name} {mpi}: {way}, round {turn + 1} of {args.rounds}", file=sys.stderr)
                program = [*options, "--", sys.executable, PROGRAM, args.patterns, args.sizes, args.seconds, args.data]
                lines = antiphon("lab", "run", "--name", LAB, "-n", nodes * ranks, "--map-by", "slot", "--mpi", mpi,
                                 *program, variables=variables)  # fmt: skip
                samples += [{"way": way, "round": turn} | json.loads(line) for line in lines.splitlines()]
    finally:
        antiphon("lab", "down", "--name", LAB)
    document = {"cluster": name, "mpi": mpi, "data": args.data, "samples": samples}
    file.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))


def limit_s(pattern: str, size: int, name: str) -> float | None:
    """Returns what the links need; each direction carries its part. None: it depends on where neighbours are."""
    nodes, ranks, rate = shape_of(name)
    if pattern in NEIGHBOURS and (ranks > 1 or nodes < 3):
        return None
    blocks = NEIGHBOURS.get(pattern, ranks * ranks * (nodes - 1))
    return blocks * size * 8 / (parse_rate(rate) * PAYLOAD_SHARE)


def cells(samples: list[dict[str, Any]], limit: float | None) -> list[str]:
    """Returns a row: the limit, plain, then each other way: its time, how many times as fast, and that by round."""
    seconds = {(s["way"], s["round"]): statistics.median(s["seconds"]) for s in samples}
    rounds = sorted({turn for _, turn in seconds})
    plain = statistics.median(seconds["plain", r] for r in rounds)
    row = [f"{limit * 1e3:.2f}" if limit else "", f"{plain * 1e3:.2f}"]
    for way in dict.fromkeys(s["way"] for s in samples if s["way"] != "plain"):
        ours = statistics.median(seconds[way, r] for r in rounds)
        gains = [seconds["plain", r] / seconds[way, r] for r in rounds]
        row += [f"{ours * 1e3:.2f}", f"{plain / ours:.2f} ({min(gains):.2f}–{max(gains):.2f})"]
    return row


def table(files: list[Path]) -> None:
    """Prints the medians of the rounds' medians, and how many times as fast as plain they are, as Markdown."""
    for file in files:
        document = json.loads(gzip.decompress(file.read_bytes()))
        ways = dict.fromkeys(s["way"] for s in document["samples"] if s["way"] != "plain")
        print("| cluster | library | exchange | bytes | limit, ms | plain |" + "".join(f" {w} | gain |" for w in ways))
        print("|---|---|---|---:|---:|---:|" + "---:|---:|" * len(ways))
        for pattern, size in dict.fromkeys((s["pattern"], s["bytes"]) for s in document["samples"]):
            samples = [s for s in document["samples"] if s["pattern"] == pattern and s["bytes"] == size]
            limit = limit_s(pattern, size, document["cluster"])
            words = [document["cluster"], document["mpi"], pattern, str(size), *cells(samples, limit)]
            print("| " + " | ".join(words) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each exchange and size")
    parser.add_argument("--patterns", default="ring,grid,pingpong", help="these, or all,shifted")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--ways", default="plain,antiphon,both by hand", help=f"of {', '.join(WAYS)}")
    parser.add_argument("--data", default="constant", help="what messages hold: constant or field")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("what", nargs="+", help="shapes like 8x1-1gbit, then the folder; with --table: files")
    args = parser.parse_args()
    if args.table:
        return table([Path(file) for file in args.what])
    *names, folder = args.what
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names:
        for mpi in args.mpi.split(","):
            measure(name, mpi, args, Path(folder) / f"{name}-{mpi}.json.gz")
    return None


if __name__ == "__main__":
    main()
