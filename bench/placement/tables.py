# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/measurements/placement.md and its folder from the samples that slices have left."""

from __future__ import annotations

import itertools
import json
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import applications
import collectives
import joint
from common import AGAIN, NAMES, PLACEMENTS, Setting, lines_of

#: Times that are closer than this factor say nothing about an order.
APART = 1.05
Times = Mapping[str, float]


@dataclass(frozen=True)
class Line:
    """The subject and the numbers of a table's line."""

    title: str
    seconds: Mapping[str, Sequence[float]]
    told: Times
    #: The plain placement that ours equals.
    same: str


def text(work: Path) -> str:
    """Return the tables of all settings."""
    parts: list[str] = []
    for setting in Setting.load_all(work):
        parts += [f"## {setting.name}", ""]
        for ranks in collectives.CASES:
            parts += of_collectives(work, setting, ranks)
        parts += of_applications(work, setting) + of_joint(work, setting)
    return "\n".join(parts)


def raw(work: Path) -> list[dict[str, Any]]:
    """Return a row per setting: every sample with its placement and the prediction."""
    rows = []
    for setting in Setting.load_all(work):
        files = [
            (
                f"collectives, {ranks} ranks",
                collectives.plan_file(work, setting, ranks),
                collectives.samples_file(work, setting, ranks),
            )
            for ranks in collectives.CASES
        ]
        files.append(("joint", joint.plan_file(work, setting), joint.samples_file(work, setting)))
        row: dict[str, Any] = {"setting": setting.name}
        for title, plan, results in files:
            samples = {found["name"]: found["seconds"] for found in lines_of(results)}
            cells = json.loads(plan.read_text(encoding="utf-8"))["cells"] if samples else []
            row[title] = [
                {**cell, "seconds": rounded(samples[cell["name"]])} for cell in cells if cell["name"] in samples
            ]
        row["applications"] = list(lines_of(applications.samples_file(work, setting)))
        row["applications' placements"] = [
            {"application": a, "placement": name, "node_of_rank": applications.nodes(work, setting, a, name)}
            for a, name in applications.prepared(work, setting)
        ]
        rows.append(row)
    return rows


def rounded(samples: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Round to four digits, because more are noise."""
    return {way: [float(f"{s:.4g}") for s in seconds] for way, seconds in samples.items()}


def of_collectives(work: Path, setting: Setting, ranks: int) -> list[str]:
    """Return one line per collective and size."""
    plan = collectives.plan_file(work, setting, ranks)
    samples = {row["name"]: row["seconds"] for row in lines_of(collectives.samples_file(work, setting, ranks))}
    if not samples:
        return []
    rows: list[Line] = []
    for cell in json.loads(plan.read_text(encoding="utf-8"))["cells"]:
        if cell["name"] in samples:
            told = {way["name"]: way["predicted_s"] for way in cell["ways"]}
            where = {way["name"]: way["node_of_rank"] for way in cell["ways"]}
            rows.append(Line(f"`{cell['name']}`", samples[cell["name"]], told, same_as(where)))
    return [f"### {ranks} ranks, collectives", "", *table(rows, 1e3, "ms")]


def of_applications(work: Path, setting: Setting) -> list[str]:
    """Return one line per application."""
    samples: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in lines_of(applications.samples_file(work, setting)):
        samples[row["application"]][row["placement"]].append(row["seconds"])
    rows = []
    for application, seconds in samples.items():
        if not {"block", "cyclic", "opp", "antiphon"} <= seconds.keys():
            continue
        files = {n: applications.file_of(work, setting, application, f"{n}.result") for n in seconds}
        told = {name: applications.told(file) for name, file in files.items()}
        where = {name: applications.nodes(work, setting, application, name) for name in seconds}
        rows.append(Line(f"`{application.replace(':', ' ')}`", seconds, told, same_as(where)))
    return ["### Applications", "", *table(rows, 1, "s")] if rows else []


def of_joint(work: Path, setting: Setting) -> list[str]:
    """Return one line per program and recorded placement."""
    samples = {row["name"]: row["seconds"] for row in lines_of(joint.samples_file(work, setting))}
    if not samples:
        return []
    heads = ["", *(f"{title}, ms" for title in joint.STATES), "both over the better alone", "predicted"]
    lines = ["### Placement and algorithms", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for cell in json.loads(joint.plan_file(work, setting).read_text(encoding="utf-8"))["cells"]:
        if cell["name"] not in samples:
            continue
        seconds = samples[cell["name"]]
        told = {way["name"]: way["predicted_s"] for way in cell["ways"]}
        gains = [
            f"{min(t['algorithms alone'], t['placement alone']) / t['both']:.2f}×"
            for t in ({title: statistics.median(s) for title, s in seconds.items()}, told)
        ]
        lines.append(f"| {' | '.join([cell['name'], *(spread(seconds[t], 1e3) for t in joint.STATES), *gains])} |")
    return [*lines, ""]


def same_as(where: Mapping[str, Sequence[int]]) -> str:
    """Return the plain placement that ours equals, rank by rank; "": neither."""
    return next((name for name in ("block", "cyclic") if where[name] == where["antiphon"]), "")


def table(rows: Sequence[Line], unit: float, name: str) -> list[str]:
    """Return medians with quartiles, the gain, and each predicted time relative to block's."""
    ways = [way for way, _, _ in PLACEMENTS if any(way in row.seconds for row in rows)]
    controlled = any(AGAIN in row.seconds for row in rows)
    heads = ["", *(f"{NAMES[way]}, {name}" for way in ways), *(["block over itself"] * controlled), "OPP over better",
             "Antiphon over better", "Antiphon over block", "predicted: block / each"]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    agree = [0, 0]
    for row in rows:
        medians = {way: statistics.median(row.seconds[way]) for way in row.seconds}
        better = min(medians["block"], medians["cyclic"])
        cells = [spread(row.seconds[way], unit) if way in row.seconds else "–" for way in ways]
        cells[-1] += f" = {row.same}" if row.same else ""
        if controlled:
            cells.append(f"{medians['block'] / medians[AGAIN]:.2f}×")
        cells += [f"{better / medians['opp']:.2f}×", f"{better / medians['antiphon']:.2f}×",
                  f"{medians['block'] / medians['antiphon']:.2f}×"]  # fmt: skip
        told = row.told
        cells.append(" / ".join(f"{told['block'] / told[way]:.2f}" if way in told else "–" for way in ways[1:]))
        lines.append(f"| {' | '.join([row.title, *cells])} |")
        for alike in order({way: medians[way] for way in ways if way in medians}, told):
            agree[alike] += 1
    return [*lines, "", f"Predicted and measured order: {agree[1]} of {sum(agree)} pairs alike.", ""]


def spread(samples: Sequence[float], unit: float) -> str:
    """Return the median and the range of the middle half."""
    low, middle, high = statistics.quantiles(samples, n=4) if len(samples) > 1 else [samples[0]] * 3
    return f"{unit * middle:.3g} ({unit * low:.3g}–{unit * high:.3g})"


def order(medians: Times, told: Times) -> list[bool]:
    """Return, for each two placements that differ in both, whether they differ in the same direction."""
    found = []
    for one, other in itertools.combinations([way for way in medians if way in told], 2):
        measured, expected = medians[one] / medians[other], told[one] / told[other]
        if max(measured, 1 / measured) > APART and max(expected, 1 / expected) > APART:
            found.append((measured > 1) == (expected > 1))
    return found
