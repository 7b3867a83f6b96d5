# SPDX-License-Identifier: Apache-2.0
"""Run an MPI program with its collectives accelerated

Finds the MPI that PROGRAM is linked to (for Python programs: the one that mpi4py loads), preloads the object that fits
and starts the matching launcher. Options go before PROGRAM; everything after it belongs to the program.

  antiphon run -n 4 ./solver input.dat
  antiphon run -n 64 --hostfile nodes --summary ./solver input.dat
  antiphon run -n 4 python3 script.py
  antiphon run ./solver                  inside a Slurm, PBS, LSF, Flux or Grid Engine job: on its nodes and slots
  antiphon run --launcher srun -n 64 ./solver
  antiphon run --placement placement.json ./solver       ranks where `antiphon map` wants them
  antiphon run --plan solver.plan ./solver input.dat     what `antiphon plan` found: places, algorithms, patterns
  antiphon run --apply solver.trace --profile machine.json ./solver       the same at once, from a trace
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from antiphon import model, output, profile
from antiphon.commands import _options
from antiphon.commands import map as map_command
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi
from antiphon.mpi.launch import Launch, check_written, launch_command, rank_environment, read_hostfile, srun_command
from antiphon.mpi.program import find_mpi, locate
from antiphon.output import files
from antiphon.placement import Placement, launchers, launching, starting
from antiphon.plan import using
from antiphon.units import whole_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon run`."""
    add_launch_options(parser)
    _options.add_settings(parser)
    parser.add_argument("--apply", type=Path, metavar="TRACE", help="place the ranks by this trace and --profile, as "
                        "`antiphon map` would")  # fmt: skip
    map_command.add_wishes(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the launcher's command line, do not run it")
    parser.add_argument("program", metavar="PROGRAM", help="the MPI program")
    parser.add_argument("args", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")


def add_launch_options(parser: argparse._ActionsContainer) -> None:
    """Adds the options that say where the ranks run."""
    parser.add_argument(*_options.RANKS, dest="n", type=_positive, metavar="N", help="number of ranks (default: one "
                        "per core; with a hostfile or in a batch job its slots)")  # fmt: skip
    parser.add_argument("--hostfile", type=Path, metavar="FILE", help="nodes, as `node slots=4` or `node:4`")
    parser.add_argument("--launcher", metavar="NAME", help=starting.HELP)
    parser.add_argument(
        "--launcher-args",
        type=_options.words,
        default="",
        metavar="ARGS",
        help="more options for the launcher",
    )


def run(args: argparse.Namespace) -> int:  # noqa: RET503 (exec does not return)
    """Becomes the launcher, so that its exit code and the signals it gets are exactly those of a plain mpirun."""
    start = prepare(args)
    if args.dry_run:
        sys.stdout.write(start.shell_line() + "\n")
        return 0
    check_launcher(start)
    sys.stdout.flush()
    os.execvpe(start.command[0], start.command, {**os.environ, **start.env})


def prepare(args: argparse.Namespace) -> Launch:
    """Returns the launch that `antiphon run`'s arguments ask for."""
    mpi = mpi_of(args)
    return start_with(args, mpi, environment(args, mpi))


def check_launcher(start: Launch) -> None:
    """Raises an error for a launcher that is not there."""
    if shutil.which(start.command[0]) is None:
        raise AntiphonError(f"{start.command[0]} was not found", hint="give -n N to use the MPI's own launcher")


def mpi_of(args: argparse.Namespace) -> Mpi:
    """Returns the program's MPI, and says what was assumed to find it."""
    mpi = find_mpi(args.program, args.mpi, args=args.args)
    if mpi.note:
        output.print_hint(mpi.note)
    return mpi


def environment(args: argparse.Namespace, mpi: Mpi) -> dict[str, str]:
    """Returns the ranks' variables, and fills in the options that --apply and --plan decide."""
    sources = (locate(args.program), args.hostfile, vars(args).get("apply"), args.profile)
    if vars(args).get("apply") is not None:
        _apply(args, mpi, sources)
    if "placement" in vars(args):  # `antiphon trace` records where ranks go without a plan
        using.apply(args, mpi)
    env = rank_environment(mpi, _options.settings(args), os.environ)
    check_written(env, *sources)
    _check_profile(args)
    return env


def start_with(args: argparse.Namespace, mpi: Mpi, env: dict[str, str]) -> Launch:
    """Returns the launch of the program with these variables, its ranks where a placement wants them."""
    argv = [args.program, *args.args]
    if vars(args).get("placement") is not None:
        return _placed(args, mpi, argv, env, args.launcher_args)
    return start_of(args, mpi, argv, env)


def start_of(args: argparse.Namespace, mpi: Mpi, argv: list[str], env: Mapping[str, str]) -> Launch:
    """Returns the launch of these words, where `add_launch_options`'s options say."""
    here = starting.where(args.hostfile, args.launcher, args.launcher_args, args.n, mpi=mpi)
    return here.start(mpi, args.n, argv, env)


def _apply(args: argparse.Namespace, mpi: Mpi, read: Sequence[Path | None]) -> None:
    """Makes a placement from the trace, for the nodes of --hostfile, of the batch job or of the profile."""
    from antiphon.mapping import sources, tables

    if args.profile is None or args.placement is not None:
        raise AntiphonError("--apply takes the machine from --profile, and makes the placement itself",
                            hint="antiphon run --apply solver.trace --profile machine.json ./solver")  # fmt: skip
    # The file goes beside the trace: where rank 0 could write the trace, it can also read the placement that it checks.
    placement = args.apply.with_name(args.apply.name + ".placement.json")
    files.check(placement, sources=read)
    hosts = starting.where(args.hostfile, args.launcher, args.launcher_args, args.n, mpi=mpi).hosts() or None
    result = sources.place(map_command.sources_of(args, args.apply, args.profile, hosts), map_command.wishes_of(args))
    for line in tables.verdict(result):
        output.stderr().print(line, soft_wrap=True)
    args.placement, args.hostfile = placement, None
    result.placement.save(args.placement)
    output.stderr().print(f"placement: {args.placement}", soft_wrap=True)
    if sources.is_plain_machine(args.profile):
        args.profile = None  # The profile has no decisions, so the ranks need not read it.


def _placed(args: argparse.Namespace, mpi: Mpi, argv: list[str], env: dict[str, str], extra: list[str]) -> Launch:
    """Returns the launch that puts each rank where the placement wants it.

    Where the batch job's own launcher cannot be told, the library's is.
    """
    here = starting.where(args.hostfile, args.launcher, extra, args.n, mpi=mpi)
    if args.launcher is not None and not here.is_told_ranks(mpi):
        raise AntiphonError(f"--launcher {args.launcher} cannot be told where ranks go",
                            hint="`antiphon map --launcher` writes files for other launchers")  # fmt: skip
    by_srun, mpi = here.launcher == "srun", here.library(mpi) or mpi
    launcher = "slurm" if by_srun else launchers.of_mpi(mpi)
    told = launching.tell(launcher, Placement.load(args.placement), args.n, args.hostfile)
    if by_srun:
        start = srun_command(told.ranks, argv, env, [*told.options, *extra])
        return Launch(start.command, {**start.env, **told.env})
    options = [*told.options, *extra]
    command = launch_command(mpi, told.ranks, argv, env, None, options, as_root=os.geteuid() == 0)
    return here.outside(Launch(command, dict(told.env)))


def _check_profile(args: argparse.Namespace) -> None:
    """Raises an error for a profile that no rank could use, before any rank starts; warns about another machine's
    profile.
    """
    if args.profile is None:
        return
    model.read_profile(args.profile)
    hosts = [host for host, _ in read_hostfile(args.hostfile)] if args.hostfile else None
    warning = profile.warning_for_run(args.profile, hosts)
    if warning:
        output.print_warning(warning)


def _positive(text: str) -> int:
    value = whole_number(text)
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of ranks")
    return value
