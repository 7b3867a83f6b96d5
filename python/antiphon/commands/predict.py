# SPDX-License-Identifier: Apache-2.0
"""Predict what each algorithm of a collective takes, from a profile or a description of a cluster

  antiphon predict bcast --ranks 64 --bytes 256k --profile machine.json
  antiphon predict alltoall --ranks 1024 --bytes 64k --link-rate 10gbit
  antiphon predict --cluster 25gbe-64x32                  what each collective takes with the library and with Antiphon
  antiphon predict alltoall --cluster my.toml --bytes 4m  each algorithm there

Each algorithm is shown with the parameters that the model finds best for it. Without a profile the links' rate is all
that is known, and the rest of the machine is a first guess: typical costs of MPI over TCP. `antiphon cluster list`
names the clusters that need no profile.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from antiphon import core, model, output
from antiphon.commands import _options, _predict_cluster
from antiphon.draw import curves
from antiphon.errors import AntiphonError
from antiphon.explain.answer import Answer, answer
from antiphon.explain.explanation import ExplainedCall
from antiphon.explain.options import ASSUMED_RATE, library_of, rate_of
from antiphon.model import bounds, limits
from antiphon.output import files, progress
from antiphon.output.facts import print_fact, width_of
from antiphon.output.tables import bytes_text, new_table, print_wide, ratio_text, time_text
from antiphon.report import cluster_page
from antiphon.units import size_option

#: So many sizes of a sweep take as long as the one size that is asked for.
SIZES_AT_ONCE = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon predict`."""
    add = parser.add_argument
    add(
        "collective",
        nargs="?",
        metavar="COLLECTIVE",
        help="bcast, alltoall, allreduce, … (default, with --cluster: all)",
    )
    add("-n", "--ranks", type=int, metavar="P", help="number of ranks (default: all of the cluster)")
    add("--ranks-per-node", type=int, metavar="K", help="consecutive ranks on each node (default: 1, or the cluster's)")
    add(
        "--bytes",
        metavar="M",
        help="bytes of a block (bcast, reduce, allreduce, scan: of the whole message; default: 64k); for all "
        "collectives of a cluster several, with commas (default: 1k,64k,1m)",
    )
    add("--cluster", metavar="CLUSTER", help="a cluster's name or TOML file, instead of a profile")
    add(
        "--html",
        type=Path,
        metavar="FILE",
        help="with --cluster: write a page that shows the gain over sizes and ranks",
    )
    add("--profile", type=Path, metavar="FILE", help="profile of the machine (default: a first guess from --link-rate)")
    add("--link-rate", metavar="RATE", help=f"of a node's link, without a profile (default: {ASSUMED_RATE})")
    add("--mpi", choices=("openmpi", "mpich"), help="the library that rules are for (default: the profile's)")
    add("--root", type=int, default=0, metavar="R", help="root of a rooted collective (default: 0)")
    add("--defaults", action="store_true", help="with the algorithms' default parameters, not searched ones")
    add("--sweep", metavar="A-B", default="1k-1m", help="sizes for crossovers and chart (default: %(default)s)")
    add("--no-sweep", action="store_true", help="the one size only")
    add("--svg", type=Path, metavar="FILE", help="write the chart of times over sizes")
    _options.add_overwrite(parser, "FILE of --svg", old="--force")
    add("--json", action="store_true", help="print predictions as JSON")


def run(args: argparse.Namespace) -> int:
    """Predicts and prints."""
    if args.cluster and (args.collective is None or args.html):
        return _predict_cluster.run(args)
    if args.svg:
        files.check(args.svg, overwrite=args.overwrite, sources=(args.profile, args.cluster))
        curves.pyplot()
    machine = _machine(args)
    size = 0 if args.collective == "barrier" else size_option("--bytes", args.bytes or "64k")
    with progress.bar("predict: comparing the algorithms", None) as move:
        found = answer(_call(args, machine, size), machine.profile, search=not args.defaults)
        one = found.ranking
        assert one is not None
        _complain(args, one, size)
        move(description="predict: over sizes")
        sweep = None if args.no_sweep else _sweep(args, machine)
        crossings = _crossings(args, machine, sweep) if sweep else []
    if args.svg:
        curves.svg(_chart(args, sweep or one), args.svg)
    forms = model.closed_forms(args.collective, [size], machine)
    estimate = _predict_cluster.estimate(args, size, one.sizes[size]) if args.cluster else None
    bound = estimate.bound if estimate else _bound(args, machine, size)
    if args.json:
        more: dict[str, Any] = {"estimate": estimate.to_json()} if estimate else {}
        more |= {"limit_s": bound.seconds, "limit_binds": bound.binds} if bound else {}
        output.print_json(found.to_json() | _json(one, sweep, crossings) | {"closed_forms": forms} | more)
    else:
        if estimate:
            _predict_cluster.show_estimate(estimate)
        _show(args, machine, size, found, one, bound)
        _show_forms(forms)
        _show_sweep(args, sweep, crossings)
        if args.svg:
            output.stderr().print(f"wrote {args.svg}", soft_wrap=True)
    return 0


