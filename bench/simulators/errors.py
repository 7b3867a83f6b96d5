#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far the model and another simulator are from what was measured, algorithm by algorithm.

    bench/simulators/errors.py compare --profile machine.json --results results.json -o compared.jsonl
    bench/simulators/errors.py table compared.jsonl [more.jsonl …]

`compare` takes what `antiphon bench … --algorithms all --json results.json` measured, lets the model predict it, and
SimGrid's SMPI and ns-3 replay it, each from the same profile, and writes a line for each algorithm. What the file has
already stays.
`table` shows median and 90 % of the errors, and in how many pairs of algorithms that differ by more than 10 % the order
is that of the measurements. The simulators know no token buckets, which links of a lab have. So the model's order is
compared with theirs for links without.
"""

from __future__ import annotations

import argparse
import copy
import functools
import itertools
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from antiphon import core, model, packed
from antiphon.bench import validation
from antiphon.cluster import of_profile
from antiphon.cluster.spec import ClusterSpec
from antiphon.errors import AntiphonError
from antiphon.simulate import ns3, smpi
from antiphon.simulate.plans import plan_on

#: Algorithms that differ by less are as good as each other.
CLEARLY = 1.1
METHODS = ("model", "smpi", "ns3")

Row = dict[str, Any]
Simulate = Callable[..., smpi.Simulated]


def wanted(row: Mapping[str, Any], args: argparse.Namespace) -> bool:
    """Whether the options ask for this collective, size and number of ranks."""
    lists = (("collective", args.collectives), ("bytes", args.bytes), ("ranks", args.ranks))
    return all(chosen is None or str(row[name]) in chosen.split(",") for name, chosen in lists)


def measured_rows(paths: Sequence[Path]) -> Iterator[Row]:
    """Yields what was measured of Antiphon's algorithms of plain messages, one call at a time."""
    for path in paths:
        for row in json.loads(packed.read_text(path))["results"]:
            multicasts = {a.name for a in core.algorithms(row["collective"]) if a.multicasts}
            own = row["contender"].startswith("antiphon:") and row["chosen"] != "library"
            if own and row["mode"] == "sync" and row["chosen"].partition(":")[0] not in multicasts:
                yield row


def key_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("network", "collective", "bytes", "ranks", "choice"))


