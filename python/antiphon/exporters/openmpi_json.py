# SPDX-License-Identifier: Apache-2.0
"""Open MPI 6 and later: the JSON rules of coll_tuned_dynamic_rules_filename.

Its reader takes the first entry that matches, both of communicators and of messages, bounds inclusive; an unknown
collective rejects the whole file, an unknown algorithm the rule. The segment's size is read from `seg_size` alone
(Open MPI's own converter writes another word), and an absent `reqs` means 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.exporters import Exported, Options, version_of
from antiphon.exporters import _measured as measured
from antiphon.exporters import _openmpi as openmpi
from antiphon.exporters._openmpi import CommRules, MessageRule

SUMMARY = "Open MPI 6 and later: JSON rules"

USAGE = """\
mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename /absolute/path/of/FILE …
With several ranks on a node `coll/han` comes first: add `--mca coll_han_priority 0`."""

_KEYS = {"msg_size_min", "msg_size_max", "alg", "seg_size", "faninout", "reqs"}


def export(profile: Mapping[str, Any], options: Options) -> Exported:
    """Returns the document; refuses Open MPI before 6, which reads nothing of it."""
    known = measured.of_library(profile, "openmpi")
    if options.reader_version and version_of(options.reader_version) < (6,):
        raise AntiphonError(f"Open MPI {options.reader_version} cannot read JSON rules", hint="--to openmpi-rules")
    left_out: list[str] = []
    if version_of(known.version) < (6,):
        left_out.append(
            f"measured with {known.label}; its algorithms have the same names in Open MPI 6, not always the same speed"
        )
    tables = list(openmpi.tables(known, left_out, with_requests=True))
    if not tables:
        raise AntiphonError("nothing to export: the library's own choice was best everywhere", exit_code=1)
    text = (
        json.dumps(
            {
                "rule_file_version": 3,
                "module": "tuned",
                "collectives": {
                    collective: [_comm(collective, comm, known) for comm in comms] for collective, comms in tables
                },
            },
            indent=1,
        )
        + "\n"
    )
    _verify(text, known, tables)
    return Exported(text, USAGE, left_out)


def _comm(collective: str, comm: CommRules, known: measured.MeasuredDecisions) -> dict[str, Any]:
    ends: list[int | str] = [rule.low - 1 for rule in comm.rules[1:]]
    ends.append("inf")
    rules = [_rule(collective, rule, end) for rule, end in zip(comm.rules, ends, strict=True) if rule.algorithm]
    spread = "one-per-node" if known.ranks_per_node == 1 else "any"
    return {"comm_size_min": comm.low, "comm_size_max": comm.high, "comm_rank_distribution": spread, "rules": rules}


def _rule(collective: str, rule: MessageRule, end: int | str) -> dict[str, Any]:
    return {
        "msg_size_min": rule.low,
        "msg_size_max": end,
        "alg": openmpi.ALGORITHMS[collective][rule.algorithm - 1],
        "faninout": rule.fanout,
        "seg_size": rule.segment_bytes,
        "reqs": rule.requests,
    }


def _verify(text: str, known: measured.MeasuredDecisions, tables: Sequence[tuple[str, list[CommRules]]]) -> None:
    for collective, ranks, message, wanted in openmpi.intended(known, tables):
        found = lookup(text, collective, ranks, message)
        expected = (
            None
            if wanted is None or wanted.algorithm == 0
            else (wanted.algorithm, wanted.fanout, wanted.segment_bytes, wanted.requests)
        )
        if found != expected:
            raise AntiphonError(
                f"the file would be misread: {collective} on {ranks} ranks, {message} bytes: {found} for {expected}",
                exit_code=1,
            )


def lookup(text: str, collective: str, ranks: int, message: int) -> tuple[int, int, int, int] | None:
    """Returns the (algorithm, fan-out, segment, requests) that Open MPI 6 finds. ValueError: the file is ignored."""
    collectives = _typed(_typed(parse_json(text), dict, "the document").get("collectives"), dict, "collectives")
    for name in collectives:
        if name not in openmpi.COLLECTIVES:
            raise ValueError(f"{name} is no collective")
    for comm in _typed(collectives.get(collective, []), list, collective):
        if _number(comm, "comm_size_min", 0) <= ranks <= _number(comm, "comm_size_max", 2**31 - 1):
            return _first(collective, _typed(comm.get("rules"), list, "rules"), message)
    return None


def _first(collective: str, rules: Sequence[Any], message: int) -> tuple[int, int, int, int] | None:
    for rule in rules:
        low = _number(rule, "msg_size_min", 0)
        if not set(rule) <= _KEYS:
            raise ValueError(f"{set(rule) - _KEYS} would not be read")
        if rule.get("alg") not in openmpi.ALGORITHMS[collective] or not low <= message:
            continue
        if rule.get("msg_size_max", "inf") == "inf" or message <= _number(rule, "msg_size_max", 0):
            number = openmpi.ALGORITHMS[collective].index(rule["alg"]) + 1
            return number, _number(rule, "faninout", 0), _number(rule, "seg_size", 0), _number(rule, "reqs", 0)
    return None


def _number(node: Any, key: str, otherwise: int) -> int:
    return int(_typed(_typed(node, dict, "a rule").get(key, otherwise), int, key))


def _typed(value: Any, wanted: type, what: str) -> Any:
    if not isinstance(value, wanted):
        raise ValueError(f"{what} is not of the kind that Open MPI reads")
    return value
