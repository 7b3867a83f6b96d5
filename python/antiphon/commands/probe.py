# SPDX-License-Identifier: Apache-2.0
"""Measure the network: latency, overheads, bandwidth, topology, contention

Runs a small MPI program under your MPI and launcher and writes what it found as one JSON document, the profile, with
all samples in a file beside it. Other commands read it: report, predict, tune, run --profile.

  antiphon probe -n 64 --hostfile nodes -o machine.json     a real cluster
  antiphon probe --lab --mpi mpich                          an emulated cluster (16 nodes, 100 Mb/s)
  antiphon report machine.json                              look at it
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from antiphon import mpi as mpis
from antiphon import output, profile
from antiphon.bench.testbed import LabTestbed, Testbed
from antiphon.commands import _keeping, _options
from antiphon.commands._testbed import open_testbed
from antiphon.errors import AntiphonError
from antiphon.output import files, progress, tables
from antiphon.probe import recording
from antiphon.probe.curves import at
from antiphon.probe.document import fingerprint
from antiphon.probe.session import Event, Session

WHAT = {
    "identify": "who takes part",
    "round_trips": "latency between pairs",
    "streams": "bandwidth between pairs",
    "curves": "pLogP",
    "incast": "what a port takes",
    "all_to_all": "contention",
    "concurrency": "several messages at once",
    "turns": "ranks that share cores",
    "crowd": "all ranks sending",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `antiphon probe`."""
    add = parser.add_argument
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("machine.json"),
        metavar="FILE",
        help="the profile (default: %(default)s)",
    )
    _options.add_overwrite(parser, "a FILE that is no profile, or has decisions for another machine,")
    add("--budget", type=_options.number, default=60.0, metavar="SECONDS", help="the time it may take (default: 60)")
    add("--name", metavar="NAME", help="of the machine, in the profile (default: the lab's cluster, or this host)")
    add("--again", type=Path, metavar="FILE", help="measure nothing: make the profile from samples that were kept")
    _keeping.add_option(parser)
    _options.add_where(parser, several=False, link_rate=None)
    parser.add_argument("--json", action="store_true", help="print the profile on stdout too")


def run(args: argparse.Namespace) -> int:
    """Measures, writes the samples and the profile, and says what was found."""
    if args.budget < 5:
        raise AntiphonError(f"--budget {args.budget:g}: in less than 5 seconds nothing can be measured")
    if args.n is not None and args.n < 2:
        raise AntiphonError(f"-n {args.n}: a network has at least 2 ranks")
    samples = _checked(args)
    if args.again:
        document = recording.document_again(args.again, args.name)
        _check_decisions(args.output, document["machine"]["fingerprint"], args.overwrite)
        document = _write(args.output, document, samples)
    else:
        document = _measure_and_write(args, samples)
    if args.json:
        output.print_json(document)
    else:
        _tell(document, args.output)
    return 0


def _checked(args: argparse.Namespace) -> Path:
    """Returns the file of the samples, once both files are known to be writable."""
    read = (args.hostfile, args.again, args.lab)
    overwrite = args.overwrite or (args.output.is_file() and profile.is_profile_file(args.output))
    files.check(args.output, overwrite=overwrite, sources=read)
    if args.again:
        return Path(args.again)
    samples: Path = args.output.with_name(args.output.name.removesuffix(".json") + ".samples.json.gz")
    files.check(samples, sources=read)
    return samples


def _check_decisions(path: Path, fingerprint: str, overwrite: bool) -> None:
    """Raises an error where decisions for another machine would be dropped; with --overwrite, they are."""
    earlier = _keeping.tuned(path)
    other = _keeping.other_machine(earlier, fingerprint) if earlier else []
    if not other:
        return
    what = f"{path} has decisions for another machine ({'; '.join(other)})"
    if not overwrite:
        raise AntiphonError(what, hint="--overwrite drops them; another -o FILE keeps them")
    output.print_warning(f"{what}: they are dropped")


def _write(path: Path, document: dict[str, Any], samples: Path) -> dict[str, Any]:
    """Writes the profile, with the decisions of an earlier one of this machine in that file, and returns it."""
    document["measurements"]["samples"] = samples.name
    earlier = _keeping.tuned(path)
    if earlier and not _keeping.other_machine(earlier, document["machine"]["fingerprint"]):
        document = _keeping.with_decisions_of(earlier, document)
    profile.write(path, document)
    return document


def _measure_and_write(args: argparse.Namespace, samples: Path) -> dict[str, Any]:
    """Measures, writes samples and profile, and keeps the profile for runs to find."""
    found = mpis.chosen(args.mpi)
    with open_testbed(args) as testbed:
        with _progress(args.budget) as advance:

            def on_event(event: Event) -> None:
                if event["event"] == "identity":  # It comes first: nothing is measured in vain.
                    _check_decisions(args.output, fingerprint(event, found[0].abi), args.overwrite)
                advance(event)

            session = Session(testbed, found[0], _ranks(args, testbed), args.budget, on_event)
            recorded = recording.measured(session, _name(args, testbed))
        recorded.write(samples)
        document = _write(args.output, recorded.document(), samples)
        if not args.no_keep:
            _keeping.keep(document, args.output, testbed, found)
    return document


