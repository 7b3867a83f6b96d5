#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times applications in a lab under several placements: block, cyclic, MPIPP's, with collectives (OPP), and ours.

  measure.py prepare --cluster paper2-16x4 --profile machine.json --folder work gauss:512 shortest_paths:768
  measure.py time --cluster paper2-16x4 --folder work --rounds 3 gauss:512 -o placement.jsonl

`prepare` records each application once (in block order, all collectives the library's) and has it mapped; `time` runs
it under each placement in turn, without Antiphon, and appends a line to the file: docs/measurements/placement.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from antiphon import launch
from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, by_name
from antiphon.placement import Placement, sources
from antiphon.placement.compute import Wishes
from antiphon.placement.tables import to_json
from antiphon.places import program

#: Name, method, and whether collectives count.
PLACEMENTS = (
    ("block", "block", True),
    ("cyclic", "cyclic", True),
    ("mpipp", "mpipp", False),
    ("opp", "mpipp", True),
    ("antiphon", "antiphon", True),
)
LIMIT_S = 80.0


def argv_of(application: str, mpi: Mpi) -> list[str]:
    """ "gauss:512" → the program with its arguments."""
    name, *arguments = application.split(":")
    return [str(program(f"demo-{name}", mpi.abi)), *arguments]


def file_of(folder: Path, application: str, what: str) -> Path:
    """Where something of an application is kept."""
    return folder / f"{application.replace(':', '_')}.{what}"


def seconds_of(text: str) -> float:
    """What the program says that it took; an error if its result is wrong."""
    if "result: verified" not in text:
        raise SystemExit(f"the program failed:\n{text}")
    return float(re.search(r"^time: ([\d.]+) s", text, re.MULTILINE)[1])


def prepare(args: argparse.Namespace, mpi: Mpi) -> None:
    """Records and maps."""
    args.folder.mkdir(parents=True, exist_ok=True)
    with Lab(load_cluster(args.cluster)) as lab:
        for application in args.applications:
            trace = file_of(args.folder, application, "trace")
            trace.unlink(missing_ok=True)
            settings = launch.Settings(force="*:library")
            env = launch.rank_environment(mpi, settings, {"ANTIPHON_TRACE": str(trace)})
            argv = argv_of(application, mpi)
            done = lab.mpirun(mpi, args.ranks, argv, env=env, map_by="slot", timeout_s=LIMIT_S).check()
            print(application, f"{seconds_of(done.stdout):.2f} s, with launching {done.elapsed_s:.1f} s", flush=True)
    for application in args.applications:
        for name, method, collectives in PLACEMENTS:
            try:
                began = time.monotonic()
                result = sources.place(
                    sources.Sources(
                        file_of(args.folder, application, "trace"), args.profile, ignore_collectives=not collectives
                    ),
                    Wishes(method),
                )
            except Exception as error:  # MPIPP sees nothing where there are collectives only
                print(f"{application} {name}: {error}", file=sys.stderr)
                continue
            result.placement.save(file_of(args.folder, application, f"{name}.json"))
            file_of(args.folder, application, f"{name}.result").write_text(json.dumps(to_json(result)))
            gains = {other: round(result.gain(other) or 0, 3) for other in ("block", "cyclic")}
            print(application, name, gains, f"{time.monotonic() - began:.1f} s", flush=True)


def predicted(folder: Path, application: str, name: str, profile: Path) -> dict[str, Any] | None:
    """What all traffic costs under a placement: also where it was made for a part of it."""
    from antiphon.placement.compute import Arrangement, Scorer

    decompose = sources.reader(sources.Sources(file_of(folder, application, "trace"), profile))
    placement = Placement.load(file_of(folder, application, f"{name}.json"))
    traffic = decompose(placement.node_of_rank)
    messages, size = sum(p.total_messages() for p in traffic.parts), sum(p.total_bytes() for p in traffic.parts)
    machine = sources.machine.load(profile, message_bytes=size / max(1, messages))
    scorer = Scorer(machine, Wishes(), traffic.ranks, folder)
    return dict(scorer.costs(traffic.total()[0], Arrangement(None, placement.node_of_rank, [], traffic, {})))


def measure(args: argparse.Namespace, mpi: Mpi) -> None:
    """Times one application after the other."""
    with Lab(load_cluster(args.cluster)) as lab:
        for application in args.applications:
            known = [name for name, _, _ in PLACEMENTS if file_of(args.folder, application, f"{name}.json").is_file()]
            samples: dict[str, list[float]] = {name: [] for name in known}
            for round_number in range(args.rounds):
                for name in known[round_number % len(known) :] + known[: round_number % len(known)]:
                    placement = Placement.load(file_of(args.folder, application, f"{name}.json"))
                    argv = argv_of(application, mpi)
                    done = lab.mpirun(mpi, None, argv, placement=placement, timeout_s=LIMIT_S).check()
                    samples[name].append(seconds_of(done.stdout))
                    print(application, name, samples[name][-1], flush=True)
                row = {"cluster": args.cluster, "mpi": mpi.label, "application": application, "seconds": samples}
                file_of(args.folder, application, "samples").write_text(json.dumps(row))
            with args.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("prepare", "time"))
    parser.add_argument("applications", nargs="+", metavar="PROGRAM:ARGUMENT…")
    parser.add_argument("--cluster", default="paper2-16x4")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=Path("placement.jsonl"))
    args = parser.parse_args()
    {"prepare": prepare, "time": measure}[args.action](args, by_name(args.mpi))
    return 0


if __name__ == "__main__":
    sys.exit(main())
