# SPDX-License-Identifier: Apache-2.0
"""Print what to set or pass to start a program with mpirun or srun yourself

For PROGRAM (or the library that --mpi names) in the form that the shell or the launcher wants:

  mpirun $(antiphon env --mpirun ./solver) -n 4 ./solver
  srun --export=ALL,$(antiphon env --slurm ./solver) ./solver
  eval "$(antiphon env ./solver)"        then start it as ever; unset LD_PRELOAD afterwards
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from antiphon import output
from antiphon.commands import _options
from antiphon.errors import AntiphonError
from antiphon.mpi import Mpi, by_name
from antiphon.mpi.launch import check_written, checked_for_slurm, rank_environment, vouched
from antiphon.mpi.program import find_mpi, locate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon env`."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--shell", choices=("sh", "csh", "fish"), help="as commands of this shell (default: sh)")
    form.add_argument("--slurm", action="store_true", help="as a value for srun --export=ALL,…")
    form.add_argument("--mpirun", action="store_true", help="as options for the MPI's mpirun or mpiexec")
    form.add_argument("--json", action="store_true", help="as JSON, with the MPI that was found")
    _options.add_settings(parser)
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="the MPI program (or give --mpi)")


def run(args: argparse.Namespace) -> int:
    """Prints the variables."""
    if not args.program and not args.mpi:
        raise AntiphonError("neither PROGRAM nor --mpi given", hint="antiphon env ./solver")
    mpi = find_mpi(args.program, args.mpi) if args.program else by_name(args.mpi)
    variables = rank_environment(mpi, _options.settings(args), os.environ)
    check_written(variables, locate(args.program) if args.program else None)
    if args.json:
        output.print_json({"mpi": mpi.to_json(), "variables": variables})
    elif args.slurm:
        sys.stdout.write(
            ",".join(f"{key}={value}" for key, value in checked_for_slurm(vouched(variables)).items()) + "\n"
        )
    elif args.mpirun:
        sys.stdout.write(" ".join(_launcher_options(mpi, variables)) + "\n")
    else:
        sys.stdout.writelines(_assignment(args.shell or "sh", *item) + "\n" for item in variables.items())
    return 0


def _assignment(shell: str, key: str, value: str) -> str:
    if shell == "csh":
        return f"setenv {key} {shlex.quote(value)};"
    if shell == "fish":
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {key} '{escaped}';"
    return f"export {key}={shlex.quote(value)}"


def _launcher_options(mpi: Mpi, variables: dict[str, str]) -> list[str]:
    """Returns the launcher's options for $(…), which a shell splits at blanks and does not unquote: nothing can be
    quoted here.
    """
    variables = {key: value for key, value in variables.items() if value}  # An empty setting is the same as none.
    for key, value in variables.items():
        if len(value.split()) != 1:
            raise AntiphonError(f"{key}={value!r} has blanks, which $(…) would split",
                                hint=f"export {key} yourself")  # fmt: skip
    if mpi.family == "openmpi":
        return [word for key, value in variables.items() for word in ("-x", f"{key}={value}")]
    return [word for key, value in variables.items() for word in ("-genv", key, value)]
