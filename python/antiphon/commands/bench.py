# SPDX-License-Identifier: Apache-2.0
"""Compare collectives: the library's, Antiphon's, and what the network allows

All contenders run interleaved in one run of one program; results are checked; times are those of the slowest rank.

  antiphon bench alltoall bcast --bytes 64k,256k --lab             in an emulated cluster (16 nodes, 100 Mb/s)
  antiphon bench alltoall --lab --mpi mpich --algorithms all       every algorithm
  antiphon bench alltoall --algorithms rotated:piece_bytes=16384,window=2 --modes sync,throughput,burst --json out.json
  antiphon bench -n 64 --hostfile nodes --link-rate 1gbit          on a real cluster
  antiphon bench --pattern random --pattern hot-spot:256k --lab    MPI_Alltoallv with irregular patterns
  antiphon bench alltoall --nonblocking --lab                      MPI_Ialltoall: alone, and beside a computation
  antiphon bench --presence -n 4                                   what it costs that Antiphon is there
  antiphon bench --list                                            the algorithms and their parameters
  antiphon bench codecs --messages run.msgs                        instead: compression, ours beside that of others

modes: sync, a barrier before each call; throughput, 8 to 24 calls back to back; burst, 3 calls after a
pause or after other traffic. With --nonblocking also: overlap, a computation between the start and the
wait; tested, the same with MPI_Test every 100 us of it. All contenders compute for as long as the fastest
one's call takes alone.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from antiphon import core, output
from antiphon import mpi as mpis
from antiphon.bench import codec_tables, collectives
from antiphon.bench.collectives import CollectiveBenchmark, CollectiveResults
from antiphon.bench.results import COMPUTING_MODES, MODES, json_document, modes_of
from antiphon.bench.tables import DROPPABLE, algorithm_lines, collective_table, mean_lines
from antiphon.bench.testbed import Testbed, failure, program
from antiphon.commands import _bench_json, _bench_model, _bench_patterns, _bench_presence, _options
from antiphon.commands._options import split_algorithms
from antiphon.commands._testbed import open_testbed
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.output import files, progress, tables
from antiphon.units import size_option

#: Real programs use these collectives most; they are measured unless others are named.
USUAL = (
    "barrier",
    "bcast",
    "scatter",
    "gather",
    "allgather",
    "alltoall",
    "reduce",
    "allreduce",
    "reduce_scatter_block",
)

CODECS_HELP = """`antiphon bench codecs` takes these, --bytes (default 4k,64k,1m), --modes (sent, warm, cold;
default sent,warm), --budget (default 0.3), --json, and --link-rate: what Antiphon's choice is made for (default
100mbit). docs/guides/compression.md reads its tables."""
DEFAULT_BYTES, DEFAULT_MODES, DEFAULT_BUDGET_S = "1k,64k", "sync", 5.0
#: Contenders that are no algorithms: Antiphon's choice where it would stay out, and that of blocking calls.
_OWN_CHOICES = ("on", "blocking")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon bench`."""
    add = parser.add_argument
    add("collectives", nargs="*", metavar="COLLECTIVE", help="as MPI names it, as alltoall; or all (default: the nine "
        "most used)")  # fmt: skip
    add("--list", action="store_true", help="show every algorithm with its parameters, and measure nothing")
    add("--bytes", default=DEFAULT_BYTES, metavar="N,…", help="size of a block, or of the message of bcast, reduce, "
        "allreduce, scan, exscan (default: %(default)s)")  # fmt: skip
    add("--modes", default=DEFAULT_MODES, metavar="M,…", help="sync, throughput, burst; with --nonblocking also "
        "overlap, tested (default: %(default)s, or with --nonblocking sync,overlap,tested)")  # fmt: skip
    add("--nonblocking", action="store_true", help="the nonblocking collectives, each waited for")
    add("--field", action="store_true", help="blocks hold a smooth field of doubles with noise (default: counted "
        "bytes), for algorithms with encode=N")  # fmt: skip
    add("--busy", action="store_true", help="with --nonblocking: computations use the processor (default: they sleep, "
        "which leaves the cores to other ranks)")  # fmt: skip
    add("--against", choices=("library", "nothing"), default="library", help="measure the library's collective too "
        "(default), or not")  # fmt: skip
    add("--algorithms", action="append", metavar="A,…", help="algorithms to force besides Antiphon's own choice: all, "
        "or NAME[:PARAMETER=VALUE,…],…; `on` is Antiphon's choice where it would stay out; with --nonblocking, "
        "`blocking` is the blocking call")  # fmt: skip
    add("--budget", type=_options.number, metavar="SECONDS", help="for one collective at one size in one "
        "mode (default: 5)")  # fmt: skip
    add("--root", type=int, default=0, metavar="RANK", help="root of those that have one (default: 0)")
    add("--overhead", action="store_true", help="measure only what Antiphon adds to a call that it passes on to the "
        "library")  # fmt: skip
    _bench_model.add_arguments(parser)
    _bench_patterns.add_arguments(parser)
    _bench_presence.add_arguments(parser)
    _options.add_where(parser, link_rate=": gives the limit")
    codec_tables.add_arguments(parser.add_argument_group("codecs", CODECS_HELP))
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="results with all samples, to FILE or to stdout (-)"
    )
    _options.add_overwrite(parser, "FILE of --json and of --svg")


