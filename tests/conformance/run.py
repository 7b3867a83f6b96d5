# SPDX-License-Identifier: Apache-2.0
"""Test suites of mpi4py and MPICH, and real programs, without Antiphon and with it: they must fail in the same
places."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator

import libraries
import mpi4py_part
import outcome
from outcome import Comparison
from work import RESULTS, RUNS, say

from antiphon import output
from antiphon.errors import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_USAGE, AntiphonError
from antiphon.mpi import launch

PARTS = ("mpi4py", "mpich", "programs")
LIBRARIES = {
    "mpi4py": ("openmpi", "mpich"),
    "mpich": ("openmpi", "mpich", "debian-openmpi"),
    "programs": ("debian-openmpi",),
}
#: With more ranks than these, each test takes minutes where MPICH's ranks spin on two cores.
RANKS = {"openmpi": (1, 2, 3, 5), "mpich": (1, 2, 4)}
QUICK_RANKS = {"openmpi": (3,), "mpich": (2,)}


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, prog="make conformance ARGS=…")
    parser.add_argument("part", nargs="*", help=f"what to run: {', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="only what fits into about three minutes")
    parser.add_argument(
        "--mpi", action="append", metavar="NAME", help="only these libraries: openmpi, mpich, debian-openmpi"
    )
    parser.add_argument("--ranks", type=int, action="append", metavar="N", help="mpi4py: only these numbers of ranks")
    parser.add_argument(
        "--max-ranks", type=int, metavar="N", help="mpich: no test on more ranks (default 7; 5 with MPICH)"
    )
    parser.add_argument(
        "--tests",
        action="append",
        metavar="TEXT",
        default=[],
        help="only tests (mpi4py: modules) whose name contains TEXT",
    )
    parser.add_argument(
        "--force",
        default=libraries.FORCED_ON,
        help="what ANTIPHON_FORCE says (default %(default)s); 'compress', alone or after a ';', compresses all, and "
        "'nested' takes ranks to be on nodes of two and uses nested schedules",
    )
    parser.add_argument(
        "--algorithms", action="store_true", help="mpich: its collective tests with each algorithm in turn, too"
    )
    parser.add_argument("--json", action="store_true", help="the summary as JSON on stdout")
    args = parser.parse_args()
    wrong = [part for part in args.part if part not in PARTS]
    if wrong:
        raise AntiphonError(f"there is no part {wrong[0]!r}", hint=f"parts are {', '.join(PARTS)}")
    for name in args.mpi or ():
        if not any(name in names for names in LIBRARIES.values()):
            raise AntiphonError(f"--mpi {name}: not known here", hint="openmpi, mpich or debian-openmpi")
    return args


def comparisons(args: argparse.Namespace) -> Iterator[Comparison]:
    """Runs everything that was asked for."""
    for part in args.part or PARTS:
        if args.quick and not args.part and part != "mpi4py":
            continue
        names = [name for name in LIBRARIES[part] if not args.mpi or name in args.mpi]
        for library in libraries.find(names):
            if part == "mpi4py":
                yield from _mpi4py(library, args)
            elif part == "mpich":
                import mpich_part

                yield from mpich_part.compare(library, args)
            else:
                import programs_part

                yield from programs_part.compare(library, args.force)


def _mpi4py(library: libraries.Library, args: argparse.Namespace) -> Iterator[Comparison]:
    include = args.tests or (mpi4py_part.QUICK_MODULES if args.quick else ())
    for n in args.ranks or (QUICK_RANKS if args.quick else RANKS)[library.name]:
        yield mpi4py_part.compare(library, n, args.force, include)


def _keep_preload_objects() -> None:
    """Copies the preload objects, because a run may take an hour and a build may replace them meanwhile."""
    kept = RUNS / "lib"
    kept.mkdir(parents=True)
    for path in launch.lib_dir().glob("libantiphon-*.so"):
        shutil.copy(path, kept)
    os.environ["ANTIPHON_LIB_DIR"] = str(kept)


def main() -> int:
    """Returns exit code 0 if the same tests fail in both modes."""
    done: list[Comparison] = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM then also ends what was started.
    try:
        args = arguments()
        _keep_preload_objects()
        for result in comparisons(args):
            result.save()
            done.append(result)
            say(
                f"{result.part}, {result.library}, {result.ranks}: "
                f"{len(result.differences)} differences, {len(result.unsteady)} unsteady"
            )
    except AntiphonError as error:
        output.print_error(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        shutil.rmtree(RUNS, ignore_errors=True)
    data = outcome.summarize(done)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "summary.json").write_text(json.dumps(data, indent=2), encoding="utf-8")
    if args.json:
        output.print_json(data)
    else:
        outcome.print_table(data)
    if not done:
        output.print_error("nothing was run", "leave out --mpi, or name another part")
        return EXIT_USAGE
    idle = [c for c in done if c.idle and c.ranks != "1"]
    for c in idle:
        output.print_error(
            f"{c.part}, {c.library}: not one call was accelerated",
            "is the preload object built? `antiphon doctor` tells",
        )
    return EXIT_FAILURE if idle or any(c.differences for c in done) else 0


if __name__ == "__main__":
    sys.exit(main())
