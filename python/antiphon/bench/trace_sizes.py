# SPDX-License-Identifier: Apache-2.0
"""Shows the sizes of a trace's messages, and how well each would have to compress to gain."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.bench import codecs
from antiphon.codec import break_even
from antiphon.errors import AntiphonError
from antiphon.output import tables
from antiphon.trace import RankTrace, Trace
from antiphon.traffic import of_trace

#: Sizes are grouped by powers of four, starting here.
FIRST_CLASS_BYTES = 1024
CLASSES = 7
#: These messages stand for the user's own when the speed of the codec is measured.
STAND_IN = "heat"


@dataclass(frozen=True)
class SizeClass:
    """All messages of at least this many bytes, and less than four times as many."""

    least_bytes: int
    messages: int
    bytes: int
    #: Messages gain from this rate on if the steps run one after the other; None: at no rate.
    least_rate: float | None


@dataclass(frozen=True)
class Speed:
    """The cost of encoding and decoding: seconds per message and seconds per byte (l0' and l1' of the paper)."""

    fixed_s: float
    per_byte_s: float


def of_rank(rank: RankTrace, notes: set[str]) -> Iterator[int]:
    """Returns the bytes of each message that a rank sends; `notes` gets what is not known of them."""
    yield from sizes(rank.calls)
    started, more = of_trace.persistent_sends(rank, of_trace.ALWAYS)
    notes |= more
    for shape, times in started.items():
        yield from itertools.repeat((shape.send_count or 0) * (shape.send_size or 0), times)


def sizes(calls: Iterable[Any]) -> Iterator[int]:
    """Returns the bytes of each message that calls of a trace send, but for persistent ones."""
    for call in calls:
        if not of_trace.is_sending(call.function):
            continue
        blocks = call.shape.send_bytes()
        if blocks is not None:
            yield from filter(None, blocks)
        elif call.shape.send_count is not None and call.shape.send_size is not None:
            yield call.shape.send_count * call.shape.send_size


def classes(all_sizes: Iterable[int], bytes_per_s: float, speed: Speed) -> list[SizeClass]:
    """Groups messages by size; the first class has all messages that are too short to be compressed."""
    counts: Counter[int] = Counter()
    volume: Counter[int] = Counter()
    for size in all_sizes:
        number = 0
        while number < CLASSES and size >= FIRST_CLASS_BYTES * 4**number:
            number += 1
        counts[number] += 1
        volume[number] += size
    found = []
    for number in sorted(counts):
        least = FIRST_CLASS_BYTES * 4 ** (number - 1) if number else 0
        mean = volume[number] / counts[number]
        rate = break_even.least_rate(mean, bytes_per_s, speed.fixed_s, speed.per_byte_s) if number and mean else None
        found.append(SizeClass(least, counts[number], volume[number], rate))
    return found


def measured_speed() -> Speed:
    """Returns the speed of Antiphon's own choice on this machine: a line through two sizes."""
    short, long = 1024, 65536
    results = codecs.run(codecs.CodecBenchmark((), (STAND_IN,), (short, long), ("warm",), ("antiphon",), budget_s=0.2))
    times = {cell.bytes: (cell.encode_least_s + cell.decode_least_s) / cell.messages for cell in results.cells}
    if times.keys() != {short, long}:
        raise AntiphonError("the codec's speed could not be measured here")
    per_byte_s = max(0.0, (times[long] - times[short]) / (long - short))
    return Speed(max(0.0, times[short] - per_byte_s * short), per_byte_s)


def report(path: Path, bytes_per_s: float, as_json: bool) -> int:
    """Reads the trace and prints."""
    trace = Trace.load(path)
    speed = measured_speed()
    notes: set[str] = set()
    found = classes((size for rank in trace.ranks for size in of_rank(rank, notes)), bytes_per_s, speed)
    if as_json:
        output.print_json(
            {
                "bytes_per_s": bytes_per_s,
                "fixed_s": speed.fixed_s,
                "per_byte_s": speed.per_byte_s,
                "classes": [asdict(one) for one in found],
                "notes": sorted(notes),
            }
        )
        return 0
    if found:
        _show(path, found, speed)
    else:
        output.stdout().print(f"{path}: no call that sends something of a known size", soft_wrap=True)
    for note in sorted(notes):
        output.stdout().print(note, soft_wrap=True)
    return 0


def _show(path: Path, found: Sequence[SizeClass], speed: Speed) -> None:
    total = sum(one.bytes for one in found)
    table = tables.new_table(f"{path}: what its messages must reach to gain")
    for heading in ("messages of", "number", "bytes", "share", "rate from which they gain"):
        table.add_column(heading, justify="left" if heading == "messages of" else "right")
    for one in found:
        name = (
            f"{tables.bytes_text(one.least_bytes)} …"
            if one.least_bytes
            else f"below {tables.bytes_text(FIRST_CLASS_BYTES)}"
        )
        needed = (
            "not compressed"
            if not one.least_bytes
            else "none is enough"
            if one.least_rate is None
            else f"{one.least_rate:.3f}"
        )
        table.add_row(
            name, str(one.messages), tables.bytes_text(one.bytes), f"{100 * one.bytes / max(total, 1):.0f} %", needed
        )
    tables.print_wide(table)
    output.stdout().print(
        f"Here coding takes {tables.time_text(speed.fixed_s)} a message and does "
        f"{1e-9 / max(speed.per_byte_s, 1e-15):.2f} GB/s, both ways together. A trace has no contents: what rate your "
        "messages do reach, files of them tell (`antiphon compress-test FILE`).",
        soft_wrap=True,
    )
