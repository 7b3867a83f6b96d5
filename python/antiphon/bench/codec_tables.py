# SPDX-License-Identifier: Apache-2.0
"""Holds the defaults of `antiphon bench codecs` and prints its tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import output
from antiphon.bench import codecs
from antiphon.bench.codecs import CodecBenchmark, CodecMeasurement, CodecResults
from antiphon.codec.messages import is_message_file
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.output import tables
from antiphon.units import rate_option, size_option

if TYPE_CHECKING:
    from rich.table import Table

#: Each figure is set beside this baseline.
BASELINE = "dfcm"


def add_arguments(group: Any) -> None:
    """Declares the options of `antiphon bench` that only codecs have."""
    add = group.add_argument
    add(
        "--messages",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="message files (docs/reference/message-files.md)",
    )
    add(
        "--generated",
        metavar="NAME,…",
        help="messages that are made here: all, none, or names (default: all unless files are given)",
    )
    add("--codecs", default="", metavar="NAME,…", help="what to compare (default: all that are here)")
    add("--seed", type=int, default=1, metavar="N", help="of generated messages (default: 1)")


def benchmark_of(
    args: argparse.Namespace, known: Sequence[str], default_bytes: str, default_modes: str
) -> CodecBenchmark:
    """Makes the benchmark of the options. An option that was not given is the collectives' default object itself."""
    for file in args.messages:
        if not is_message_file(file):
            raise AntiphonError(f"{file}: is no message file", hint="`antiphon compress-test` takes any data")
    asked = args.generated or ("none" if args.messages else "all")
    generated = [] if asked == "none" else list(known) if asked == "all" else asked.split(",")
    wrong = [name for name in generated if name not in known]
    if wrong:
        raise AntiphonError(f"--generated: no messages are named {wrong[0]!r}", hint=f"there are {', '.join(known)}")
    modes = ["sent", "warm"] if args.modes is default_modes else args.modes.split(",")
    unknown = [mode for mode in modes if mode not in codecs.MODES]
    if unknown:
        raise AntiphonError(f"--modes: codecs have no mode {unknown[0]!r}", hint=f"there are {', '.join(codecs.MODES)}")
    asked_bytes = "4k,64k,1m" if args.bytes is default_bytes else args.bytes
    sizes = [size_option("--bytes", text, least=1) for text in asked_bytes.split(",")]
    bits = rate_option("--link-rate", args.link_rate or "100mbit")
    budget_s = 0.3 if args.budget is None else args.budget
    if budget_s < 0:
        raise AntiphonError(f"--budget {budget_s:g}: is below zero")
    names = args.codecs.split(",") if args.codecs else []
    return CodecBenchmark(
        args.messages, generated, [0, *sizes] if "sent" in modes else sizes, modes, names, args.seed, budget_s, bits / 8
    )


def measure(args: argparse.Namespace, default_bytes: str, default_modes: str) -> tuple[CodecResults, int]:
    """Measures and prints; returns the results and the exit code."""
    known = [event["name"] for event in codecs.listed() if event["event"] == "generated"]
    benchmark = benchmark_of(args, known, default_bytes, default_modes)
    with output.stderr().status("measuring") as status:
        results = codecs.run(benchmark, lambda event: status.update(output.literal(_progress(event))))
    if args.json != "-":
        show(results)
    for cell in results.wrong:
        output.print_error(f"{cell.contender} does not give back the messages of {cell.source}")
    return results, EXIT_FAILURE if results.wrong else 0


def _progress(event: Any) -> str:
    return f"{event['source']}, {event['mode']}, {event['contender']}" if "contender" in event else "measuring"


def show(results: CodecResults) -> None:
    """Prints all tables."""
    sent = [cell for cell in results.cells if cell.mode == "sent"]
    for kind, title in (("file", "messages of files"), ("generated", "generated messages")):
        chosen = [cell for cell in sent if cell.kind == kind]
        if chosen:
            tables.print_wide(sent_table(results, chosen, f"{title}, as they were sent"))
    for mode in ("warm", "cold"):
        chosen = [cell for cell in results.cells if cell.mode == mode]
        if chosen:
            tables.print_wide(size_table(results, chosen, mode))
    for name, why in results.missing.items():
        output.stderr().print(f"left out: {name}: {why}", soft_wrap=True)