def _complain(args: argparse.Namespace, one: model.Sweep, size: int) -> None:
    """Says which algorithms the model cannot evaluate; if it can evaluate none, that is an error."""
    for line in one.complaints():
        output.print_warning(f"{args.collective}: {line}")
    if not one.sizes[size]:
        raise AntiphonError(
            f"{args.collective}: no algorithm of it can be predicted for {args.ranks} ranks on this machine",
            hint="`antiphon explain` shows what would be used all the same",
        )


def _machine(args: argparse.Namespace) -> model.ModelledMachine:
    known = {c.name for c in core.collectives()}
    if args.collective not in known:
        what = f"no collective named {args.collective!r}" if args.collective else "a collective is missing"
        raise AntiphonError(what, hint=f"there are {', '.join(sorted(known))}")
    if args.ranks is None and not args.cluster:
        raise AntiphonError("--ranks is missing", hint="or name a --cluster")
    if args.ranks is not None and args.ranks < 2:
        raise AntiphonError(f"--ranks {args.ranks}: at least 2 are needed")
    if args.ranks_per_node is not None and args.ranks_per_node < 1:
        raise AntiphonError(f"--ranks-per-node {args.ranks_per_node}: at least 1 is needed")
    if args.profile and args.link_rate:
        raise AntiphonError("--link-rate is for predictions without a profile", hint="leave one of them away")
    if args.html:
        raise AntiphonError("--html needs --cluster", hint="`antiphon cluster list` names some")
    if args.cluster:
        found = _predict_cluster.machine(args)
        _check_root(args)
        return found
    args.ranks_per_node = args.ranks_per_node or 1
    _check_root(args)
    profile = model.read_profile(args.profile, packed_too=True)
    rate = rate_of(args.link_rate, profile)
    if rate == 0:
        raise AntiphonError("--link-rate: a prediction needs a rate", hint="as 1gbit, or measure it: `antiphon probe`")
    return model.ModelledMachine(args.ranks, args.ranks_per_node, profile, rate)


def _check_root(args: argparse.Namespace) -> None:
    if not 0 <= args.root < args.ranks:
        raise AntiphonError(f"--root {args.root}: not one of the {args.ranks} ranks")


def _call(args: argparse.Namespace, machine: model.ModelledMachine, size: int) -> ExplainedCall:
    element = model.element_bytes(args.collective, size)
    return ExplainedCall(
        args.collective,
        args.ranks,
        machine.ranks_per_node,
        size,
        args.root,
        element,
        link_bits_per_s=int(machine.link_bits_per_s),
        mpi=library_of(args.mpi, machine.profile),
    )


def _sweep(args: argparse.Namespace, machine: model.ModelledMachine) -> model.Sweep | None:
    if args.collective == "barrier":
        return None
    low, dash, high = args.sweep.partition("-")
    if not dash:
        raise AntiphonError(f"--sweep {args.sweep}: not of the form A-B", hint="as 1k-1m")
    first, last = size_option("--sweep", low), size_option("--sweep", high)
    if not 0 < first <= last:
        raise AntiphonError(f"--sweep {args.sweep}: sizes must grow from above 0")
    sizes = [first]
    # With very many ranks, each size takes long.
    factor = 2 if machine.ranks <= model.MAX_SEARCHED_RANKS else 8
    while sizes[-1] * factor <= last:
        sizes.append(sizes[-1] * factor)
    return _predict_sizes(args, machine, sizes)


def _predict_sizes(args: argparse.Namespace, machine: model.ModelledMachine, sizes: Sequence[int]) -> model.Sweep:
    """Predicts with little effort for each size, since a sweep has many sizes."""
    evaluations = 12 if machine.ranks <= model.MAX_SEARCHED_RANKS else 1
    effort: dict[str, Any] = {
        "max_evaluations": evaluations,
        "max_pieces": len(sizes) * model.QUICK_PIECES // SIZES_AT_ONCE,
    }
    return model.predict(args.collective, sizes, machine, root=args.root, search=not args.defaults, **effort)


def _crossings(
    args: argparse.Namespace, machine: model.ModelledMachine, sweep: model.Sweep
) -> list[tuple[int, str, str]]:
    def winner(size: int) -> str:
        return next((p.algorithm for p in _predict_sizes(args, machine, [size]).sizes[size]), "")

    return model.crossovers(sweep, winner, steps=6 if machine.ranks <= model.MAX_SEARCHED_RANKS else 0)


def _chart(args: argparse.Namespace, sweep: model.Sweep):  # type: ignore[no-untyped-def]
    lines: dict[str, list[tuple[int, float]]] = {}
    for size, predictions in sorted(sweep.sizes.items()):
        for p in predictions:
            lines.setdefault(p.algorithm, []).append((size, p.seconds))
    return curves.CurveChart(f"{args.collective}, {args.ranks} ranks, {sweep.machine}", lines)


