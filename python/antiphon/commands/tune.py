# SPDX-License-Identifier: Apache-2.0
"""Measure which algorithm is the fastest for each size, and write the decisions into the profile

  antiphon tune --profile machine.json --hostfile nodes -n 16       Open MPI or MPICH, whichever is found first
  antiphon tune --profile machine.json --lab --mpi openmpi,mpich    in an emulated cluster, for both
  antiphon tune --profile machine.json --lab --for-export           the library's own algorithms, for `antiphon export`
  antiphon run --profile machine.json ./solver                      uses the decisions

What the model expects near the best is measured beside the library's own collective, interleaved, with a barrier
before each call and back to back; first of all what earlier tunings decided and what runs on these nodes have learned,
so that it is confirmed or refuted. A choice is taken only where it beats the library beyond noise. Interrupted, it
goes on where it ended when it is started again. Every sample is kept beside the profile.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon import core, model, output
from antiphon import mpi as mpis
from antiphon import profile as profiles
from antiphon.bench.collectives import CollectiveResults, RaceCell
from antiphon.bench.results import json_document, modes_of
from antiphon.bench.testbed import Testbed
from antiphon.commands import _keeping, _options, _tune_tables
from antiphon.commands._testbed import open_testbed
from antiphon.errors import EXIT_FAILURE, EXIT_INTERRUPTED, AntiphonError
from antiphon.lab import Lab, state
from antiphon.model import bounds
from antiphon.output import files, progress, tables
from antiphon.profile import store
from antiphon.tune import conclusions, document, driver, grid, known, predictors
from antiphon.tune.state import TuningState
from antiphon.units import size_option

if TYPE_CHECKING:
    from antiphon.tune.modelled import ModelledRules, Subject
DEFAULT_MODES, DEFAULT_BUDGET_S = "sync,throughput", 180.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon tune`."""
    add = parser.add_argument
    add("collectives", nargs="*", metavar="COLLECTIVE", help="as MPI names it; or all (default: the ten main ones)")
    add(
        "--profile",
        type=Path,
        default=Path("machine.json"),
        metavar="FILE",
        help="profile that gets the decisions; begun from the links' rate if there is none (default: %(default)s)",
    )
    add(
        "--budget",
        type=_options.number,
        default=DEFAULT_BUDGET_S,
        metavar="SECONDS",
        help="for each library, everything included (default: 180)",
    )
    modes = "a choice must lose in none of them (default: %(default)s)"
    add("--modes", default=DEFAULT_MODES, metavar="M,…", help=modes)
    add("--bytes", metavar="N,…", help="sizes to measure (default: 8 to 1 MiB)")
    add("--whole", action="store_true", help="for communicators of all ranks only, not of a half and a quarter of them")
    add(
        "--for-export",
        action="store_true",
        help="measure the library's own algorithms instead of Antiphon's; changes no decision",
    )
    add(
        "--model",
        action="store_true",
        help="decide by the model alone, from a profile of `antiphon probe`: measures nothing, takes seconds, and "
        "replaces nothing that was measured",
    )
    add("--restart", action="store_true", help="throw away what an interrupted tuning measured")
    add("--dry-run", action="store_true", help="show what would be measured, and measure nothing")
    _keeping.add_option(parser)
    _options.add_where(parser, link_rate="")
    parser.add_argument("--json", action="store_true", help="print rules and evidence as JSON")


def run(args: argparse.Namespace) -> int:
    """Tunes for each library in turn."""
    files.check(args.profile)
    request = make_request(args)
    if args.model:
        return _decide_by_model(args, request)
    found = mpis.chosen(*(args.mpi or "").split(","))
    if args.profile.exists():
        profiles.load(args.profile)  # An error in the profile is reported before anything is measured.
    outcomes: dict[str, conclusions.TuningResult] = {}
    plans: dict[str, Any] = {}
    with open_testbed(args) as testbed:
        request = replace(request, ranks=args.n or testbed.ranks())
        for mpi in found:
            outcome = _tune(args, request, testbed, mpi, plans)
            if args.dry_run:
                continue
            if outcome is None:
                return EXIT_INTERRUPTED
            outcomes[mpi.label] = outcome
            if not args.json:
                _tune_tables.show(outcome, request, mpi, args.profile)
            _tune_tables.tell_wrong(outcome)
        if args.dry_run:
            _show_plans(plans, args.json)
            return 0
        right = not any(outcome.wrong for outcome in outcomes.values())
        if request.purpose == driver.DECISIONS and right and not args.no_keep:
            _keeping.keep(profiles.load(args.profile), args.profile, testbed, found)
    if args.json:
        output.print_json({label: o.to_json() for label, o in outcomes.items()})
    return EXIT_FAILURE if any(o.wrong for o in outcomes.values()) else 0