def simulated_s(row: Mapping[str, Any], simulate: Simulate, spec: ClusterSpec, timeout_s: float) -> float | None:
    """Returns the simulator's time; nothing where it takes longer than that, or cannot replay the schedule."""
    per_node = -(-row["ranks"] // row["nodes"])
    try:
        placed = spec.with_ranks(None, per_node)
        plan = plan_on(placed, row["collective"], row["chosen"], row["bytes"], row["ranks"])
        return simulate(plan, spec, per_node, timeout_s).seconds
    except (AntiphonError, core.CoreError) as error:
        print(f"{row['collective']} {row['bytes']} {row['chosen']}: {error}", file=sys.stderr)
        return None


def without_bursts(document: Mapping[str, Any]) -> str:
    """Returns the profile of the same links without token buckets."""
    plain = copy.deepcopy(dict(document))
    for holder in (*plain["topology"]["nodes"], *(link.get("details", {}) for link in plain["link_classes"])):
        holder.pop("burst_bytes", None)
    return json.dumps(plain)


def predicted_s(row: Mapping[str, Any], text: str) -> float | None:
    try:
        return validation.compare([row], text).entries[0].predicted_s
    except AntiphonError:
        return None


def compared(row: Mapping[str, Any], args: argparse.Namespace, spec: ClusterSpec) -> Row:
    """Returns a measurement beside the predictions."""
    result = {
        "network": args.network, "collective": row["collective"], "bytes": row["bytes"], "ranks": row["ranks"],
        "choice": row["chosen"], "measured_s": row["median_s"],
    }  # fmt: skip
    for model_of, text in args.profiles.items():
        result[f"{model_of}_s"] = predicted_s(row, text)
    for method, simulate in args.simulators.items():
        result[f"{method}_s"] = simulated_s(row, simulate, spec, args.timeout)
    return result


def compare(args: argparse.Namespace) -> None:
    args.simulators = {
        "smpi": functools.partial(smpi.run, smpi.find(None)),
        "ns3": functools.partial(ns3.run, ns3.find()),
    }
    text = model.read_profile(args.profile, packed_too=True)
    assert text is not None
    document = json.loads(text)
    args.profiles = {"model": text, "plain": without_bursts(document)}
    spec = of_profile.spec_of(document, "measured")
    args.network = args.network or document["machine"]["name"]
    known = {key_of(row) for row in read([args.output])} if args.output.exists() else set()
    rows = [
        row for row in measured_rows(args.results)
        if wanted(row, args) and key_of(row | {"network": args.network, "choice": row["chosen"]}) not in known
    ]  # fmt: skip
    with args.output.open("a", encoding="utf-8") as file, ThreadPoolExecutor(args.jobs) as pool:
        for count, found in enumerate(pool.map(lambda row: compared(row, args, spec), rows), 1):
            print(json.dumps(found), file=file, flush=True)
            print(f"\r{count} of {len(rows)}", end="", file=sys.stderr)
    print(file=sys.stderr)


def read(paths: Iterable[Path]) -> list[Row]:
    return [json.loads(line) for path in paths for line in packed.read_text(path).splitlines()]


def errors_of(rows: Iterable[Row], method: str) -> list[float]:
    times = [(row[f"{method}_s"], row["measured_s"]) for row in rows]
    return sorted(abs(said / seen - 1) for said, seen in times if said)


def order_of(rows: Iterable[Row], method: str, reference: str = "measured") -> tuple[int, int]:
    """Returns how many pairs of a cell's algorithms are in the reference's order, and of how many that differ there."""
    cells: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row[f"{method}_s"] and row[f"{reference}_s"]:
            cells[key_of(row)[:-1]].append(row)
    alike = pairs = 0
    for found in cells.values():
        for a, b in itertools.combinations(sorted(found, key=lambda row: row[f"{reference}_s"]), 2):
            if b[f"{reference}_s"] > CLEARLY * a[f"{reference}_s"]:
                pairs += 1
                alike += a[f"{method}_s"] < b[f"{method}_s"]
    return alike, pairs


def cells_of(rows: Sequence[Row]) -> list[str]:
    """Returns the columns of one line of the table."""
    cells = [str(len(rows))]
    for method in METHODS:
        errors = errors_of(rows, method)
        ninth = validation.quantile(errors, 0.9) if errors else 0.0
        alike, pairs = order_of(rows, method)
        cells += [f"{statistics.median(errors):.1%}, {ninth:.1%}" if errors else "–"]
        cells += [f"{alike / pairs:.0%}" if pairs else "–"]
    for reference in METHODS[1:]:
        alike, pairs = order_of(rows, "plain", reference)
        cells.append(f"{alike / pairs:.0%} of {pairs}" if pairs else "–")
    return cells


def table(args: argparse.Namespace) -> None:
    rows = read(args.files)
    names = "".join(f" {name}: median, 90 % | order |" for name in ("model", "SMPI", "ns-3"))
    print(f"| | calls |{names} model in SMPI's order | in ns-3's |")
    print("|---" + "|---:" * 9 + "|")
    for network in dict.fromkeys(row["network"] for row in rows):
        own = [row for row in rows if row["network"] == network]
        print(f"| **{network}** | {' | '.join(cells_of(own))} |")
        for name in ("collective", "bytes", "ranks"):
            for value in sorted({row[name] for row in own}):
                print(f"| {value} | {' | '.join(cells_of([row for row in own if row[name] == value]))} |")
    if args.worst:
        known = [row for row in rows if row["model_s"]]
        for row in sorted(known, key=lambda row: -abs(row["model_s"] / row["measured_s"] - 1))[: args.worst]:
            said = {method: f"{row[f'{method}_s'] or 0:.4g}" for method in METHODS}
            print(*key_of(row), f"measured {row['measured_s']:.4g}", said, sep="  ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True)
    one = actions.add_parser("compare", help="predict and simulate what was measured")
    one.add_argument("--profile", type=Path, required=True)
    one.add_argument("--results", type=Path, action="append", required=True)
    one.add_argument("-o", "--output", type=Path, required=True)
    one.add_argument("--network", help="its name in the table (default: the profile's)")
    for name in ("collectives", "bytes", "ranks"):
        one.add_argument(f"--{name}", help="only these, with commas (bytes and ranks: numbers)")
    one.add_argument("--timeout", type=float, default=60, help="seconds for each simulation")
    one.add_argument("--jobs", type=int, default=2, help="simulations at once")
    one.set_defaults(run=compare)
    shown = actions.add_parser("table", help="show the errors")
    shown.add_argument("files", type=Path, nargs="+")
    shown.add_argument("--worst", type=int, default=0, help="also the calls of which the model is farthest off")
    shown.set_defaults(run=table)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