def _json(one: model.Sweep, sweep: model.Sweep | None, crossings: list[tuple[int, str, str]]) -> dict[str, object]:
    def rows(of: model.Sweep) -> list[dict[str, object]]:
        return [
            {"bytes": size, "predictions": [dataclasses.asdict(p) for p in found]} for size, found in of.sizes.items()
        ]

    return {
        "machine": one.machine,
        "first_guess": one.first_guess,
        "predictions": rows(one)[0]["predictions"],
        "left_out": [dataclasses.asdict(left) for failed in one.left_out.values() for left in failed],
        "sweep": rows(sweep) if sweep else [],
        "crossovers": [{"bytes": size, "below": below, "from": above} for size, below, above in crossings],
    }


def _bound(args: argparse.Namespace, machine: model.ModelledMachine, size: int) -> bounds.Bound | None:
    """Returns the least of wire and hosts, and what binds; of a guessed machine only the wire is known."""
    if machine.profile is None:
        rate = machine.link_bits_per_s * limits.PAYLOAD_SHARE
        network, hosts = limits.Network.blocks(args.ranks, machine.ranks_per_node, rate), bounds.HostLimits()
    else:
        network, hosts = bounds.of_profile(json.loads(machine.profile), args.ranks, machine.ranks_per_node)
    return bounds.bound_of(args.collective, size, network, hosts, args.root)


def _show(
    args: argparse.Namespace,
    machine: model.ModelledMachine,
    size: int,
    found: Answer,
    one: model.Sweep,
    bound: bounds.Bound | None,
) -> None:
    if machine.profile is None:
        output.stdout().print(f"{one.machine}: a first guess; `antiphon probe` measures this machine", soft_wrap=True)
    limit = bound.seconds if bound else None
    what = "" if args.collective == "barrier" else f" of {bytes_text(size)}"
    _show_answer(found)
    if bound and not args.cluster:
        text = f"{time_text(bound.seconds)}: {cluster_page.BINDS[bound.binds]}"
        print_fact(output.stdout(), "limit", text, width_of(output.stdout()))
    table = new_table(f"{args.collective}{what}, {args.ranks} ranks, {machine.ranks_per_node} a node; {one.machine}")
    table.add_column("algorithm", overflow="fold")
    headings = ["predicted", "× best", *(["× limit"] if limit else []), "closed form"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("how")
    best = one.sizes[size][0].seconds

    def add(choice: str, seconds: float | None, closed_form_s: float | None, how: str) -> None:
        of_limit = [limits.ratio_text(seconds, limit)] if limit else []
        ratio = seconds / best if seconds and best else None
        table.add_row(choice, time_text(seconds), ratio_text(ratio), *of_limit, time_text(closed_form_s), how)

    add(f"used: {found.used.choice}", found.used_s, None, "by the rules" if found.used.algorithm else "not Antiphon's")
    for p in one.sizes[size]:
        add(p.choice, p.seconds, p.closed_form_s, p.method)
    print_wide(table)


def _show_forms(forms: Sequence[Mapping[str, Any]]) -> None:
    """Prints formulas that hold for no single algorithm: an all-to-all's bounds."""
    bounds = {form["name"]: form for form in forms if form["name"] in ("lower", "upper", "contended")}
    if not bounds:
        return
    low, high, expected = (time_text(bounds[name]["seconds"][0]) for name in ("lower", "upper", "contended"))
    gamma = bounds["contended"]["gamma"]
    told = f"with the measured γ = {gamma:.2f}: {expected}" if gamma is not None else "γ was not measured here"
    output.stdout().print(f"a direct exchange by {bounds['lower']['source']}: {low} to {high}; {told}", soft_wrap=True)


def _show_answer(found: Answer) -> None:
    """The same lines as `antiphon explain`."""
    console = output.stdout()
    facts = (("used", found.used.choice), ("because", found.used.reason), ("the model", found.verdict()))
    for label, text in facts:
        print_fact(console, label, text, width_of(console), "bold green" if label == "used" else "")


def _show_sweep(args: argparse.Namespace, sweep: model.Sweep | None, crossings: list[tuple[int, str, str]]) -> None:
    if sweep is None:
        return
    console = output.stdout()
    first = min((size for size, found in sweep.sizes.items() if found), default=None)
    if first is None:
        return
    console.print(
        f"by the model the fastest from {bytes_text(first)}: {sweep.sizes[first][0].algorithm}", soft_wrap=True
    )
    for size, _, after in crossings:
        console.print(f"                         from {bytes_text(size)}: {after}", soft_wrap=True)
    chart = curves.terminal(_chart(args, sweep), console.width) if console.is_terminal else None
    if chart:
        console.print(chart)