def run(args: argparse.Namespace) -> int:
    """Measures and prints."""
    if "codecs" in args.collectives:
        _check_files(args)
        return _codecs(args)
    args.budget = DEFAULT_BUDGET_S if args.budget is None else args.budget
    _give_back_names(args)
    _bench_model.check_options(args)
    _refuse_idle(args)
    _check_files(args)
    if args.list:
        return _list(args)
    profiles = _bench_model.profiles_of(args)
    if args.results:
        return _bench_model.compare_files(args, profiles)
    if args.n is not None and args.n < 1:
        raise AntiphonError(f"-n {args.n}: at least 1 rank is needed")
    benchmark = make_benchmark(args)
    if profiles:
        _bench_model.check_contenders(benchmark.contenders)
    found = mpis.chosen(*(args.mpi or "").split(","))
    with open_testbed(args) as testbed:
        if args.overhead:
            return _overhead(args, testbed, found)
        if args.presence:
            return _bench_presence.run(args, testbed, found)
        if args.pattern:
            return _bench_patterns.run(args, testbed, found)
        taken: list[CollectiveResults] = []
        with _bench_json.kept(args.json, lambda: json_document(taken)):
            for mpi in found:
                _measure(args, testbed, mpi, benchmark, taken)
                if args.json != "-":
                    _show(taken[-1], testbed)
                _tell_wrong(taken[-1])
    _finish(args, json_document(taken), profiles)
    return EXIT_FAILURE if any(results.wrong for results in taken) else 0


def _finish(args: argparse.Namespace, document: dict[str, list[dict[str, Any]]], profiles: list[str]) -> None:
    """Compares with the model, and writes: what was measured also where no comparison comes of it."""
    try:
        compared = _bench_model.compare([document["results"]], profiles) if profiles else None
        if compared:
            document["predictions"] = compared.rows()
    finally:
        if args.json:
            _bench_json.write(args.json, document)
    if compared:
        _bench_model.show(args, compared)


def _codecs(args: argparse.Namespace) -> int:
    if args.collectives != ["codecs"]:
        raise AntiphonError("codecs and collectives are measured one after the other", hint="antiphon bench codecs")
    results, code = codec_tables.measure(args, DEFAULT_BYTES, DEFAULT_MODES)
    if args.json:
        document = {"instruction_set": results.instruction_set, "missing": results.missing, "results": results.rows()}
        _bench_json.write(args.json, document)
    return code


def _check_files(args: argparse.Namespace) -> None:
    """Raises an error for a file that could not be written after minutes of measuring."""
    lists = (args.profile, args.results, args.messages, args.pattern)
    sources = [args.hostfile, args.lab, *(one for several in lists for one in several or ())]
    written = [Path(path) for path in (args.json if args.json != "-" else None, args.svg) if path is not None]
    for path in written:
        files.check(path, overwrite=args.overwrite, sources=sources)
    files.check_apart(written, ())


def _give_back_names(args: argparse.Namespace) -> None:
    """In `--lab alltoall` and `--json alltoall` the word is a collective, not the option's optional value."""
    known = {collective.name for collective in core.collectives()} | {"all"}
    for option, default in (("lab", ""), ("json", "-")):
        if getattr(args, option) in known:
            args.collectives.append(getattr(args, option))
            setattr(args, option, default)
    unknown = [name for name in args.collectives if name not in known]
    if unknown:
        raise AntiphonError(f"no collective named {unknown[0]!r}", hint=f"there are {', '.join(sorted(known))}")
    if "all" in args.collectives:
        args.collectives = [collective.name for collective in core.collectives()]


def _refuse_idle(args: argparse.Namespace) -> None:
    """Raises an error for what is asked for and would not be measured."""
    for option in ("overhead", "presence", "pattern"):
        for name in ("collectives", "nonblocking", "algorithms", "field"):
            if getattr(args, option) and getattr(args, name):
                what = name if name == "collectives" else f"--{name}"
                raise AntiphonError(f"--{option} measures something else than {what}", hint="leave one of them away")
    if args.busy and not args.nonblocking:
        raise AntiphonError("--busy is about computations, which only --nonblocking has", hint="add --nonblocking")
    if args.contenders and not args.pattern:
        raise AntiphonError("--contenders is for --pattern", hint="for collectives there is --algorithms")