def _decide_by_model(args: argparse.Namespace, request: driver.Request) -> int:
    """Writes decisions that rest on the probe's measurements only, for each library in turn."""
    from antiphon.tune import modelled

    _refuse_measuring(args)
    profile = profiles.load(args.profile)
    names = args.mpi.split(",") if args.mpi else [None]
    subjects = [modelled.subject(profile, args.n, name) for name in names]
    answers = [_modelled(args, request, profile, subject) for subject in subjects]
    if not args.dry_run:
        document.update(args.profile, profile, lambda newest: _put_modelled(args, request, newest, answers))
        if not args.no_keep:
            libraries = [_library_of(profile, subject) for subject in subjects]
            _keeping.keep_in(_stores(args), profiles.load(args.profile), args.profile, libraries)
    if args.json:
        shown = [answer.to_json() for answer in answers]
        output.print_json(shown[0] if len(shown) == 1 else shown)
        return 0
    for answer in answers:
        _tune_tables.show_modelled(answer, "not written" if args.dry_run else f"written to {args.profile}")
    left_out = sorted(set(request.collectives) & grid.UNSIZED)
    if left_out:
        output.stdout().print(f"not covered: {', '.join(left_out)}: the built-in rules", soft_wrap=True)
    return 0


def _refuse_measuring(args: argparse.Namespace) -> None:
    """Raises an error for options that do nothing where nothing is measured."""
    own = (("--modes", args.modes is not DEFAULT_MODES), ("--for-export", args.for_export),
           ("--restart", args.restart), ("--budget", args.budget != DEFAULT_BUDGET_S))  # fmt: skip
    where = ("hostfile", "link_rate", "launcher", "launcher_args", "transport", "map_by")
    for option in [*(name for name, given in own if given), *_options.given_where(args, *where)]:
        raise AntiphonError(f"{option} is about measuring, and --model measures nothing",
                            hint="leave one of them away")  # fmt: skip


def _modelled(
    args: argparse.Namespace, request: driver.Request, profile: dict[str, Any], subject: Subject
) -> ModelledRules:
    """Decides for one library."""
    from antiphon.tune import modelled

    before = _known_of(args, profile, subject)
    with _progress(subject.library.name) as (_say, advance):
        wanted = modelled.points(request.collectives, subject.machine, request.sizes, request.between, request.parts)
        decided = modelled.decide_all(wanted, subject, lambda done, total: advance(done, total, "predicting"), before)
    answer = modelled.ModelledRules(subject, decided)
    _warn(answer.complaints)
    return answer


def _known_of(args: argparse.Namespace, profile: Mapping[str, Any], subject: Subject) -> known.Knowledge:
    return known.of(profile, args.profile, _library_of(profile, subject), _stores(args))


def _put_modelled(
    args: argparse.Namespace, request: driver.Request, profile: dict[str, Any], answers: Iterable[ModelledRules]
) -> None:
    """Puts the rules into the profile, behind what is known by now."""
    for answer in answers:
        subject = answer.subject
        before, per_node = _known_of(args, profile, subject), subject.machine.ranks_per_node
        document.put_modelled(profile, answer.rules, request.collectives, before, subject.family, per_node)


def _warn(lines: Iterable[str]) -> None:
    for line in lines:
        output.print_warning(line)


def _library_of(profile: Mapping[str, Any], subject: Subject) -> tuple[str, str]:
    """Family and version: that which the profile was measured with, else that of the table ("openmpi-5.0")."""
    measured = profile["machine"].get("mpi", {})
    name, version = str(measured.get("name", "")), str(measured.get("version", ""))
    own = store.FAMILIES.get(name, name) == subject.family and version
    return subject.family, version if own else subject.library.key.partition("-")[2]


def _stores(args: argparse.Namespace) -> Sequence[Path | None]:
    """Where runs keep what they learn: this machine's store, or that of a lab that is up."""
    if args.lab is None:
        return store.directories()
    return [Lab.attach(args.lab).store] if args.lab in {record["name"] for record in state.list_labs()} else []


def make_request(args: argparse.Namespace) -> driver.Request:
    """Makes the tuning request of the options."""
    known = [c.name for c in core.collectives()]
    if args.lab in known:  # `--lab bcast`: the word is a collective, not the option's optional value
        args.collectives.append(args.lab)
        args.lab = ""
    if "all" in args.collectives:
        args.collectives = known
    for name in args.collectives:
        if name not in known:
            raise AntiphonError(f"no collective named {name!r}", hint=f"there are {', '.join(known)}")
    if args.n is not None and args.n < 2:
        raise AntiphonError(f"-n {args.n}: at least 2 ranks are needed")
    if not args.budget >= 5:
        raise AntiphonError(f"--budget {args.budget:g}: at least 5 seconds are needed")
    modes = modes_of(args.modes)
    purpose = driver.EXPORT if args.for_export else driver.DECISIONS
    collectives = tuple(dict.fromkeys(args.collectives or grid.MAIN))
    request = driver.Request(collectives, tuple(modes), args.budget, args.n, purpose, parts=not args.whole)
    if args.bytes:
        sizes = tuple(size_option("--bytes", text) for text in args.bytes.split(","))
        request = replace(request, sizes=sizes, between=())
    return request