def sent_table(results: CodecResults, cells: Sequence[CodecMeasurement], title: str) -> Table:
    """Prints one row per codec and one column per stream if there are few streams; else one row per stream, with rates
    alone.
    """
    contenders = [name for name in results.contenders() if name != "copy"]
    sources = list(dict.fromkeys(cell.source for cell in cells))
    found = {(cell.source, cell.contender): cell for cell in cells}
    if len(sources) <= 6:
        table = tables.new_table(f"{title}: rate, and GB/s in / out ({results.instruction_set})")
        for heading in ("codec", *sources, "geometric mean"):
            table.add_column(heading, justify="left" if heading == "codec" else "right", no_wrap=True)
        for name in contenders:
            table.add_row(
                name, *(_three(found.get((source, name))) for source in sources), _means(results, name, cells)
            )
        return table
    table = tables.new_table(f"{title}: rate ({results.instruction_set})")
    for heading in ("messages", *contenders):
        table.add_column(
            heading.replace("blosc2-", "b2-").replace("shuffle-", "shuf-"), justify="right" if table.columns else "left"
        )
    for source in sources:
        row = [found.get((source, name)) for name in contenders]
        table.add_row(
            source, *("–" if cell is None else _rate(cell.rate) for cell in row), end_section=source == sources[-1]
        )
    for heading, text in (("geometric mean", 0), ("GB/s in", 1), ("GB/s out", 2)):
        table.add_row(heading, *(_mean_parts(results, name, cells)[text] for name in contenders))
    return table


def size_table(results: CodecResults, cells: Sequence[CodecMeasurement], mode: str) -> Table:
    """Prints one row per codec and one column per size: geometric means over all streams."""
    sizes = sorted({cell.bytes for cell in cells})
    about = {"warm": "plans and history kept, in the caches", "cold": "nothing kept, nothing in the caches"}[mode]
    table = tables.new_table(
        f"messages of one size, {mode} ({about}):\ngeometric means over all streams of rate, and GB/s in / out"
    )
    table.add_column("codec")
    for size in sizes:
        table.add_column(tables.bytes_text(size), justify="right")
    for name in results.contenders():
        table.add_row(name, *(_means(results, name, [cell for cell in cells if cell.bytes == size]) for size in sizes))
    return table


def _speed(bytes_per_s: float) -> str:
    gigabytes = bytes_per_s / 1e9
    if gigabytes >= 99.5:  # A message that is sent as it is need not be read.
        return ">99"
    return f"{gigabytes:.0f}" if gigabytes >= 9.995 else f"{gigabytes:.2f}"


def _rate(rate: float) -> str:
    return f"{rate:.3f}" if rate < 9.9995 else f"{rate:.1f}" if rate < 99.95 else f"{rate:.0f}"


def _three(cell: CodecMeasurement | None) -> str:
    if cell is None:
        return "–"
    return f"{_rate(cell.rate)} {_speed(cell.encode_bytes_per_s)}/{_speed(cell.decode_bytes_per_s)}"


def _mean_parts(results: CodecResults, name: str, cells: Sequence[CodecMeasurement]) -> tuple[str, str, str]:
    rate = results.geometric_mean(name, lambda cell: cell.rate, cells)
    encode = results.geometric_mean(name, lambda cell: cell.encode_bytes_per_s, cells)
    decode = results.geometric_mean(name, lambda cell: cell.decode_bytes_per_s, cells)
    if rate is None or encode is None or decode is None:
        return "–", "–", "–"
    return _rate(rate), _speed(encode), _speed(decode)


def _means(results: CodecResults, name: str, cells: Sequence[CodecMeasurement]) -> str:
    rate, encode, decode = _mean_parts(results, name, cells)
    return rate if rate == "–" else f"{rate} {encode}/{decode}"