def _list(args: argparse.Namespace) -> int:
    listed = [a for a in core.algorithms() if not args.collectives or a.collective in args.collectives]
    if args.json:
        _bench_json.write(args.json, {"algorithms": [dataclasses.asdict(a) for a in listed]})
    else:
        sys.stdout.write("\n".join(algorithm_lines(listed)) + "\n")
    return 0


def make_benchmark(args: argparse.Namespace) -> CollectiveBenchmark:
    """Makes the benchmark of the options."""
    names = list(dict.fromkeys(args.collectives or USUAL))
    if args.budget < 0:
        raise AntiphonError(f"--budget {args.budget:g}: is below zero")
    sizes = [size_option("--bytes", text) for text in args.bytes.split(",")]
    contenders = ["*:library"] if args.against == "library" else []
    contenders.append("*:auto")
    contenders += [contender for c in names for contender in _forced(c, args.algorithms or [])]
    if not args.nonblocking and any(contender.endswith(":blocking") for contender in contenders):
        raise AntiphonError("--algorithms blocking: is for --nonblocking; without it all calls block")
    if args.nonblocking and args.modes is DEFAULT_MODES:
        modes = ["sync", *COMPUTING_MODES]
    else:
        modes = modes_of(args.modes, (*MODES, *COMPUTING_MODES) if args.nonblocking else MODES)
    return CollectiveBenchmark(
        names,
        sizes,
        modes,
        contenders,
        args.budget,
        args.root,
        nonblocking=args.nonblocking,
        field=args.field,
        busy=args.busy,
    )


def _forced(collective: str, asked: list[str]) -> Iterator[str]:
    """Returns the forced contenders of a collective. Another collective's algorithm is skipped; an unknown name is an
    error.
    """
    names = [a.name for a in core.algorithms(collective)]
    everywhere = {a.name for a in core.algorithms()} | set(_OWN_CHOICES)
    for choice in (choice for text in asked for choice in split_algorithms(text)):
        name = choice.partition(":")[0]
        if choice == "all":
            yield from (f"{collective}:{name}" for name in names)
        elif name not in everywhere:
            raise AntiphonError(f"--algorithms: no algorithm named {name!r}", hint="`antiphon bench --list` shows them")
        elif name in names or name in _OWN_CHOICES:
            yield f"{collective}:{choice}"


def _measure(
    args: argparse.Namespace,
    testbed: Testbed,
    mpi: mpis.Mpi,
    benchmark: CollectiveBenchmark,
    taken: list[CollectiveResults],
) -> None:
    with _progress(f"{mpi.label}", benchmark.cells) as advance:
        collectives.run(testbed, mpi, args.n or testbed.ranks(), benchmark, advance, taken)


@contextlib.contextmanager
def _progress(label: str, total: int) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Shows a bar that moves with every finished cell."""
    finished = set()
    with progress.bar(f"{label}: starting", total) as move:

        def advance(event: Mapping[str, Any]) -> None:
            if event["event"] == "result":
                finished.add((event["collective"], event["bytes"], event["mode"]))
                text = f"{label}: {event['collective']} {tables.bytes_text(event['bytes'])} {event['mode']}"
                move(completed=len(finished), description=text)

        yield advance


def _show(results: CollectiveResults, testbed: Testbed) -> None:
    tables.print_wide(collective_table(results, testbed.describe()), DROPPABLE)
    below = results.below_limit()
    for line in [*([below] if below else []), *mean_lines(results)]:
        output.stdout().print(line, soft_wrap=True)
    for collective, size, contender, why in results.skipped:
        output.stderr().print(f"left out: {collective} {tables.bytes_text(size)} {contender}: {why}", soft_wrap=True)


def _tell_wrong(results: CollectiveResults) -> None:
    for collective, size, contender, why in results.wrong:
        output.print_error(f"{collective} {tables.bytes_text(size)} {contender}: {why}")


def _overhead(args: argparse.Namespace, testbed: Testbed, found: list[mpis.Mpi]) -> int:
    rows: list[dict[str, Any]] = []
    with _bench_json.kept(args.json, lambda: {"overhead": rows}):
        for mpi in found:
            lines: list[str] = []
            argv = [str(program("bench", mpi.abi)), "--overhead"]
            ended = testbed.run(mpi, 1, argv, preload=True, env={}, on_line=lines.append, timeout_s=120)
            if ended.exit_code != 0:
                raise failure("the benchmark", ended)
            rows += [{"mpi": mpi.label} | json.loads(line) for line in lines if line.startswith("{")]
    if args.json:
        _bench_json.write(args.json, {"overhead": rows})
        return 0
    table = tables.new_table("calls passed on to the library, on one rank")
    for heading in ("MPI", "call", "library alone", "added"):
        table.add_column(heading)
    for row in rows:
        table.add_row(row["mpi"], row["collective"], f"{row['library_ns']:.0f} ns", f"{row['added_ns']:.0f} ns")
    tables.print_wide(table)
    return 0
