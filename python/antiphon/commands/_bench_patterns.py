# SPDX-License-Identifier: Apache-2.0
"""`antiphon bench --pattern`: patterns of messages instead of collectives."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from antiphon import output, patterns
from antiphon.bench import benchmark, pattern_benchmark, places
from antiphon.bench.pattern_benchmark import Measurement, Plan, Results
from antiphon.errors import AntiphonError
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


def make_plan(args: argparse.Namespace, place: places.Place, ranks: int) -> Plan:
    """What the options ask to measure."""
    modes = args.modes.split(",")
    wrong = [mode for mode in modes if mode not in benchmark.MODES]
    if wrong:
        raise AntiphonError(f"--modes: no mode named {wrong[0]!r}", hint=f"there are {', '.join(benchmark.MODES)}")
    drawn = [patterns.named(text, ranks, args.pattern_seed) for text in args.pattern]
    for pattern in drawn:
        if pattern.size != ranks:
            raise AntiphonError(
                f"pattern {pattern.name} is for {pattern.size} ranks, not {ranks}", hint=f"give -n {pattern.size}"
            )
    contenders = args.contenders.split(",") if args.contenders else list(pattern_benchmark.CONTENDERS)
    network = place.network(list(range(ranks))) if place.nodes_for(ranks) == ranks else None
    return Plan(drawn, modes, contenders, args.budget, pattern_benchmark.fabric_of(network))


def run(
    args: argparse.Namespace, place: places.Place, found: list[Mpi], write_json: Callable[[str, dict[str, Any]], None]
) -> int:
    """Measures and prints."""
    ranks = args.n or (place.lab.spec.ranks if isinstance(place, places.InLab) else None)
    if ranks is None:
        raise AntiphonError("-n is missing: a pattern is made for a number of ranks")
    plan = make_plan(args, place, ranks)
    all_results = []
    for mpi in found:
        results = pattern_benchmark.run(place, mpi, ranks, plan, _say)
        all_results.append(results)
        if args.json != "-":
            _show(results, place)
    if args.json:
        write_json(args.json, {"results": [row for results in all_results for row in results.rows()]})
    return 1 if any(results.wrong for results in all_results) else 0


def _say(event: Mapping[str, Any]) -> None:
    console = output.stderr()
    if console.is_terminal and event["event"] == "result":
        console.print(f"{event['pattern']} {event['mode']} {event['contender']}", soft_wrap=True)


def _show(results: Results, place: places.Place) -> None:
    table = tables.new_table(
        f"{results.mpi} ({results.transport}), {results.ranks} ranks on {results.nodes} nodes; {place.describe()}"
    )
    for heading, justify in (
        ("pattern", "left"),
        ("mode", "left"),
        ("contender", "left"),
        ("median", "right"),
        ("95 %", "right"),
        ("n", "right"),
        ("× library", "right"),
        ("× limit", "right"),
        ("used", "left"),
    ):
        table.add_column(heading, justify=justify, no_wrap=heading != "used", overflow="fold")  # type: ignore[arg-type]
    cells: dict[tuple[str, str], list[Measurement]] = {}
    for m in results.measurements:
        cells.setdefault((m.pattern, m.mode), []).append(m)
    for (pattern, mode), cell in cells.items():
        for i, m in enumerate(cell):
            table.add_row(
                *((pattern, mode) if i == 0 else ("", "")), *_columns(results, m, cell), end_section=i + 1 == len(cell)
            )
    tables.print_wide(table)
    for pattern, contender, why in results.skipped:
        output.stderr().print(f"left out: {pattern} {contender}: {why}", soft_wrap=True)
    for pattern, contender, why in results.wrong:
        output.print_error(f"{pattern} {contender}: {why}")


def _columns(results: Results, m: Measurement, cell: list[Measurement]) -> list[str]:
    s, limit = m.summary, results.limit_s(m.pattern)
    library = next((other.summary.median for other in cell if other.contender == "library"), None)
    return [
        m.contender,
        tables.time_text(s.median),
        f"{tables.time_text(s.ci_low)} … {tables.time_text(s.ci_high)}",
        str(s.count),
        tables.ratio_text(library / s.median if library and m.contender != "library" else None),
        tables.ratio_text(s.median / limit if limit else None),
        m.chosen if m.chosen != m.contender else "",
    ]
