# SPDX-License-Identifier: Apache-2.0
"""The testbed that a command's options ask for."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from antiphon import mpi as mpis
from antiphon.bench.testbed import HostTestbed, LabTestbed, Testbed
from antiphon.commands import _options
from antiphon.errors import AntiphonError
from antiphon.lab import DEFAULT_CLUSTER, Lab, load_cluster, state
from antiphon.mpi.program import find_mpi
from antiphon.placement.starting import where
from antiphon.units import rate_option


@contextlib.contextmanager
def open_testbed(args: argparse.Namespace) -> Iterator[Testbed]:
    """Yields the testbed of the options that `_options.add_where` declares; a lab made for it is removed afterwards."""
    if args.lab is None:
        for option in _options.given_where(args, "transport", "map_by"):
            raise AntiphonError(f"{option} is for a lab", hint="leave it away, or add --lab")
        rate = args.link_rate or os.environ.get("ANTIPHON_LINK_BITS_PER_S")
        link_bits_per_s = rate_option("--link-rate", rate) if rate else None
        place = where(args.hostfile, args.launcher, args.launcher_args, args.n)
        yield HostTestbed(link_bits_per_s, place)
        return
    if args.hostfile or args.link_rate or args.launcher_args or args.launcher:
        raise AntiphonError(
            "--hostfile, --link-rate, --launcher and --launcher-args are not for a lab", hint="leave them or --lab away"
        )
    running = {record["name"] for record in state.list_labs()}
    lab = Lab.attach(args.lab) if args.lab in running else Lab(load_cluster(args.lab or DEFAULT_CLUSTER))
    with lab:
        yield LabTestbed(lab, map_by=args.map_by, transport=args.transport)


def library_of(program: Sequence[str], choice: str | None) -> mpis.Mpi:
    """Returns the library of a program with its arguments, else the one that --mpi names, else the first."""
    if program:
        # The ranks that run here are Antiphon's own, which no sanitizer looks at.
        return replace(find_mpi(program[0], choice, args=program[1:]), sanitizer=None)
    return mpis.chosen(choice)[0]
