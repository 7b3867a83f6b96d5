# SPDX-License-Identifier: Apache-2.0
"""List and show cluster files for predictions, and fit one to measurements

  antiphon cluster list
  antiphon cluster show 25gbe-64x32           what is assumed of it, and where each value comes from
  antiphon cluster show my.toml --profile-out my.json    the same as a profile, for every command that reads one
  antiphon cluster fit --rate 10gbit --calls point_to_point.csv --one-way saturation_send.csv \\
      --pairs saturation_sendrecv_same.csv --ring saturation_sendrecv_diff.csv -o my.toml

`antiphon predict --cluster` predicts collectives on such a cluster. A fit uses one half of the long messages, and
shows how far its predictions of the other half are off.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.cluster import files as clusters
from antiphon.cluster import fit, profile
from antiphon.cluster.hosts import FIELDS, VARIANTS
from antiphon.cluster.spec import ClusterSpec
from antiphon.commands import _options
from antiphon.output import files, tables
from antiphon.output.facts import print_fact, width_of
from antiphon.units import format_rate, format_size, rate_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions of `antiphon cluster` and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _action(actions, "list", "list the clusters that come with Antiphon")
    show = _action(actions, "show", "show what is assumed of a cluster, and where that comes from")
    show.add_argument("cluster", metavar="CLUSTER", help="name of a cluster, or a TOML file")
    show.add_argument("--profile-out", type=Path, metavar="FILE", help="write it as a profile")
    _options.add_overwrite(show, "FILE of --profile-out")
    own = _action(actions, "fit", "fit a cluster file to measurements of a real cluster")
    add = own.add_argument
    add("--rate", required=True, metavar="RATE", help="of a node's link, as 10gbit")
    for name, text in (
        ("--calls", "messages between two nodes: experiment,call,bytes,median_s"),
        ("--one-way", "long messages one way, growing numbers of ranks: rank,bytes,start_ms,duration_ms"),
        ("--pairs", "the same, each pair both ways"),
        ("--ring", "the same, each rank to one neighbour and from the other"),
    ):
        add(name, type=Path, required=True, metavar="CSV", help=text)
    add("--name", default="fitted", metavar="NAME", help="of the cluster (default: %(default)s)")
    add("-o", "--output", type=Path, metavar="FILE", help="write the cluster file")
    _options.add_overwrite(own, "FILE")


def _action(actions: Any, name: str, help_text: str) -> argparse.ArgumentParser:
    text = help_text[0].upper() + help_text[1:] + "."
    parser: argparse.ArgumentParser = actions.add_parser(name, help=help_text, description=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Does what the action asks."""
    return {"list": _list, "show": _show, "fit": _fit}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    found = [clusters.load(name) for name in clusters.names()]
    if args.json:
        output.print_json([spec.to_json() for spec in found])
        return 0
    table = tables.new_table()
    for heading in ("name", "nodes", "ranks a node", "link", "switches", "hosts", "what"):
        right = heading in ("nodes", "ranks a node", "link", "switches")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for spec in found:
        counts = [str(count) for count in (spec.nodes, spec.ranks_per_node)]
        table.add_row(
            spec.name,
            *counts,
            format_rate(spec.rate_bits_per_s),
            str(len(spec.switches)),
            spec.hosts.name,
            spec.description,
        )
    tables.print_wide(table, ("what", "switches"))
    return 0


def _show(args: argparse.Namespace) -> int:
    if args.profile_out:
        files.check(args.profile_out, overwrite=args.overwrite, sources=(args.cluster,))
    spec = clusters.load(args.cluster)
    if args.profile_out:
        files.write(args.profile_out, json.dumps(profile.document(spec), indent=1) + "\n")
    if args.json:
        output.print_json(spec.to_json())
    else:
        _print(spec)
    if args.profile_out:
        output.stderr().print(f"wrote {args.profile_out}", soft_wrap=True)
    return 0


def _print(spec: ClusterSpec) -> None:
    console = output.stdout()
    width = width_of(console)
    for label, text in (
        ("cluster", spec.summary()),
        ("what", spec.description),
        ("switches", _switches(spec)),
        ("hosts", f"{spec.hosts.name}, {spec.hosts.basis}: {spec.hosts.source}"),
        ("eager", f"messages of up to {format_size(spec.hosts.eager_bytes)} do not wait for their receive"),
    ):
        print_fact(console, label, text, width)
    table = tables.new_table()
    table.add_column("value")
    for variant in VARIANTS:
        table.add_column(variant, justify="right")
    for name in FIELDS:
        table.add_row(name, *(f"{value:g}" for value in spec.hosts.values[name]))
    tables.print_wide(table)


def _switches(spec: ClusterSpec) -> str:
    """Says how many switches of each kind there are."""
    kinds: dict[str, int] = {}
    for switch, below in zip(spec.switches, spec.nodes_below(), strict=True):
        if switch.parent >= 0:
            ratio = len(below) * spec.rate_bits_per_s / switch.uplink_bits_per_s
            uplink = format_rate(switch.uplink_bits_per_s)
            text = f"with {len(below)} nodes below and an uplink of {uplink} ({ratio:g}:1)"
            kinds[text] = kinds.get(text, 0) + 1
    parts = [f"{count} {text}" for text, count in kinds.items()]
    return "; ".join(["one at the top", *parts]) if parts else "one"


def _fit(args: argparse.Namespace) -> int:
    rate = rate_option("--rate", args.rate)
    measured = (args.calls, args.one_way, args.pairs, args.ring)
    if args.output:
        files.check(args.output, overwrite=args.overwrite, sources=measured)
    found = fit.Measurements.read(*measured)
    names = ", ".join(path.name for path in measured)
    spec = fit.fitted(args.name, rate, found, f"antiphon cluster fit of {names}")
    compared = fit.compare(spec, found)
    if args.output:
        files.write(args.output, fit.text_of(spec))
    if args.json:
        output.print_json({"cluster": spec.to_json(), "compared": [one.to_json() for one in compared]})
        return 0
    _print(spec)
    _print_compared(compared)
    if args.output:
        output.stderr().print(f"wrote {args.output}", soft_wrap=True)
    return 0


def _print_compared(compared: Sequence[fit.Comparison]) -> None:
    table = tables.new_table("long messages, measured and predicted")
    for heading, right in (("pattern", False), ("ranks", True), ("bytes", True), ("measured", True),
                           ("predicted", True), ("error", True), ("", False)):  # fmt: skip
        table.add_column(heading, justify="right" if right else "left")
    for one in compared:
        table.add_row(
            one.pattern,
            str(one.ranks),
            str(one.bytes),
            tables.time_text(one.measured_s),
            tables.time_text(one.predicted_s),
            f"{100 * one.error:+.1f} %",
            "used by the fit" if one.used else "held out",
        )
    tables.print_wide(table)
    worst = max(abs(one.error) for one in compared if not one.used) if any(not one.used for one in compared) else None
    output.stdout().print(f"largest error of what was held out: {tables.share_text(worst)}", soft_wrap=True)
