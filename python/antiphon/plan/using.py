# SPDX-License-Identifier: Apache-2.0
"""What a run can use of a plan: it says in a line what does not fit, and leaves that out."""

from __future__ import annotations

import argparse
from pathlib import Path

from antiphon import output
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi
from antiphon.mpi.hosts import Hosts, short
from antiphon.placement import Placement, starting
from antiphon.plan.document import Plan


def apply(args: argparse.Namespace, mpi: Mpi, hosts: Hosts | None = None) -> None:
    """Lets the plan of --plan fill in the options that the user leaves away. `hosts`: the nodes of a lab."""
    if args.plan is None or not args.plan.is_file():
        return
    try:
        plan = Plan.quick(args.plan)
    except AntiphonError:
        return  # The check of all settings says what is wrong.
    if not plan.made_for:
        return
    _compare_program(plan, args)
    if plan.compression and args.compress is None:
        args.compress = plan.compression["use"]
        args.compress_min_bytes = plan.compression.get("least_bytes")
    if plan.placement is None or args.placement is not None or args.n not in (None, plan.ranks):
        return
    missing = _lacking_here(plan.placement, args, mpi) if hosts is None else lacking(plan.placement, hosts)
    if missing:
        output.print_warning(f"--plan {args.plan}: the placement is left out: {missing}")
        return
    args.placement = args.plan
    if hosts is None:
        args.hostfile = None


def lacking(placement: Placement, hosts: Hosts) -> str:
    """Returns what the job's nodes lack for the placement; without hosts, nothing is known of them."""
    slots = {short(name): count for name, count in hosts}
    for node, ranks in zip(placement.nodes, placement.ranks_on(), strict=True):
        if not slots or not ranks:
            continue
        if short(node.name) not in slots:
            return f"{node.name} is no node of this job"
        if len(ranks) > slots[short(node.name)]:
            return f"{node.name} has {slots[short(node.name)]} slots here, and {len(ranks)} ranks are for it"
    return ""


def _lacking_here(placement: Placement, args: argparse.Namespace, mpi: Mpi) -> str:
    here = starting.where(args.hostfile, args.launcher, args.launcher_args, args.n, mpi=mpi)
    if not here.is_told_ranks(mpi):
        return f"{here.launcher} cannot be told where ranks go"
    return lacking(placement, here.hosts())


def _compare_program(plan: Plan, args: argparse.Namespace) -> None:
    """Says if the plan is of another program, or of another input."""
    program, arguments = str(plan.made_for.get("program", "")), plan.made_for.get("arguments")
    if program and Path(program).name != Path(args.program).name:
        what = f"{program}, not of {args.program}"
    elif arguments is not None and list(arguments) != list(args.args):
        what = " ".join([program, *arguments]) + ", another input"
    else:
        return
    output.print_warning(f"--plan {args.plan} is of {what}: calls that differ are done as without it")
