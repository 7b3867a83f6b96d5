# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

import argparse
import math
import shlex
from pathlib import Path
from typing import Any

from antiphon import output
from antiphon.mpi.launch import Settings
from antiphon.placement.starting import HELP as LAUNCHER_HELP
from antiphon.units import whole_number

#: The names of the number of ranks, wherever ranks are started.
RANKS = ("-n", "-np", "--ranks")
#: What `--adapt` may say, as ANTIPHON_ADAPT.
ADAPT = ("off", "run", "keep", "reductions", "run,reductions", "keep,reductions")


def words(text: str) -> list[str]:
    """Splits an option's value as a shell would."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be split into words: {error}") from None


def number(text: str) -> float:
    """Returns a number that something can be compared with: neither nan nor infinite."""
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def positive(text: str) -> int:
    """Returns a whole number from 1 on."""
    value = whole_number(text)
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return value


def counts(text: str) -> list[int]:
    """Returns the numbers of a list such as 8,8."""
    return [positive(part.strip()) for part in text.split(",")]


def split_algorithms(text: str) -> list[str]:
    """Splits NAME[:PARAMETER=VALUE,…],…: a comma before PARAMETER=VALUE does not begin a new algorithm."""
    choices: list[str] = []
    for part in filter(None, text.split(",")):
        if "=" in part and ":" not in part and choices:
            choices[-1] += f",{part}"
        else:
            choices.append(part)
    return choices


def library(text: str) -> str:
    """Returns the name of a library whose collectives are assumed; one without a table is an error."""
    if not text:  # argparse also asks about the default, and tables take longer to import than a run takes to start
        return text
    from antiphon.traffic import libraries

    if not libraries.is_known(text):
        raise argparse.ArgumentTypeError(f"there is no table for {text!r}; there are {', '.join(libraries.keys())}")
    return text


def add_where(parser: argparse.ArgumentParser, *, several: bool = True, link_rate: str | None) -> None:
    """Adds the options that decide where something is measured.

    `several` allows several libraries, with commas. `link_rate` says what that option is for; None adds no such option.
    """
    where = parser.add_argument_group("where")
    add = where.add_argument
    add(
        *RANKS,
        dest="n",
        type=int,
        metavar="RANKS",
        help="number of ranks (default: one per core or node; with a hostfile or in a batch job its slots)",
    )
    which = "openmpi, mpich, or a path" + ("; several with commas" if several else "")
    add("--mpi", metavar="MPI", help=f"{which} (default: the first that is found)")
    add("--hostfile", type=Path, metavar="FILE", help="nodes, as `node slots=4` or `node:4`")
    if link_rate is None:
        parser.set_defaults(link_rate=None)
    else:
        add("--link-rate", metavar="RATE", help=f"rate of a node's link, as 1gbit{link_rate}")
    add("--launcher", metavar="NAME", help=LAUNCHER_HELP)
    add("--launcher-args", type=words, default="", metavar="ARGS", help="more options for the launcher")
    add_lab(where)


def add_lab(where: argparse._ActionsContainer) -> None:
    """Adds the options that choose an emulated cluster."""
    add = where.add_argument
    add(
        "--lab",
        nargs="?",
        const="",
        metavar="CLUSTER",
        help="an emulated cluster: a cluster's name or file, or a lab that is up (default: ethernet-16)",
    )
    add("--transport", metavar="T", help="in a lab: what MPICH's messages travel through, ofi or ucx")
    add("--map-by", default="slot", choices=("node", "slot"), help="in a lab: place neighbouring ranks on different "
        "nodes, or fill a node first (default: slot)")  # fmt: skip


def given_where(args: argparse.Namespace, *names: str) -> list[str]:
    """Returns those of `add_where`'s options that somebody gave, as they are written."""
    nothing = {"lab": (None,), "map_by": ("slot",)}
    given = [name for name in names if getattr(args, name) not in nothing.get(name, (None, "", []))]
    return ["-n" if name == "n" else f"--{name.replace('_', '-')}" for name in given]


class _OneAfterTheOther(argparse.Action):
    """Keeps what earlier uses of the option say, as its value would say it."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before};{values}" if before else values)


def add_force(parser: argparse._ActionsContainer, text: str = "as of `antiphon run`") -> None:
    """Adds the option that forces algorithms."""
    parser.add_argument("--force", metavar="SPEC", action=_OneAfterTheOther, help=text)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Adds the options that decide how a program runs under Antiphon, and what is recorded of it."""
    add_choices(parser)
    add = parser.add_argument
    add("--summary", nargs="?", const="1", metavar="FILE", help="show at the end what was accelerated; --summary=FILE "
        "writes it there (FILE.json: as JSON)")  # fmt: skip
    add("--metrics", type=Path, metavar="FILE", help="write at the end what was chosen and how long it took, as "
        "OpenMetrics (Prometheus) text")  # fmt: skip
    add("--trace", type=Path, metavar="FILE", help="record every call in FILE (`antiphon trace` says what is in it), "
        "for `antiphon report`")  # fmt: skip
    add("--capture", type=Path, metavar="DIR", help="keep what each rank sends (point-to-point, 1 KiB and more, 64 MiB "
        "a rank) in DIR/rank-N.msgs, for compress-test")  # fmt: skip
    add("--off", action="store_true", help="load Antiphon, but let it pass every call through")


