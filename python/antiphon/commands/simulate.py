# SPDX-License-Identifier: Apache-2.0
"""Simulate a collective or a plan with SimGrid's SMPI or ns-3, beside the model

  antiphon simulate alltoall --cluster 10gbe-12 --bytes 64k
  antiphon simulate bcast --cluster my.toml --ranks 16 --bytes 1m --algorithms chain,binomial
  antiphon simulate --plan plan.json --cluster 10gbe-12
  antiphon simulate allgather --profile machine.json --ranks 16
  antiphon simulate alltoall --profile machine.json --ranks 8 --simulator ns3

An independent check of the model: schedules become traces that SMPI replays over SimGrid's model of flows, or ns-3
packet by packet, with TCP and ports of finite buffers (one rank a node, up to 64). Neither is part of Antiphon:
`apt-get install libsimgrid-dev` or `libns3-dev` brings them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon import core, model, output
from antiphon.cluster import files as clusters
from antiphon.cluster import of_profile, profile
from antiphon.cluster.spec import ClusterSpec
from antiphon.commands import _options
from antiphon.errors import AntiphonError
from antiphon.output import tables
from antiphon.simulate import ns3, plans, smpi
from antiphon.units import size_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon simulate`."""
    add = parser.add_argument
    add("collective", nargs="?", metavar="COLLECTIVE", help="bcast, alltoall, allreduce, …")
    add("--cluster", metavar="CLUSTER", help="a cluster's name or TOML file")
    add("--profile", type=Path, metavar="FILE", help="profile of a measured machine, instead of a cluster")
    add("-n", "--ranks", type=int, metavar="P", help="number of ranks (default: all of the cluster)")
    add("--ranks-per-node", type=int, metavar="K", help="consecutive ranks on each node (default: the cluster's)")
    add("--bytes", default="64k", metavar="M", help="bytes of a block, or of the message (default: %(default)s)")
    add("--algorithms", metavar="A;B", help="A[:P=V,…] with semicolons or commas between names (default: all)")
    add("--plan", type=Path, metavar="FILE", help="instead of a collective: the patterns of a plan, of `antiphon "
        "compile` or `plan`")  # fmt: skip
    add("--simulator", choices=("smpi", "ns3"), default="smpi", help="flows or packets (default: %(default)s)")
    add("--smpirun", type=Path, metavar="FILE", help="SimGrid's program (default: the one on the path)")
    add(
        "--timeout", type=_options.number, default=120, metavar="S", help="for each simulation (default: %(default)s s)"
    )
    add("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Simulates and prints."""
    program = ns3.find() if args.simulator == "ns3" else smpi.find(args.smpirun)
    simulate = ns3.run if args.simulator == "ns3" else smpi.run
    if args.plan and (args.collective or args.ranks or args.algorithms):
        raise AntiphonError("a plan has its own collectives, ranks and schedules",
                            hint="leave COLLECTIVE, --ranks and --algorithms away beside --plan")  # fmt: skip
    spec, measured = _machine(args)
    spec = spec.with_ranks(args.ranks, args.ranks_per_node)
    nodes = of_profile.nodes_of(json.loads(measured)) if measured else list(range(spec.nodes))
    rows = []
    for name, plan in (plans.read(args.plan, spec) if args.plan else _plans(args, spec)).items():
        per_node = min(spec.ranks_per_node, plan["size"])
        answer = core.query(
            "evaluate_plan",
            plan=json.dumps(plan),
            profile=measured or profile.text_of(spec),
            ranks=plan["size"],
            node_of_rank=[nodes[rank // per_node] for rank in range(plan["size"])],
        )
        simulated = simulate(program, plan, spec, per_node, args.timeout)
        rows.append({"algorithm": name, "model_s": answer["seconds"], f"{args.simulator}_s": simulated.seconds,
                     "took_s": simulated.took_s})  # fmt: skip
    if args.json:
        output.print_json({"cluster": spec.to_json(), "simulated": rows})
        return 0
    table = tables.new_table(f"{args.collective or args.plan} on {spec.summary()}")
    name = {"smpi": "SMPI", "ns3": "ns-3"}[args.simulator]
    key = f"{args.simulator}_s"
    for heading in ("algorithm", "model", name, f"model / {name}", "simulated in"):
        table.add_column(heading, justify="left" if heading == "algorithm" else "right")
    for row in sorted(rows, key=lambda row: row[key]):
        ratio = tables.ratio_text(row["model_s"] / row[key]) if row[key] else "–"
        times = (tables.time_text(row[one]) for one in ("model_s", key))
        table.add_row(row["algorithm"], *times, ratio, tables.time_text(row["took_s"]))
    tables.print_wide(table)
    return 0


def _machine(args: argparse.Namespace) -> tuple[ClusterSpec, str | None]:
    """Returns the cluster that the simulator gets, and the profile that the model gets where there is one."""
    if (args.cluster is None) == (args.profile is None):
        raise AntiphonError(
            "a machine is missing, or there are two", hint="name one --cluster, or the --profile of a measured machine"
        )
    if args.cluster:
        return clusters.load(args.cluster), None
    text = model.read_profile(args.profile, packed_too=True)
    assert text is not None
    return of_profile.spec_of(json.loads(text), args.profile.name.partition(".")[0]), text


def _plans(args: argparse.Namespace, spec: ClusterSpec) -> Mapping[str, Mapping[str, Any]]:
    """Builds the schedules of each algorithm that can do the call with plain messages."""
    ranks = args.ranks or spec.ranks
    known = {c.name for c in core.collectives()}
    if args.collective not in known:
        what = f"no collective named {args.collective!r}" if args.collective else "a collective or --plan is missing"
        raise AntiphonError(what, hint=f"there are {', '.join(sorted(known))}")
    size = 0 if args.collective == "barrier" else size_option("--bytes", args.bytes)
    if args.algorithms:
        separator = ";" if ";" in args.algorithms or ":" in args.algorithms else ","
        names = [name.strip() for name in args.algorithms.split(separator)]
    else:
        per_node = min(spec.ranks_per_node, ranks)
        element = model.element_bytes(args.collective, size)
        question = core.Question(args.collective, ranks, -(-ranks // per_node), per_node, size, element)
        multicasts = {a.name for a in core.algorithms(args.collective) if a.multicasts}
        names = [name for name in core.supported(question, spec.switch_sizes(ranks)) if name not in multicasts]
    return {
        core.parse(args.collective, name).choice: plans.plan_on(spec, args.collective, name, size, ranks)
        for name in names
    }
