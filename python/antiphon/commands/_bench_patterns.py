# SPDX-License-Identifier: Apache-2.0
"""`antiphon bench --pattern`: measures patterns of messages instead of collectives."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from antiphon import output, patterns
from antiphon.bench.patterns import CONTENDERS, PatternBenchmark, PatternResults, fabric_of
from antiphon.bench.patterns import run as run_benchmark
from antiphon.bench.results import json_document, modes_of
from antiphon.bench.tables import DROPPABLE, pattern_table
from antiphon.bench.testbed import Testbed
from antiphon.commands import _bench_json, _options
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.mpi import Mpi
from antiphon.output import tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that only patterns have."""
    group = parser.add_argument_group("patterns")
    group.add_argument(
        "--pattern",
        action="append",
        metavar="P",
        help=f"instead of collectives, MPI_Alltoallv with this "
        f"pattern: {', '.join(patterns.GENERATORS)}, each with :BYTES for its block, or a file; may be "
        f"repeated",
    )
    group.add_argument(
        "--contenders",
        metavar="C,…",
        help="for patterns: library, point-to-point, antiphon[:ALGORITHM], level1, "
        "level2, level3, phases[:SCHEDULER[:SYNCHRONISATION[:PIECE[:WINDOW]]]], persistent[:library] "
        "(default: all but the forced ones)",
    )
    group.add_argument(
        "--pattern-seed", type=int, default=patterns.SEED, help="of random patterns (default: %(default)s)"
    )


def make_benchmark(args: argparse.Namespace, testbed: Testbed, ranks: int) -> PatternBenchmark:
    """Makes the benchmark of the options."""
    drawn = [patterns.named(text, ranks, args.pattern_seed) for text in args.pattern]
    for pattern in drawn:
        if pattern.size != ranks:
            raise AntiphonError(
                f"pattern {pattern.name} is for {pattern.size} ranks, not {ranks}", hint=f"give -n {pattern.size}"
            )
    contenders = _options.split_algorithms(args.contenders) if args.contenders else list(CONTENDERS)
    network = testbed.network(list(range(ranks))) if testbed.nodes_for(ranks) == ranks else None
    return PatternBenchmark(drawn, modes_of(args.modes), contenders, args.budget, fabric_of(network))


def run(args: argparse.Namespace, testbed: Testbed, found: list[Mpi]) -> int:
    """Measures and prints."""
    ranks = args.n or testbed.ranks()
    benchmark = make_benchmark(args, testbed, ranks)
    taken: list[PatternResults] = []
    with _bench_json.kept(args.json, lambda: json_document(taken)):
        for mpi in found:
            run_benchmark(testbed, mpi, ranks, benchmark, _say, taken)
            if args.json != "-":
                _show(taken[-1], testbed)
            for pattern, contender, why in taken[-1].wrong:
                output.print_error(f"{pattern} {contender}: {why}")
    if args.json:
        _bench_json.write(args.json, json_document(taken))
    return EXIT_FAILURE if any(results.wrong for results in taken) else 0


def _say(event: Mapping[str, Any]) -> None:
    console = output.stderr()
    if console.is_terminal and event["event"] == "result":
        console.print(f"{event['pattern']} {event['mode']} {event['contender']}", soft_wrap=True)


def _show(results: PatternResults, testbed: Testbed) -> None:
    tables.print_wide(pattern_table(results, testbed.describe()), DROPPABLE)
    if results.below_limit():
        output.stdout().print(results.below_limit(), soft_wrap=True)
    for pattern, contender, why in results.skipped:
        output.stderr().print(f"left out: {pattern} {contender}: {why}", soft_wrap=True)