def add_choices(parser: argparse._ActionsContainer) -> None:
    """Adds the options that decide how a program runs under Antiphon."""
    add = parser.add_argument
    add("--mpi", metavar="MPI", help="openmpi, mpich, mpiabi, or the path of a prefix, an mpirun or a libmpi "
        "(default: the one the program is linked to)")  # fmt: skip
    add("--profile", type=Path, metavar="FILE", help="profile of the machine, with its decisions")
    add("--plan", type=Path, metavar="FILE", help="a plan for the program, as written by `antiphon plan`, or "
        "by `antiphon compile`")  # fmt: skip
    add_force(parser, "force algorithms: 'alltoall:rotated:window=2;bcast:chain', or '*:on' for Antiphon's own choice "
        "at all sizes; several add up")  # fmt: skip
    add("--compress", choices=("auto", "on", "off"), help="compress messages and collectives of 1 KiB and more between "
        "nodes, without loss: auto, if codecs are fast enough for the links (the default where a profile knows both); "
        "on, try it in any case; off, never. With auto and on, messages that do not gain travel as they "
        "are")  # fmt: skip
    add("--codec", choices=("auto", "spatial", "lz4", "zstd", "dfcm"), help="compress with this codec alone, to "
        "compare (default: auto, what suits each channel)")  # fmt: skip
    add("--adapt", choices=ADAPT, metavar="HOW", help="let the run's own calls correct the choices: off, run (forget "
        "at the end) or keep (the default: for the next run on these nodes); with ,reductions also where that changes "
        "the order of floating-point operations, and with it the last bits of results")  # fmt: skip
    add("--progress", choices=("calls", "thread"), help="what advances nonblocking and persistent collectives while "
        "the program computes: its MPI calls (default), or a thread on a core that no rank uses; that needs "
        "MPI_THREAD_MULTIPLE")  # fmt: skip
    add("--order-messages", choices=("on", "off"), help="where the program sends to many nodes by MPI_Isend and then "
        "waits, again and again, let messages go in turn (on, the default), or as they are sent (off)")  # fmt: skip
    add("--shared-memory", choices=("on", "copy", "off"), help="how schedules' messages move within a node: through "
        "shared memory, long ones with one copy (on, the default) or two (copy), or by the library (off)")  # fmt: skip
    add("--topology", metavar="MAP", help="the nodes' switches, as 'left=node01,node02;right=node03'; or on, off")
    add("--reorder", action="store_true", help="let MPI_Cart_create, MPI_Graph_create and "
        "MPI_Dist_graph_create(_adjacent) order ranks anew where the program allows it, by the nodes, and with "
        "--profile by the network")  # fmt: skip
    add("--placement", type=Path, metavar="FILE", help="put ranks where `antiphon map` wants them, and check that they "
        "are there")  # fmt: skip
    add("--strict-placement", action="store_true", help="end the run where a rank is elsewhere")


def settings(args: argparse.Namespace) -> Settings:
    """Returns the settings that the options of `add_settings` or `add_choices` ask for."""
    given = vars(args)  # Commands that record or measure have only some of the options.
    return Settings(
        off=given.get("off", False),
        profile=args.profile,
        force=args.force,
        summary=given.get("summary"),
        metrics=given.get("metrics"),
        plan=args.plan,
        trace=given.get("trace"),
        capture=given.get("capture"),
        compress=given.get("compress"),
        compress_min_bytes=given.get("compress_min_bytes"),
        codec=given.get("codec"),
        adapt=given.get("adapt"),
        progress=given.get("progress"),
        order_messages=given.get("order_messages"),
        shared_memory=given.get("shared_memory"),
        topology=given.get("topology"),
        reorder=given.get("reorder", False),
        placement=given.get("placement"),
        placement_strict=given.get("strict_placement", False),
    )


def add_overwrite(parser: argparse.ArgumentParser, what: str, *, old: str | None = None) -> None:
    """Adds the option that allows to replace a file; `old` is a former name of it."""
    parser.add_argument("--overwrite", action="store_true", help=f"replace {what} if it is there")
    if old is not None:
        add_old_name(parser, old, "--overwrite")


def add_old_name(parser: argparse.ArgumentParser, old: str, new: str) -> None:
    """Lets an option's former name work for a while: it is not in the help, and says the new name on stderr."""
    option = next(action for action in parser._actions if new in action.option_strings)

    class Renamed(argparse.Action):
        def __call__(self, parser, namespace, values, option_string=None):  # type: ignore[no-untyped-def]
            output.print_hint(f"{old} is called {new} now; the old name goes away some day")
            option(parser, namespace, values, option_string)

    renamed = Renamed(
        [old],
        dest=option.dest,
        nargs=option.nargs,
        const=option.const,
        default=option.default,
        type=option.type,  # type: ignore[arg-type]
        choices=option.choices,
        help=argparse.SUPPRESS,
    )
    parser._add_action(renamed)
