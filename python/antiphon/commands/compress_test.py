# SPDX-License-Identifier: Apache-2.0
"""What compression would do to your own messages on your own network

FILE is a message file (docs/reference/message-files.md), a .npy file, or any data. Data is cut into messages; files
of the same size are taken for steps of one quantity, which are predicted from each other.

  antiphon compress-test step*.npy --link-rate 1gbit
  antiphon compress-test field.raw --type f32 --message-bytes 256k --profile cluster.json
  antiphon compress-test run.msgs                                  captured messages, as they were sent
  antiphon compress-test --trace run.trace --link-rate 1gbit       no contents: what sizes alone can tell
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.bench import codecs
from antiphon.bench.codecs import CodecMeasurement
from antiphon.codec import break_even, messages
from antiphon.codec.break_even import Gain
from antiphon.commands import _options
from antiphon.documents import parse_json
from antiphon.errors import EXIT_FAILURE, AntiphonError
from antiphon.output import tables
from antiphon.units import rate_option, size_option

#: These are Antiphon's own codecs, which `antiphon run --compress` uses.
OURS = "antiphon"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon compress-test`."""
    add = parser.add_argument
    add("files", nargs="*", type=Path, metavar="FILE", help="your data")
    add("--trace", type=Path, metavar="FILE", help="a trace of `antiphon trace`: messages' sizes, without contents")
    add(
        "--type",
        choices=tuple(messages.TYPES),
        help="what plain data consists of (default: bytes; Antiphon then looks by itself)",
    )
    add(
        "--message-bytes",
        default="64k",
        metavar="N",
        help="plain data and arrays are cut into messages of so many (default: 64k)",
    )
    network = parser.add_mutually_exclusive_group()
    network.add_argument("--link-rate", metavar="RATE", help="what one rank's messages share of the wire, as 1gbit")
    network.add_argument(
        "--profile", type=Path, metavar="FILE", help="profile of the machine: a node's port, shared by its ranks"
    )
    _options.add_old_name(parser, "--bits-per-s", "--link-rate")
    add("--codecs", default="", metavar="NAME,…", help="what to compare (default: all that are here)")
    add("--budget", type=_options.number, default=0.5, metavar="SECONDS", help="for measuring a file (default: 0.5)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace) -> int:
    """Measures and recommends."""
    if bool(args.files) == bool(args.trace):
        raise AntiphonError("give either FILEs or --trace", hint="`antiphon compress-test --help` has examples")
    if args.budget < 0:
        raise AntiphonError(f"--budget {args.budget:g}: is below zero")
    message_bytes = size_option("--message-bytes", args.message_bytes, least=1)
    bytes_per_s = _network(args)
    if args.trace:
        return _of_trace(args, bytes_per_s)
    names = args.codecs.split(",") if args.codecs else []
    with tempfile.TemporaryDirectory() as folder, output.stderr().status("measuring"):
        found = _message_files(args, message_bytes, Path(folder))
        benchmark = codecs.CodecBenchmark(found, contenders=names, budget_s=args.budget)
        if bytes_per_s:
            benchmark = replace(benchmark, wire_bytes_per_s=bytes_per_s)
        results = codecs.run(benchmark)
    if args.json:
        rows = [{**row, **_figures(cell, bytes_per_s)} for cell, row in zip(results.cells, results.rows(), strict=True)]
        output.print_json({"bytes_per_s": bytes_per_s, "instruction_set": results.instruction_set, "results": rows})
    else:
        for source in dict.fromkeys(cell.source for cell in results.cells):
            _show([cell for cell in results.cells if cell.source == source], bytes_per_s, args)
        for name, why in results.missing.items():
            output.stderr().print(f"left out: {name}: {why}", soft_wrap=True)
    for cell in results.wrong:
        output.print_error(f"{cell.contender} does not give back the messages of {cell.source}")
    return EXIT_FAILURE if results.wrong else 0


def _network(args: argparse.Namespace) -> float | None:
    """Returns the bytes per second for one rank, or None where the options do not say it."""
    if args.link_rate:
        return rate_option("--link-rate", args.link_rate) / 8
    return _share_of_profile(args.profile) if args.profile else None


def _share_of_profile(path: Path) -> float:
    """Returns a node's port rate over the ranks that share it."""
    try:
        profile = parse_json(path.read_text(encoding="utf-8"))
        ports = [node["port_bytes_per_s"] for node in profile["topology"]["nodes"]]
        share: float = min(ports) / profile["machine"].get("ranks_per_node", 1)
        return share
    except OSError as error:
        raise AntiphonError(f"--profile {path}: {error.strerror}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise AntiphonError(f"--profile {path}: is no profile ({error})", hint="`antiphon probe` makes one") from None


def _message_files(args: argparse.Namespace, message_bytes: int, folder: Path) -> list[Path]:
    """Keeps message files as they are; all other data becomes one more file."""
    captured = [file for file in args.files if messages.is_message_file(file)]
    plain = [file for file in args.files if file not in captured]
    if plain:
        name = plain[0].name if len(plain) == 1 else f"{len(plain)} files"
        target = folder / f"{name}.msgs"
        with target.open("wb") as file:
            for message in messages.of_data(plain, args.type, message_bytes):
                messages.write(file, message)
        captured.append(target)
    return captured


def gain_of(cell: CodecMeasurement) -> Gain:
    """Returns the quantities of equations 1 to 4."""
    return Gain(cell.raw_bytes, cell.frame_bytes, cell.encode_least_s, cell.decode_least_s)


def _figures(cell: CodecMeasurement, bytes_per_s: float | None) -> dict[str, Any]:
    gain = gain_of(cell)
    figures: dict[str, Any] = {
        "serial_break_even_bytes_per_s": gain.serial_break_even_bytes_per_s,
        "overlapped_break_even_bytes_per_s": gain.overlapped_break_even_bytes_per_s,
    }
    if bytes_per_s:
        word, why = break_even.verdict(gain, bytes_per_s)
        figures |= {
            "serial_speed_up": gain.serial_speed_up(bytes_per_s),
            "verdict": word,
            "why": why,
            "overlapped_speed_up": gain.overlapped_speed_up(bytes_per_s),
        }
    return figures


def _show(cells: Sequence[CodecMeasurement], bytes_per_s: float | None, args: argparse.Namespace) -> None:
    first = cells[0]
    size = tables.bytes_text(round(first.raw_bytes / first.messages))
    table = tables.new_table(f"{first.source}: {first.messages} messages, {size} on average")
    headings = ["codec", "rate", "encode", "decode", "pays below", "overlapped"]
    if bytes_per_s:
        headings += [f"at {_bits(bytes_per_s)}", "overlapped"]
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "codec" else "right")
    for cell in cells:
        gain = gain_of(cell)
        row = [cell.contender, f"{gain.rate:.3f}", _speed(cell.encode_bytes_per_s), _speed(cell.decode_bytes_per_s)]
        row += [_bits(gain.serial_break_even_bytes_per_s), _bits(gain.overlapped_break_even_bytes_per_s)]
        if bytes_per_s:
            row += [
                tables.ratio_text(gain.serial_speed_up(bytes_per_s)),
                tables.ratio_text(gain.overlapped_speed_up(bytes_per_s)),
            ]
        if cell.contender != "copy":
            table.add_row(*row)
    tables.print_wide(table)
    for line in recommendation(cells, bytes_per_s):
        output.stdout().print(line, soft_wrap=True)


def recommendation(cells: Sequence[CodecMeasurement], bytes_per_s: float | None) -> list[str]:
    """Says in words what to do with these messages."""
    ours = next((cell for cell in cells if cell.contender == OURS), None)
    if ours is None:
        return []
    gain = gain_of(ours)
    if bytes_per_s is None:
        if gain.rate < break_even.WORTH_IT:
            return ["Compression would not help: these messages hardly become shorter."]
        return [
            "Compression pays where one rank's share of the wire is below "
            f"{_bits(gain.serial_break_even_bytes_per_s)}, "
            f"below {_bits(gain.overlapped_break_even_bytes_per_s)} where coding long messages overlaps sending them. "
            "--link-rate or --profile says it for your network."
        ]
    word, why = break_even.verdict(gain, bytes_per_s)
    text = {
        "on": "Compress: `antiphon run --compress auto`",
        "overlapped": "Leave it to `--compress auto`",
        "off": "Leave compression off",
    }
    lines = [f"{text[word]}; {why}."]
    others = [cell for cell in cells if cell.contender not in (OURS, "spatial", "temporal", "copy")]
    best = max(others, key=lambda cell: gain_of(cell).overlapped_speed_up(bytes_per_s), default=None)
    if best and gain_of(best).overlapped_speed_up(bytes_per_s) > 1.02 * gain.overlapped_speed_up(bytes_per_s):
        lines.append(f"Of the others {best.contender} would do more here (rate {gain_of(best).rate:.3f}).")
    return lines


def _speed(bytes_per_s: float) -> str:
    # A message that is sent as it is need not be read.
    return f"{bytes_per_s / 1e9:.2f} GB/s" if bytes_per_s < 1e11 else "> 100 GB/s"


def _bits(bytes_per_s: float) -> str:
    if bytes_per_s <= 0:
        return "never"
    bits = 8 * bytes_per_s
    for factor, unit in ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bits >= factor:
            return f"{bits / factor:.3g} {unit}"
    return f"{bits:.0f} b/s"


def _of_trace(args: argparse.Namespace, bytes_per_s: float | None) -> int:
    from antiphon.bench import trace_sizes

    if bytes_per_s is None:
        raise AntiphonError("a trace has sizes only: the network must be known", hint="give --link-rate or --profile")
    return trace_sizes.report(args.trace, bytes_per_s, args.json)
