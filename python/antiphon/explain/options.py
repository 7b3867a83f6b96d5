# SPDX-License-Identifier: Apache-2.0
"""Reads the collective call that a command's options describe."""

from __future__ import annotations

import argparse

from antiphon import core
from antiphon.errors import AntiphonError
from antiphon.explain.explanation import ExplainedCall
from antiphon.model import switches
from antiphon.units import rate_option, size_option, whole_number

#: This rate is assumed where --link-rate is missing, because the table of rules needs one.
ASSUMED_RATE = "1gbit"


def call_of_options(args: argparse.Namespace, profile: str | None = None) -> ExplainedCall:
    """Returns the call that the options describe; `profile`, its text, says what they leave out."""
    known = {c.name: c for c in core.collectives()}
    if args.collective is None or args.ranks is None:
        raise AntiphonError("a collective and --ranks, or --pattern, or --plan are needed",
                            hint="antiphon explain alltoall --ranks 16 --bytes 64k, or see --help")  # fmt: skip
    collective = known.get(args.collective)
    if collective is None:
        raise AntiphonError(f"{args.collective!r} is not a collective that Antiphon schedules",
                            hint=f"there are: {', '.join(known)}")  # fmt: skip
    for option, value in (("--ranks", args.ranks), ("--ranks-per-node", args.ranks_per_node)):
        if value < 1:
            raise AntiphonError(f"{option} {value}: must be at least 1")
    if not 0 <= args.root < args.ranks:
        raise AntiphonError(f"--root {args.root}: not one of the ranks 0 … {args.ranks - 1}")
    if args.bytes is None and args.collective != "barrier":
        raise AntiphonError("--bytes is missing",
                            hint=f"antiphon explain {args.collective} --ranks {args.ranks} --bytes 64k")  # fmt: skip
    element_bytes = _element_bytes(args, collective)
    size = 0 if args.collective == "barrier" else size_option("--bytes", args.bytes)
    if size % element_bytes:
        raise AntiphonError(f"--bytes {size}: not a multiple of the element's {element_bytes} bytes",
                            hint="name the element's size with --element-bytes")  # fmt: skip
    return ExplainedCall(args.collective, args.ranks, args.ranks_per_node, size, args.root, element_bytes,
                not args.ordered, rate_of(args.link_rate, profile), library_of(args.mpi, profile),
                args.transport, args.nonblocking, switch_sizes(args, profile), args.shared_cores)  # fmt: skip


def switch_sizes(args: argparse.Namespace, profile: str | None) -> tuple[int, ...]:
    """Returns how many ranks each switch has, by --switches, else by the profile; nothing with one switch."""
    if not args.switches:
        return switches.of_profile(profile, args.ranks, args.ranks_per_node)
    behind = [(str(number), count) for number, count in enumerate(switch_counts(args.switches))]
    return switches.of_nodes(behind, args.ranks, args.ranks_per_node)


def switch_counts(text: str) -> list[int]:
    """Returns how many nodes --switches puts behind each switch."""
    counts = [whole_number(part.strip()) or 0 for part in text.split(",")]
    if not all(counts):
        raise AntiphonError(
            f"--switches: {text!r} is no list of numbers above zero", hint="nodes behind each switch, as 8,8"
        )
    return counts


def rate_of(option: str | None, profile: str | None) -> int:
    """Returns the bits per second of a node's link: by --link-rate, else by the profile, else what is assumed."""
    if option is not None or profile is None:
        return link_rate(option or ASSUMED_RATE)
    return int(core.query("profile", text=profile)["link_bits_per_s"])


def library_of(option: str | None, profile: str | None) -> str:
    """Returns the library that rules are asked for: by --mpi, else the one that the profile was measured with."""
    if option or profile is None:
        return option or ""
    measured = core.query("profile", text=profile)["mpi"]
    return measured if measured in ("openmpi", "mpich") else ""


def _element_bytes(args: argparse.Namespace, collective: core.Collective) -> int:
    if collective.is_reduction:
        value = 8 if args.element_bytes is None else int(args.element_bytes)
        if not 1 <= value <= 65536:
            raise AntiphonError(f"--element-bytes {value}: not within 1 … 65536")
        return value
    for option, given in (("--element-bytes", args.element_bytes is not None), ("--ordered", args.ordered)):
        if given:
            raise AntiphonError(f"{option} is for reductions, which {collective.name} is not")
    return 1


def link_rate(text: str) -> int:
    """Returns the bits per second of --link-rate; 0 where it is unknown."""
    return 0 if text == "unknown" else rate_option("--link-rate", text, "`--link-rate unknown` is possible too")
