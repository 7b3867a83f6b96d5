# SPDX-License-Identifier: Apache-2.0
"""`antiphon predict --cluster`: what collectives take on a cluster that is described, not measured."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from antiphon import core, model, output
from antiphon.cluster import files as clusters
from antiphon.cluster.estimate import USUAL_BYTES, Estimate, Estimator, Range
from antiphon.cluster.spec import ClusterSpec
from antiphon.errors import AntiphonError
from antiphon.output import files, progress, tables
from antiphon.output.facts import print_fact, width_of
from antiphon.output.tables import ratio_text, time_text
from antiphon.report import cluster_page as page
from antiphon.report import html
from antiphon.simulate import growth
from antiphon.units import size_option

#: The library that an estimate is for where none is named; `--mpi` names the kind.
LIBRARIES = {"openmpi": "openmpi-5.0", "mpich": "mpich-5"}


def machine(args: argparse.Namespace) -> model.ModelledMachine:
    """Returns the cluster as the model's machine, and fills in the numbers of ranks that the options leave out."""
    spec = _spec(args)
    args.ranks_per_node = min(spec.ranks_per_node, args.ranks)
    return _estimator(args, spec).machine()


def estimate(args: argparse.Namespace, size: int, ranking: Sequence[model.Prediction]) -> Estimate:
    """Returns the estimate of one collective, of which the model has ranked the algorithms."""
    return _estimator(args, _spec(args)).estimate(args.collective, size, ranking)


def run(args: argparse.Namespace) -> int:
    """Predicts several collectives, or all, and prints a table or writes a page."""
    if args.html:
        files.check(args.html, overwrite=args.overwrite, sources=(args.cluster,))
    spec = _spec(args)
    if args.collective and args.collective not in {c.name for c in core.collectives()}:
        raise AntiphonError(f"no collective named {args.collective!r}", hint="`antiphon bench --list` names all")
    for option in ("profile", "link_rate", "svg", "root", "defaults"):
        if getattr(args, option):
            raise AntiphonError(
                f"--{option.replace('_', '-')} is not for all collectives of a cluster", hint="leave it away"
            )
    names = [args.collective] if args.collective else [c.name for c in core.collectives()]
    sizes = [size_option("--bytes", one) for one in args.bytes.split(",")] if args.bytes else list(USUAL_BYTES)
    estimator = _estimator(args, spec)
    found = list(_with_progress(estimator, names, sizes))
    if args.html:
        smaller = [_estimator(args, spec, ranks) for ranks in page.fewer_ranks(spec, args.ranks)]
        curves = list(_with_progress(estimator, page.shown(names), page.SIZES))
        for other in smaller:
            curves += _with_progress(other, page.shown(names), page.SIZES)
        parts = growth.parts_of(spec, args.ranks)
        grown = {name: _growth(parts, estimator.library, name, sizes) for name in page.shown(names)}
        files.write(args.html, html.render(page.page(spec, estimator.library, found, curves, grown)))
    if args.json:
        output.print_json({"cluster": spec.to_json(), "library": estimator.library, "ranks": args.ranks,
                           "estimates": [one.to_json() for one in found]})  # fmt: skip
    else:
        _print(spec, estimator, found)
    if args.html:
        output.stderr().print(f"wrote {args.html}", soft_wrap=True)
    return 0


def _growth(parts: Sequence[ClusterSpec], library: str, collective: str, sizes: Sequence[int]) -> list[growth.Point]:
    """Returns the middle one of the sizes over parts of the cluster, with SimGrid's points where it is installed."""
    from rich.progress import track

    console = output.stderr()
    size = sorted(sizes)[len(sizes) // 2]
    smpirun = shutil.which("smpirun")
    points = growth.growth(parts, library, collective, size, Path(smpirun) if smpirun else None)
    text, hidden = f"growing {collective}", progress.hidden(console)
    return list(track(points, text, total=len(parts), console=console, transient=True, disable=hidden))


def show_estimate(one: Estimate) -> None:
    """Prints the library's way, Antiphon's way and the limit of one collective."""
    console = output.stdout()
    width = width_of(console)
    by = f" by {', '.join(one.library_algorithms)}" if one.library_algorithms else ""
    print_fact(console, "library", f"{_range_text(one.library)}{by}", width)
    print_fact(console, "Antiphon", f"{_range_text(one.antiphon)} by {one.choice}, once tuned", width)
    gain = one.gain
    if gain:
        print_fact(console, "gain", f"{ratio_text(gain.typical_s)} ({gain.low_s:.2f} to {gain.high_s:.2f})", width)
    if one.bound:
        print_fact(console, "limit", f"{time_text(one.bound.seconds)}: {page.BINDS[one.bound.binds]}", width)


def _spec(args: argparse.Namespace) -> ClusterSpec:
    if args.profile or args.link_rate:
        raise AntiphonError(
            "--cluster says all that is known of the machine", hint="leave --profile and --link-rate away"
        )
    if args.ranks_per_node is not None and args.ranks_per_node < 1:
        raise AntiphonError(f"--ranks-per-node {args.ranks_per_node}: at least 1 is needed")
    spec = clusters.load(args.cluster).with_ranks(args.ranks, args.ranks_per_node)
    args.ranks = args.ranks or spec.ranks
    if args.ranks < 2:
        raise AntiphonError(f"{spec.name} with {args.ranks} ranks: at least 2 are needed")
    return spec


def _estimator(args: argparse.Namespace, spec: ClusterSpec, ranks: int | None = None) -> Estimator:
    return Estimator(spec, ranks or args.ranks, LIBRARIES[args.mpi or "openmpi"], args.root)


def _with_progress(estimator: Estimator, names: Sequence[str], sizes: Sequence[int]) -> Iterator[Estimate]:
    """Says on a terminal what is being predicted, because many ranks take a while."""
    from rich.progress import track

    cells = [(name, size) for name in names for size in ([0] if name == "barrier" else sizes)]
    console = output.stderr()
    text = f"predicting {estimator.ranks} ranks"
    for name, size in track(cells, text, console=console, transient=True, disable=progress.hidden(console)):
        yield estimator.estimate(name, size)


def _range_text(one: Range | None) -> str:
    if one is None:
        return "not known"
    return f"{time_text(one.typical_s)} ({time_text(one.low_s)} to {time_text(one.high_s)})"


def _print(spec: ClusterSpec, estimator: Estimator, found: Sequence[Estimate]) -> None:
    output.stdout().print(f"{spec.name}: {spec.summary()}", soft_wrap=True)
    output.stdout().print(page.CAUTION, soft_wrap=True)
    table = tables.new_table(f"{estimator.ranks} ranks, {estimator.library}")
    table.add_column("collective")
    for heading in ("bytes", "library", "Antiphon", "gain", "range of gain", "× limit"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what binds")
    table.add_column("Antiphon's way", overflow="fold")
    table.add_column("used without tuning", overflow="fold")
    for one in found:
        table.add_row(*page.row(one))
    tables.print_wide(table, ("used without tuning", "what binds", "Antiphon's way"))
