#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows which algorithms lose packets, at which ports, and what TCP does then.

  losses.py --cluster two-switches.toml -o losses.jsonl alltoall:4096:windowed alltoall:65536:rotated:piece_bytes=16384

Each algorithm runs in a program of its own. A line has the samples, the packets that each port dropped, and the TCP
counters of all nodes, over the whole program.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from pathlib import Path
from typing import Any

from antiphon.bench import collectives
from antiphon.bench.results import MODES
from antiphon.bench.testbed import LabTestbed
from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, by_name

TCP = ("RetransSegs", "TCPTimeouts", "TCPFastRetrans", "TCPLossProbes", "TCPLossProbeRecovery")


def counters(lab: Lab) -> dict[str, int]:
    """Return the dropped packets by port ("port03", "up0a") and the TCP counters of all nodes together."""
    counted = dict.fromkeys(TCP, 0)
    for queue in lab.execute("switch", ["tc", "-s", "qdisc"]).check().stdout.split("qdisc ")[1:]:
        found = re.search(r"^tbf .*? dev (\S+) .*\(dropped (\d+)", queue, re.DOTALL)
        if found:
            counted[found[1]] = int(found[2])
    for node in range(1, lab.spec.nodes + 1):
        lines = lab.execute(node, ["cat", "/proc/net/snmp", "/proc/net/netstat"]).check().stdout.splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            for name, value in zip(names.split(), values.split(), strict=True):
                if name in TCP:
                    counted[name] += int(value)
    return counted


def measure(lab: Lab, mpi: Mpi, contender: str, args: argparse.Namespace) -> dict[str, Any]:
    """Run one program in which nothing else happens."""
    collective, size, choice = contender.split(":", 2)
    cell = collectives.RaceCell(collective, int(size), 0, [args.mode], [choice])
    before = counters(lab)
    benchmark = collectives.Race([cell], budget_s=args.budget, deadline_s=60)
    results = collectives.run(LabTestbed(lab), mpi, args.n or lab.spec.ranks, benchmark, lambda event: None)
    after = counters(lab)
    (result,) = results.measurements
    return {
        "cluster": lab.spec.name, "mpi": mpi.label, "transport": results.transport, "ranks": results.ranks,
        "collective": collective, "bytes": int(size), "mode": args.mode, "choice": result.chosen,
        "samples": list(result.samples), "counters": {k: after[k] - before[k] for k in after if after[k] > before[k]},
    }  # fmt: skip


def show(row: dict[str, Any]) -> None:
    samples = [1e3 * value for value in row["samples"]]
    print(
        f"{row['collective']} {row['bytes']} {row['choice']}: {statistics.median(samples):.2f} ms "
        f"({min(samples):.2f} to {max(samples):.2f}, {len(samples)} samples) {row['counters']}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contenders", nargs="+", metavar="COLLECTIVE:BYTES:CHOICE", help="library, or an algorithm")
    parser.add_argument("--mpi", default="openmpi", help="the library (default: openmpi)")
    parser.add_argument("--cluster", required=True, help="the lab's cluster: a name, or a file")
    parser.add_argument("-n", type=int, help="number of ranks (default: all)")
    parser.add_argument("--mode", default="sync", choices=MODES, help="as bench's (default: sync)")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of samples for each (default: 2)")
    parser.add_argument("-o", "--output", type=Path, help="file to append a line to for each")
    args = parser.parse_args()
    mpi = by_name(args.mpi)
    with Lab(load_cluster(args.cluster)) as lab:
        for contender in args.contenders:
            row = measure(lab, mpi, contender, args)
            show(row)
            if args.output:
                with args.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
