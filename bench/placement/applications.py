# SPDX-License-Identifier: Apache-2.0
"""Applications under placements: each run is launched alone, with the launcher's own file."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from common import PLACEMENTS, Setting, append, lines_of

from antiphon.bench.testbed import program
from antiphon.lab import Lab, load_cluster
from antiphon.mapping import sources
from antiphon.mapping.scoring import Arrangement, Scorer, Wishes
from antiphon.mapping.tables import to_json
from antiphon.mpi import Mpi, launch
from antiphon.placement import Placement

LIMIT_S = 16.0
#: Expected seconds of a run before any was measured.
FIRST_S = 8.0


def argv_of(application: str, mpi: Mpi) -> list[str]:
    """ "gauss:512" → the program with its arguments."""
    name, *arguments = application.split(":")
    return [str(program(f"demo-{name}", mpi.abi)), *arguments]


def file_of(work: Path, setting: Setting, application: str, what: str) -> Path:
    """Return where a file of an application is kept."""
    return setting.folder(work) / f"{application.replace(':', '_')}.{what}"


def samples_file(work: Path, setting: Setting) -> Path:
    """Return the file with one line per run."""
    return setting.folder(work) / "applications.jsonl"


def seconds_of(text: str) -> float:
    """Return the time that the program reports; raise an error if its result is wrong."""
    if "result: verified" not in text:
        raise SystemExit(f"the program failed:\n{text}")
    return float(re.search(r"^time: ([\d.]+) s", text, re.MULTILINE)[1])


def record(work: Path, setting: Setting, applications: list[str]) -> None:
    """Record traces in block order where there are none; all collectives are the library's."""
    mpi = setting.mpi
    with Lab(load_cluster(setting.cluster)) as lab:
        for application in applications:
            trace = file_of(work, setting, application, "trace")
            if trace.is_file():
                continue
            env = launch.rank_environment(mpi, launch.Settings(force="*:library"), {"ANTIPHON_TRACE": str(trace)})
            argv = argv_of(application, mpi)
            done = lab.mpirun(mpi, None, argv, env={**env, **setting.rank_env}, map_by="slot", timeout_s=LIMIT_S)
            print(
                application,
                f"{seconds_of(done.check().stdout):.2f} s, with launching {done.elapsed_s:.1f} s",
                flush=True,
            )


def prepare(work: Path, setting: Setting, applications: list[str]) -> None:
    """Record and map."""
    record(work, setting, applications)
    for application in applications:
        trace = file_of(work, setting, application, "trace")
        for name, method, collectives in PLACEMENTS:
            source = sources.Sources(trace, setting.profile, library=setting.table, ignore_collectives=not collectives)
            try:
                result = sources.place(source, Wishes(method))
            except Exception as error:  # MPIPP finds no traffic if there are only collectives
                print(f"{application} {name}: {error}", file=sys.stderr)
                continue
            result.placement.save(file_of(work, setting, application, f"{name}.json"))
            costs = predicted(work, setting, application, result.placement)
            file = file_of(work, setting, application, f"{name}.result")
            file.write_text(json.dumps({"costs": costs, "told": to_json(result)}), encoding="utf-8")
            print(setting.name, application, name, f"{1e3 * told(file):.1f} ms", flush=True)


def predicted(work: Path, setting: Setting, application: str, placement: Placement) -> dict[str, float]:
    """Return the cost of all traffic, even if the placement considered only a part."""
    trace = file_of(work, setting, application, "trace")
    traffic = sources.reader(sources.Sources(trace, setting.profile, library=setting.table))(placement.node_of_rank)
    messages, size = sum(p.total_messages() for p in traffic.parts), sum(p.total_bytes() for p in traffic.parts)
    machine = sources.machine.load(setting.profile, message_bytes=size / max(1, messages))
    scorer = Scorer(machine, Wishes(), traffic.ranks, setting.folder(work))
    there = scorer.with_traffic(Arrangement(None, placement.node_of_rank, [], traffic, {}), traffic)
    return dict(scorer.with_timeouts(there).costs)


def told(file: Path) -> float:
    """Return the predicted time from what `prepare` wrote."""
    return float(json.loads(file.read_text(encoding="utf-8"))["costs"]["predicted_s"])


def nodes(work: Path, setting: Setting, application: str, name: str) -> list[int]:
    """Return the node of each rank under that placement."""
    return list(Placement.load(file_of(work, setting, application, f"{name}.json")).node_of_rank)


def prepared(work: Path, setting: Setting) -> list[tuple[str, str]]:
    """Return every application with each of its placements."""
    traces = sorted(setting.folder(work).glob("*.trace"))
    names = [trace.stem.replace("_", ":") for trace in traces]
    # This program's name contains the separator.
    names = [name.replace("shortest:paths", "shortest_paths") for name in names]
    return [(a, p) for a in names for p, _, _ in PLACEMENTS if file_of(work, setting, a, f"{p}.json").is_file()]


def missing(work: Path, setting: Setting, rounds: int) -> list[tuple[str, str]]:
    """Return the runs that are left, those with the fewest repetitions first."""
    seen = Counter((row["application"], row["placement"]) for row in lines_of(samples_file(work, setting)))
    pairs = prepared(work, setting)
    return [pair for so_many in range(rounds) for pair in pairs if seen[pair] <= so_many]


def measure(work: Path, setting: Setting, rounds: int, seconds: float) -> None:
    """Make as many runs as there is time for."""
    runs = missing(work, setting, rounds)
    results = samples_file(work, setting)
    began, longest, mpi = time.monotonic(), FIRST_S, setting.mpi
    if seconds < 2 * longest or not runs:
        return
    with Lab(load_cluster(setting.cluster)) as lab:
        for application, name in runs:
            if time.monotonic() - began + 1.3 * longest > seconds:
                return
            start = time.monotonic()
            placement = Placement.load(file_of(work, setting, application, f"{name}.json"))
            argv = argv_of(application, mpi)
            done = lab.mpirun(mpi, None, argv, env=setting.rank_env, placement=placement, timeout_s=LIMIT_S)
            if done.timed_out:
                print(setting.name, application, name, "took too long", flush=True)
                continue
            done.check()
            row = {"application": application, "placement": name, "seconds": seconds_of(done.stdout)}
            append(results, row)
            longest = max(longest, time.monotonic() - start)
            print(f"{time.monotonic() - began:.0f} s", setting.name, *row.values(), flush=True)
