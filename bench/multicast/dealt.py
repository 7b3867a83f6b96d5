#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs allgather with ranks dealt in turn to the nodes of a lab's switches, as batch systems may do.

dealt.py --mpi openmpi --cluster paper1-16 --bytes 65536 --modes sync,throughput -o out.json
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

from antiphon.bench import collectives
from antiphon.bench.tables import collective_table
from antiphon.bench.testbed import LabTestbed
from antiphon.lab import Lab, RunResult, load_cluster
from antiphon.mpi import by_name
from antiphon.output import tables
from antiphon.placement.document import Node, Placement


class DealtLab(Lab):
    """A lab where rank 0 is on the first switch, rank 1 on the second, and so on in turn."""

    def mpirun(self, mpi: Any, n_ranks: int | None, argv: Any, **how: Any) -> RunResult:
        spec = self.spec
        numbers = range(1, spec.nodes + 1)
        by_switch = [[n for n in numbers if spec.switch_of(n) == i] for i in range(len(spec.switches))]
        order = [n for turn in itertools.zip_longest(*by_switch) for n in turn if n is not None]
        nodes = [Node(spec.node_name(n), 1) for n in order]
        placement = Placement(nodes, list(range(spec.nodes)), [0] * spec.nodes)
        return super().mpirun(mpi, spec.nodes, argv, **how, placement=placement)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi", help="the library (default: openmpi)")
    parser.add_argument("--cluster", default="paper1-16", help="the lab's cluster (default: paper1-16)")
    parser.add_argument("--bytes", type=int, default=65536, help="of a block (default: 65536)")
    parser.add_argument("--modes", default="sync", help="sync, throughput, or both with a comma (default: sync)")
    parser.add_argument("--algorithms", default="ring,multicast", help="beside the library's (default: ring,multicast)")
    parser.add_argument("--budget", type=float, default=1, help="seconds for each mode (default: 1)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the results, as of `antiphon bench --json`")
    args = parser.parse_args()
    contenders = ["*:library", *(f"allgather:{name}" for name in args.algorithms.split(","))]
    benchmark = collectives.CollectiveBenchmark(
        ("allgather",), (args.bytes,), args.modes.split(","), contenders, args.budget
    )
    with DealtLab(load_cluster(args.cluster)) as lab:
        testbed = LabTestbed(lab)
        results = collectives.run(testbed, by_name(args.mpi), lab.spec.nodes, benchmark, lambda _event: None)
        tables.print_wide(collective_table(results, testbed.describe()))
    args.output.write_text(json.dumps({"results": results.rows()}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
