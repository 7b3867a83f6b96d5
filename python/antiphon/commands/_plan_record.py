# SPDX-License-Identifier: Apache-2.0
"""The run that `antiphon plan` records, and the machine that it was on."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import model, output, run_summary
from antiphon.cluster import files as clusters
from antiphon.cluster import profile as cluster_profile
from antiphon.commands import run as run_command
from antiphon.documents import parse_json
from antiphon.errors import AntiphonError
from antiphon.lab import Lab, load_cluster, state
from antiphon.mpi import waiting
from antiphon.mpi.launch import Settings, rank_environment
from antiphon.mpi.program import find_mpi
from antiphon.output import files
from antiphon.trace import Trace
from antiphon.trace.writer import join_parts, parts_of
from antiphon.units import rate_option

if TYPE_CHECKING:
    from antiphon.plan.making import Recorded

NO_MACHINE = "--profile FILE of `antiphon probe`, --cluster NAME, or --link-rate RATE"


@contextlib.contextmanager
def recording(args: argparse.Namespace, plan: Path, *, compress: bool) -> Iterator[Recorded]:
    """Runs the program, and gives its trace with all that belongs to it. What was recorded stays if no plan follows."""
    from antiphon.plan.making import Recorded

    lab = _lab_of(args)
    machine = machine_of(args, lab.spec.to_dict() if lab else None)
    if args.trace is not None:
        files.check(args.trace, overwrite=args.overwrite, sources=(Path(args.program), args.profile))
    trace = _folder(plan) / f"plan-{os.getpid()}.trace"
    summary = trace.with_suffix(".summary.json")
    kept: Path | None = trace
    try:
        _run(args, lab, Settings(trace=trace, summary=str(summary), compress="on" if compress else None))
        found = Trace.load(trace)
        if args.trace is not None:
            shutil.copyfile(trace, args.trace)
            kept = args.trace
        evidence = summary_of(summary) if compress else None
        yield Recorded(found, machine(found), args.profile is None, args.args, evidence, args.library, args.min_calls)
        kept = None
    finally:
        _tidy(trace, summary, kept)


def _folder(plan: Path) -> Path:
    """Returns the plan's directory, for rank 0 may be on another node; where the plan is a device, this directory."""
    target = files.replaced(plan)
    return target.parent if target is not None else Path.cwd()


def _tidy(trace: Path, summary: Path, kept: Path | None) -> None:
    """Removes what belongs to a recorded run, except what is kept of it, and says where that is."""
    if kept == trace and not trace.is_file():
        with contextlib.suppress(AntiphonError):
            join_parts(trace)
    left = {trace, summary, *parts_of(trace)}
    if kept is not None and kept.is_file():
        also = f" --summary {summary}" if summary.is_file() else ""
        text = f"the recorded run is kept: `antiphon plan{also} … {kept}` makes the plan from it"
        output.stderr().print(text, soft_wrap=True, markup=False)
        left -= {kept, summary}
    for file in left:
        file.unlink(missing_ok=True)


def _lab_of(args: argparse.Namespace) -> Lab | None:
    if args.lab is None:
        return None
    running = {one["name"] for one in state.list_labs()}
    return Lab.attach(args.lab) if args.lab in running else Lab(load_cluster(args.lab))


def _run(args: argparse.Namespace, lab: Lab | None, settings: Settings) -> None:
    """Runs the program under the recorder."""
    mpi = find_mpi(args.program, args.mpi, args=args.args)
    argv = [args.program, *args.args]
    env = rank_environment(mpi, settings, os.environ)
    if lab is None:
        _check(args, waiting.run(run_command.start_of(args, mpi, argv, env), _to_stderr()))
        return
    with lab:
        output.stderr().print(f"lab: {lab.spec.summary()}", soft_wrap=True, markup=False)
        result = lab.mpirun(mpi, args.n, argv, env=env, map_by=args.map_by)
    output.stderr().print(result.stdout, end="", markup=False, soft_wrap=True)
    if result.exit_code:
        output.stderr().print(result.stderr, end="", markup=False, soft_wrap=True)
    _check(args, result.exit_code)


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


def machine_of(args: argparse.Namespace, lab: Mapping[str, Any] | None) -> Callable[[Trace], str]:
    """Reads what the options say of the machine; with a trace, that is the text of a profile."""
    if args.profile is not None:
        text = _profile_text(args.profile)
    elif args.cluster is not None:
        text = cluster_profile.text_of(clusters.load(args.cluster))
    elif lab is not None:
        text = cluster_profile.text_of(clusters.spec_of(lab, str(lab.get("name"))))
    elif args.link_rate is not None:
        rate = f"{rate_option('--link-rate', args.link_rate)}bit"
        return lambda trace: _on_one_switch(trace, rate, args.link_rate)
    else:
        raise AntiphonError("the machine is not known", hint=NO_MACHINE)
    return lambda _: text


def _on_one_switch(trace: Trace, rate: str, option: str) -> str:
    """Returns the profile of the trace's nodes on a switch with links of this rate."""
    described = {"nodes": max(trace.nodes) + 1, "rate": rate, "ranks_per_node": _most(trace.nodes)}
    return cluster_profile.text_of(clusters.spec_of(described, f"--link-rate {option}"))


def _profile_text(path: Path) -> str:
    try:
        parse_json(path.read_text(encoding="utf-8"))["topology"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AntiphonError(f"{path} is no profile: {error}", hint="`antiphon probe` writes profiles") from None
    return model.read_profile(path) or ""  # It is named, so it has a text.


def _most(nodes: Sequence[int]) -> int:
    """The most ranks on a node."""
    return max(Counter(nodes).values())
