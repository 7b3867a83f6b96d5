# SPDX-License-Identifier: Apache-2.0
"""`antiphon bench --profile`: compares what was measured with what the model of a profile predicts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import model, packed
from antiphon.commands import _bench_json, _options
from antiphon.documents import parse_json
from antiphon.draw import curves
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.bench.validation import ModelCheck

#: Contenders that run what no prediction is asked for.
_NOT_PREDICTED = ("*:library", "*:auto")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options that compare with the model."""
    add = parser.add_argument
    add("--profile", type=Path, action="append", metavar="FILE", help="compare with what the model of this profile "
        "predicts")  # fmt: skip
    _options.add_old_name(parser, "--predict", "--profile")
    add("--results", type=Path, action="append", metavar="FILE", help="with --profile: compare these results (of "
        "--json) instead of measuring; several are compared with one profile, or each with its own, in that order, and "
        "what was measured twice counts as in the last file")  # fmt: skip
    add("--svg", type=Path, metavar="FILE", help="with --profile: predicted over measured times, as a chart")


def check_options(args: argparse.Namespace) -> None:
    """Raises an error for options that leave nothing to compare."""
    paths: list[Path] = args.profile or []
    if (args.results or args.svg) and not paths:
        raise _nothing_to_compare()
    others = [name for name in ("overhead", "presence", "pattern") if getattr(args, name)]
    if paths and others and not args.results:
        raise AntiphonError(f"--profile compares collectives, which --{others[0]} does not measure",
                            hint="leave one of them away")  # fmt: skip
    if len(paths) not in (0, 1, _files(args)):
        what = f"{_files(args)} files of results" if args.results else "what is measured"
        raise AntiphonError(f"--profile: {len(paths)} profiles for {what}",
                            hint="give one, or one for each file of --results")  # fmt: skip


def _files(args: argparse.Namespace) -> int:
    """Returns how many lists of results there are to compare; what is measured is one."""
    return len(args.results or [None])


def profiles_of(args: argparse.Namespace) -> list[str]:
    """Returns a profile's text for each list of results; none without --profile. Also tries what draws a chart."""
    if args.svg:
        curves.pyplot()
    profiles = [str(model.read_profile(path, packed_too=True)) for path in args.profile or ()]
    return profiles * _files(args) if len(profiles) == 1 else profiles


def check_contenders(contenders: Sequence[str]) -> None:
    """Raises the error of a comparison that would find no algorithm of Antiphon's."""
    if all(contender in _NOT_PREDICTED for contender in contenders):
        raise AntiphonError("--profile: no algorithm of Antiphon's is among the contenders",
                            hint="measure with --algorithms all")  # fmt: skip


def _nothing_to_compare() -> AntiphonError:
    what = "--results and --svg need --profile FILE and results"
    return AntiphonError(what, hint="`antiphon probe` writes a profile")


def read_results(file: Path) -> list[dict[str, Any]]:
    """Reads what `antiphon bench --json` wrote."""
    from antiphon.bench import validation

    try:
        rows = list(parse_json(packed.read_text(file))["results"])
        for row in rows:
            validation.check_row(row)
        return rows
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AntiphonError(f"--results {file}: not results of `antiphon bench --json` ({error})") from None


def compare_files(args: argparse.Namespace, profiles: Sequence[str]) -> int:
    """Compares the files of --results, all of one profile's machine or each of its own."""
    from antiphon.bench import validation

    measured = [read_results(file) for file in args.results]
    if not any(measured):
        raise _nothing_to_compare()
    measured = validation.without_older(measured)
    compared = compare(measured, profiles)
    if args.json:
        rows = [row for part in measured for row in part]
        _bench_json.write(args.json, {"results": rows, "predictions": compared.rows()})
    show(args, compared)
    return 0


def compare(measured: Sequence[Sequence[dict[str, Any]]], profiles: Sequence[str]) -> ModelCheck:
    """Predicts each list of results with its profile."""
    from antiphon.bench import validation

    parts = [
        validation.compare(rows, profile).entries for rows, profile in zip(measured, profiles, strict=True) if rows
    ]
    return validation.ModelCheck([entry for part in parts for entry in part])


def show(args: argparse.Namespace, compared: ModelCheck) -> None:
    """Prints the comparison, and draws it where --svg asks for that."""
    from antiphon.bench import validation

    if args.json != "-":
        validation.show(compared)
    if args.svg:
        validation.draw(compared, args.svg)
