# SPDX-License-Identifier: Apache-2.0
"""Open MPI 4.1 and 5.0: the rules file of coll_tuned_dynamic_rules_filename.

Its reader wants whole numbers only, in the order below; whatever it does not like makes it ignore the file without a
word. Within a collective it takes the last communicator size that is not above the ranks (else the first), and
within that the last message size that is not above the message's. Open MPI 6 reads the same file, but takes each
communicator size as the end of the one before, so that 64 to 127 ranks get the rules of 128: for it there is
openmpi-json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.exporters import Exported, Options, version_of
from antiphon.exporters import _measured as measured
from antiphon.exporters import _openmpi as openmpi
from antiphon.exporters._openmpi import CommRules, MessageRule

SUMMARY = "Open MPI 4.1 and 5.0: rules file"

#: From this version on a rule may have a fifth number, if the file begins with the version of its format.
_WITH_REQUESTS = (5, 0, 7)
_VERSION_LINE = "rule-file-version-2"

USAGE = """\
mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename /absolute/path/of/FILE …
With several ranks on a node `coll/han` comes first and asks it only between nodes: add `--mca coll_han_priority 0`.
`--mca coll_base_verbose 25` says at start whether the file was read."""


def export(profile: Mapping[str, Any], options: Options) -> Exported:
    """Returns the file's text; refuses Open MPI 6."""
    known = measured.of_library(profile, "openmpi")
    version = version_of(options.reader_version or known.version)
    if version >= (6,):
        raise AntiphonError(
            f"Open MPI {'.'.join(map(str, version))} reads the sizes of communicators in this file as the "
            "ends of their ranges, so that rules would apply to the wrong ones",
            hint="--to openmpi-json",
        )
    left_out: list[str] = []
    tables = list(openmpi.tables(known, left_out, version >= _WITH_REQUESTS))
    if not tables:
        raise AntiphonError("nothing to export: the library's own choice was best everywhere", exit_code=1)
    text = _text(known, tables, version >= _WITH_REQUESTS)
    _verify(text, version, known, tables)
    return Exported(text, USAGE, left_out)


def _text(known: measured.MeasuredDecisions, tables: Sequence[tuple[str, list[CommRules]]], versioned: bool) -> str:
    # The version must be the very first thing, even before a comment.
    lines = [_VERSION_LINE] if versioned else []
    lines += [
        f"# by antiphon export, from measurements of {known.label} on {known.nodes} nodes",
        f"{len(tables)}  # collectives",
    ]
    for collective, comms in tables:
        filled = _gaps_filled(comms)
        lines += [f"{openmpi.COLLECTIVES[collective]}  # {collective}", f"{len(filled)}  # communicator sizes"]
        for comm in filled:
            lines += [f"{comm.low} {len(comm.rules)}  # from {comm.low} ranks on: rules"]
            lines += [_line(collective, rule, versioned) for rule in comm.rules]
    return "\n".join(lines) + "\n"


def _gaps_filled(comms: Sequence[CommRules]) -> list[CommRules]:
    """Adds rules for communicators below and above the measured sizes that act as if there were no rule."""
    nothing = (MessageRule(0, 0),)
    before = [CommRules(0, comms[0].low - 1, nothing)] if comms[0].low > 0 else []
    return [*before, *comms, CommRules(comms[-1].high + 1, 1 << 30, nothing)]


def _line(collective: str, rule: MessageRule, versioned: bool) -> str:
    numbers = f"{rule.low} {rule.algorithm} {rule.fanout} {rule.segment_bytes}"
    name = openmpi.ALGORITHMS[collective][rule.algorithm - 1] if rule.algorithm else "the library's own choice"
    return f"{numbers}{f' {rule.requests}' if versioned else ''}  # from {rule.low} B: {name}"


def _verify(
    text: str,
    version: tuple[int, ...],
    known: measured.MeasuredDecisions,
    tables: Sequence[tuple[str, list[CommRules]]],
) -> None:
    """Reads the text as Open MPI does, and compares at every measured point and border."""
    for collective, ranks, message, wanted in openmpi.intended(known, tables):
        found = lookup(text, version, collective, ranks, message)
        if found != wanted:
            raise AntiphonError(
                f"the file would be misread: {collective} on {ranks} ranks, {message} bytes: {found} for {wanted}",
                exit_code=1,
            )


def lookup(text: str, version: tuple[int, ...], collective: str, ranks: int, message: int) -> MessageRule | None:
    """Returns the rule that Open MPI of this version finds, or None where it finds none. Raises ValueError if it would
    ignore the whole file.
    """
    comms = parse(text).get(openmpi.COLLECTIVES[collective], [])
    if not comms:
        return None
    if version >= (6,):
        borders = [0, *(size for size, _ in comms[:-1])]
        at = max(i for i, low in enumerate(borders) if low <= ranks)
        rules = comms[at][1]
    else:
        rules = ([rules for size, rules in comms if size <= ranks] or [comms[0][1]])[-1]
    matching = [rule for rule in rules if rule.low <= message]
    return matching[-1] if matching else None


def parse(text: str) -> dict[int, list[tuple[int, list[MessageRule]]]]:
    """Parses the text as the reader does: {collective: [(communicator size, rules)]}."""
    versioned = text.startswith(_VERSION_LINE)
    lines = [line.partition("#")[0].split() for line in text.removeprefix(_VERSION_LINE).splitlines()]
    words = _Words(lines)
    result: dict[int, list[tuple[int, list[MessageRule]]]] = {}
    for _ in range(words.next()):
        number, comms = words.next(), []
        for _ in range(words.next()):
            size, rules = words.next(), []
            for i in range(words.next()):
                low, algorithm, fanout, segment = (words.next() for _ in range(4))
                if i == 0 and low != 0:
                    raise ValueError("the first message size must be 0")
                requests = words.next() if versioned and words.more_on_line() else 0
                rules.append(MessageRule(low, algorithm, fanout, segment, requests))
            comms.append((size, rules))
        if not 0 <= number <= 21:
            raise ValueError(f"{number} is no collective")
        result[number] = comms
    return result


class _Words:
    """Reads numbers across lines; a fifth number of a rule counts only on the same line."""

    def __init__(self, lines: Sequence[Sequence[str]]) -> None:
        self._words = [(word, number) for number, line in enumerate(lines) for word in line]
        self._at = 0

    def next(self) -> int:
        if self._at >= len(self._words):
            raise ValueError("the file ends too early")
        word = self._words[self._at][0]
        if not word.isdigit():
            raise ValueError(f"{word!r} is not a number")
        self._at += 1
        return int(word)

    def more_on_line(self) -> bool:
        return 0 < self._at < len(self._words) and self._words[self._at][1] == self._words[self._at - 1][1]
