# SPDX-License-Identifier: Apache-2.0
"""Emulate an Ethernet cluster on this machine and run MPI programs on it

A lab is a cluster made of Linux network namespaces: nodes, switches, cables with a rate, switch ports with a buffer.
It works with root and, where users may make namespaces, without.

  antiphon lab run -n 16 ./solver                   on a lab that lasts as long as the program
  antiphon lab run --plain -n 16 ./solver           the same without Antiphon
  antiphon lab up --cluster paper1-29 --name two    keep a lab
  antiphon lab run --name two ./solver
  antiphon lab exec --name two 3 ip address         a command on node 3
  antiphon lab status
  antiphon lab down --name two
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.commands import _options
from antiphon.errors import EXIT_USAGE, AntiphonError
from antiphon.lab import ClusterSpec, Lab, Loss, cables, load_cluster, state, take_down
from antiphon.lab.clusters import DEFAULT_CLUSTER, cluster_names, spec_from_dict
from antiphon.mpi import Mpi, preload
from antiphon.mpi.launch import Settings, check_written, rank_environment
from antiphon.mpi.program import find_mpi, locate
from antiphon.output import tables
from antiphon.placement import Placement
from antiphon.plan import using

DEFAULT_NAME = "lab"
_CLUSTER_OPTIONS = (
    "cluster", "nodes", "switches", "rate", "buffer", "burst", "offloads", "uplink_rate", "uplink_buffer",
    "ranks_per_node", "loss", "loss_protocol", "loss_nodes", "hide_rate", "connection_rate", "latency",
    "uplink_latency", "shared_buffer", "ecn",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions of `antiphon lab` and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_up(actions.add_parser("up", help="make a lab and keep it", description="Make a lab and keep it until `down`."))
    _add_run(actions.add_parser("run", help="run an MPI program", description="Run an MPI program on a lab: on a kept "
                                "one with --name, else on one made for it."))  # fmt: skip
    _add_exec(actions.add_parser("exec", help="run a command on one node", description="Run a command on one node."))
    status = actions.add_parser("status", help="show the labs that are up", description="Show the labs that are up.")
    status.add_argument("--json", action="store_true", help="print JSON")
    _add_down(actions.add_parser("down", help="remove a lab", description="Remove a lab and all that runs on it."))


def _add_up(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default=DEFAULT_NAME, help=f"name of the lab (default: {DEFAULT_NAME})")
    _add_cluster_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="run on this lab, which is up (default: on a temporary one)")
    parser.add_argument(
        *_options.RANKS,
        dest="n",
        type=_options.positive,
        metavar="RANKS",
        help="number of ranks (default: all the cluster has)",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--plain", action="store_true", help="run without Antiphon")
    kind.add_argument("--antiphon", action="store_true", help="run with Antiphon (this is the default)")
    _options.add_settings(parser)
    parser.add_argument("--transport", metavar="T", help="MPICH: ofi or ucx (default: ofi where the library has it)")
    parser.add_argument("--map-by", default="node", choices=("node", "slot"), help="place neighbouring ranks on "
                        "different nodes, or fill a node first (default: node)")  # fmt: skip
    parser.add_argument("--timeout", type=_options.number, metavar="SECONDS", help="end the program after this time")
    _add_cluster_options(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with the program's output in it")
    parser.add_argument("program", metavar="PROGRAM", help="the MPI program")
    parser.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")


def _add_exec(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="name of the lab (default: the one that is up)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with the command's output in it")
    parser.add_argument("node", metavar="NODE", help="number or name of a node: 1, node01")
    parser.add_argument("program", metavar="COMMAND", help="the command")
    parser.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")


def _add_down(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--name", help="name of the lab (default: the one that is up)")
    which.add_argument("--all", action="store_true", help="all labs of this user")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_cluster_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the cluster")
    add = group.add_argument
    add(
        "--cluster",
        metavar="NAME|FILE",
        help=f"{', '.join(cluster_names())}, or a .toml file (default: {DEFAULT_CLUSTER})",
    )
    add("--nodes", type=_options.positive, metavar="N", help="number of nodes, on one switch")
    add("--switches", type=_options.counts, metavar="N,N…", help="several switches in a row, with so many nodes each")
    add(
        "--link-rate",
        dest="rate",
        metavar="RATE",
        help="rate of a node's link: 100mbit, 1gbit; brings its own buffer, burst and offloads",
    )
    _options.add_old_name(parser, "--rate", "--link-rate")
    add(
        "--hide-rate",
        action="store_true",
        default=None,
        help="do not tell the ranks the links' rate: they measure it, as where the system does not know it",
    )
    add(
        "--connection-rate",
        metavar="RATE",
        help="what each TCP connection carries one way (default: as much as the links; needs root)",
    )
    add("--buffer", metavar="SIZE", help="output buffer of a switch's port: 128kb")
    add("--burst", metavar="SIZE", help="bytes that a link may send at once: 8kb")
    add("--offloads", type=_on_off, metavar="on|off", help="segmentation offload; off means real frames")
    add("--uplink-rate", metavar="RATE", help="rate of the links between switches")
    add("--uplink-buffer", metavar="SIZE", help="output buffer of the ports between switches")
    _add_carried(group)
    add("--ranks-per-node", type=_options.positive, metavar="N", help="ranks on each node")
    add("--loss", type=_options.number, metavar="PERCENT", help="share of packets that are lost as they arrive")
    add("--loss-protocol", choices=("tcp", "udp", "both"), help="which packets may be lost (default: both)")
    add("--loss-nodes", type=_node_list, metavar="LIST", help="where: 1,3-5 (default: all nodes)")


def _add_carried(group: argparse._ArgumentGroup) -> None:
    """Declares what a process of the lab does to packets, instead of the kernel."""
    add = group.add_argument
    add("--latency", metavar="TIME", help="of each node's link, one way, beside its rate: 50us")
    add("--uplink-latency", metavar="TIME", help="of each link between switches, one way: 500us")
    add("--shared-buffer", metavar="SIZE", help="what all ports of a switch hold together, instead of --buffer each")
    add("--ecn", metavar="SIZE", help="mark packets that find so much in a port's buffer (ECN): 32kb")


def run(args: argparse.Namespace) -> int:
    """Does what the action asks."""
    return {"up": _up, "run": _run, "exec": _exec, "status": _status, "down": _down}[args.action](args)


def _up(args: argparse.Namespace) -> int:
    lab = Lab(_spec(args), args.name)
    started = time.monotonic()
    lab.up(keep=True)
    record = lab.record()
    if args.json:
        output.print_json(record)
        return 0
    for note in record["notes"]:
        output.print_warning(note)
    sys.stdout.write(f"lab {lab.name!r} is up: {lab.spec.summary()} ({time.monotonic() - started:.1f} s)\n")
    return 0


def _run(args: argparse.Namespace) -> int:
    mpi = find_mpi(args.program, args.mpi, args=args.args)
    if mpi.note:
        output.print_hint(mpi.note)
    if args.name:
        _refuse_cluster_options(args)
        lab = Lab.attach(args.name)
    else:
        lab = Lab(_spec(args))
    if not args.plain:
        using.apply(args, mpi, [(name, lab.spec.ranks_per_node) for name in lab.spec.node_names()])
    env = _rank_env(args, mpi)
    placement = Placement.load(args.placement) if args.placement else None
    ranks = args.n or (placement.ranks if placement else lab.spec.ranks)
    with lab:
        if not args.json:
            _say(f"lab: {lab.spec.summary()}; {ranks} ranks, {mpi.label}, {_kind(args)}")
        result = lab.mpirun(
            mpi, ranks, [args.program, *args.args], env=env, timeout_s=args.timeout, capture=args.json,
            map_by=args.map_by, transport=args.transport, placement=placement,
        )  # fmt: skip
    if args.json:
        details = {"mpi": mpi.to_json(), "transport": result.transport, "antiphon": not args.plain}
        output.print_json({**_result_json(result), **details, "cluster": lab.spec.to_dict()})
    else:
        limit = " (ended after its time limit)" if result.timed_out else ""
        _say(f"lab: {result.elapsed_s:.2f} s over {result.transport}, exit code {result.exit_code}{limit}")
    return result.exit_code


def _kind(args: argparse.Namespace) -> str:
    return "plain" if args.plain else "with Antiphon"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _rank_env(args: argparse.Namespace, mpi: Mpi) -> dict[str, str]:
    """Returns the variables of the ranks, which the launcher does not get."""
    if not args.plain:
        variables = rank_environment(mpi, _options.settings(args), os.environ)
        check_written(variables, locate(args.program), args.cluster)
        return variables
    # Ranks are placed without Antiphon, too.
    settings = [*(field.name for field in fields(Settings) if field.name != "placement"), "strict_placement"]
    given = [name for name in settings if vars(args).get(name)]
    if given:
        option = given[0].replace("_", "-")
        raise AntiphonError(f"--{option} has no meaning with --plain", hint="leave one of them away")
    inherited = preload.line([], os.environ.get("LD_PRELOAD", ""))
    return {"LD_PRELOAD": inherited} if inherited else {}


def _exec(args: argparse.Namespace) -> int:
    lab = Lab.attach(args.name or _only_lab()["name"])
    result = lab.execute(args.node, [args.program, *args.args], capture=args.json)
    if args.json:
        output.print_json(_result_json(result))
    return result.exit_code


def _result_json(result: Any) -> dict[str, Any]:
    return {
        "exit_code": result.exit_code, "elapsed_s": result.elapsed_s, "timed_out": result.timed_out,
        "stdout": result.stdout, "stderr": result.stderr,
    }  # fmt: skip


def _status(args: argparse.Namespace) -> int:
    labs = state.list_labs()
    if args.json:
        output.print_json([record | _ports(record) for record in labs])
        return 0
    if not labs:
        sys.stdout.write("no lab is up\n")
        return 0
    table = tables.new_table()
    for heading in ("name", "cluster", "network", "as", "scheduling", "TCP", "up since"):
        table.add_column(heading)
    for record in labs:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record["started"]))
        table.add_row(record["name"], record["cluster"]["name"], _summary(record), record["mode"], record["scheduling"],
                      record["congestion_control"], since)  # fmt: skip
    tables.print_wide(table, ("TCP", "scheduling", "as"))
    return 0


def _ports(record: dict[str, Any]) -> dict[str, Any]:
    """Returns what has happened to packets where a process carries them."""
    counts = cables.counts(Path(record["state_dir"]))
    return {"ports": [asdict(one) for one in counts]} if counts else {}


def _summary(record: dict[str, Any]) -> str:
    """Returns the lab's network in words; another version of Antiphon may have made it, with fields of its own."""
    try:
        return spec_from_dict(record["cluster"], record["name"]).summary()
    except AntiphonError:
        return "of another version of Antiphon"


