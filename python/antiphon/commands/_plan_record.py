# SPDX-License-Identifier: Apache-2.0
"""The run that `antiphon plan` records, and the machine that it was on."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import output, run_summary
from antiphon.cluster import files as clusters
from antiphon.cluster import profile as cluster_profile
from antiphon.commands import run as run_command
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.lab import Lab, load_cluster, state
from antiphon.mpi.launch import Settings, rank_environment
from antiphon.mpi.program import find_mpi
from antiphon.trace import Trace
from antiphon.units import rate_option

if TYPE_CHECKING:
    from antiphon.plan.making import Recorded

NO_MACHINE = "--profile FILE of `antiphon probe`, --cluster NAME, or --link-rate RATE"


def record(args: argparse.Namespace, *, compress: bool) -> Recorded:
    """Runs the program, and returns its trace with all that belongs to it."""
    from antiphon.plan.making import Recorded

    if args.lab is None and not (args.profile or args.cluster or args.link_rate):
        raise AntiphonError("the machine is not known", hint=NO_MACHINE)
    with tempfile.TemporaryDirectory(prefix="antiphon-plan-") as folder:
        # Ranks on other nodes write nothing, but rank 0 may be on one: the files are then beside the plan.
        place = Path(folder) if args.lab is not None or args.hostfile is None else Path.cwd()
        trace, summary = place / f"plan-{os.getpid()}.trace", place / f"plan-{os.getpid()}.summary.json"
        try:
            cluster = _run(args, Settings(trace=trace, summary=str(summary), compress="on" if compress else None))
            if args.trace is not None and trace.is_file():
                shutil.copyfile(trace, args.trace)
            found = Trace.load(trace)
            facts = summary_of(summary)
        finally:
            for file in (trace, summary):
                file.unlink(missing_ok=True)
    text = machine_text(args, found, cluster)
    evidence = facts if compress else None
    return Recorded(found, text, args.profile is None, args.args, evidence, args.library, args.min_calls)


def _run(args: argparse.Namespace, settings: Settings) -> Mapping[str, Any] | None:
    """Runs the program under the recorder; returns the description of the lab's cluster, if it was in one."""
    mpi = find_mpi(args.program, args.mpi, args=args.args)
    argv = [args.program, *args.args]
    if args.lab is None:
        env = rank_environment(mpi, settings, os.environ)
        start = run_command.start_of(args, mpi, argv, env)
        done = subprocess.run(start.command, env={**os.environ, **start.env}, stdout=_to_stderr(), check=False)
        _check(args, done.returncode)
        return None
    running = {one["name"] for one in state.list_labs()}
    lab = Lab.attach(args.lab) if args.lab in running else Lab(load_cluster(args.lab))
    with lab:
        output.stderr().print(f"lab: {lab.spec.summary()}", soft_wrap=True, markup=False)
        env = rank_environment(mpi, settings, os.environ)
        result = lab.mpirun(mpi, args.n, argv, env=env, map_by=args.map_by)
    output.stderr().print(result.stdout, end="", markup=False, soft_wrap=True)
    if result.exit_code:
        output.stderr().print(result.stderr, end="", markup=False, soft_wrap=True)
    _check(args, result.exit_code)
    return lab.spec.to_dict()


def _to_stderr() -> int:
    """The program's output must not mix with what the command prints."""
    return 2


def _check(args: argparse.Namespace, code: int) -> None:
    if code:
        raise AntiphonError(f"{args.program} ended with exit code {code}, so there is no run to plan from",
                            hint="`antiphon run` shows what it does", exit_code=1)  # fmt: skip


def summary_of(path: Path) -> dict[str, Any]:
    """Reads the summary of a run."""
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AntiphonError(f"{path} is no summary: {error}",
                            hint="antiphon run --summary=run.json writes one") from None  # fmt: skip
    if not run_summary.is_summary(document) or not isinstance(document, dict) or "run_s" not in document:
        raise AntiphonError(f"{path} is no summary of a run", hint="antiphon run --summary=run.json writes one")
    return document


def machine_text(args: argparse.Namespace, trace: Trace, lab: Mapping[str, Any] | None) -> str:
    """Returns the text of the machine's profile, measured or of a description."""
    if args.profile is not None:
        return _profile_text(args.profile)
    if args.cluster is not None:
        return cluster_profile.text_of(clusters.load(args.cluster))
    if lab is not None:
        return cluster_profile.text_of(clusters.spec_of(lab, str(lab.get("name"))))
    if args.link_rate is None:
        raise AntiphonError("the machine is not known", hint=NO_MACHINE)
    nodes = max(trace.nodes) + 1
    described = {"nodes": nodes, "rate": _rate_text(args.link_rate), "ranks_per_node": _most(trace.nodes)}
    return cluster_profile.text_of(clusters.spec_of(described, f"--link-rate {args.link_rate}"))


def _profile_text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text)["topology"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AntiphonError(f"{path} is no profile: {error}", hint="`antiphon probe` writes profiles") from None
    return text


def _rate_text(text: str) -> str:
    return f"{int(rate_option('--link-rate', text))}bit"


def _most(nodes: Sequence[int]) -> int:
    """The most ranks on a node."""
    return max(nodes.count(node) for node in set(nodes))
