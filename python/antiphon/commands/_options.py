# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path

from antiphon.launch import Settings


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Adds what decides how a program runs under Antiphon."""
    parser.add_argument(
        "--mpi",
        metavar="MPI",
        help="openmpi, mpich, mpiabi, or the path of a prefix, an mpirun or a "
        "libmpi (default: the one the program is linked to)",
    )
    parser.add_argument("--profile", type=Path, metavar="FILE", help="profile of the machine, with its decisions")
    parser.add_argument(
        "--plan",
        type=Path,
        metavar="FILE",
        help="schedules for patterns that are known, as written by `antiphon compile`",
    )
    parser.add_argument(
        "--summary",
        nargs="?",
        const="1",
        metavar="FILE",
        help="show at the end what was accelerated; --summary=FILE writes it there (FILE.json: as JSON)",
    )
    parser.add_argument(
        "--force",
        metavar="SPEC",
        help="force algorithms: 'alltoall:rotated:window=2;bcast:chain', "
        "or '*:on' for Antiphon's own choice at all sizes",
    )
    parser.add_argument(
        "--capture",
        type=Path,
        metavar="DIR",
        help="keep what each rank sends (point-to-point, 1 KiB and "
        "more, 64 MiB a rank) in DIR/rank-N.msgs, for compress-test",
    )
    parser.add_argument(
        "--compress",
        choices=("auto", "on", "off"),
        help="losslessly compress point-to-point messages of at "
        "least 1 KiB between nodes: where a profile's codec speeds and link rate, and then what each channel's "
        "messages gain, say that it pays (auto, the default with a profile); the second alone (on)",
    )
    parser.add_argument("--off", action="store_true", help="load Antiphon, but let it pass every call through")


def settings(args: argparse.Namespace) -> Settings:
    """The settings that `add_settings`'s options ask for."""
    return Settings(
        off=args.off,
        profile=args.profile,
        force=args.force,
        summary=args.summary,
        plan=args.plan,
        capture=args.capture,
        compress=args.compress,
    )