def _down(args: argparse.Namespace) -> int:
    labs = state.list_labs()  # This also removes the remains of a killed lab.
    if not args.all and args.name is None and not labs:
        chosen = []
    elif args.all:
        chosen = labs
    else:
        chosen = [_named(labs, args.name)] if args.name else [_only_lab()]
    for record in chosen:
        take_down(record)
    names = [record["name"] for record in chosen]
    if args.json:
        output.print_json({"down": names})
    else:
        sys.stdout.write("".join(f"lab {name!r} is down\n" for name in names) or "no lab is up\n")
    return 0


def _named(labs: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for record in labs:
        if record["name"] == name:
            return record
    names = ", ".join(record["name"] for record in labs)
    raise AntiphonError(f"there is no lab named {name!r}", hint=f"running: {names}" if names else "no lab is up")


def _only_lab() -> dict[str, Any]:
    labs = state.list_labs()
    if len(labs) == 1:
        return labs[0]
    if not labs:
        raise AntiphonError("no lab is up", hint="make one: antiphon lab up")
    raise AntiphonError("several labs are up", hint=f"choose with --name: {', '.join(r['name'] for r in labs)}")


def _spec(args: argparse.Namespace) -> ClusterSpec:
    """Returns the cluster that the options describe."""
    spec = load_cluster(args.cluster or DEFAULT_CLUSTER)
    loss = spec.loss
    if args.loss is not None:
        loss = replace(loss or Loss(0.0), percent=args.loss)
    if args.loss_protocol or args.loss_nodes:
        if loss is None:
            raise AntiphonError("--loss-protocol and --loss-nodes need --loss", hint="for example --loss 5")
        loss = Loss(loss.percent, args.loss_protocol or loss.protocol, args.loss_nodes or loss.nodes)
    return spec.with_options(
        nodes=args.nodes, switches=args.switches, rate=args.rate, port_buffer=args.buffer, burst=args.burst,
        offloads=args.offloads, uplink_rate=args.uplink_rate, uplink_buffer=args.uplink_buffer,
        ranks_per_node=args.ranks_per_node, loss=loss, hide_rate=args.hide_rate,
        connection_rate=args.connection_rate, latency=args.latency, uplink_latency=args.uplink_latency,
        shared_buffer=args.shared_buffer, ecn=args.ecn,
    )  # fmt: skip


def _refuse_cluster_options(args: argparse.Namespace) -> None:
    given = [name for name in _CLUSTER_OPTIONS if getattr(args, name) is not None]
    if given:
        option = "--" + given[0].replace("_", "-")
        raise AntiphonError(f"{option} cannot change a lab that is up", hint="leave --name away, or make another lab",
                            exit_code=EXIT_USAGE)  # fmt: skip


def _on_off(text: str) -> bool:
    if text not in ("on", "off"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither on nor off")
    return text == "on"


def _node_list(text: str) -> tuple[int, ...]:
    """Returns `1,3-5` as numbers."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low = _options.positive(first)
        high = _options.positive(last) if dash else low
        if high < low:
            raise argparse.ArgumentTypeError(f"{part!r} ends before it begins")
        numbers += range(low, high + 1)
    return tuple(numbers)