def _ranks(args: argparse.Namespace, testbed: Testbed) -> int:
    if args.n:
        return int(args.n)
    return testbed.ranks()


def _name(args: argparse.Namespace, testbed: Testbed) -> str:
    if args.name:
        return str(args.name)
    if isinstance(testbed, LabTestbed):
        return str(testbed.lab.spec.name)
    return args.hostfile.stem if args.hostfile else os.uname().nodename


@contextlib.contextmanager
def _progress(budget_s: float) -> Iterator[Callable[[Event], None]]:
    """Shows a bar that moves with time and names what is measured; in a log, a line per experiment."""
    console, spent = output.stderr(), 0.0
    with progress.bar("probe: starting", budget_s, seconds=True) as move:

        def advance(event: Event) -> None:
            nonlocal spent
            if event["event"] == "done":
                spent += event["seconds"]
                text = " ".join(filter(None, (WHAT.get(event["experiment"], event["experiment"]), event["label"])))
                move(completed=spent, description=f"probe: {text}")
                if progress.hidden(console):
                    console.print(f"probe: {text}: {event['seconds']:.1f} s")

        yield advance


def _tell(document: dict[str, Any], path: Path) -> None:
    """Prints a few lines about what was found."""
    machine, say = document["machine"], output.stdout().print
    mpi = f"{machine['mpi']['name']} {machine['mpi']['version']} ({machine['mpi']['transport']})"
    ranks = f"{machine['nodes']} × {machine['ranks_per_node']} ranks"
    say(f"{machine['name']}: {ranks}, {mpi}", soft_wrap=True)
    table = tables.new_table()
    for heading in ("link", "L", "os", "or", "g(0)", "g(64 KiB)", "MB/s", "eager to"):
        table.add_column(heading, justify="left" if heading == "link" else "right")
    for entry in document["link_classes"]:
        eager = entry.get("eager_bytes")
        table.add_row(
            entry["name"],
            tables.time_text(entry["latency_s"]),
            *(_time_at(entry[key], size) for key, size in (("os_s", 0), ("or_s", 0), ("g_s", 0), ("g_s", 65536))),
            f"{entry['details']['bytes_per_s'] / 1e6:.4g}",
            tables.bytes_text(eager) if eager else "–",
        )
    tables.print_wide(table)
    for line in summary_lines(document):
        say(line, soft_wrap=True)
    for note in document["measurements"]["notes"]:
        output.print_warning(note)
    found = document["measurements"]
    say(f"written: {path}; samples: {found['samples']} ({found['elapsed_s']:.0f} s)", soft_wrap=True)


def summary_lines(document: dict[str, Any]) -> list[str]:
    """Describes topology and contention in words."""
    lines = []
    switches = document["topology"]["switches"]
    uplinks = [f"{s['uplink_bytes_per_s'] / 1e6:.4g} MB/s" for s in switches if "parent" in s]
    lines.append(f"switches: {len(switches)}{profile.sureness(document['topology'])}"
                 + (f"; links between them: {', '.join(uplinks)}" if uplinks else ""))  # fmt: skip
    lines += host_lines(document)
    contention = document.get("contention", {})
    if "credit_bytes" in contention:
        lines.append(f"credit: {tables.bytes_text(contention['credit_bytes'])} may be under way to one node")
    if contention.get("gamma"):
        lines.append(
            "contention: " + ", ".join(f"γ({row['ranks']}) = {row['gamma']:.2f}" for row in contention["gamma"])
        )
    concurrency = document.get("concurrency")
    if concurrency:
        lines.append(
            f"concurrency: index {concurrency['index']}; two messages at once take "
            f"{concurrency['two_destinations_ratio']:.2f}× one"
        )
    multicast = document.get("multicast")
    if multicast:
        works = f"{multicast['bytes_per_s'] / 1e6:.4g} MB/s" if multicast["works"] else "does not work"
        lines.append(f"multicast: {works}" + ("" if multicast["works"] else f": {multicast['why_not']}"))
    return lines


def host_lines(document: dict[str, Any]) -> list[str]:
    """Says what binds before the wire; nothing where nothing does."""
    link = document["link_classes"][-1]
    limits = [
        (link.get("connection_way_bytes_per_s"), "one connection carries", "one way"),
        (link.get("connection_bytes_per_s"), "one connection carries", "both directions together"),
        (document.get("processors", {}).get("rank_bytes_per_s"), "one rank moves", "both directions together"),
    ]
    port = document["topology"]["nodes"][0]["port_bytes_per_s"]
    return [
        f"hosts: {what} {rate / 1e6:.4g} MB/s {ways}, a node's port {port / 1e6:.4g} each way"
        for rate, what, ways in limits
        if rate
    ]


def _time_at(curve: list[list[float]], size: int) -> str:
    return tables.time_text(at([(int(bytes_), seconds) for bytes_, seconds in curve], size))