def _show_plans(plans: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        output.print_json(plans)
        return
    for library, plan in plans.items():
        _tune_tables.show_plan(plan["cells"], library, plan["too_long"])


def _tune(
    args: argparse.Namespace, request: driver.Request, testbed: Testbed, mpi: mpis.Mpi, plans: dict[str, Any]
) -> conclusions.TuningResult | None:
    """Tunes one library; returns None where that is interrupted, or only goes into `plans`."""
    elapsed = driver.stopwatch()
    with _progress(mpi.label) as (say, advance):
        say("looking around")
        here = driver.look_around(testbed, mpi, request.ranks)
        if here.nodes < 2 and request.purpose == driver.DECISIONS:
            raise AntiphonError(
                "all ranks are on one node, where the library's shared memory is left alone",
                hint="name the nodes with --hostfile, or try --lab",
            )
        profile = _profile(args, here)
        if here.network is None and here.nodes > 1:
            here.network = bounds.network_of(profile, here.node_of_rank)
        request = replace(request, known=_known(args, here, profile), profile=document.model_text(profile))
        cells, wanted = _planned(request, here, advance)
        if args.dry_run:
            rows = _tune_tables.plan_rows(cells, request, here.machine)
            plans[mpi.label] = {"cells": rows, "too_long": len(wanted.too_long)}
            return None
        state = TuningState(driver.state_path(args.profile, mpi, request.purpose), driver.header(request, here))
        state.open(args.restart)
        measured = _measure(request, here, cells, state, elapsed, advance)
        if measured is None:
            return None
    outcome = conclusions.draw(request, here, wanted, state)
    told = json_document(measured)
    outcome.wrong, outcome.skipped = told["wrong"], [*told["skipped"], *outcome.skipped]

    def put(newest: dict[str, Any]) -> None:
        document.put_rules(newest, outcome.rules)
        document.put_evidence(newest, outcome.evidence)

    document.update(args.profile, profile, put)
    state.close(complete=True)
    return outcome


def _planned(
    request: driver.Request, here: driver.Surroundings, advance: Callable[[int, int, str], None]
) -> tuple[list[RaceCell], grid.Grid]:
    """The cells and their grid; warns of what the model could not evaluate."""
    assert request.profile is not None
    left_out: dict[str, list[tuple[str, str]]] = {}
    predictor = predictors.of(
        request.profile,
        here.machine,
        lambda point, choice, why: left_out.setdefault(point.collective, []).append((choice, why)),
    )
    planned = driver.plan_cells(request, here, predictor, lambda done, total: advance(done, total, "planning"))
    for collective, failed in left_out.items():
        _warn(f"{collective}: {line}" for line in model.complaints(failed))
    return planned


def _measure(
    request: driver.Request,
    here: driver.Surroundings,
    cells: list[RaceCell],
    state: TuningState,
    elapsed: Callable[[], float],
    advance: Callable[[int, int, str], None],
) -> list[CollectiveResults] | None:
    """Measures what the state lacks, and again what is in doubt. Returns None if interrupted."""
    finished = len(state.finished)

    def on_event(event: Mapping[str, Any]) -> None:
        nonlocal finished
        finished += event["event"] == "cell_done"
        if event["event"] == "result":
            text = f"{event['collective']} {tables.bytes_text(event['bytes'])} {event['ranks']} ranks"
            advance(finished, len(cells), text)

    try:
        first = driver.measure(request, here, cells, state, elapsed(), on_event)
        second = driver.measure_again(request, here, state, elapsed(), on_event)
        return [first, second]
    except KeyboardInterrupt:
        state.close(complete=False)
        output.print_warning(f"interrupted; what was measured is kept in {state.path}: the same command goes on")
        return None
    except AntiphonError:
        state.close(complete=False)
        raise


def _known(args: argparse.Namespace, here: driver.Surroundings, profile: Mapping[str, Any]) -> known.Knowledge:
    """What earlier tunings and runs have found on these nodes."""
    names = here.testbed.node_names()[: here.nodes]
    return known.of(profile, args.profile, (here.mpi.family, here.mpi.version), here.testbed.stores(), names)


def _profile(args: argparse.Namespace, here: driver.Surroundings) -> dict[str, Any]:
    if args.profile.exists():
        profile = profiles.load(args.profile)
        nodes = profile.get("machine", {}).get("nodes")
        if isinstance(nodes, int) and nodes < here.nodes:
            output.print_warning(
                f"{args.profile} describes {nodes} nodes, and this runs on {here.nodes}: is it this machine's?"
            )
        return profile
    if here.network is None:
        raise AntiphonError(
            f"there is no profile {args.profile}, and the rate of the nodes' links is not known",
            hint=f"`antiphon probe -o {args.profile}` measures it, or give --link-rate 1gbit",
        )
    output.print_warning(f"{args.profile} does not exist: begun as a first guess from the links' rate")
    return document.first_guess(here.testbed.describe(), here.node_of_rank, here.network)


@contextlib.contextmanager
def _progress(label: str) -> Iterator[tuple[Callable[[str], None], Callable[[int, int, str], None]]]:
    """Shows a bar, and gives what says a text and what moves it as well."""
    with progress.bar(f"{label}: starting", None) as move:
        yield (
            lambda text: move(description=f"{label}: {text}"),
            lambda done, total, text: move(completed=done, total=total, description=f"{label}: {text}"),
        )
