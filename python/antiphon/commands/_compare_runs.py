# SPDX-License-Identifier: Apache-2.0
"""The runs that `antiphon compare` makes: the same program and ranks, without Antiphon and with it."""

from __future__ import annotations

import argparse
import contextlib
import copy
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from antiphon import run_summary
from antiphon.bench import running
from antiphon.bench.comparison import ANTIPHON, PLAIN, Ended, Run
from antiphon.bench.testbed import LabTestbed, Testbed
from antiphon.commands import _options
from antiphon.commands import run as run_command
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.lab import Lab
from antiphon.mpi import Mpi
from antiphon.mpi.launch import Launch, environment_without, rank_environment
from antiphon.output import files
from antiphon.placement import Placement, launching
from antiphon.plan import using


def runs_of(
    args: argparse.Namespace, mpi: Mpi, testbed: Testbed, summary: Path | None, on_line: Callable[[str], None]
) -> tuple[Run, int]:
    """Returns what runs the program, and the number of ranks. The warm-up alone writes `summary`, which takes time."""
    if isinstance(testbed, LabTestbed):
        return _in_lab(args, mpi, testbed.lab, summary, on_line)
    return _on_hosts(args, mpi, testbed, summary, on_line)


def _with_summary(env: dict[str, str], summary: Path | None) -> dict[str, str]:
    return env if summary is None else {**env, "ANTIPHON_SUMMARY": str(summary)}


def _on_hosts(
    args: argparse.Namespace, mpi: Mpi, testbed: Testbed, summary: Path | None, on_line: Callable[[str], None]
) -> tuple[Run, int]:
    without = copy.copy(args)
    env = run_command.environment(args, mpi)
    if args.placement is not None:
        _place_without(without, Placement.load(args.placement))
    ranks = args.n or without.n or testbed.ranks()
    argv = [args.program, *args.args]
    starts: dict[str, Launch] = {
        PLAIN: run_command.start_of(without, mpi, argv, environment_without(mpi, os.environ)),
        ANTIPHON: run_command.start_with(args, mpi, env),
    }
    first = run_command.start_with(args, mpi, _with_summary(env, summary))
    run_command.check_launcher(first)

    def run(way: str, number: int, left_s: float | None) -> Ended:
        start = first if way == ANTIPHON and number == 0 else starts[way]
        stdout: list[str] = []
        began_s = time.monotonic()
        code, stderr, timed_out = running.run(start, _both(stdout.append, on_line), left_s, args.stdin)
        return Ended(code, time.monotonic() - began_s, stdout, stderr.splitlines(), timed_out)

    return run, ranks


def _place_without(args: argparse.Namespace, placement: Placement) -> None:
    """Gives the runs without Antiphon the placement's nodes and numbers of ranks, in the launcher's own order."""
    args.n = placement.ranks
    if args.hostfile is None:
        counts = zip(placement.nodes, placement.ranks_on(), strict=True)
        args.hostfile = launching.keep("".join(f"{node.name} slots={len(on)}\n" for node, on in counts if on))


def _in_lab(
    args: argparse.Namespace, mpi: Mpi, lab: Lab, summary: Path | None, on_line: Callable[[str], None]
) -> tuple[Run, int]:
    using.apply(args, mpi, [(name, lab.spec.ranks_per_node) for name in lab.spec.node_names()])
    envs = {
        PLAIN: environment_without(mpi, os.environ),
        ANTIPHON: rank_environment(mpi, _options.settings(args), os.environ),
    }
    placement = Placement.load(args.placement) if args.placement else None
    ranks = args.n or (placement.ranks if placement else lab.spec.ranks)

    def run(way: str, number: int, left_s: float | None) -> Ended:
        own = way == ANTIPHON
        env = _with_summary(envs[way], summary if own and number == 0 else None)
        stdout: list[str] = []
        done = lab.mpirun(
            mpi, ranks, [args.program, *args.args], env=env, timeout_s=left_s, on_stdout=_both(stdout.append, on_line),
            map_by=args.map_by, transport=args.transport, stdin=args.stdin, placement=placement if own else None,
        )  # fmt: skip
        return Ended(done.exit_code, done.elapsed_s, stdout, done.stderr.splitlines(), done.timed_out)

    return run, ranks


def _both(one: Callable[[str], None], other: Callable[[str], None]) -> Callable[[str], None]:
    def take(line: str) -> None:
        one(line)
        other(line)

    return take


@contextlib.contextmanager
def summary_file() -> Iterator[Path | None]:
    """Yields where a run may write its summary, which goes afterwards: here, for rank 0 may be on another node. None
    where nothing can be written.
    """
    path = Path.cwd() / f".antiphon-compare-{os.getpid()}.json"
    try:
        files.check(path)
    except AntiphonError:
        yield None
        return
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def share_of(summary: Path | None) -> run_summary.Share | None:
    """Returns what collectives took of the run that wrote the summary, or None if there is none."""
    if summary is None or not summary.is_file():
        return None
    try:
        return run_summary.share(parse_json(summary.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, ZeroDivisionError):
        return None
